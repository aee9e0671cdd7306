"""What placements alone can say of safety: quorums, cover, replica counts.

Each function looks at one epoch's snapshot (or two adjacent ones) and returns the witness of a
violation in words, or None. Source: CEP-21, "Data Range", "Consistency Guarantees", "Test Plan".
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

from msgspec import Struct

from kit.errors import counted
from kit.masks import majority
from kit.protocols.tcm.rules.metadata import Metadata, Snapshot
from kit.ring.columns import NDArray, np
from kit.ring.natural import replicas
from kit.ring.placements import Placement, Table, differing, same_sets, slots_of
from kit.ring.ranges import Range, covering, first_overlap
from kit.ring.replication import EverywhereStrategy, NetworkTopologyStrategy, total
from kit.ring.topology import Codes, Mask, Tokens

Counts = NDArray[np.int32]


class Sharing(Struct, frozen=True):
    """The units that are lost together: ``units`` are those of the members, slot by slot (k, n).

    ``together`` (k, n) is how many members of the range the unit in this slot has, at the first
    slot of each unit, and 0 elsewhere.
    """

    units: Codes
    together: Counts


def sharing(slots: Codes, unit_of: Codes, *, alone: bool = False) -> Sharing:
    """The units of groups slot by slot: (k, n), padded with -1.

    ``unit_of`` gives each node's unit by code: itself, its rack, its datacenter; ``alone`` says
    that no two nodes share one.
    """
    units = np.append(unit_of, np.int32(-1))[slots]  # the last one is for the slots without a node
    together = (units >= 0).astype(np.int32)
    if alone:
        return Sharing(units, together)
    for slot in range(1, len(units)):
        for other in range(slot):
            same = (units[slot] == units[other]) & (together[slot] > 0)
            # What is counted at an earlier slot is not counted here.
            together[other] += same
            together[slot] -= same
    return Sharing(units, together)


class Level(Struct, frozen=True, dict=True):
    """The needs of a consistency level on each of n ranges.

    ``answering`` marks the ``slots`` whose replica counts and can answer: (k, n). ``spare`` is how
    many more of them there are than the level needs, (n,): below 0, it has no quorum.
    """

    name: str
    slots: Codes
    answering: Mask
    spare: Counts

    @cached_property
    def alive(self) -> Codes:
        """The codes of the replicas that can answer, slot by slot: (k, n), else -1."""
        return np.asarray(np.where(self.answering, self.slots, -1), np.int32)

    def lost(self, shared: Sharing) -> tuple[Codes, NDArray[np.intp]]:
        """(unit, range) for every unit whose loss takes a quorum from a range that has one.

        ``shared`` are the units of the replicas that can answer; of a datacenter's level those of
        all levels will do, for no unit lies in two datacenters.
        """
        narrow = (self.spare >= 0) & (shared.together > self.spare)
        return wanted_values(shared.units, self.answering & narrow)

    def lost_with_one(self) -> tuple[Codes, NDArray[np.intp]]:
        """(node, range) for every node whose death takes a quorum from a range that has one."""
        narrow = np.flatnonzero(self.spare == 0)
        nodes, at = wanted_values(self.slots[:, narrow], self.answering[:, narrow])
        return nodes, narrow[at]


def wanted_values(slots: Codes, wanted: Mask) -> tuple[Codes, NDArray[np.intp]]:
    """(value, range) for the wanted values of columns slot by slot: (k, n)."""
    if not len(slots):
        return np.empty(0, np.int32), np.empty(0, np.intp)
    rows = [np.flatnonzero(mask) for mask in wanted]
    values = [slot[at] for slot, at in zip(slots, rows, strict=True)]
    return np.concatenate(values), np.concatenate(rows)


def levels(
    slots: Codes,
    local: Mapping[str, Mask],
    dead: Mask,
    factors: Mapping[str, int] | None = None,
    late: Mask | None = None,
) -> Iterator[Level]:
    """ONE, QUORUM and, from each datacenter, LOCAL_QUORUM, for groups slot by slot: (k, n).

    ``local`` masks the nodes (by code) of each datacenter, by its name; ``dead`` those that answer
    nobody, though they count as replicas. A level asks for a majority of the replication factor,
    whether there are as many nodes or not, and for one answer more from each replica that is
    pending (``late``, as ``pending`` marks it). ``factors`` are those of datacenters, or one for
    all (``""``), of which LOCAL_QUORUM asks its datacenter for a majority, too; where there is
    none, a group is as large as was asked. Source: published ``ConsistencyLevel`` (``quorumFor``,
    ``localQuorumFor``, ``blockForWrite``).
    """
    present = slots >= 0
    size, rf = _counted(present), factors or {}
    locally = []
    # No datacenter has the last number; the last place is for the slots without a node.
    numbers = np.full(len(dead) + 1, len(local), np.int16)
    for number, mask in enumerate(local.values()):
        numbers[:-1][mask] = number
    places = numbers[slots]
    for number, dc in enumerate(local):
        here = places == number
        there, factor = _counted(here), rf.get("", rf.get(dc))
        beyond = None if late is None else late & here
        locally.append((f"LOCAL_QUORUM {dc}", here, there, _answers(there, factor, beyond)))
    whole = sum(rf.values()) if rf else None
    needs = [
        ("ONE", present, size, _and_late(np.minimum(size, 1), late)),
        ("QUORUM", present, size, _answers(size, whole, late)),
        *locally,
    ]
    up = ~dead[slots] if dead.any() else None
    for name, members, count, needed in needs:
        answering = members if up is None else members & up
        able = count if up is None else _counted(answering)
        yield Level(name, slots, answering, able - needed)


def _counted(members: Mask) -> Counts:
    narrow = np.int8 if len(members) < 128 else np.int32  # many ranges: bytes are added at once
    counts: NDArray[np.integer] = np.zeros(members.shape[1], narrow)
    for slot in members:  # each is looked at in a row, however they lie in memory
        counts += slot
    return counts.astype(np.int32)


def _answers(counts: Counts, factor: int | None, late: Mask | None) -> Counts:
    """How many must answer: a majority of the factor or of each group, and whoever is pending."""
    if factor is None:
        return np.asarray((counts // 2 + 1) * (counts > 0), np.int32)
    return _and_late(np.full_like(counts, majority(factor) if factor else 0), late)


def _and_late(needed: Counts, late: Mask | None) -> Counts:
    return needed if late is None else needed + _counted(late)


def pending(writes: Codes, reads: Codes) -> Mask:
    """Which replicas of groups, (n, k) each, are written to and not read from: (k, n)."""
    late = (writes >= 0) & (slots_of(writes, reads) < 0)
    return np.ascontiguousarray(late.T)


def sizes(slots: Codes) -> Counts:
    """How many members each group has, from columns slot by slot: (k, n) gives (n,)."""
    return _counted(slots >= 0)


Group = tuple[int, ...]
AlignedGroups: TypeAlias = tuple[Tokens, Codes, Codes]
"""Elementary ranges by their last tokens, (n,), with read and write groups, (n, k) each."""


def columns(reader: Snapshot, writer: Snapshot, group: int) -> AlignedGroups | None:
    """The ranges where the two differ; None where they do not cut the same line into pieces."""
    reads, writes = reader.placements[group].reads, writer.placements[group].writes
    if not (reads.partitions and writes.partitions and _ends(reads) == _ends(writes)):
        return None
    rights, alone = reads.rights, np.empty(0, np.int64)
    if rights is not writes.rights and not np.array_equal(rights, writes.rights):
        # Sorted and short of few, so sorting again is quicker than a set of a million.
        both = np.sort(np.concatenate((rights, writes.rights)), kind="stable")
        differ = both[1:] != both[:-1]
        last = np.append(differ, np.True_)
        rights, alone = both[last], both[last & np.append(np.True_, differ)]
    elif reader is writer:  # several promises ask for them
        rows = reader.placements[group].apart
        return rights[rows], reads.groups[rows], writes.groups[rows]
    ours, theirs = _groups_at(reads, alone), _groups_at(writes, alone)
    differ = np.flatnonzero(~same_sets(ours, theirs))
    return rights[differ], ours[differ], theirs[differ]


def _ends(table: Table) -> tuple[int, int] | None:
    return (int(table.lefts[0]), int(table.rights[-1])) if len(table) else None


def _groups_at(table: Table, alone: Tokens) -> Codes:
    at = np.searchsorted(table.rights, alone)
    at = at[table.rights[at] != alone]
    if not len(at):
        return table.groups
    return table.groups.take(np.insert(np.arange(len(table)), at, at), axis=0)


def sides_of(reader: Snapshot, writer: Snapshot, group: int) -> Iterator[tuple[int, Group, Group]]:
    """(last token, read group, write group) of each elementary range, where the two differ.

    A range that no row of a table owns has an empty group there.
    """
    reads, writes = reader.placements[group].reads, writer.placements[group].writes
    if reads is writes and reads.partitions:
        return
    rows = columns(reader, writer, group)
    if rows is not None:
        for token, *sides in zip(*(column.tolist() for column in rows), strict=True):
            ours, theirs = (tuple(code for code in side if code >= 0) for side in sides)
            yield token, ours, theirs
        return
    bounds = np.unique(np.concatenate((reads.lefts, reads.rights, writes.lefts, writes.rights)))
    for token in bounds.tolist():
        for read_codes in reads.groups_of(token) or ((),):
            for write_codes in writes.groups_of(token) or ((),):
                if set(read_codes) != set(write_codes):
                    yield token, read_codes, write_codes


def disjoint_majorities(
    reads: Group,
    writes: Group,
    deaf: frozenset[int] = frozenset(),
    dumb: frozenset[int] | None = None,
) -> tuple[Group, Group] | None:
    """A majority of ``reads`` and one of ``writes`` that share no node, if there are such.

    Each side first takes nodes that the other does not have, then shares out the common ones.
    ``deaf`` nodes answer no read, ``dumb`` ones no write (None: the same ones).
    """
    dumb = deaf if dumb is None else dumb
    able, writing = set(reads) - deaf, set(writes) - dumb  # groups may be as wide as the cluster
    common = [code for code in reads if code in able and code in writing]
    picked_reads = [code for code in reads if code in able - writing][: majority(len(reads))]
    picked_writes = [code for code in writes if code in writing - able][: majority(len(writes))]
    need_reads = majority(len(reads)) - len(picked_reads)
    need_writes = majority(len(writes)) - len(picked_writes)
    if need_reads + need_writes > len(common):  # also of an empty group, of which one is needed
        return None
    picked_reads += common[:need_reads]
    picked_writes += common[need_reads : need_reads + need_writes]
    return tuple(picked_reads), tuple(picked_writes)


def majorities_meet(
    reads: Codes,
    writes: Codes,
    deaf: frozenset[int] = frozenset(),
    dumb: frozenset[int] | None = None,
) -> Mask:
    """For each row of two columns of groups, whether every majority meets every other: (n,).

    The same as ``disjoint_majorities(…) is None``, for millions of ranges. Two majorities of one
    group always meet, so only rows with different groups are looked at.
    """
    differ, meet = differing(reads, writes), np.ones(len(reads), np.bool_)
    groups = [reads[differ], writes[differ]]
    silent = [deaf, deaf if dumb is None else dumb]
    able = [_among(group, gone, False) for group, gone in zip(groups, silent, strict=True)]
    needed = np.zeros(differ.shape, np.int64)
    for group, ours, theirs in zip(groups, able, reversed(able), strict=True):
        common = (slots_of(ours, theirs) >= 0).sum(axis=1)
        alone = (ours >= 0).sum(axis=1) - common
        needed += np.maximum((group >= 0).sum(axis=1) // 2 + 1 - alone, 0)
    meet[differ] = needed > common  # so, too, where one is needed of an empty group
    return meet


def _among(groups: Codes, nodes: Collection[int], inside: bool = True) -> Codes:
    return np.where(np.isin(groups, [*nodes]) == inside, groups, np.int32(-1))


class Apart(Struct, frozen=True):
    """Two majorities of one range that share no node: who reads, who is written to.

    ``token`` is the last one of the range; ``where`` names the datacenter, if one was asked alone.
    """

    group: int
    token: int
    reader: Snapshot
    writer: Snapshot
    reads: Group
    writes: Group
    where: str = ""


Silent = frozenset[int]
Pairing = tuple[Snapshot, Snapshot, Silent, Silent]
"""By what a read and a write are planned, and who answers neither the one nor the other."""


def quorums_apart(pairings: Iterable[Pairing]) -> Apart | None:
    """The first majorities that miss each other, of all or in a datacenter with its factor."""
    for reader, writer, *silent in pairings:
        for group in range(len(reader.placements)):
            reads, writes = reader.placements[group].reads, writer.placements[group].writes
            if reads is writes:
                continue
            voters = _voters(writer.metadata, group)
            rows = columns(reader, writer, group)
            if rows is not None and _all_meet(rows, voters, *silent):
                continue
            for token, read_codes, write_codes in sides_of(reader, writer, group):
                for where, voting in voters:
                    readers = tuple(code for code in read_codes if code in voting)
                    writers = tuple(code for code in write_codes if code in voting)
                    missed = disjoint_majorities(readers, writers, *silent)
                    if missed is not None:
                        return Apart(group, token, reader, writer, *missed, where)
    return None


def quorums_meet(pairings: Iterable[Pairing]) -> str | None:
    """Every read majority meets every write majority, as ``quorums_apart`` looks for them."""
    if (apart := quorums_apart(pairings)) is None:
        return None
    reader, writer = apart.reader.metadata, apart.writer.metadata
    names = writer.ring.names  # all nodes are registered from the start on
    read, write = (", ".join(names[code] for code in side) for side in (apart.reads, apart.writes))
    where = _where(writer, apart.group, apart.reader.placements[apart.group], apart.token)
    return (
        f"{where}: a read at epoch {reader.epoch} from {read} misses a write at epoch "
        f"{writer.epoch} to {write}{apart.where}"
    )


def _voters(metadata: Metadata, group: int) -> list[tuple[str, frozenset[int]]]:
    voters = [("", frozenset(range(len(metadata.ring.nodes))))]
    replication = metadata.groups[group]
    if isinstance(replication, NetworkTopologyStrategy) and len(replication.factors) > 1:
        for dc, _ in replication.factors:
            there = (code for code, node in enumerate(metadata.ring.nodes) if node.dc == dc)
            voters.append((f" (LOCAL_QUORUM in {dc})", frozenset(there)))
    return voters


def _all_meet(
    rows: AlignedGroups, voters: list[tuple[str, frozenset[int]]], deaf: Silent, dumb: Silent
) -> bool:
    for _, voting in voters:
        reads, writes = (_among(side, voting) for side in rows[1:])
        if not majorities_meet(reads, writes, deaf, dumb).all():
            return False
    return True


def covered(snapshot: Snapshot) -> str | None:
    """The ranges cut the line into pieces without gap or overlap, each with its replicas."""
    space = snapshot.metadata.ring.space
    for group, placement in enumerate(snapshot.placements):
        for side, table in (("read", placement.reads), ("write", placement.writes)):
            keyspaces = ", ".join(snapshot.metadata.keyspaces_of(group))
            where = f"{keyspaces}, {side} table"
            if not len(table):
                return f"{where}: no node owns anything"
            lefts, rights = table.lefts, table.rights
            if lefts[0] != space.low or rights.max() != space.high:
                return f"{where}: one end of the line is not owned"
            reach = np.maximum.accumulate(rights)[:-1]
            wrong = np.flatnonzero(lefts[1:] != reach)
            if len(wrong):
                row = int(wrong[0]) + 1
                what = "is owned twice" if lefts[row] < reach[row - 1] else "follows a gap"
                return f"{where}: {table.range_of(row).label(space)} {what}"
            empty = np.flatnonzero((table.groups < 0).all(axis=1))
            if len(empty):
                return f"{where}: {table.range_of(int(empty[0])).label(space)} has no replica"
    return None


def reads_in_writes(snapshot: Snapshot) -> str | None:
    """Whoever is read from is written to: each read group is contained in the write group."""
    metadata = snapshot.metadata
    for group in range(len(snapshot.placements)):
        for token, reads, writes in sides_of(snapshot, snapshot, group):
            if extra := [code for code in reads if code not in writes]:
                where = _where(metadata, group, snapshot.placements[group], token)
                return f"{where}: {metadata.ring.names[extra[0]]} serves reads but gets no writes"
    return None


def replicated(snapshot: Snapshot, floor: tuple[int, ...]) -> str | None:
    """Each range has its replicas.

    No read group has more members than the replication factor, or fewer than ``floor`` (a
    number per group: the factor, or what the ring had to begin with). Where no operation holds a
    lock, reads are exactly the replicas that the ring's walk gives.
    """
    metadata = snapshot.metadata
    for group, placement in enumerate(snapshot.placements):
        table = placement.reads
        natural = replicas(metadata.ring, metadata.groups[group], table.rights)
        counts = sizes(table.groups.T)
        most = max(total(metadata.groups[group], metadata.ring), floor[group])
        if isinstance(metadata.groups[group], EverywhereStrategy):
            most = len(metadata.ring.nodes)
        wrong = np.flatnonzero((counts < floor[group]) | (counts > most))
        if len(wrong):
            row, should = int(wrong[0]), counted(most, "replica")
        else:
            odd = np.flatnonzero(~same_sets(table.groups, natural)).tolist()
            free = [row for row in odd if not _is_locked(metadata, group, int(table.rights[row]))]
            if not free:
                continue
            row, should = free[0], _names(metadata, natural[free[0]].tolist())
        where = _where(metadata, group, placement, int(table.rights[row]))
        now = _names(metadata, table.codes(row))
        return f"{where}: reads go to {now}, but should go to {should}"
    return None


def settled(snapshot: Snapshot, forgotten: Collection[str]) -> str | None:
    """What no operation that is remembered holds is read from where it is written to."""
    metadata = snapshot.metadata
    for group in range(len(snapshot.placements)):
        for token, reads, writes in sides_of(snapshot, snapshot, group):
            if not _is_locked(metadata, group, token, forgotten):
                where = _where(metadata, group, snapshot.placements[group], token)
                return (
                    f"{where}: reads {_names(metadata, reads)}, writes "
                    f"{_names(metadata, writes)}, and no pending operation will change that"
                )
    return None


def locks_disjoint(snapshot: Snapshot) -> str | None:
    """No two operations in flight affect a common range."""
    for first, second in combinations(snapshot.metadata.sequences, 2):
        for ours, theirs in zip(first.plan.movements, second.plan.movements, strict=True):
            shared = next((r for r in ours.locked if first_overlap(theirs.locked, r)), None)
            if shared is not None:
                titles = " and ".join(each.plan.operation.title for each in (first, second))
                return f"{titles} both change {shared.label(snapshot.metadata.ring.space)}"
    return None


def _is_locked(metadata: Metadata, group: int, token: int, forgotten: Collection[str] = ()) -> bool:
    return any(
        covering(sequence.plan.movements[group].locked, token)
        for sequence in metadata.sequences
        if sequence.node not in forgotten
    )


def _where(metadata: Metadata, group: int, placement: Placement, token: int) -> str:
    space, tables = metadata.ring.space, (placement.reads, placement.writes)
    rows = (table.range_of(at) for table in tables for at in table.rows_of(token)[:1])
    row = next(rows, Range(space.low, token))
    return f"{', '.join(metadata.keyspaces_of(group))} {row.label(space)}"


def _names(metadata: Metadata, codes: Sequence[int]) -> str:
    return "{" + ", ".join(metadata.ring.names[code] for code in codes) + "}"
