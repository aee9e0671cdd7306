"""Paxos, searched to its end: with faults, with a change of members, broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

from kit.errors import BadInput, KitError, Refusal
from kit.masks import where
from kit.model.model import Model, Property
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.paxos.paxos import Paxos
from kit.protocols.paxos.rules import is_quorum
from kit.search.check import check, check_refinement
from kit.search.zoom import zoomed
from kit.views.gate import gates_of
from kit.views.panel import scene_of
from kit.views.registry import for_model
from kit.widgets.player import Player
from tests.commands.calling import call
from tests.quality.breaking import broken, never
from tests.quality.reporting import assert_reported
from tests.views.frames import after, check_frame, go_on, panel_text

BARE = {"spreads": False, "refusals": False, "tidy": True}


STATES = [
    ({"members": 2, "ballots": 1}, 87),
    ({"members": 2}, 11_137),
    ({**BARE}, 16_065),
    ({**BARE, "ballots": 1, "crashes": 1}, 3_869),
    ({**BARE, "ballots": 1, "epochs": 2}, 4_168),
    ({**BARE, "ballots": 1, "slow_disks": True, "crashes": 1}, 16_829),
    ({**BARE, "ballots": 1, "members": 2, "becomes": ("C",)}, 20_614),
    ({"members": 2, "ballots": 1, "losses": 1, "copies": 1}, 1_513),
    ({"members": 2, "ballots": 1, "holds": 1, "partitions": 1, "cuts": 1}, 4_500),
    ({"members": 2, "ballots": 1, "fifo": True}, 37),
]


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("given", "states"), STATES)
def test_no_reachable_state_breaks_a_promise(given: dict[str, Any], states: int) -> None:
    """Each search is complete, reaches every goal, and has so many states."""
    result = check(build("paxos", given))
    assert (result.violation, result.complete, result.unreached) == (None, True, ())
    assert result.states == states


@pytest.mark.parametrize(
    "given",
    [
        {"values": ("x at A", "x at B")},
        {"values": ("x at Z",)},
        {"values": ("A",)},
        {"becomes": ("B", "B")},
        {"given_names": ("A", "A", "B")},
    ],
)
def test_values_or_members_that_cannot_be_are_refused(given: dict[str, Any]) -> None:
    """The error names the parameter."""
    with pytest.raises(BadInput) as wrong:
        build("paxos", given)
    assert [wrong.value.field] == [*given]


@pytest.mark.deep
def test_a_crash_among_three_acceptors_breaks_no_promise() -> None:
    """Two proposers with two ballots each, messages in any order."""
    result = check(build("paxos", {**BARE, "crashes": 1}))
    assert (result.violation, result.complete, result.states) == (None, True, 80_014)


# A, B, C are to become B, C, D. A majority of the former, A and B, has accepted x.
CHANGE = ("ballot A", "deliver A>B prepare 1 1A", "deliver B>A promise 1 1A",
          "deliver A>B accept 1 1A x", "deliver B>A accepted 1 1A", "begin-change")  # fmt: skip


REPAIR = ("repair C", "deliver C>B prepare 1 1C", "deliver B>C promise 1 1C x 1A",
          "deliver C>D prepare 1 1C", "deliver D>C promise 1 1C", "deliver C>A prepare 1 1C",
          "deliver A>C chosen 1 x", "deliver C>D accept 1 1C x",
          "deliver C>B accept 1 1C x", "deliver B>C accepted 1 1C")  # fmt: skip


def slot_of(timeline: Timeline, name: str) -> str:
    """What the table of acceptors has for a node."""
    rows = (row.strip().partition(": ") for row in panel_text(timeline, "acceptors").splitlines())
    return next(row for first, _, row in rows if first == name)


@pytest.mark.spec("B-046")
def test_a_repair_fills_the_slot_of_a_new_member() -> None:
    """D gets the promise, then the value; the change cannot end before."""
    given = {"becomes": ("B", "C", "D"), "values": ("x at A", "y at C"), "spreads": False}
    timeline = after("paxos", given, *CHANGE)
    early = timeline.model.find(timeline.state, "end-change")
    assert early is not None
    assert isinstance(early[1], Refusal)
    rows = [slot_of(timeline, "D")]
    for verb in REPAIR:
        go_on(timeline, verb)
        rows += [slot_of(timeline, "D")] * (slot_of(timeline, "D") != rows[-1])
    empty = "log empty"
    assert rows == [
        f"nothing promised; {empty}",
        f"promise 1C; {empty}",
        f"promise 1C, x 1C; {empty}",
    ]
    assert "C  2  1C  C  –  –" in panel_text(timeline, "acceptors")  # it has no value of its own


@pytest.mark.spec("B-046")
@pytest.mark.parametrize("becomes", ["C", "BC"])
def test_new_members_decide_alone_only_with_what_the_former_accepted(becomes: str) -> None:
    """A and B have accepted x. Without the repair a majority of the new members can lack x."""
    given = {**BARE, "ballots": 1, "members": 2, "becomes": tuple(becomes)}
    start = after("paxos", given | {"values": ("x at A", "y at C")}, *CHANGE[:4]).state
    for off in ((), ("repair-first",)):
        model = build("paxos", given | {"values": ("x at A", "y at C")}, off)
        vars(model)["start"] = lambda: start
        result = check(model, (carried(model, "x"),))
        assert (result.violation is None, result.complete) == (not off, not off), off


def carried(m: Paxos, value: str) -> Property:
    """As a change ends, a majority of the new members has this value."""

    def lacking(before: Any, action: Any, after: Any) -> str | None:
        having = where(node.holds(1, value) for node in before.nodes)
        return None if is_quorum(having, m.electorates[2]) else "the new members do not have it"

    end = Paxos.end_change.struct
    return Property("carried", "step", "A repair carries it over", lacking, on=(end,))


@pytest.mark.deep
def test_a_repair_carries_accepted_values_to_a_single_new_member() -> None:
    """In whatever order things happen."""
    given = {**BARE, "ballots": 1, "becomes": ("C",), "values": ("x at A", "y at C")}
    result = check(build("paxos", given))
    assert (result.violation, result.complete, result.states) == (None, True, 132_632)


@pytest.mark.parametrize(
    ("given", "off", "factor"),
    [
        ({"ballots": 1}, (), 17),
        ({"members": 2, "ballots": 1}, ("accepted-first",), 1),
        ({"members": 2, "ballots": 1}, ("promises-bind",), 1),
        ({"members": 2, "ballots": 1, "epochs": 2}, (), 1),
    ],
)
def test_a_search_without_useless_messages_finds_the_same_harm(
    given: dict[str, Any], off: tuple[str, ...], factor: int
) -> None:
    """In no more states, and in the first case in 17 times fewer."""
    bare = {**given, "spreads": False, "refusals": False}
    whole, tidy = (check(build("paxos", {**bare, "tidy": each}, off)) for each in (False, True))
    assert whole.complete == tidy.complete
    assert (whole.violation and whole.violation.property) == (
        tidy.violation and tidy.violation.property
    )
    assert whole.states >= factor * tidy.states


@pytest.mark.parametrize(
    "given",
    [
        {"members": 2, "epochs": 2, "ballots": 1},
        {**BARE, "epochs": 2, "ballots": 1},
        {**BARE, "members": 1, "becomes": ("B",), "ballots": 1},
    ],
)
def test_each_step_refines_the_log_that_commits_in_one_step(given: dict[str, Any]) -> None:
    """A step appends the same entry there, or changes nothing."""
    refines = entry_of("paxos").refinement
    assert refines is not None
    result = check_refinement(refines(build("paxos", given).parameters))
    assert (result.violation, result.complete) == (None, True)


@pytest.mark.parametrize("model", ["paxos", "raft"])
def test_a_comparison_without_parameters_takes_a_small_configuration(model: str) -> None:
    """The answer says which, and the search ends."""
    answer = call("check", model, "--refines", "--json").json
    assert answer["verdict"] in ("judged in part", "bounded")
    assert answer["states"] in (1_653, 4_168)
    assert answer["configuration"]["parameters"]


@pytest.mark.parametrize("fifo", [False, True])
def test_a_link_delivers_in_order_only_where_fifo_is_on(fifo: bool) -> None:
    """A sent B its first ballot and then its second."""
    timeline = Timeline(build("paxos", {"fifo": fifo}))
    for _ in range(2):
        timeline.do(Paxos.ballot("A"))
    second = timeline.model.find(timeline.state, "deliver A>B prepare 1 2A")
    assert second is not None
    first = "the link A→B keeps its order: prepare 1 1 comes first"
    assert (second[1] == Refusal(first)) is fifo


def test_a_node_that_is_cut_off_learns_the_value_once_the_network_heals() -> None:
    """B and C decide without A, whose link from B is cut one way."""
    model = build("paxos", {"values": ("y at B",), "cuts": 2, "holds": 1, "partitions": 1})
    timeline = Timeline(model)

    def does(*verbs: str) -> None:
        for verb in verbs:
            found = model.find(timeline.state, verb)
            assert found is not None, verb
            assert not isinstance(found[1], Refusal), (verb, found[1])
            timeline.do(found[0])

    does("cut B>A", "ballot B", "deliver B>C prepare 1 1B", "deliver C>B promise 1 1B")
    found = model.find(timeline.state, "deliver B>A prepare 1 1B")
    assert found is not None
    assert found[1] == Refusal("the link B→A is cut")
    does("deliver B>C accept 1 1B y", "hold C>B accepted 1 1B", "release C>B accepted 1 1B")
    does("deliver C>B accepted 1 1B", "heal", "partition A C | B")
    found = model.find(timeline.state, "deliver B>A chosen 1 y")
    assert found is not None
    assert isinstance(found[1], Refusal)
    does("heal", "deliver B>A chosen 1 y")
    assert timeline.state.nodes[0].log == ("y",)


def commits(player: Player) -> list[int]:
    """The moments of a run of ``commit`` in which an epoch is committed."""
    played_out(player.timeline)
    timeline = player.timeline
    named = ((at, timeline.moments[at].milestone or "") for at in timeline.path())
    return [at for at, name in named if name.startswith("epoch")]


@pytest.mark.parametrize("scenario", ["one-event", "two-submit", "lost-answer"])
def test_a_commit_zooms_into_its_round_of_paxos_and_back(scenario: str) -> None:
    """The round ends with the same events; a round that was opened by itself has no way back."""
    player = Player(f"commit/{scenario}", controls=False)
    found = commits(player)
    assert found
    for count, at in enumerate(found, 1):
        player.goto(at)
        finer = player.zoom()
        state = finer.timeline.moments[finer.timeline.tip].state
        log = finer.model.history(state)  # type: ignore[attr-defined]  # of paxos
        events = player.model.history(player.state)  # type: ignore[attr-defined]  # of commit
        assert log == tuple(f"{each.event} ({each.id})" for each in events)
        assert len(log) == count
        assert finer.timeline.model.verb(finer.timeline.forward().action).startswith("ballot ")  # type: ignore[union-attr]  # there is a step
        assert finer.zoom_out() is player
    with pytest.raises(KitError, match="opened on its own"):
        player.zoom_out()


def test_an_epoch_zooms_into_its_submission_and_further_into_messages() -> None:
    """And back out again, twice."""
    player = Player("tcm/bootstrap", controls=False)
    player.step()
    commit = player.zoom()
    assert [
        each.description for each in commit.controls.row.children if "Zoom" in each.description
    ] == ["Zoom in", "Zoom out"]  # type: ignore[union-attr]  # with controls
    commit.goto(commits(commit)[-1])
    assert commit.zoom().model.name == "paxos"
    assert commit.zoom().zoom_out().zoom_out() is player


def test_a_commit_by_a_counter_has_no_finer_view() -> None:
    """A single node's counter sends no messages."""
    player = Player("commit/by-counter", controls=False)
    player.goto(commits(player)[0])
    with pytest.raises(KitError, match="no finer view"):
        zoomed(player.timeline)


