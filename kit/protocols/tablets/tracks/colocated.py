"""Co-location is set as a table is created; who would alter it gets an error.

Source: Topology over Raft, "Co-located tables".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.engine.model import Rule
from kit.errors import Refusal
from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks.state import TracksState

if TYPE_CHECKING:
    from kit.protocols.tablets.tracks.model import Tracks

SET_ONCE = Refusal("co-location is set when a table is created, and cannot be altered")


def rules(model: Tracks) -> tuple[Rule[TracksState, Any], ...]:
    """The statement, for each table that is co-located with the base table: always refused."""
    alters = tuple(map(act.AlterBaseTable, model.parameters.tables[1:]))
    if not alters:
        return ()
    return (
        model.rule(
            act.AlterBaseTable,
            "alter",
            lambda s: alters,
            lambda s, action: SET_ONCE,
            lambda s, action: s,
        ),
    )
