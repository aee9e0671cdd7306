"""A coordinator's journal as a history: the states that the cluster went through, and why.

Each edge is looked up in the transition tables: a rollback in the journal is told as one. A state
that is entered once more, as after a change of the coordinator, is a passage of its own.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from msgspec import Struct

from kit.edge.arguments import checked
from kit.errors import counted
from kit.operators.importers.topology_journals import (
    ASKS,
    LINES,
    OF_COORDINATOR,
    JournalEntry,
    read_journals,
)
from kit.protocols.topology.rules import machines
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import Edition, Tables

UNPLAYED = re.compile(r"restore|quiesce|finaliz\w+.migration|snapshot.tables", re.IGNORECASE)
"""What lines tell of requests that no model here has. Source: published coordinator."""
OTHERS = "no line that only a coordinator writes"
"""The host of what any node may say."""
MOST_ALIKE = 3  # lines of one kind that are shown of a stay; the others are counted
Way = machines.EdgeKind | Literal["", "again", "begins", "not modelled", "unknown"]


class Passage(Struct, frozen=True):
    """The stay in one transition state, as the journal of one coordinator tells it.

    ``state`` is empty for what was said before any was named, and between operations (then
    ``idle``). ``edge`` says how it was come to: the kind of edge in the transition tables, *begins*
    where another operation does, *again* where the state is the same, *unknown* where no table has
    such an edge; empty for the first. ``said`` are the commands, the reasons of changes and what
    failed, in their order; ``failed`` are the lines of those that did. ``host`` is the
    coordinator's, or ``OTHERS`` where no line is one's. ``seconds`` is how long it lasted; None for
    the last one, unless it ended.
    """

    time: str
    host: str
    state: str
    edge: Way
    said: tuple[str, ...]
    seconds: float | None
    failed: tuple[JournalEntry, ...] = ()
    idle: bool = False

    @property
    def place(self) -> str:
        """The state, or that there is none, or none that a line names."""
        return self.state or ("no transition state" if self.idle else "no line names the state")


@checked
def topology_history(
    logs: str | Path | Sequence[str | Path], *, edition: Edition = "server"
) -> tuple[Passage, ...]:
    """The history in the journals of a cluster's coordinators, in chronological order.

    Raises BadInput for a file that cannot be read or is not such a journal.
    """
    paths = [logs] if isinstance(logs, str | Path) else list(logs)
    return passages(read_journals(paths), edition)


def leads(entry: JournalEntry) -> bool:
    """Whether only a coordinator writes such a line."""
    return entry.kind in OF_COORDINATOR or bool(entry.of and LINES[entry.of]["coordinator"])


def passages(entries: Sequence[JournalEntry], edition: Edition) -> tuple[Passage, ...]:
    """The lines of journals put together: a passage begins with a state, or after an operation."""
    groups: list[list[JournalEntry]] = []
    host = ""
    for last, entry in zip((None, *entries), entries, strict=False):
        begins = last is None or ends(last) or entry.kind == "entered"
        if leads(entry) and (entry.kind != "failed" or not host):
            begins, host = begins or host not in ("", entry.host), entry.host
        if begins:
            groups.append([])
        groups[-1].append(entry)
    stays: list[Passage] = []
    whose = whose_tables(entries, edition)
    before = coordinator = ""
    is_idle = False
    for group, then in zip_longest(groups, groups[1:]):
        first = group[0]
        own = [e.host for e in group if leads(e) and (e.kind != "failed" or not coordinator)]
        own += [e.host for e in group if e.host == coordinator]
        host = own[0] if own else OTHERS
        coordinator = own[0] if own else coordinator
        state = first.words if first.kind == "entered" else ""
        said = tuple(_entry_lines([entry for entry in group if entry.kind != "entered"], host))
        way = _way(before, state, whose)
        end = group[-1] if ends(group[-1]) else then[0] if then else None
        seconds = None if end is None else round(end.seconds - first.seconds, 6)
        failed = tuple(entry for entry in group if entry.kind == "failed")
        stays.append(Passage(first.time, host, state, way, said, seconds, failed, is_idle))
        before, is_idle = state or before, ends(group[-1])
    return tuple(stays)


def _entry_lines(entries: Iterable[JournalEntry], host: str) -> Iterator[str]:
    alike = Counter[str]()
    for entry in entries:
        alike[entry.of] += entry.kind == "said"
        if not entry.of or entry.kind != "said" or alike[entry.of] <= MOST_ALIKE:
            yield _in_words(entry, host)
    more = ((name, n - MOST_ALIKE) for name, n in alike.items() if name and n > MOST_ALIKE)
    yield from (f"and {n:,} more of {name}" for name, n in more)


def _in_words(entry: JournalEntry, host: str) -> str:
    if entry.kind == "command":
        without = f" without {', '.join(entry.excluded)}" if entry.excluded else ""
        return f"{entry.words} to all nodes{without}"
    problem = "problem: " if entry.kind == "failed" else ""
    problem += "not modelled: " if UNPLAYED.search(entry.words) else ""
    return problem + (entry.words if entry.host == host else f"{entry.host}: {entry.words}")


ENDS = re.compile(
    r"(?:bootstrap|replace|removenode|remove): read fence completed"
    r"|finished decommissioning node.*|Finished tablet (?:migration|(?:resize|split) finalization)"
    r"|(?:Truncate|Snapshot)\S* has completed"
)
"""Reasons of changes that leave the last transition state. Source: published coordinator."""


def ends(entry: JournalEntry) -> bool:
    """Whether a line leaves the transition state for none."""
    return ENDS.fullmatch(entry.words) is not None


def whose_tables(entries: Iterable[JournalEntry], edition: Edition) -> Tables:
    """Whose tables journals follow: a server's that passes ``tablet_draining`` is before 2026.1."""
    return machines.tables_with((e.words for e in entries if e.kind == "entered"), edition)


def _way(before: str, state: str, whose: Tables) -> Way:
    if not before or not state:
        return ""
    if before == state:
        return "again"
    if (known := machines.transition_state(state)) is None or not known.played:
        return "unknown" if known is None else "not modelled"
    edges = [edge for machine in MACHINES[whose].values() for edge in machine.edges]
    kinds = {edge.kind for edge in edges if (edge.source, edge.target) == (before, state)}
    if kinds:
        return "happy" if "happy" in kinds else kinds.pop()
    ends = any((edge.source, edge.target) == (before, machines.BOUNDARY) for edge in edges)
    begins = any((edge.source, edge.target) == (machines.BOUNDARY, state) for edge in edges)
    return "begins" if ends and begins else "unknown"


def said_of(left_out: Mapping[str, int]) -> str:
    """How many lines of journals are not shown, by what they are."""
    return ", ".join(f"{counted(n, 'line')} {what}" for what, n in sorted(left_out.items()))


def kinds(entries: Iterable[JournalEntry]) -> Counter[str]:
    """How many lines there are of each kind in ``LINES``."""
    return Counter(entry.of for entry in entries if entry.of)


def not_told(entries: Sequence[JournalEntry]) -> dict[str, str]:
    """What no line of journals tells, each with the command that does."""
    asks = ["state"] * all(entry.kind != "entered" for entry in entries)
    asks += ["coordinator"] * (not any(map(leads, entries)))
    asks += [LINES[name].get("ask", "") for name in kinds(entries)]
    return dict(ASKS[ask] for ask in asks if ask)
