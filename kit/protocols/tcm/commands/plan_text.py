"""A dry run in words, for a terminal: what waits for whom, what is copied, what changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby

from kit.commands.layout import (
    GAP,
    UNBROKEN,
    WIDTH,
    columns,
    fits,
    limited_columns,
    listed,
    wrap,
)
from kit.errors import counted
from kit.protocols.tcm.dry_run.plan import Copy, PlanReport, PlanStep, Tables, Wait
from kit.ring.ranges import Bounds, label

MOST_STACKED = 12
"""Ranges shown one below the other, where their replicas do not fit beside them."""

Pair = tuple[tuple[str, ...], tuple[str, ...]]
Groups = dict[Bounds, Pair]
Change = tuple[Bounds, Pair | None, Pair | None]
"""A range with its groups before and after; None where it was, or is, not there."""
Cells = tuple[str, str, str]


def as_text(report: PlanReport) -> str:
    """The whole dry run; or why it is refused, and by what."""
    lines = [*wrap(_verdict(report), "", GAP)]
    if report.reason is not None:
        lines += wrap(report.reason, GAP)
    lines += [line for text in report.warnings for line in wrap(text, f"{GAP}warning: ")]
    if not report.accepted:
        rows = [(c.keyspace, label(c.range), f"held by {c.operation}") for c in report.conflicts]
        return "\n".join([*lines, *limited_columns(_once(rows), "ranges")])
    lines += _locks(report)
    tables = report.before
    waits: tuple[Wait, ...] = ()
    for step in report.steps:
        lines += ["", f"epoch {step.epoch}: {step.name}"]
        said = [*_waits(step, waits), *_copies(step), *_changes(tables, step.keyspaces)]
        lines += said or [f"{GAP}changes no range"]
        tables, waits = step.keyspaces, step.barriers
    return "\n".join([*lines, "", *_sum([copy for step in report.steps for copy in step.streams])])


def _verdict(report: PlanReport) -> str:
    if not report.accepted:
        return f"{report.operation}: refused"
    first, last = report.steps[0].epoch, report.steps[-1].epoch
    epochs = f"epoch {first}" if first == last else f"epochs {first} to {last}"
    return f"{report.operation}: accepted, {counted(len(report.steps), 'event')}, {epochs}"


def _once(rows: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """The rows without the first cell where it is that of the row before."""
    shortened: list[Sequence[str]] = []
    before = None
    for first, *rest in rows:
        shortened.append(("" if first == before else first, *rest))
        before = first
    return shortened


def _locks(report: PlanReport) -> list[str]:
    rows = [
        (keyspace, "  ".join(map(_unbroken, locked[:12])) + _more(len(locked) - 12))
        for keyspace, locked in report.locks.items()
        if locked
    ]
    return ["", "locks until the end", *columns(rows)] if rows else ["", "locks nothing"]


def _unbroken(range_: Bounds) -> str:
    return label(range_).replace(" ", UNBROKEN)


def _more(number: int) -> str:
    return f"  and {number:,} more" if number > 0 else ""


def _waits(step: PlanStep, before: tuple[Wait, ...]) -> list[str]:
    """The barriers; only named where they are those of the step before."""
    if not step.barriers:
        return []
    heading = f"{GAP}wait until epoch {step.epoch - 1} is applied by"
    if step.barriers == before:
        return [f"{heading} the same majorities"]
    rows = [
        (
            wait.keyspace,
            label(wait.range),
            f"{wait.needed} of {listed(wait.replicas)}" + (f" in {wait.dc}" if wait.dc else ""),
        )
        for wait in step.barriers
    ]
    return [heading, *limited_columns(_once(rows), "barriers", GAP * 2)]


def _copies(step: PlanStep) -> list[str]:
    if not step.streams:
        return []
    known = any(copy.bytes is not None for copy in step.streams)
    rows = [
        (
            copy.keyspace,
            label(copy.range),
            *((_bytes([copy]),) if known else ()),
            f"{listed(copy.sources)} → {copy.target}",
        )
        for copy in step.streams
    ]
    return [f"{GAP}copy", *limited_columns(_once(rows), "copies", GAP * 2)]


def _changes(before: dict[str, Tables], after: dict[str, Tables]) -> Iterator[str]:
    """The rows that differ; keyspaces with equal tables are shown together."""
    pairs = [(before[name], after[name], name) for name in after if after[name].reads]
    pairs.sort(key=lambda pair: (id(pair[0]), id(pair[1])))
    together = [
        (*key, [name for *_, name in same])
        for key, same in groupby(pairs, key=lambda pair: (id(pair[0]), id(pair[1])))
    ]
    order = list(after)
    for _, _, names in sorted(together, key=lambda entry: order.index(entry[2][0])):
        was, now = _groups(before[names[0]]), _groups(after[names[0]])
        rows = _rows(was, now)
        if rows:
            yield from _table(listed(names), rows)
        rest = len(now) - sum(after is not None for _, _, after in rows)
        other = "other " if rows else ""
        whose = "" if rows else f"{listed(names)}: "
        yield f"{GAP}{whose}{counted(rest, other + 'range')} unchanged"


def _groups(tables: Tables) -> Groups:
    pairs = zip(tables.reads, tables.writes, strict=True)
    return {(left, right): (reads, writes) for (left, right, reads), (_, _, writes) in pairs}


def _rows(was: Groups, now: Groups) -> list[Change]:
    """Rows that went (−), that came (+), and those whose groups changed, from left to right.

    Where some went and others came in their place, those that went are listed first.
    """
    rows: list[Change] = []
    reach = float("-inf")
    begin = 0
    for range_ in sorted({*was, *now}, key=_place):
        left, right = _place(range_)
        if left >= reach:
            rows[begin:] = sorted(rows[begin:], key=_stays)
            begin = len(rows)
        reach = max(reach, right)
        change = range_, was.get(range_), now.get(range_)
        if not _equal(*change[1:]):
            rows.append(change)
    rows[begin:] = sorted(rows[begin:], key=_stays)
    return rows


def _stays(change: Change) -> bool:
    return change[2] is not None


def _equal(was: Pair | None, now: Pair | None) -> bool:
    """Whether both have the same replicas, in whatever order."""
    if was == now or was is None or now is None:
        return was == now
    return all(set(a) == set(b) for a, b in zip(was, now, strict=True))


def _cells(change: Change) -> Cells:
    """A changed row as it is shown."""
    range_, was, now = change
    if was is None or now is None:
        reads, writes = map(listed, now or was or ((), ()))
        return f"{'−' if now is None else '+'} {label(range_)}", reads, writes
    reads, writes = map(_marked, was, now)
    return f"{GAP}{label(range_)}", reads, writes


def _place(range_: Bounds) -> tuple[float, float]:
    """Sorts ranges along the line."""
    left, right = range_
    return (float("-inf") if left is None else left, float("inf") if right is None else right)


def _marked(was: tuple[str, ...], now: tuple[str, ...]) -> str:
    before, after = set(was), set(now)
    came = [name if name in before else f"+{name}" for name in now]
    return listed([*came, *(f"−{name}" for name in was if name not in after)])


def _table(names: str, rows: Sequence[Change]) -> list[str]:
    """The changed rows; replicas below their range where they do not fit beside it."""
    heads = (f"{GAP}{names}", "reads", "writes")
    if fits(chain([heads], map(_cells, rows)), WIDTH - len(GAP)):
        return limited_columns([heads, *map(_cells, rows)], "ranges")
    lines = [f"{GAP * 2}{names}"]
    for range_, reads, writes in map(_cells, rows[:MOST_STACKED]):
        lines += [f"{GAP}{range_}", *wrap(reads, f"{GAP * 4}reads   ")]
        lines += wrap(writes, f"{GAP * 4}writes  ")
    rest = len(rows) - MOST_STACKED
    return [*lines, f"{GAP}… and {rest:,} more ranges; --json has all"] if rest > 0 else lines


def _sum(copies: Sequence[Copy]) -> list[str]:
    """What is copied in all, and how much of it each node receives and from whom."""
    if not copies:
        return ["in all: nothing is copied"]
    known = any(copy.bytes is not None for copy in copies)
    received: dict[str, list[Copy]] = {}
    for copy in copies:
        received.setdefault(copy.target, []).append(copy)
    rows = []
    for target, mine in received.items():
        counts = Counter(name for copy in mine for name in copy.sources)
        shown = [f"{name} ({count:,})" for name, count in counts.most_common(12)]
        more = f" and {len(counts) - 12:,} more" if len(counts) > 12 else ""
        what = (counted(len(mine), "range"), *((_bytes(mine),) if known else ()))
        rows.append((f"{target} receives", *what, f"from {listed(shown)}{more}"))
    size = f", {_bytes(copies)}" if known else " (--sizes FILE tells how many bytes)"
    return [
        f"in all: {counted(len(copies), 'range')} to copy{size}",
        *limited_columns(rows, "nodes"),
    ]


def _bytes(copies: Iterable[Copy]) -> str:
    """The sum of what is known, said to be a part where something is unknown."""
    sizes = [copy.bytes for copy in copies]
    known = [size for size in sizes if size is not None]
    if not known:
        return "bytes unknown"
    least = "" if len(known) == len(sizes) else "at least "
    return least + counted(sum(known), "byte")
