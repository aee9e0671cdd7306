"""How a group of Raft begins: members, texts of a beginning, servers that are alike, tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.raft import core
from kit.protocols.raft.beginning import begun, members_of
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.state import Follower, Leader, Server, Stored
from kit.protocols.raft.tables import RaftTables
from tests.protocols.raft.driving import members

GROUP = Configuration(members("A B C"))


def a_log(terms: str, first: int = 1) -> Log:
    """A log whose entries have these terms: x1, x2 and so on."""
    log = Log(Snapshot(first - 1, 0, GROUP))
    for index, term in enumerate(map(int, terms), first):
        log = log.appended(Entry(term, index, f"x{index}"))
    return log


@pytest.mark.parametrize("text", ["A A", "A a", "A D", "A B C D"])
def test_members_of_no_group(text: str) -> None:
    """Nobody twice, and nobody else."""
    with pytest.raises(BadInput) as caught:
        members_of(text, ("A", "B", "C"))
    assert (caught.value.field, caught.value.value) == ("members", text)
    assert [each.can_vote for each in members_of("A b", ("A", "B", "C"))] == [True, False]


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("1 x", "terms, followed by words such as commit 1, leads"),
        ("1, commit x", "terms, followed by words such as commit 1, leads"),
        ("1, ", "terms, followed by words such as commit 1, leads"),
        ("1, loses 3", "commit, term, votes, follows, leads"),
        ("1=AA", "each at most once"),
    ],
)
def test_beginnings_that_say_nothing(text: str, allowed: str) -> None:
    """They are refused with what may be said."""
    stored = core.first_stored(members("A B C"))
    with pytest.raises(BadInput) as caught:
        begun("A", stored, {"A": text})
    assert caught.value.field == "begins"
    assert allowed in str(caught.value)


def test_a_beginning_says_all() -> None:
    """Entries and members, what is committed and applied, term, vote, and whom it follows."""
    stored = core.first_stored(members("A B C"))
    texts = {"A": "1 1 2=Ab, commit 2, term 3, votes B, follows B", "B": "1 1, term 3, leads"}
    first, second = (begun(name, stored, texts) for name in "AB")
    assert first.machine == ("1:-", "1:x2")
    assert first.server.stored.vote == "B"
    assert (first.server.term, first.server.commit, first.server.applied) == (3, 2, 2)
    assert first.server.role == Follower("B")
    assert first.server.log.configuration == Configuration(members("A b"))
    assert isinstance(second.server.role, Leader)
    assert [(p.id, p.next) for p in second.server.role.progress] == [("A", 2), ("C", 2)]
    assert (second.machine, second.server.stored.vote) == ((), "B")
    follower = begun("C", stored, {**texts, "C": "1, term 3"})
    assert (follower.server.stored.vote, follower.server.log.last_index) == ("B", 1)
    assert begun("C", stored, {**texts, "C": "1, term 2"}).server.stored.vote == ""


@pytest.mark.parametrize(("count", "refused"), [(2, False), (3, False), (4, True)])
def test_no_more_beginnings_than_nodes(count: int, refused: bool) -> None:
    """One for each, or fewer."""
    given = {"nodes": 3, "begins": ("1",) * count}
    if not refused:
        assert build("raft", given).start()
        return
    with pytest.raises(BadInput, match="at most 3 texts"):
        build("raft", given)


@pytest.mark.parametrize(
    ("given", "alike"),
    [({}, True), ({"holds": 1}, False), ({"cuts": 1}, False), ({"partitions": 1}, False),
     ({"fifo": True}, False), ({"writes_apart": True}, False), ({"drops": 1}, True)],
)  # fmt: skip
def test_when_servers_are_alike(given: dict[str, Any], alike: bool) -> None:
    """Not where a state names links, or messages that are held back."""
    assert (build("raft", given).symmetry is not None) is alike


def test_tables_give_the_log_in_its_order() -> None:
    """Also once entries were cut and others stored in their place, and behind a snapshot."""
    tables, was = RaftTables(), Stored(1, "A", core.first_stored(members("A B C")).log)
    begins = core.Output(Server("A"), Server("A", was), (), (), False)
    tables.store("g", begins.written, was)
    logs = [a_log("1111"), a_log("1122"), a_log("11223").compacted(Snapshot(3, 2, GROUP), 1)]
    for log in logs:
        now = Stored(3, "A", replace(log, snapshot=log.snapshot), 0)
        turn = core.Output(Server("A", was), Server("A", now), (), (), False)
        tables.store("g", turn.written, now)
        assert tables.load("g") == now
        was = now
