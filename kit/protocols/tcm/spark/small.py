"""The tables that are small whatever the ring: nodes, keyspaces, steps, and what is streamed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from kit.errors import BadInput
from kit.protocols.tcm.spark.histories import History, RangeStream
from kit.protocols.tcm.spark.tables import KEYSPACES, NODES, STEPS, STREAMS


def small_tables(history: History, sizes: Mapping[str, int]) -> dict[str, pa.Table]:
    """These tables by name; ``sizes`` are the bytes of one copy of a keyspace.

    Raises:
        BadInput: for an unknown keyspace, or a size that is no whole number of bytes.
    """
    names = [name for name, _ in history.keyspaces]
    for name, size in sizes.items():
        if name not in names:
            raise BadInput("sizes", name, "one of " + ", ".join(names))
        if type(size) is not int or not 0 <= size < 2**63:
            raise BadInput(f"sizes[{name}]", size, "a whole number of bytes")
    held = _bytes_a_group(history, sizes)
    return {
        "nodes": _nodes(history),
        "keyspaces": _keyspaces(history),
        "steps": _steps(history),
        "streams": _streams(history, held),
    }


def _nodes(history: History) -> pa.Table:
    """Every node of any step; a newcomer owns no token before."""
    packed = history.ring.packed
    columns = [
        range(len(packed.names)),
        packed.names,
        [dc for dc, _ in packed.places],
        [rack for _, rack in packed.places],
        packed.counts,
    ]
    return _table(columns, NODES.arrow)


def _keyspaces(history: History) -> pa.Table:
    names, groups = zip(*history.keyspaces, strict=True)
    return _table([names, groups, [history.groups[g].label for g in groups]], KEYSPACES.arrow)


def _steps(history: History) -> pa.Table:
    fields = ("step", "epoch", "name", "operation", "text")
    return _table([[getattr(s, f) for s in history.stages] for f in fields], STEPS.arrow)


def _streams(history: History, held: Mapping[int, int]) -> pa.Table:
    line = history.ring.space.high - history.ring.space.low
    rows = [
        (s.step, s.group, s.range.left, s.range.right, source, s.target, _share(s, held, line))
        for s in history.streams
        for source in s.sources
    ]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(STREAMS.columns)
    return _table(columns, STREAMS.arrow)


def _share(stream: RangeStream, held: Mapping[int, int], line: int) -> int | None:
    """The bytes of a stream's range, rounded, if the group's are known."""
    if stream.group not in held:
        return None
    return (2 * held[stream.group] * (stream.range.right - stream.range.left) + line) // (2 * line)


def _bytes_a_group(history: History, sizes: Mapping[str, int]) -> dict[int, int]:
    """What all keyspaces of a group hold together, of the groups whose sizes are all known."""
    groups = dict(history.keyspaces)
    whole = {g for g in groups.values() if all(n in sizes for n in groups if groups[n] == g)}
    return {g: sum(sizes[n] for n in groups if groups[n] == g) for g in whole}


def _table(columns: list[Any], schema: pa.Schema) -> pa.Table:
    arrays = [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
