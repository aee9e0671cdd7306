"""The safeguards of the topology, by name: what each is, and the smallest case that misses it."""

from __future__ import annotations

from kit.engine.safeguards import Safeguard

SAFEGUARDS = (
    Safeguard(
        "fencing",
        "S-20",
        "A replica refuses requests below its fence version",
        ("INV-FENCE", "INV-STREAM"),
        {"nodes": 2, "failures": 1, "clients": 1},
        wider={"INV-FENCE": {"operations": ("leave B",)}},
    ),
    Safeguard(
        "barrier-drains",
        "S-21",
        "A barrier waits for requests of older versions",
        ("INV-STREAM", "INV-FENCE"),
        {"nodes": 2, "clients": 1},
        wider={"INV-FENCE": {"operations": ("leave B",)}},
    ),
    Safeguard(
        "sessions",
        "S-24",
        "Work of an operation runs under its session only",
        ("INV-SESSION",),
        {"nodes": 1, "late": 1},
    ),
    Safeguard(
        "tablet-track-excludes",
        "S-26",
        "No node operation begins while tablets move",
        ("INV-EXCL",),
        {"nodes": 2, "operations": ("leave B",), "tablets": 1},
    ),
    Safeguard(
        "drain-before-leaving",
        "S-28",
        "A node is shut down once nobody writes to it",
        ("INV-AVAIL",),
        {"nodes": 3, "operations": ("leave C",)},
    ),
    Safeguard(
        "refuse-live-removal",
        "S-40",
        "A node that is up is not removed",
        ("INV-MEMBER",),
        {"nodes": 2, "operations": ("remove B",), "down": ()},
    ),
    Safeguard(
        "cleanup-first",
        "S-41",
        "Nodes clean up before a change that gives ranges back",
        ("INV-NORES",),
        {"nodes": 2, "operations": ("join D", "leave D")},
    ),
    Safeguard(
        "continue-from-tables",
        "S-53",
        "A new coordinator goes on from the tables",
        ("INV-PROGRESS",),
        {"nodes": 2, "changes": 1},
    ),
    Safeguard(
        "refuse-left",
        "S-56",
        "A host id that has left may not join again",
        ("INV-MEMBER",),
        {"nodes": 2, "operations": ("leave B", "join B")},
    ),
    Safeguard(
        "start-marker",
        "S-58",
        "A new coordinator begins with a command of its own",
        (),
        {"changes": 1},
    ),
    Safeguard(
        "commit-with-guard",
        "S-59",
        "A command names the state that it was decided on",
        ("INV-ONCE", "INV-EXCL"),
        {"nodes": 2, "changes": 1},
    ),
    Safeguard(
        "no-rollback-after-switch",
        "S-60",
        "No rollback once reads use the new replicas",
        ("INV-STREAM",),
        {"edition": "documents", "nodes": 1, "failures": 1},
    ),
)

JOIN_SAFEGUARDS = (
    Safeguard(
        "join-message-order",
        "S-37",
        "A joiner waits until it was told to, before it hears a verdict or group 0",
        ("INV-MEMBER",),
        {"nodes": 1, "restarts": 1},
    ),
    Safeguard(
        "features-with-joins",
        "S-38",
        "A feature is enabled between joins only",
        ("INV-FEAT",),
        {"nodes": 1, "supports": False, "enabled": False},
    ),
    Safeguard(
        "host-id-handshake",
        "S-39",
        "A host id that has left is refused in the handshake",
        ("INV-OWN", "INV-NORES"),
        {"nodes": 1, "zombie": True},
    ),
    Safeguard(
        "refuse-left",
        "S-56",
        "A host id that has left may not join again",
        ("INV-MEMBER",),
        {"edition": "documents", "nodes": 1, "removed": True},
    ),
)
