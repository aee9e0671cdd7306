"""One state of a truncate as people ask of it: its phases, and who holds which rows."""

from __future__ import annotations

from typing import get_args

from msgspec import Struct

from kit.protocols.tablets.truncate import NEW_ROWS, OLD_ROWS, Phase, Truncate, TruncateState

PHASES: tuple[Phase, ...] = get_args(Phase)


class TruncatedNode(Struct, frozen=True):
    """A node: the session that it knows (0: none), its rows, what it has to do with the RPC.

    ``is_replica``: it holds rows of the table. ``behind``: group 0 says another session.
    """

    name: str
    is_replica: bool
    session: int
    behind: bool
    old_rows: bool
    new_rows: bool
    answered: bool
    late: bool


def nodes(m: Truncate, s: TruncateState) -> tuple[TruncatedNode, ...]:
    """Every node."""
    return tuple(
        TruncatedNode(
            *(name, bool(m.holders >> i & 1), s.views[i], s.views[i] != s.session),
            *(bool(s.rows[i] & OLD_ROWS), bool(s.rows[i] & NEW_ROWS)),
            *(bool(s.answered >> i & 1), bool(s.late >> i & 1)),
        )
        for i, name in enumerate(m.names)
    )
