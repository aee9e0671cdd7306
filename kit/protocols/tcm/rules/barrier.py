"""What a step waits for: the progress barrier, and the streaming before reads may switch.

Each step must be acknowledged, in every affected range, by a majority of the current and the
proposed replicas before the next may be committed: 3 of {A, B, C, X}. Any two majorities then
meet, so that the replica group itself tells a lagging coordinator that it lags. The published
server asks each datacenter for a majority, and other levels are to be had.

A new replica takes its data from the replica whose place it takes: only that one is sure to hold
every write that counted on it. Where that one is dead, a quorum of the old replicas together
holds every successful write. Sources: CEP-21, "Consistency Guarantees", "Bootstrap",
"Decommission"; published ``ProgressBarrier`` (levels).
"""

from collections.abc import Iterator
from collections.abc import Sequence as Several

from msgspec import Struct

from kit.masks import majority
from kit.protocols.tcm.rules.metadata import Sequence, Snapshot, Transfer
from kit.protocols.tcm.rules.operations import ALL_ON, OPERATION_SPECS, Level, ProtocolSwitches
from kit.ring.ranges import Range


class Barrier(Struct, frozen=True):
    """``needed`` of ``replicas`` (codes; those in ``dc``, if set) must have applied ``epoch``."""

    group: int
    range: Range
    dc: str | None
    replicas: tuple[int, ...]
    needed: int
    epoch: int

    def acked(self, applied: Several[int]) -> tuple[int, ...]:
        """The replicas that have applied the epoch; only what is applied counts."""
        return tuple([code for code in self.replicas if applied[code] >= self.epoch])

    def met(self, applied: Several[int]) -> bool:
        """Whether enough of them have."""
        return len(self.acked(applied)) >= self.needed


def barriers(
    snapshot: Snapshot, sequence: Sequence, switches: ProtocolSwitches, level: Level | None = None
) -> tuple[Barrier, ...]:
    """The barriers before the sequence's next step: one per locked range.

    ``level`` says whose answers are asked for; None: those of the level that barriers begin at.
    Edition ``documents`` counts the old and new replicas of each range, ``server`` today's: the
    read and write ones of the row that holds its end. Nodes that are gone for good are not counted:
    they can never answer.
    """
    if not switches.safeguards.progress_barrier:
        return ()
    level = level or switches.first_level
    spec = OPERATION_SPECS[sequence.plan.operation.kind]
    if switches.edition == "server":
        # Between prepare and start owners are the same; decommission and removenode alone wait.
        if sequence.done == 1 and not sequence.undoing and not spec.waits_for_prepare:
            return ()
        concerned = tuple(_of_today(snapshot, sequence))
    else:
        concerned = sequence.plan.concerned
    epoch = sequence.epoch
    if level == "QUORUM":
        return tuple(
            Barrier(group, locked, None, counted, majority(len(counted)), epoch)
            for group, locked, counted in concerned
            if counted
        )
    dcs = [node.dc for node in snapshot.metadata.ring.nodes]
    resolved = sequence.plan.resolved
    drives = resolved.node if resolved.node != resolved.dead else int(resolved.node == 0)
    home = dcs[drives]
    return tuple(
        Barrier(group, locked, dc, codes, needed, epoch)
        for group, locked, counted in concerned
        for dc, codes, needed in (_quotas(level, counted, dcs, home) if counted else ())
    )


def _quotas(
    level: Level, counted: tuple[int, ...], dcs: list[str], home: str
) -> Iterator[tuple[str | None, tuple[int, ...], int]]:
    """Of which replicas of a range (in which datacenter, if it has some) a level needs how many."""
    if level == "ALL":
        yield None, counted, len(counted)
    elif level == "ONE":
        yield None, counted, 1
    elif level != "NODE_LOCAL":
        each = sorted({dcs[code] for code in counted}) if level == "EACH_QUORUM" else [home]
        for dc in each:
            there = tuple(code for code in counted if dcs[code] == dc)
            yield dc, there, majority(len(there))


