"""Two requests that would both take one node out: only one does, and the other ends with a reason.

Whoever asks second is told at once where the tables say so already; else the coordinator turns the
request down, once the node is no longer normal.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import MakeRequest
from kit.search.check import check
from tests.outcomes import why

TAKING_OUT = ("replace D C", "replace E C", "remove C", "leave C", "rebuild C")
MODELS: dict[str, dict[str, Any]] = {
    "topology": {},
    "tablets": {"nodes": 3, "tablets": ("A B",), "moves": 0},
}
PAIRS = list(permutations(TAKING_OUT, 2))


def complete(model: str, edition: Edition, pair: tuple[str, str], **given: Any) -> None:
    """A complete search of two requests breaks nothing."""
    parameters = {"edition": edition, "operations": pair, **MODELS[model], **given}
    result = check(build(model, parameters), symmetry=model == "topology", max_states=60_000)
    assert result.violation is None, result.violation
    assert result.complete


@pytest.mark.sweep(3)
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("pair", PAIRS, ids=" then ".join)
def test_a_node_goes_once(model: str, edition: Edition, pair: tuple[str, str]) -> None:
    """Whichever two of the requests are made, in whichever order they are taken."""
    complete(model, edition, pair)


@pytest.mark.deep
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("pair", PAIRS, ids=" then ".join)
def test_a_node_goes_once_when_any_node_dies(edition: Edition, pair: tuple[str, str]) -> None:
    """The same with a node that dies, or comes back, anywhere."""
    complete("topology", edition, pair, crashes=1)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("second", ["remove C", "rebuild C", "leave C"])
def test_who_is_being_replaced_is_not_asked_for_anything_else(
    edition: Edition, second: str
) -> None:
    """From the request to the end of the operation, in every state between them."""
    given = {"edition": edition, "operations": ("replace D C", second), "down": ("C",)}
    timeline: Any = Timeline(build("topology", given), ("replace D C",))
    timeline.forward()
    action, told = MakeRequest(1), {"normal": "another node is replacing it"}
    while not timeline.model.is_over(timeline.state):
        state = timeline.state.topology.nodes[2].state
        expected = told.get(state, "the node is not normal")
        assert why(timeline.model, timeline.state, action) == expected
        timeline.do(timeline.model.suggest(timeline.state))
    assert timeline.state.topology.nodes[2].state == "left"


def test_a_request_that_came_too_late_is_turned_down() -> None:
    """The published server takes a replace before a removal that was asked for earlier."""
    given = {"edition": "server", "operations": ("remove C", "replace D C")}
    timeline: Any = played_out(Timeline(build("topology", given), ("remove C", "replace D C")))
    removal, replaced = timeline.state.topology.requests
    assert (removal.done, removal.error) == (True, True)
    assert (replaced.done, replaced.error) == (True, False)
    assert timeline.state.topology.nodes[2].state == "left"
