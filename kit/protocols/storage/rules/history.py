"""What the metadata says of one data range, epoch by epoch: the stage on which requests play.

A course is plain data: which replicas read and write the range at each epoch, what must hold before
the next event may be committed, and which copies stream meanwhile. It knows nothing of where it
comes from; :mod:`kit.protocols.dataplane.projection` makes one of a real plan. Several futures
(another operation, a cancel) make it a tree. Replicas are numbered; sets of them are bit masks.

Source: CEP-21, "Consistency Guarantees".
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class View(Struct, frozen=True):
    """The range's replicas at one epoch, as bit masks.

    ``olds`` and ``news`` are its owners before and after the operation under way (equal to both
    groups at rest); ``version`` is the depth of the last event that changed the row.
    """

    reads: int
    writes: int
    olds: int
    news: int
    version: int = 0

    def group(self, write: bool) -> int:
        """Whom a request asks: the write replicas, or the read replicas."""
        return self.writes if write else self.reads


class Gate(Struct, frozen=True):
    """``needed`` of ``replicas`` (a mask) must know the epoch at ``depth``."""

    replicas: int
    needed: int
    depth: int

    def met(self, known: tuple[int, ...]) -> bool:
        """Whether enough of them do; ``known`` is the depth that each replica has applied."""
        return self.needed <= sum(
            1 for i, depth in enumerate(known) if self.replicas >> i & 1 and depth >= self.depth
        )

    def missing(self, known: tuple[int, ...]) -> tuple[int, ...]:
        """The replicas that do not know it yet."""
        return tuple(
            i for i, depth in enumerate(known) if self.replicas >> i & 1 and depth < self.depth
        )


class Copy(Struct, frozen=True):
    """``target`` receives the range's data from ``source``, once the gates are met."""

    source: int
    target: int
    gates: tuple[Gate, ...] = ()


class Step(Struct, frozen=True):
    """An event that may be committed next.

    ``verb`` is how a scenario file names it, ``title`` what it does; it leads to the moment ``to``.
    ``streamed`` says that all copies of the present moment must have landed before; ``regains``
    are the replicas that get the range again or for the first time, of those that may hold
    leftovers.
    """

    verb: str
    title: str
    to: int
    gates: tuple[Gate, ...] = ()
    streamed: bool = False
    switches: bool = False
    regains: int = 0


class Moment(Struct, frozen=True):
    """The metadata after some events: an epoch, the range's view, and what can come next.

    ``path`` gives the moment at each depth from the start to here; ``down`` are replicas that are
    dead by now.
    """

    epoch: int
    title: str
    path: tuple[int, ...]
    view: View
    steps: tuple[Step, ...] = ()
    copies: tuple[Copy, ...] = ()
    down: int = 0


class Course(Struct, frozen=True):
    """One data range through all its futures; moment 0 is the start.

    ``replicas`` are the names of all nodes that ever replicate the range, ``dcs`` the datacenter
    of each; ``label`` is the range's, ``left`` (not in it) and ``right`` its bounds.
    """

    label: str
    left: int
    right: int
    replicas: tuple[str, ...]
    dcs: tuple[str, ...]
    moments: tuple[Moment, ...]

    def views(self, at: int) -> tuple[View, ...]:
        """The views of every epoch up to the moment ``at``, by depth."""
        return tuple(self.moments[i].view for i in self.moments[at].path)

    def names(self, mask: int) -> tuple[str, ...]:
        """The replicas in a mask, by name."""
        return tuple(name for i, name in enumerate(self.replicas) if mask >> i & 1)


def members(mask: int) -> tuple[int, ...]:
    """The replicas in a mask, by number."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def mask_of(numbers: Iterable[int]) -> int:
    """The mask of some replicas."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found
