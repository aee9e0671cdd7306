"""What can happen to a table that is resized."""

from __future__ import annotations

from msgspec import Struct


class GrowTable(Struct, frozen=True, tag="grow"):
    """The table grows to four times its size."""


class ShrinkTable(Struct, frozen=True, tag="shrink"):
    """The table shrinks to a quarter of its size."""


class DecideResize(Struct, frozen=True, tag="resize"):
    """The balancer looks at the sizes, and group 0 stores another decision with the next number."""


class ApplyView(Struct, frozen=True, tag="apply"):
    """A node applies what group 0 says: decision, state and map."""

    node: str


class DivideStorage(Struct, frozen=True, tag="divide"):
    """A replica's split monitor has divided its storage, and copies the number of the split."""

    tablet: int
    replica: str


class MoveReplica(Struct, frozen=True, tag="move"):
    """A replica moves, in one step; where siblings are co-located for a merge, both do."""

    tablet: int
    source: str
    target: str


class BeginFinalization(Struct, frozen=True, tag="finalize"):
    """The coordinator enters ``tablet_resize_finalization``."""


class PassFinalBarrier(Struct, frozen=True, tag="barrier"):
    """Every node has applied all, and nobody holds an older map."""


class CommitMap(Struct, frozen=True, tag="commit-map"):
    """The coordinator commits the new map, if the decision is still the same."""


class BeginRepair(Struct, frozen=True, tag="repair"):
    """A node begins to repair one of its tablets, by the map that it goes by."""

    node: str
    tablet: int


class EndRepair(Struct, frozen=True, tag="end-repair"):
    """The repair is done and marks its tablet's range as repaired."""


ResizeAction = (
    GrowTable
    | ShrinkTable
    | DecideResize
    | ApplyView
    | DivideStorage
    | MoveReplica
    | BeginFinalization
    | PassFinalBarrier
    | CommitMap
    | BeginRepair
    | EndRepair
)