@pytest.mark.parametrize("guard", entry_of("paxos").safeguards, ids=lambda guard: guard.name)
def test_each_safeguard_is_needed_and_enough(guard: Any) -> None:
    """In its smallest configuration: without it the search finds harm, with it none."""
    found = check(build("paxos", guard.smallest, (guard.name,))).violation
    assert found is not None
    result = check(build("paxos", guard.smallest))
    assert (result.violation, result.complete) == (None, True)


def test_a_crash_after_writing_keeps_what_was_accepted() -> None:
    """B has written x, and has not answered: once it is up, x is on its disk."""
    model = build("paxos", {"values": ("x at A", "y at C"), "slow_disks": True, "crashes": 1})
    state = model.start()
    first = ("ballot A", "persist A", "deliver A>B prepare 1 1A", "persist B")
    then = ("deliver B>A promise 1 1A", "persist A", "deliver A>B accept 1 1A x")
    for verb in chain(first, then, ("crash-written B", "restart B")):
        option = model.find(state, verb)
        assert option is not None, verb
        state = model.act(state, option[0])
    assert model.on_disk(state, 1).holds(1, "x")
    assert not [e for e in state.network.in_flight if e.source == "B"]


def test_the_gate_of_a_proposal_lists_no_acceptor_that_cannot_have_accepted() -> None:
    """A has promised a higher ballot: its own value is missing there like B's and C's."""
    verbs = ("ballot A", "ballot B", "deliver A>C prepare 1 1A", "deliver B>A prepare 1 1B")
    timeline = after("paxos", {}, *verbs, "deliver C>A promise 1 1A")
    scene = scene_of(timeline, timeline.at)
    check_frame(scene)
    [panel] = [each for each in for_model(timeline.model).panels if each.gates]
    gates = {gate.thing: gate for gate in gates_of(scene, panel.gates or list)}
    assert gates["n:A"].sentence == (
        "The gate for “accept x in 1A, epoch 1” is closed. 0 of 3 have accepted (2 needed). "
        "Missing: A, B, C."
    )