def _of_today(
    snapshot: Snapshot, sequence: Sequence
) -> Iterator[tuple[int, Range, tuple[int, ...]]]:
    dead = sequence.plan.resolved.dead
    for group, moved in enumerate(sequence.plan.movements):
        placement = snapshot.placements[group]
        for locked in moved.locked:
            sides = (table.groups_of(locked.right) for table in (placement.reads, placement.writes))
            present = dict.fromkeys(code for side in sides for codes in side for code in codes)
            yield group, locked, tuple(code for code in present if code != dead)


def sources(
    transfer: Transfer, down: frozenset[int], switches: ProtocolSwitches = ALL_ON
) -> tuple[int, ...]:
    """The nodes that stream a range: the displaced replica, or a quorum of the old ones that are
    up.

    Fewer than a quorum when fewer are up; see ``enough``. Without the safeguard
    *stream-from-displaced* any one of the old replicas will do: the nearest other one.
    """
    if not switches.safeguards.stream_from_displaced and transfer.displaced is not None:
        others = [code for code in transfer.old_replicas if code not in {transfer.displaced} | down]
        if others:
            return (others[0],)
    if transfer.displaced is not None and transfer.displaced not in down:
        return (transfer.displaced,)
    up = tuple(code for code in transfer.old_replicas if code not in down)
    return up[: majority(len(transfer.old_replicas))]


def enough(transfer: Transfer, down: frozenset[int], dead: frozenset[int]) -> bool:
    """Whether the sources hold every successful write; for ``dead`` nodes nobody can wait."""
    if transfer.displaced is not None and transfer.displaced not in down | dead:
        return True
    waited_for = [code for code in transfer.old_replicas if code not in dead]
    wanted = min(majority(len(transfer.old_replicas)), len(waited_for))
    return len(sources(transfer, down | dead)) >= wanted


def is_done(streamed: int, task: int) -> bool:
    """Whether a task is among those done; ``streamed`` is a bit mask of them."""
    return bool(streamed >> task & 1)


def pending(sequence: Sequence, streamed: int) -> tuple[int, ...]:
    """The indices of the tasks that are not done; ``streamed`` is a bit mask of those that are."""
    return tuple(i for i in range(len(sequence.plan.tasks)) if not is_done(streamed, i))


def must_stream(sequence: Sequence, switches: ProtocolSwitches) -> bool:
    """Whether the next step waits for the streaming: the safeguard *streams-before-switch*."""
    return sequence.next.switches and switches.safeguards.streams_before_switch


def stream_barriers(
    snapshot: Snapshot,
    sequence: Sequence,
    transfers: tuple[Transfer, ...],
    down: frozenset[int],
    switches: ProtocolSwitches,
) -> tuple[Barrier, ...]:
    """The barriers before anything is streamed: the new writers are known.

    The safeguard *known-before-streams*: a majority of everyone concerned has applied the epoch
    that makes the targets writers, and so has everyone at the ends of these transfers. Else a
    coordinator that does not write to a target yet could have a write acknowledged that was
    streamed past: by a replica that took it before it knew the epoch, and by the one that streamed.
    """
    if not known_first(switches):
        return ()
    ends = end_barriers(sequence, transfers, down, switches)
    return barriers(snapshot, sequence, switches) + ends


def known_first(switches: ProtocolSwitches) -> bool:
    """Whether streaming waits at all: not without the progress barrier, whose part this is."""
    return switches.safeguards.known_before_streams and switches.safeguards.progress_barrier


def end_barriers(
    sequence: Sequence,
    transfers: tuple[Transfer, ...],
    down: frozenset[int],
    switches: ProtocolSwitches,
) -> tuple[Barrier, ...]:
    """The part of ``stream_barriers`` that these transfers alone add."""
    ends = {
        code: transfer
        for transfer in reversed(transfers)
        for code in (*sources(transfer, down, switches), transfer.target)
    }
    return tuple(
        Barrier(ends[code].group, ends[code].range, None, (code,), 1, sequence.epoch)
        for code in sorted(ends)
    )
