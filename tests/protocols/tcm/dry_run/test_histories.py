"""A dry run as a history: what comes first, how far it goes, what it says when it stops."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.timeline import Timeline
from kit.errors import BadInput
from kit.protocols.tcm.dry_run.history import opening_state, outcome, standstill, steps
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import parse_operation
from kit.ring.placements import stable_placement
from tests.operators.printing import Host, host_id
from tests.protocols.tcm.dry_run.samples import JOIN, cluster, hosts, played, printed
from tests.saying import like, says


def last(timeline: Timeline) -> Any:
    """The state at the end."""
    return timeline.moments[timeline.tip].state


def test_the_end_is_the_ring_after_the_operations() -> None:
    """At the end every table is that of the new, stable ring, and everybody who is up knows it."""
    timeline = played(cluster(), "decommission 10.20.0.2", JOIN)
    m: Any = timeline.model
    snapshot = m.snapshot(last(timeline))
    for placement, group in zip(snapshot.placements, snapshot.metadata.groups, strict=True):
        assert placement == stable_placement(snapshot.metadata.ring, group)
    members = {node.name for node in snapshot.metadata.ring.nodes if node.tokens}
    assert "10.20.0.10" in members
    assert "10.20.0.2" not in members
    epochs = {one.epoch for one in facts.applied(m, last(timeline)) if one.up}
    assert epochs == {facts.epoch(m, last(timeline))}


def test_it_stands_where_the_operations_have_begun() -> None:
    """The history is opened where all that may begin has begun, and goes on from there."""
    timeline = played(cluster(), "decommission 10.20.0.2", JOIN)
    assert timeline.now.milestone == "epoch 2"
    assert timeline.tip > timeline.at
    assert [one.moment for one in steps(timeline)][1] == timeline.at


def test_nodes_that_are_down_are_down_from_the_start() -> None:
    """What the tools show as down neither applies nor streams, and nothing waits for it."""
    timeline = played(cluster(), "decommission 10.20.0.2")
    assert opening_state(timeline).tcm.down == ("10.20.0.6",)
    [row] = [one for one in facts.applied(timeline.model, last(timeline)) if not one.up]
    assert (row.node, row.epoch) == ("10.20.0.6", 0)
    assert [one.status for one in outcome(timeline)] == ["done"]


def test_operations_in_flight_come_first() -> None:
    """A joining node that the tools show is under way before anything is planned."""
    given = printed(
        [*hosts(8), Host("n9", (350,), state="Joining", load="1 bytes", host_id=host_id(9))]
    )
    timeline = played(given, "decommission n8")
    m: Any = timeline.model
    before = facts.operations(m, opening_state(timeline))
    assert [one.title for one in before] == ["bootstrap n9 at 350"]
    assert facts.epoch(m, opening_state(timeline)) == given.epoch
    assert [one.status for one in outcome(timeline)] == ["done", "done"]


def test_what_cannot_begin_says_why() -> None:
    """A node that is down cannot leave; the history has no step and the reason is told."""
    timeline = played(cluster(), "decommission 10.20.0.6")
    assert steps(timeline) == ()
    [line] = standstill(timeline)
    assert line.startswith("decommission 10.20.0.6 cannot begin: 10.20.0.6 is down")


def test_what_stands_still_says_why() -> None:
    """With too many nodes down an operation stops at its barrier, and that is told."""
    given = printed(hosts(6, n2="Down", n3="Down"))
    timeline = played(given, "decommission n1")
    [line] = standstill(timeline)
    assert line.startswith("decommission n1 has stopped: waiting at the barrier")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            ("decommission n1", "decommission n1"),
            "operation | 'decommission n1' | each | operation | once | given twice",
        ),
        (("decommission n99",), "node | 'n99' | n1, n2"),
        (("bootstrap n1 --tokens 5",), "node | 'n1' | name | ring | yet"),
        (("bootstrap x --tokens 100",), "tokens[0] | 100 | token | no node owns"),
        (("decommission n1 --dc x",), "--dc | 'x' | except with bootstrap and replace"),
    ],
)
def test_operations_that_do_not_fit_the_ring(lines: tuple[str, ...], said: str) -> None:
    """An operation that does not speak of this ring is named in one line."""
    with pytest.raises(BadInput) as caught:
        played(printed(hosts(6)), *lines)
    assert says(caught.value, said)


def test_operations_in_flight_that_exclude_each_other() -> None:
    """Two in flight that lock a common range are refused by name."""
    flying = tuple(map(parse_operation, ("decommission n1", "decommission n2")))
    with pytest.raises(BadInput, match=like("operation in flight | 'decommission n2'")):
        played(printed(hosts(6)), "decommission n5", in_flight=flying)


def test_operators_own_words() -> None:
    """Decommission, removenode and bootstrap are leave, remove and join."""
    words = {
        "decommission n1": "decommission n1",
        "removenode n1": "removenode n1",
        "bootstrap x --tokens 5": "bootstrap x --tokens 5",
    }
    assert {text: parse_operation(text).text for text in words} == words


def test_a_saved_rehearsal_is_loaded_with_its_sizes() -> None:
    """A trace of a dry run replays to the same states, and still knows the bytes."""
    timeline = played(cluster(), "decommission 10.20.0.2")
    again = Timeline.load(timeline.save())
    assert [m.state for m in again.moments] == [m.state for m in timeline.moments]
    m: Any = again.model
    stream = facts.operations(m, again.state)[0].streams[0]
    assert stream.bytes == facts.operations(timeline.model, timeline.state)[0].streams[0].bytes
    assert stream.bytes


def test_what_is_in_flight_is_not_asked_for_again() -> None:
    """Nor is it said twice to be in flight, which is no mistake; the line says which it is."""
    flying = (parse_operation("decommission n1"),) * 2
    with pytest.raises(BadInput, match=r"each operation once; this one is already in flight$"):
        played(printed(hosts(6)), "decommission n1", in_flight=flying)
    timeline = played(printed(hosts(6)), in_flight=flying)
    assert [one.status for one in outcome(timeline)] == ["done"]
