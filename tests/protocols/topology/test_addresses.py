"""A node that is restarted with another address: who it is, who finds it, who is refused."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.console.drill import DrillMoment
from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
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
def test_a_node_with_a_new_address_keeps_its_identity() -> None:
    """Row, host id and place in group 0 stay; once the others have heard, nothing is different."""
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


def test_nodetool_status_shows_the_address_that_a_node_has_heard_of() -> None:
    """The node itself knows its new address at once."""
    timeline = moved()
    for knowing in ("C", "AC"):
        run = tuple(timeline.moments[at] for at in timeline.path())
        for place in "AC":
            printed = "\n".join(typed(SERVERS, DrillMoment(timeline.model, run, place), STATUS))
            addresses = ("10.1.0.13", "10.0.0.13")
            known = [place in knowing, place not in knowing]
            assert [each in printed for each in addresses] == known, (knowing, place)
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
def test_an_operation_ends_with_any_node_at_a_new_address(edition: Edition, words: str) -> None:
    """Restarted at any step: no promise breaks, and every goal is reached."""
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
def test_a_node_with_a_new_configuration_keeps_its_identity(
    edition: Edition, words: str, steps: int, name: str
) -> None:
    """Only ``shard_count`` of its own row changes, and the operation ends without an error."""
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
    played_out(timeline)
    assert not any(row.error for row in timeline.state.topology.requests)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["replace D C", "remove C", "rebuild C"])
def test_an_operation_ends_with_any_node_configured_anew(edition: Edition, words: str) -> None:
    """Restarted at any step: no promise breaks, and every goal is reached."""
    given = {"edition": edition, "operations": (words,), "configurations": 1}
    result = check(build("topology", given), symmetry=True, max_states=100_000)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


def test_a_removed_node_is_heard_at_no_address() -> None:
    """C was taken out while nobody knew its new one, and no step lets anybody hear it."""
    timeline = moved("remove C", down=())
    press(timeline, "remove C")
    while timeline.state.topology.nodes[2].state != "left":
        options = [a for a in timeline.model.actions(timeline.state) if a != act.HearAddress("C")]
        timeline.do(options[0])
    heard = {a.node for a, _ in timeline.model.options(timeline.state) if hasattr(a, "node")}
    assert timeline.state.up & 0b100
    assert "C" not in heard
    assert all(verdict.ok for verdict in timeline.verdicts())


def test_a_restart_ends_what_ran_on_the_node() -> None:
    """The coordinator leads no more, its decision may still come, its client's request is over."""
    timeline = starting("join D", addresses=1, clients=1)
    for verb in ("join D", "begin A", "decide", "readdress A"):
        press(timeline, verb)
    assert timeline.state.coordinator == -1
    assert timeline.state.client == -1
    assert timeline.state.deposed is not None
    assert timeline.state.unheard == 0b001


def test_a_model_that_identifies_nodes_by_address_breaks_a_promise() -> None:
    """A new address loses the tokens, and the search finds it."""
    model: Any = build("topology", {"addresses": 1})

    def forgets(s: Any, action: act.RestartElsewhere, after: Any) -> Any:
        row = with_node(after.topology, model.number(action.node), tokens=False)
        return replace(after, topology=row)

    forgetful = broken(model, act.RestartElsewhere, changing(forgets))
    found = check(forgetful, max_states=10_000).violation
    assert found is not None
    assert found.property == "identity"
