"""Read and write groups side by side: every elementary range in which two tables differ."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from kit.protocols.tcm.rules.metadata import Snapshot
from kit.ring.placements import Table, same_sets
from kit.ring.topology import Codes, Tokens

Group = tuple[int, ...]


class AlignedGroups(Struct, frozen=True):
    """Elementary ranges by their last tokens, (n,), with read and write groups, (n, k) each."""

    rights: Tokens
    reads: Codes
    writes: Codes


def columns(reader: Snapshot, writer: Snapshot, group: int) -> AlignedGroups | None:
    """The ranges where the two differ; None where a table does not cut the line into pieces."""
    reads, writes = reader.placements[group].reads, writer.placements[group].writes
    if not (reads.partitions and writes.partitions):
        return None
    rights = reads.rights
    if rights is not writes.rights and not np.array_equal(rights, writes.rights):
        # Sorted and short of few, so sorting again is quicker than a set of a million.
        both = np.sort(np.concatenate((rights, writes.rights)), kind="stable")
        rights = both[np.append(both[1:] != both[:-1], np.True_)]
    elif reader is writer:  # several promises ask for them
        rows = reader.placements[group].apart
        return AlignedGroups(rights[rows], reads.groups[rows], writes.groups[rows])
    ours, theirs = _groups_at(reads, rights), _groups_at(writes, rights)
    differ = np.flatnonzero(~same_sets(ours, theirs))
    return AlignedGroups(rights[differ], ours[differ], theirs[differ])


def _groups_at(table: Table, rights: Tokens) -> Codes:
    """The group of each elementary range; ``rights`` are the table's own bounds and others."""
    if len(rights) == len(table):
        return table.groups
    return table.groups.take(np.searchsorted(table.rights, rights), axis=0)


def aligned(reader: Snapshot, writer: Snapshot, group: int) -> Iterator[tuple[int, Group, Group]]:
    """(last token, read group, write group) of each elementary range, where the two differ."""
    reads, writes = reader.placements[group].reads, writer.placements[group].writes
    if reads is writes and reads.partitions:
        return
    rows = columns(reader, writer, group)
    if rows is not None:
        both = zip(rows.reads.tolist(), rows.writes.tolist(), strict=True)
        for token, sides in zip(rows.rights.tolist(), both, strict=True):
            ours, theirs = (tuple(code for code in side if code >= 0) for side in sides)
            yield token, ours, theirs
        return
    for token in sorted({*reads.rights.tolist(), *writes.rights.tolist()}):
        for read_codes in reads.groups_of(token):
            for write_codes in writes.groups_of(token):
                if set(read_codes) != set(write_codes):
                    yield token, read_codes, write_codes
