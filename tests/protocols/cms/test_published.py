"""The published rules of the metadata service, as tables that were worked out by hand.

Each file of ``published`` says a rule in words, names the function that answers, and has cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.cms.rules.log import (
    SNAPSHOT,
    Entry,
    Machine,
    NodeLog,
    Slice,
    Snapshot,
    applied,
    caught_up,
    slice_since,
    snapshots_due,
)
from kit.protocols.cms.rules.members import (
    CANCEL,
    Members,
    enact,
    letters,
    parsed,
    reconfiguration,
    size_for,
    sizes_of,
    too_many,
    walked,
)
from kit.protocols.cms.rules.schema import SchemaMetadata, objection
from kit.protocols.cms.rules.schema import enact as enact_schema
from kit.ring.topology import Node
from tests.house.checkout import ROOT

FOLDER = Path(__file__).with_name("published")
FILES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))}
INDEX = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
LEAST = 5


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """The heads and the cases of a table."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield tuple(cell.strip() for cell in line.split("|"))


CASES = [
    pytest.param(name, row, id=f"{name}: {' | '.join(row)}")
    for name, text in FILES.items()
    for row in [*rows(text)][1:]
]


def epochs(text: str) -> list[int]:
    """``1-2,5`` or ``2 5`` as numbers."""
    if text == "-":
        return []
    parts = [part.split("-") for part in text.replace(",", " ").split()]
    return [epoch for part in parts for epoch in range(int(part[0]), int(part[-1]) + 1)]


def written(numbers: list[int]) -> str:
    """The same the other way round, each number by itself."""
    return " ".join(map(str, numbers)) or "-"


# -- the log: metadata is the epochs that were applied ---------------------------------------------

MACHINE = Machine((), lambda metadata, entry: (*metadata, entry.epoch))


def entry(epoch: int) -> Entry:
    """An entry that changes something."""
    return Entry(epoch, "change", f"r{epoch}")


def snapshot(epoch: int) -> Snapshot:
    """A snapshot of an epoch."""
    return Snapshot(epoch, tuple(range(1, epoch + 1)))


def keeping(has: str, taken: str = "-") -> NodeLog:
    """A log with these entries and snapshots."""
    return NodeLog(tuple(map(entry, epochs(has))), tuple(map(snapshot, epochs(taken))))


def slices(has: str, taken: str, since: str, wanted: str) -> str:
    """What is sent, in words; ``5*`` is a snapshot that cannot be read."""
    log, spoiled = keeping(has, taken.replace("*", "")), re.findall(r"(\d+)\*", taken)
    try:
        sent = slice_since(
            log, int(since), snapshots=wanted == "yes", unreadable={*map(int, spoiled)}
        )
    except BadInput:
        return "an error"
    words = [f"snapshot {sent.snapshot.epoch}"] if sent.snapshot else []
    words += [f"entries {written([each.epoch for each in sent.entries])}"] * bool(sent.entries)
    return " and ".join(words) or "nothing"


def local_log(has: str, arrives: str) -> str:
    """The epoch, and what waits above a gap."""
    log = keeping(has)
    for each in arrives.split(", "):
        kind, _, number = each.rpartition(" ")
        epoch = int(number)
        new = Slice(snapshot(epoch), ()) if kind else Slice(None, (entry(epoch),))
        log = caught_up(log, new, MACHINE)
    return f"{log.epoch}; {written([each.epoch for each in log.held])}"


def snapshots(events: str) -> str:
    """The snapshots stored, and how many entries who starts from the newest one replays."""
    log = NodeLog()
    for epoch, event in enumerate(events.split(", "), start=1):
        log = applied(log, Entry(epoch, event, f"r{epoch}"), MACHINE)
    stored = [each.epoch for each in log.snapshots]
    assert all(log.entries[epoch - 1].event == SNAPSHOT for epoch in stored)
    return f"{written(stored)}; {log.epoch - (stored or [0])[-1]}"


