"""The safeguards of a join, by name: what each is, and the smallest case that misses it."""

from __future__ import annotations

from kit.engine.safeguards import Safeguard

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
