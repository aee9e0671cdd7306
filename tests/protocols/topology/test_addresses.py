"""A node that is restarted with another address: who it is, who finds it, who is refused."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.console.drill import DrillMoment
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from kit.protocols.topology.facts import SERVERS
from kit.protocols.topology.rules.cluster import with_node
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from tests.protocols.test_tools import typed
from tests.protocols.topology.test_seen import press, seen, starting
from tests.quality.breaking import broken, changing

STATUS = "nodetool status"


def moved(*words: str, **given: Any) -> Timeline:
    """A cluster whose C is restarted with another address."""
    return press(starting(*words, addresses=1, **given), "readdress C")


@pytest.mark.spec("G-043")
def test_the_address_changes_and_the_identity_stays() -> None:
    """C's card has its new address; its row, its host id and its place in group 0 are as before, in
    a table without a column for addresses. Once the others have heard of it, nothing is different.
    """
    before = starting("rebuild B", addresses=1)
    timeline = moved("rebuild B")
    assert seen(timeline)["system.topology"] == seen(before)["system.topology"]
    assert not any("10.1.0.13" in line for line in seen(timeline)["system.topology"])
    [card] = [line for line in seen(timeline)["Nodes"] if line.startswith("  C:")]
    assert "at 10.1.0.13" in card
    assert "not reached" in card
    press(timeline, "gossip C")
    [card] = [line for line in seen(timeline)["Nodes"] if line.startswith("  C:")]
    assert card.endswith("at 10.1.0.13")
    assert timeline.state.topology == before.state.topology
    assert timeline.state.reachable == before.state.reachable


def test_tools_show_the_address_that_a_node_has_heard_of() -> None:
    """``nodetool status`` has it at once on the node itself, on others once they have heard."""
    timeline = moved()
    for knowing in ("C", "AC"):
        run = tuple(timeline.moments[at] for at in timeline.path())
        for place in "AC":
            printed = "\n".join(typed(SERVERS, DrillMoment(timeline.model, run, place), STATUS))
            addresses = ("10.1.0.13", "10.0.0.13")
            assert [each in printed for each in addresses] == [
                place in knowing,
                place not in knowing,
            ]
        if knowing == "C":
            press(timeline, "gossip C")


@pytest.mark.sweep(3)
@pytest.mark.spec("G-043")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "words",
    [
        pytest.param("join D", marks=pytest.mark.deep),
        *("replace D C", "leave C", "remove C", "rebuild C"),
    ],
)
def test_every_operation_ends_whoever_is_restarted_elsewhere(edition: Edition, words: str) -> None:
    """Any node is restarted with another address at any step: no promise breaks, none is stuck."""
    given = {"edition": edition, "operations": (words,), "addresses": 1}
    result = check(build("topology", given), symmetry=True, max_states=100_000)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


def steps_before(count: int, *words: str, **given: Any) -> Timeline:
    """A cluster so many steps after these requests."""
    timeline = starting(*words, configurations=1, **given)
    for _ in range(count):
        assert timeline.forward() is not None
    return timeline


@pytest.mark.spec("G-043")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("words", "steps", "name"),
    [
        ("rebuild B", 0, "A"),
        ("rebuild B", 4, "B"),
        ("join D", 12, "C"),
        ("join D", 12, "D"),
        ("leave C", 9, "C"),
        ("leave C", 9, "A"),
    ],
)
def test_the_configuration_changes_and_the_identity_stays(
    edition: Edition, words: str, steps: int, name: str
) -> None:
    """Only ``shard_count`` of the node's own row is another one: its host id, its tokens, its state
    and its place in group 0 are as before, and the operation comes to the same end.
    """
    timeline = steps_before(steps, words, edition=edition)
    before = seen(timeline)["system.topology"]
    old: Any = timeline.state
    press(timeline, f"reconfigure {name}")
    after = [line for line in seen(timeline)["system.topology"] if line not in before]
    assert [line.strip() for line in after] == [f"* {name}.shard_count = 2"]
    new: Any = timeline.state
    node = "ABCD".index(name)
    assert with_node(new.topology, node, shards=1) == old.topology
    assert (new.state_id, new.reachable) == (old.state_id + 1, old.reachable)
    assert "with 2 shards and stores this in its row" in timeline.now.say
    assert f"state ({old.topology.nodes[node].state}) stay the same." in timeline.now.say
    while timeline.forward() is not None:
        pass
    assert not any(row.error for row in timeline.state.topology.requests)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["replace D C", "remove C", "rebuild C"])
def test_every_operation_ends_whoever_is_configured_anew(edition: Edition, words: str) -> None:
    """Any node is restarted with another configuration at any step."""
    given = {"edition": edition, "operations": (words,), "configurations": 1}
    result = check(build("topology", given), symmetry=True, max_states=100_000)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


def test_who_has_left_is_heard_at_no_address() -> None:
    """C was taken out while nobody knew where it was: its host id is refused wherever it is."""
    timeline = moved("remove C", down=())
    press(timeline, "remove C")
    while timeline.state.topology.nodes[2].state != "left":
        options = [a for a in timeline.model.actions(timeline.state) if a != act.HearAddress("C")]
        timeline.do(options[0])
    heard = {a.node for a, _ in timeline.model.options(timeline.state) if hasattr(a, "node")}
    assert timeline.state.up & 0b100
    assert "C" not in heard
    assert all(verdict.ok for verdict in timeline.verdicts())


def test_a_restart_stops_what_ran_there() -> None:
    """A coordinator leads no more, what it decided may still come; a client's request is over."""
    timeline = starting("join D", addresses=1, clients=1)
    for verb in ("join D", "begin A", "decide", "readdress A"):
        press(timeline, verb)
    assert timeline.state.coordinator == -1
    assert timeline.state.client == -1
    assert timeline.state.deposed is not None
    assert timeline.state.unheard == 0b001


def test_identity_by_address_breaks_the_promise() -> None:
    """A model that takes a new address for a new node, without tokens: the search finds it."""
    model: Any = build("topology", {"addresses": 1})

    def forgets(s: Any, action: act.RestartElsewhere, after: Any) -> Any:
        row = with_node(after.topology, model.number(action.node), tokens=False)
        return replace(after, topology=row)

    forgetful = broken(model, act.RestartElsewhere, changing(forgets))
    found = check(forgetful, max_states=10_000).violation
    assert found is not None
    assert found.property == "identity"