def snapshots_by_themselves(every: str, events: str) -> str:
    """The epochs of snapshots that nobody asked for."""
    due = snapshots_due(int(events), int(every))
    return written([nth * int(every) + 1 for nth in range(1, due + 1)])


# -- who the members are ---------------------------------------------------------------------------


def placement(nodes: str, sizes: str, unable: str) -> str:
    """The members in the order of the walk, or why not."""
    ring = []
    for token, node in enumerate(nodes.split()):
        name, _, where = node.partition(":")
        ring.append(Node(name, (token,), *where.split("/")))
    wanted = {dc: int(size) for dc, size in (each.split() for each in sizes.split(", "))}
    without = unable.split() if unable != "-" else []
    why = too_many(ring, wanted, without)
    return f"no: {why}" if why else " ".join(walked(ring, wanted, without))


def sizes_asked_for(asked: str, dcs: str) -> str:
    """The sizes of datacenters, by name."""
    sizes = sizes_of(asked.replace(", ", ","), dcs.split())
    return " ".join(f"{dc}:{size}" for dc, size in sorted(sizes.items()))


def mask(names: str) -> int:
    """Nodes by their letters."""
    return parsed(f"nodes {names}")[1]


def changing(now: str, wanted: str) -> str:
    """The events between the first one and the last, and how many epochs all take."""
    members = Members(readers=mask(now), writers=mask(now))
    events = reconfiguration(members, mask(wanted))
    return f"{', '.join(events[1:-1]) or '-'}; {len(events)}"


def cancelled(readers: str, writers: str) -> str:
    """Who is read from, who is written to, who is wanted: the same nodes."""
    members = enact(Members(63, mask(readers), mask(writers)), Entry(9, CANCEL, "A"))
    [same] = {members.readers, members.writers, members.chosen}
    return letters(same)


# -- statements ------------------------------------------------------------------------------------


def schema_and_locks(before: str, operations: str, statement: str) -> str:
    """Whether a statement passes."""
    events = [f"create {each} at A" for each in before.split(", ")]
    events += [
        each.replace("join ", "bootstrap ") for each in operations.split(", ") if each != "-"
    ]
    metadata = SchemaMetadata()
    for epoch, event in enumerate(events, start=1):
        metadata = enact_schema(metadata, Entry(epoch, event, "A"))
    why = objection(metadata, f"{statement} at A")
    assert why is None or "has locked ranges" in why
    return "locked" if why else "passes"


ANSWERS: dict[str, Callable[..., str]] = {
    "slices": slices,
    "local_log": local_log,
    "snapshots": snapshots,
    "snapshots_by_themselves": snapshots_by_themselves,
    "placement": placement,
    "sizes_asked_for": sizes_asked_for,
    "reconfiguration": changing,
    "cancelled": cancelled,
    "schema_and_locks": schema_and_locks,
    "sizes": lambda nodes: str(size_for(int(nodes))),
}
"""What answers the first cells of each table."""


def plain(cells: tuple[str, ...]) -> str:
    """The last cells of a case, numbers one by one."""
    return "; ".join(
        " ".join(written(epochs(word)) if word[:1].isdigit() else word for word in cell.split())
        for cell in cells
    )


@pytest.mark.parametrize(("name", "row"), CASES)
def test_a_case_of_a_published_rule(name: str, row: tuple[str, ...]) -> None:
    """The rule that stands in the kit gives what was worked out by hand."""
    answer: Any = ANSWERS[name]
    given = answer.__code__.co_argcount
    assert answer(*row[:given]) == plain(row[given:])


@pytest.mark.parametrize("name", FILES)
def test_each_rule_has_cases_and_names_its_function(name: str) -> None:
    """Five cases at least; the function is there, and the index of rules names it."""
    assert len([*rows(FILES[name])]) > LEAST
    [line] = (line for line in FILES[name].splitlines() if line.startswith("# answered by"))
    for function in line.removeprefix("# answered by ").split(", "):
        module, _, called = function.rpartition(".")
        assert callable(getattr(import_module(module), called))
        assert f"`{function}`" in INDEX
