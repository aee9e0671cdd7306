"""Discovery: one group for all seeds in which some node is reachable from every node."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.group0.discovery import Discovery, Names, makes_one_group, seeds_of
from kit.search.check import check
from kit.search.fuzz import fuzz
from kit.views.frame import frame_text
from kit.views.panel import Panel, scene_at
from kit.views.registry import for_model
from tests.protocols.group0.exchanging import Exchanging, connected_graphs, up_to_renaming
from tests.views.frames import after

THREE = list(connected_graphs(3))
TWO_GROUPS = [graph for graph in THREE if not makes_one_group(graph)]


def given(graph: dict[str, Names], **more: Any) -> dict[str, Any]:
    """The parameters for a graph."""
    return {"seeds": tuple(" ".join(points) for points in graph.values()), **more}


def shown(graph: dict[str, Names]) -> str:
    """A graph as a name of a test."""
    return " ".join(f"{name}:{''.join(points)}" for name, points in graph.items())


def test_three_of_the_54_graphs_on_three_nodes_make_two_groups() -> None:
    """In those three, two nodes know nobody."""
    assert len(THREE) == 54
    assert [shown(graph) for graph in TWO_GROUPS] == ["A: B: C:AB", "A: B:AC C:", "A:BC B: C:"]


@pytest.mark.sweep(3)
@pytest.mark.spec("C-024")
@pytest.mark.parametrize("graph", [g for g in THREE if g not in TWO_GROUPS], ids=shown)
def test_three_nodes_found_a_single_group_in_any_order_of_messages(graph: dict[str, Names]) -> None:
    """A complete search: every goal is reached, and the badge counts 1 group."""
    model = build("discovery", given(graph))
    result = check(model)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())
    timeline = Timeline(model)
    played_out(timeline)
    assert panel(timeline, "status").draw(scene_at(timeline, timeline.at)).text() == "1 group"


@pytest.mark.parametrize("graph", TWO_GROUPS, ids=shown)
def test_seeds_that_part_the_nodes_lead_to_two_groups(graph: dict[str, Names]) -> None:
    """Two founders in two steps; badge and tables warn at the start."""
    model = build("discovery", given(graph))
    timeline = Timeline(model)
    start = scene_at(timeline, 0)
    assert "! two groups can form" in panel(timeline, "status").draw(start).text()
    assert "no node is reachable from every other" in panel(timeline, "tables").draw(start).text()
    violation = check(model).broken
    assert violation is not None
    assert (violation.property, len(violation.actions)) == ("one-group", 2)


PAIRS: list[dict[str, Names]] = [{"A": (), "B": ("A",)}, {"A": ("B",), "B": ("A",)}]


@pytest.mark.parametrize("graph", PAIRS, ids=shown)
def test_a_crash_at_any_step_leaves_a_single_group(graph: dict[str, Names]) -> None:
    """Of two nodes: what the crashed node had stored is enough."""
    result = check(build("discovery", given(graph, restarts=1)))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.deep
@pytest.mark.parametrize("graph", [g for g in THREE if g not in TWO_GROUPS], ids=shown)
def test_a_crash_leaves_a_single_group_for_all_seeds(graph: dict[str, Names]) -> None:
    """Every graph of three nodes that makes one group, in fewer than 300,000 states."""
    result = check(build("discovery", given(graph, restarts=1)))
    assert (result.violation, result.complete) == (None, True)
    assert result.states < 300_000


def test_discovery_in_coarser_steps_agrees_on_which_seeds_make_two_groups() -> None:
    """A request and its answer are a single step there."""
    for graph in THREE:
        result = check(Exchanging(graph, losses=1))
        assert result.complete or result.violation is not None
        assert (result.violation is None) is makes_one_group(graph), shown(graph)


FOUR = up_to_renaming(connected_graphs(4))


def test_four_nodes_have_697_graphs_up_to_renaming() -> None:
    """Of nodes other than the lowest."""
    assert len(FOUR) == 697


FEW_SEEDS = [graph for graph in FOUR if sum(map(len, graph.values())) <= 5]


@pytest.mark.deep
@pytest.mark.parametrize("graph", FEW_SEEDS, ids=shown)
def test_four_nodes_make_two_groups_only_where_seeds_part_them(graph: dict[str, Names]) -> None:
    """With a lost answer and a restart, for all graphs that name few seeds."""
    result = check(Exchanging(graph, losses=1, restarts=1))
    assert (result.violation is None) is makes_one_group(graph)


def test_random_walks_of_five_nodes_break_nothing_and_take_every_rule() -> None:
    """With losses and restarts."""
    fuzzing = entry_of("discovery").fuzzing
    model = build("discovery", fuzzing.parameters)
    result = fuzz(model, seeds=range(20), steps=200, weights=fuzzing.weights)
    assert (result.findings, result.untaken) == ((), ())


def test_without_the_transitive_closure_two_groups_are_founded() -> None:
    """S-36 off: B compares itself with those that have answered, before A has."""
    guard = entry_of("discovery").safeguards[0]
    violation = check(build("discovery", guard.smallest, (guard.name,))).violation
    assert violation is not None
    assert (violation.property, len(violation.actions)) == ("one-group", 2)
    assert violation.witness == "A and B have each founded a group"
    result = check(build("discovery", guard.smallest))
    assert (result.violation, result.complete) == (None, True)


# -- what a student sees ---------------------------------------------------------------------------


def panel(timeline: Timeline, name: str) -> Panel:
    """A panel of a model by its name."""
    return next(p for p in for_model(timeline.model).panels if p.name == name)


def played(seeds: tuple[str, ...], *verbs: str, **more: Any) -> Timeline:
    """A run of these verbs."""
    return after("discovery", {"seeds": seeds, **more}, *verbs)


def part(timeline: Timeline, name: str, key: str) -> str:
    """The words of a part of a panel."""
    drawn = panel(timeline, name).draw(scene_at(timeline, timeline.at))
    return next(piece.text() for piece in drawn.walk() if piece.key == key)


JOINED = (
    *("found-group A", "deliver B>A ask A,B", "deliver A>B group A"),
    *("deliver B>A join", "deliver A>B joined A"),
)


@pytest.mark.spec("C-017", "C-018")
def test_a_restarted_member_skips_discovery() -> None:
    """The member finds its ``raft_group0_id`` and sends nothing."""
    timeline = played(("A", "A"), *JOINED, "crash-and-start B", restarts=1)
    assert part(timeline, "tables", "tables:B") == "B A, B – A saved state"
    assert timeline.state.network.in_flight == ()
    assert "finds its group 0 id and skips discovery" in timeline.now.say


@pytest.mark.spec("C-019", "C-020")
def test_a_restarted_node_without_a_group_asks_the_nodes_of_its_table() -> None:
    """No ``raft_group0_id``; its table ``discovery`` has A and B."""
    timeline = played(
        ("A", "A"), "deliver B>A ask A,B", "deliver A>B ask A,B", "crash-and-start A", restarts=1
    )
    assert part(timeline, "tables", "tables:A") == "A A, B B no row discovery"
    assert "deliver A>B ask A,B" in map(timeline.model.verb, timeline.model.actions(timeline.state))


@pytest.mark.spec("C-021")
def test_the_known_peers_grow_with_each_request_received() -> None:
    """A knew nobody; in the end it knows B and C, which asked, and group A is there."""
    timeline = played(("A", "A", "B"), "deliver B>A ask A,B")
    words = panel(timeline, "peers").wording(scene_at(timeline, timeline.at))
    assert "A: knows A, B, waits for B; no group" in words
    assert "C: knows B, C, waits for B; no group" in words
    drawn = panel(timeline, "peers").draw(scene_at(timeline, timeline.at))
    [node] = [each for each in drawn.walk() if each.key == "n:A"]
    assert node.text().endswith("A waits for B knows A B")
    while not timeline.state.nodes[0].group:
        timeline.forward()
    words = panel(timeline, "peers").wording(scene_at(timeline, timeline.at))
    assert "A: knows A, B, C; group A" in words


@pytest.mark.spec("C-022")
def test_a_node_that_hears_of_a_group_asks_to_join_the_group() -> None:
    """A's configuration then has B."""
    timeline = played(("A", "A"), *JOINED[:3])
    [flow] = scene_at(timeline, timeline.at).flows()
    assert (flow.label, flow.text) == ("group A", "A → B: the answer “group A exists”")
    timeline = played(("A", "A"), *JOINED)
    assert timeline.state.nodes[0].members == ("A", "B")
    assert "group A" in part(timeline, "peers", "n:B")