def test_a_round_during_a_change_waits_for_each_group_of_members() -> None:
    """For a majority of the old members, then for that of the new ones."""
    given = {"values": ("x at A",), "becomes": ("B", "C", "D")}
    verbs = ["begin-change", "ballot A", "deliver A>B prepare 1 1A"]
    told = {
        "": ("the old members", ("A",), ("B", "C"), 2),
        "deliver B>A promise 1 1A": ("the new members", ("B",), ("C", "D"), 2),
    }
    for verb, expected in told.items():
        verbs += [verb] if verb else []
        scene = scene_of(timeline := after("paxos", given, *verbs), timeline.at)
        [panel] = [each for each in for_model(timeline.model).panels if each.gates]
        [gate] = gates_of(scene, panel.gates or list)
        assert (gate.where, gate.there, gate.missing, gate.needed) == expected, verb


SMALL: dict[str, Any] = {"members": 2, "values": ("x at A",), "ballots": 1}


def without(name: str) -> Callable[[], Model[Any, Any]]:
    """Paxos without a safeguard, in its smallest configuration."""
    [guard] = [each for each in entry_of("paxos").safeguards if each.name == name]
    return lambda: build("paxos", guard.smallest, (name,))


def swapped() -> Model[Any, Any]:
    """A member proposes something else than its client asks for."""
    model = Paxos(Paxos.Parameters(**SMALL))
    proposing = model.proposing
    vars(model)["proposing"] = lambda *to: proposing(*to[:3], "z")
    return model


PAXOS = {
    "one-log": without("promises-bind"),
    "proposed-only": swapped,
    "stored": without("persist-first"),
    "decided": lambda: broken(build("paxos", SMALL), Paxos.deliver.struct, never),
}


@pytest.mark.parametrize("name", PAXOS)
def test_a_search_reports_each_promise_broken_on_purpose(name: str) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(PAXOS[name](), name)
