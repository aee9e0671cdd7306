"""A state diagram as the Player's picture: legible, lit by key, nothing moves but the light."""

from __future__ import annotations

import pytest

from kit.model.timeline import Timeline
from kit.views.diagrams import END, START, Standing, StateDiagram, state_panel
from kit.views.panel import Scene
from kit.views.registry import Views, register
from kit.widgets import Player
from tests.model.toys import Go, Graph
from tests.widgets.browsing import MakeDesk
from tests.widgets.test_lit import OVERLAPS, smallest

pytestmark = pytest.mark.browser

MIGRATION = StateDiagram(
    "migration",
    "stages of a migration",
    (
        (START, "", "allow_write_both_read_old"),
        ("allow_write_both_read_old", "", "write_both_read_old"),
        ("allow_write_both_read_old", "error", "cleanup_target"),
        ("write_both_read_old", "", "streaming"),
        ("write_both_read_old", "error", "cleanup_target"),
        ("streaming", "streaming completed", "write_both_read_new"),
        ("streaming", "error", "cleanup_target"),
        ("write_both_read_new", "", "use_new"),
        ("write_both_read_new", "error", "cleanup_target"),
        ("use_new", "", "cleanup"),
        ("cleanup", "", "end_migration"),
        ("end_migration", "", END),
        ("cleanup_target", "", "revert_migration"),
        ("revert_migration", "", END),
    ),
    frozenset({"error"}),
    labelled=False,
)
BOOTSTRAP = StateDiagram(
    "bootstrapping",
    "states of a bootstrap",
    (
        (START, "", "join_group0"),
        ("join_group0", "accepted", "commit_cdc_generation"),
        ("join_group0", "rejected", END),
        ("join_group0", "rollback", "left_token_ring"),
        ("commit_cdc_generation", "generation committed", "write_both_read_old"),
        ("commit_cdc_generation", "rollback", "left_token_ring"),
        ("write_both_read_old", "streaming completed", "write_both_read_new"),
        ("write_both_read_old", "rollback", "left_token_ring"),
        ("write_both_read_new", "", END),
        ("left_token_ring", "", END),
    ),
    frozenset({"rollback"}),
)
SCROLLS = "(one) => one.scrollHeight > one.clientHeight || one.scrollWidth > one.clientWidth"


class Walk(Graph):
    """A machine as a model: a state is the place of its name in the machine's list."""

    name = "walk"
    title = "A machine"

    def __init__(self, diagram: StateDiagram) -> None:
        table = diagram.transitions
        self.diagram = diagram
        self.names = tuple(dict.fromkeys(name for one, _, two in table for name in (one, two)))
        super().__init__({
            i: tuple(self.names.index(two) for one, _, two in table if one == name)
            for i, name in enumerate(self.names)
        })  # fmt: skip


def standing(scene: Scene) -> Standing:
    """The states so far."""
    model = scene.model
    path = [0, *(step.after.at for step in scene.way())]
    return Standing(model.diagram, tuple(model.names[at] for at in path))


def walked(diagram: StateDiagram, *way: int) -> Player:
    """A player that went a way through a machine: each time the edge of that number."""
    register("walk", Views((state_panel("machine", "Machine", standing),), picture="machine"))
    model = Walk(diagram)
    timeline = Timeline(model)
    for edge in way:
        timeline.do(Go(model.edges[timeline.state.at][edge]))
    return Player(timeline)


@pytest.mark.parametrize("diagram", [MIGRATION, BOOTSTRAP], ids=lambda diagram: diagram.name)
def test_a_machine_is_legible_in_the_smallest_board(desk: MakeDesk, diagram: StateDiagram) -> None:
    """Within 380 by 364 pixels no letter has less than 11, none covers another, nothing scrolls."""
    page = desk(walked(diagram, 0, 0, 0)).page
    page.set_viewport_size({"width": 840, "height": 560})
    page.add_style_tag(content=".kp-picture { max-width: 380px }")
    assert smallest(page, ".kp-picture") >= 11
    assert page.evaluate(OVERLAPS, ".kp-picture") == []
    assert not page.locator(".kp-picture .kp-scroll").evaluate(SCROLLS)


def test_the_light_goes_on_and_the_way_stays(desk: MakeDesk) -> None:
    """Each step lights the next state; a rollback's edge has another colour and a hollow head."""
    table = desk(walked(MIGRATION, 0, 0, 1))
    page = table.page
    lit = "[...document.querySelectorAll('.kp-picture .lit')].map((one) => one.dataset.k)"
    page.focus("[data-do=scrub]")
    page.keyboard.press("Home")
    for name in (START, "allow_write_both_read_old", "write_both_read_old", "cleanup_target"):
        assert page.evaluate(lit) == [f"machine:state:{name}"]
        page.keyboard.press("j")
    look = "(one) => [getComputedStyle(one).stroke, getComputedStyle(one).fill]"
    back, forth = (
        page.locator(f".kp-picture .taken{kind} .tip").first.evaluate(look)
        for kind in (".back", ":not(.back)")
    )
    assert back[0] != forth[0]
    assert back[1] != back[0], "hollow"
    assert forth[1] == forth[0], "filled"
    assert table.difference() == ""
