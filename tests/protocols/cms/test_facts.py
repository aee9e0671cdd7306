"""What rows say of a moment of the metadata service, case by case."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.registry import build
from kit.protocols.cms.facts import commit as facts
from kit.protocols.cms.facts import members as of_members
from kit.protocols.cms.facts import schema as facts_of_schema
from kit.protocols.cms.rules.log import Entry
from kit.protocols.cms.rules.members import Members
from kit.protocols.cms.submitting import Answer, Handling
from tests.views.frames import after

ENTRY = Entry(1, "drop table t", "r1")


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (Handling(0), "validates"),
        (Handling(0, 1, 0b011), "1A: 2 of 3 promised"),
        (Handling(0, 1, 0b011, value=ENTRY), "1A: 0 of 3 accepted"),
        (Handling(0, 1, 0b011, value=ENTRY, accepts=0b111), "1A: 3 of 3 accepted"),
        (Handling(0, 1, answer=Answer("committed", 1)), "committed as epoch 1"),
    ],
)
def test_how_far_a_member_is(work: Handling, said: str) -> None:
    """It validates, asks for promises, then for acceptance, and has an answer in the end."""
    model: Any = build("commit")
    assert facts.work_of(model, work) == said


def test_who_knows_an_entry_and_who_holds_it_back() -> None:
    """A node that has an entry above a gap holds it back, and does not know it yet."""
    race = {"nodes": 3, "members": 1, "events": ("drop table t at A", "alter table u at A")}
    timeline = after("commit", race)
    while timeline.forward() is not None:
        pass
    model: Any = timeline.model
    whole = timeline.state.nodes[0].log
    gap = replace(whole, entries=(), held=whole.entries[1:])
    pairs = zip(timeline.state.nodes, (whole, whole, gap), strict=True)
    nodes = tuple(each.but(log=log) for each, log in pairs)
    rows = facts.log(model, timeline.state.but(nodes=nodes))
    assert [(row.epoch, row.known, row.held) for row in rows] == [
        (1, ("A", "B"), ()),
        (2, ("A", "B"), ("C",)),
    ]


@pytest.mark.parametrize(
    ("readers", "writers", "said"),
    [(0b011, 0b011, "A, B"), (0b001, 0b101, "A + C"), (0, 0, "nobody"), (0, 0b10, "nobody + B")],
)
def test_members_in_words(readers: int, writers: int, said: str) -> None:
    """Who is read from, then who is only written to."""
    model: Any = build("cms")
    members = Members(readers=readers, writers=writers)
    assert of_members.text(model, members) == said


def test_who_is_down_with_a_corrupt_log_does_not_come_back_for_a_quorum() -> None:
    """Two of three members: only then does nothing help but a state that is forced."""
    model: Any = build("cms", {"members": 3})
    start = model.start()
    for corrupt, forced in ((0b000, False), (0b010, False), (0b110, True)):
        nodes = tuple(
            each.but(health="down" if at else "up", corrupt=bool(corrupt >> at & 1))
            for at, each in enumerate(start.nodes)
        )
        assert model.needs_override(start.but(nodes=nodes)) is forced


def test_nobody_misses_writes_before_joining() -> None:
    """Of writes that were acknowledged a newcomer lacks none until it is there."""
    model: Any = build("schema")
    start = model.start()
    lacks = [facts_of_schema.known(model, start.but(written=written)) for written in ((), (0, 0))]
    assert [rows[-1].missing for rows in lacks] == [0, 0]
