"""The published rules of the metadata service and of its members, worked out by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from itertools import combinations
from typing import Any

import pytest

from kit.errors import BadInput
from kit.masks import majority
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
    apart,
    decides,
    enact,
    letters,
    next_step,
    parsed,
    placed,
    quorums,
    reconfiguration,
    size_for,
    sizes_in,
    sizes_of,
    strangers,
    too_many,
    walked,
)
from kit.protocols.cms.rules.schema import SchemaMetadata, objection
from kit.protocols.cms.rules.schema import enact as enact_schema
from kit.ring.topology import Node
from tests.published import INDEX, LEAST, cases, rows, tables

FILES = tables(__file__)


CASES = cases(FILES)


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
def test_a_rule_gives_the_answer_worked_out_by_hand(name: str, row: tuple[str, ...]) -> None:
    """Each row is a published case."""
    answer: Any = ANSWERS[name]
    given = answer.__code__.co_argcount
    assert answer(*row[:given]) == plain(row[given:])


@pytest.mark.parametrize("name", FILES)
def test_each_published_rule_has_cases_and_is_in_the_index(name: str) -> None:
    """The function that answers them exists."""
    assert len([*rows(FILES[name])]) > LEAST
    [line] = (line for line in FILES[name].splitlines() if line.startswith("# answered by"))
    for function in line.removeprefix("# answered by ").split(", "):
        module, _, called = function.rpartition(".")
        assert callable(getattr(import_module(module), called)), function
        assert f"`{function}`" in INDEX


def members(readers: int, writers: int = 0, **more: int) -> Members:
    """Members of a cluster of all that have a place."""
    return Members(cluster=255, readers=readers, writers=writers or readers, **more)


@pytest.mark.parametrize(
    ("nodes", "size"),
    [(1, 1), (2, 1), (3, 3), (5, 3), (6, 5), (9, 5), (100, 5), (101, 10), (1000, 10)],
)
def test_the_size_of_the_cms_follows_the_size_of_the_cluster(nodes: int, size: int) -> None:
    """1 for up to 2 nodes, 3 for up to 5, 5 for up to 100, and 10 above."""
    assert size_for(nodes) == size


@pytest.mark.parametrize(
    ("candidates", "present", "size", "chosen"),
    [
        (0b1111, 0b0001, 3, 0b0111),
        (0b1111, 0b1000, 1, 0b1000),
        (0b1110, 0b0111, 3, 0b1110),
        (0b1111, 0b1010, 2, 0b1010),
        (0b0011, 0b0011, 3, 0b0011),
    ],
)
def test_a_member_stays_a_member(candidates: int, present: int, size: int, chosen: int) -> None:
    """By the documents; the others come in the ring's order."""
    assert placed(candidates, present, size) == chosen


@pytest.mark.parametrize(
    ("now", "wanted", "at_once", "events"),
    [
        (0b001, 0b011, False, ["start add B", "finish add B"]),
        (0b011, 0b001, False, ["start removal of B", "finish removal of B"]),
        (0b011, 0b001, True, ["removal of B"]),
        (0b001, 0b010, True, ["start add B", "finish add B", "removal of A"]),
        (0b001, 0b110, False, [
            *("start add B", "finish add B", "start add C", "finish add C"),
            *("start removal of A", "finish removal of A"),
        ]),
    ],
)  # fmt: skip
def test_members_are_added_one_by_one_and_then_removed(
    now: int, wanted: int, at_once: bool, events: list[str]
) -> None:
    """An addition is two events, and quorums meet after each event."""
    at, made = members(now), list[str]()
    while event := next_step(at, wanted, at_once=at_once):
        after = enact(at, Entry(1, event, "A"))
        assert strangers(at, after) is None, event
        made, at = [*made, event], after
    assert made == events
    assert (at.readers, at.writers) == (wanted, wanted)


@pytest.mark.parametrize(
    ("event", "kind", "named"),
    [
        ("start add B", "start add", 0b10),
        ("replace members A C", "replace members", 0b101),
        ("reconfigure 3 A C", "reconfigure", 0b101),
        ("cancel", "cancel", 0),
    ],
)
def test_an_event_names_its_kind_its_size_and_its_nodes(event: str, kind: str, named: int) -> None:
    """Nodes are letters; only a reconfiguration has a size."""
    assert parsed(event) == (kind, named)
    assert sizes_in(event) == (3 * (kind == "reconfigure"), "")
    assert letters(0b101) == "A C"


@pytest.mark.parametrize(
    ("readers", "writers", "nodes", "may"),
    [
        (0b111, 0b111, 0b011, True),
        (0b111, 0b111, 0b001, False),
        (0b111, 0b1111, 0b011, False),
        (0b111, 0b1111, 0b1011, True),
        (0b001, 0b011, 0b001, False),
        (0, 0b011, 0b011, False),
        (0b001, 0b001, 0b001, True),
        (0b001, 0b011, 0b011, True),
    ],
)
def test_two_majorities_decide(readers: int, writers: int, nodes: int, may: bool) -> None:
    """Most readers and most writers; the smallest such sets are the quorums."""
    assert decides(members(readers, writers), nodes) is may
    assert (nodes in quorums(readers, writers, 255)) is may


@pytest.mark.spec("B-048")
@pytest.mark.parametrize("size", range(1, 11))
def test_quorums_before_and_after_an_event_share_a_member(size: int) -> None:
    """A node more or less, in the read set, the write set or both."""
    now = Members(readers=(1 << size) - 1, writers=(1 << size) - 1)
    changes = (
        *(("start add K", "finish add K"), ("start removal of A", "finish removal of A")),
        *(("start add K", "cancel"), ("start removal of A", "cancel")),
        *(("removal of A",), ("assassinate A",), ("start add K", "assassinate K")),
    )
    for events in changes if size > 1 else changes[:1]:
        at = now
        for event in events:
            after = enact(at, Entry(1, event, "A"))
            assert strangers(at, after) is None, (events, event)
            at = after


@pytest.mark.parametrize("size", range(1, 6))
def test_the_rule_on_meeting_agrees_with_trying_all_pairs(size: int) -> None:
    """Of majorities of two groups."""
    every = range(1, 1 << size)
    for one in every:
        for other in every:
            pairs = [
                (sum(a), sum(b))
                for a in combinations([1 << i for i in range(size) if one >> i & 1],
                                      majority(one.bit_count()))
                for b in combinations([1 << i for i in range(size) if other >> i & 1],
                                      majority(other.bit_count()))
            ]  # fmt: skip
            assert (apart(one, other) is None) is all(a & b for a, b in pairs), (one, other)


@pytest.mark.parametrize(("before", "after"), [(0b1, 0b10), (0b111, 0b1110), (0b111, 0b11100)])
def test_replacing_several_members_at_once_parts_the_quorums(before: int, after: int) -> None:
    """Some quorum before shares nobody with one after."""
    assert strangers(members(before), members(after)) is not None


def test_a_reader_added_too_early_shares_no_quorum_with_the_former() -> None:
    """D joins both sets at once, and alone is read: A, B and C can decide without D."""
    before, after = members(0b0111), members(0b1000, 0b1111)
    both = strangers(before, after)
    assert both is not None
    assert not both[0] & both[1]
    assert apart(before.readers, after.writers) is None