@pytest.mark.spec("C-023")
def test_only_the_node_with_the_lowest_id_founds_the_group() -> None:
    """The panel marks it before, and crowns it after."""
    timeline = played(("C", "C", "C"))
    assert "lowest id" in part(timeline, "peers", "n:A")
    assert "lowest id" not in part(timeline, "peers", "n:B") + part(timeline, "peers", "n:C")
    while timeline.forward() is not None and not any(p.group for p in timeline.state.nodes):
        pass
    model = timeline.model
    assert isinstance(model, Discovery)
    assert [peers.name for peers in timeline.state.nodes if peers.group] == ["A"]
    drawn = panel(timeline, "peers").draw(scene_at(timeline, timeline.at))
    crowned = [p.key for p in drawn.walk() if p.key and 'class="crown"' in p.html()]
    assert crowned == ["n:A"]


@pytest.mark.spec("C-025")
def test_twelve_nodes_with_one_contact_point_found_a_single_group() -> None:
    """All are members of it."""
    timeline = played(("A",) * 12)
    played_out(timeline)
    assert timeline.state.nodes[0].members == tuple("ABCDEFGHIJKL")
    text = frame_text(scene_at(timeline, timeline.at), for_model(timeline.model).panels)
    assert text.count("raft_group0_id A") == 12


