"""How a cluster begins: who is up, who leads and may lead next, which feature all support."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from kit.protocols.topology.rules.cluster import NOBODY


def made(**given: Any) -> Any:
    """A model; of three members, A leads, and D may join."""
    return build("topology", given)


@pytest.mark.parametrize(
    ("given", "up", "coordinator"),
    [
        ({}, 0b1111, 0),
        ({"operations": ("remove A",)}, 0b110, 1),
        ({"operations": ("remove A",), "down": ()}, 0b111, 0),
        ({"operations": ("replace D C",)}, 0b1011, 0),
        ({"operations": ("leave C",), "down": ("A", "B", "C")}, 0, NOBODY),
        ({"down": ("A", "B", "C")}, 0b1000, NOBODY),  # D is no member: it does not lead
    ],
)
def test_who_is_up_and_leads_at_first(given: dict[str, Any], up: int, coordinator: int) -> None:
    """The first member that is up leads."""
    start = made(**given).start()
    assert (start.up, start.coordinator) == (up, coordinator)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"newer": ("Q",)}, "newer: got 'Q'; allowed: one of A, B, C, D"),
        (
            {"newer": ("Q",), "edition": "server", "nodes": 7},
            "newer: got 'Q'; allowed: one of A, B, C, D, E, F, G",
        ),
        ({"zero_tokens": ("D",)}, "zero_tokens: got 'D'; allowed: members: A, B, C"),
        ({"down": ("Q",)}, "down: got 'Q'; allowed: one of A, B, C, D"),
        ({"ignored": ("Q",)}, "ignored: got 'Q'; allowed: one of A, B, C, D"),
        ({"on_tablets": ("Q",)}, "on_tablets: got 'Q'; allowed: one of A, B, C, D"),
    ],
)
def test_names_of_no_node_are_refused(given: dict[str, Any], said: str) -> None:
    """With those that are allowed."""
    with pytest.raises(BadInput, match=f"^{said}$"):
        made(**given).start()


@pytest.mark.parametrize(
    ("newer", "enabled"),
    [((), 1), (("A", "B", "C"), 3), (("B", "C", "D"), 1), (("A", "B", "D"), 1), (("D",), 1)],
)
def test_a_feature_is_enabled_once_all_members_support_it(
    newer: tuple[str, ...], enabled: int
) -> None:
    """Whatever D supports, which is none yet."""
    start = made(newer=newer).start()
    assert start.topology.enabled == enabled
    assert [row.supported for row in start.topology.nodes] == [
        0 if name == "D" else 3 if name in newer else 1 for name in "ABCD"
    ]


def electable(timeline: Timeline) -> str:
    """The nodes that may be elected now."""
    actions = timeline.model.actions(timeline.state)
    return "".join(each.node for each in actions if isinstance(each, act.ElectCoordinator))


def test_the_others_may_be_elected() -> None:
    """Whoever coordinates, the first node or another one, is not elected again."""
    model: Any = build("topology", {"nodes": 3, "operations": (), "changes": 3})
    timeline = Timeline(model)
    assert electable(timeline) == "BC"
    timeline.do(act.ElectCoordinator("B"))
    assert electable(timeline) == "AC"
    timeline.do(act.ElectCoordinator("C"))
    assert electable(timeline) == "AB"
