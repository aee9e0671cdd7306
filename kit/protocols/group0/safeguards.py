"""The safeguards of group 0: what each is called, and what may break without it.

Ids, invariants and minimal traces are those of the project's requirements. What each one does, and
where, stands beside its switch in ``kit.protocols.group0.rules.safeguards``.
"""

from __future__ import annotations

from kit.engine.safeguards import Safeguard

READ_BARRIER = Safeguard(
    "read-barrier",
    "S-29",
    "A node applies all that was committed before it reads the state for a change",
    ("INV-LIN",),
    {"operations": ("create keyspace ks at A", "create table ks.t at B"), "earlier": ()},
)
STATE_ID_CHECK = Safeguard(
    "state-id-check",
    "S-30",
    "A command does nothing unless the state is the one that it was built on",
    ("INV-ONCE", "INV-LIN"),
    {"nodes": 2},
)
SAME_ID_ON_RETRY = Safeguard(
    "same-id-on-retry",
    "S-31",
    "A command is submitted again with the state id that it had",
    ("INV-ONCE",),
    {"operations": ("create table ks.t at A",), "elections": 1},
)
COMMIT_WITH_GUARD = Safeguard(
    "commit-with-guard",
    "S-59",
    "A command names the state that it was decided on",
    ("INV-ONCE", "INV-LIN"),
    {"nodes": 2},
)
SCHEMA_VERSION_CHECK = Safeguard(
    "schema-version-check",
    "S-51",
    "A replica serves with a schema at least as new as its coordinator's",
    ("INV-SCHEMA",),
    {
        "nodes": 2,
        "operations": ("alter table ks.t add c at A",),
        "earlier": ("create keyspace ks at A", "create table ks.t at A"),
        "requests": ("write ks.t at A to B",),
    },
)
SAFEGUARDS: tuple[Safeguard, ...] = (
    READ_BARRIER,
    STATE_ID_CHECK,
    SAME_ID_ON_RETRY,
    COMMIT_WITH_GUARD,
    SCHEMA_VERSION_CHECK,
)