@pytest.mark.parametrize(
    ("seeds", "words"),
    [((), "contact points for 1 to 12 nodes"), (("A", "Z"), "seeds of B: got 'Z'")],
)
def test_seeds_without_known_nodes_are_refused(seeds: tuple[str, ...], words: str) -> None:
    """No seeds at all, or a seed that is no node."""
    with pytest.raises(BadInput, match=words):
        build("discovery", {"seeds": seeds})


def test_a_node_asks_again_only_when_an_answer_is_missing_and_none_is_under_way() -> None:
    """Each refusal has its reason; the budget of restarts is shared."""
    model: Any = build("discovery", {"seeds": ("", "A B", "A B"), "losses": 1, "restarts": 1})

    def refused(state: Any, verb: str) -> str:
        _, refusal = model.find(state, verb)
        return refusal.reason if refusal else ""

    start = model.start()
    assert refused(start, "ask-again A") == (
        "A has an answer from every node, and has the lowest Raft id"
    )
    under_way = "requests from C, or answers to them, are on their way"
    assert refused(start, "ask-again C") == under_way
    lost = model.act(start, model.find(start, "drop C>A ask A,B,C")[0])
    assert refused(lost, "ask-again C") == ""
    assert refused(start, "crash-and-start A") == ""
    crashed = model.act(start, model.find(start, "crash-and-start A")[0])
    assert refused(crashed, "crash-and-start B") == "the budget of restarts is spent"


def test_contact_points_are_sorted_and_listed_once() -> None:
    """However they are written."""
    assert seeds_of(("C A C", "", "A")) == {"A": ("A", "C"), "B": (), "C": ("A",)}
    assert seeds_of(("A",)) == {"A": ("A",)}
