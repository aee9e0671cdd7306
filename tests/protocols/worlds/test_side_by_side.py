"""Pairs of stories: their rows are found in both, what they say is true, and one Player has all."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

import kit
from kit import Timeline
from kit.errors import BadInput, KitError
from kit.lessons import goes_on_in, predict, who_is_asked
from kit.model.registry import build, entry_of
from kit.model.scenario import file_named, open_file
from kit.model.timeline import played_out
from kit.model.trace import read
from kit.playing import links
from kit.playing.opening import open_named
from kit.playing.setup import Setup
from kit.playing.stored import run_stored, stored_run
from kit.protocols.worlds import commands
from kit.protocols.worlds.alignment import TITLES, WORLDS, Now, Pair, Row, aligned, moments
from kit.protocols.worlds.commands import side_by_side_run
from kit.protocols.worlds.facts import BOTH, JOIN, PAIRS, coordinator, epochs, pair_named
from kit.protocols.worlds.panels import IDLE, part_scene
from kit.protocols.worlds.side_by_side import woven
from kit.views.fragment import keys
from kit.views.gate import draw_gates, gates_of
from kit.views.panel import scene_at, scene_of
from kit.views.registry import for_model
from kit.views.rendered import RenderedTimeline
from tests.commands.calling import call
from tests.protocols.worlds.claims import is_true

runs = cache(side_by_side_run)
"""Runs that tests only look at."""
every_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)


@every_pair
def test_the_claim_of_each_row_holds_at_its_moments(pair: Pair) -> None:
    """In the two states that were found for the row."""
    for met in aligned(pair).met:
        assert is_true(pair.name, met.row, *met.nows), met.row.title


@every_pair
def test_the_claim_of_each_row_is_false_at_some_moments(pair: Pair) -> None:
    """Of the same two stories; else it would say nothing."""
    stories = [[*moments(open_file(file_named(story)))] for story in pair.stories]
    for row in pair.rows:
        at_any = (_holds(pair, row, *nows) for nows in product(*(s[1:] for s in stories)))
        assert not all(at_any), row.title


def _holds(pair: Pair, row: Row, a: Now, b: Now) -> bool:
    try:
        return is_true(pair.name, row, a, b)
    except (TypeError, ValueError, AttributeError, AssertionError):
        return False  # the claim is about a step that this moment has not


@every_pair
def test_a_claim_names_a_world_only_where_the_worlds_differ(pair: Pair) -> None:
    """A row that is alike names neither."""
    for row in pair.rows:
        named = any(world in row.claim.lower() for world in ("with epochs", "over raft"))
        assert row.alike is not named, row.title


def test_the_gate_of_a_world_shows_each_missing_node() -> None:
    """Up to five stand before it, and each gate says in which world it is."""
    timeline = open_named("worlds/bootstrap-in-both").timeline
    views = for_model(timeline.model)
    [right] = [panel for panel in views.panels if panel.name == "topology"]
    most = 0
    while timeline.forward() is not None:
        scene = scene_of(timeline, timeline.at)
        assert right.gates is not None
        gates = gates_of(scene, right.gates)
        shut = [gate for gate in gates if gate.missing]
        assert all(gate.title.startswith(("epochs: ", "topology: ")) for gate in shut)
        drawn = draw_gates(scene, gates)
        heads = {key for key in keys(drawn) if key.startswith("gate:barrier:")} if drawn else ()
        most = max(most, len(heads))
    assert most == 5


def test_a_barrier_opens_by_majorities_with_epochs_and_by_all_answers_over_raft() -> None:
    """Each set of answers is tried in both models."""
    met = next(met for met in aligned(JOIN).met if met.row.title == "writes go to both")
    a, b = met.nows
    asked = sorted(coordinator.addressed(b))
    assert asked == ["A", "B", "C", "D", "E"]
    for some in _subsets(asked):
        state = a.after
        for name in some:
            while a.m.applied(state)[a.m.names.index(name)] < a.m.snapshot(a.after).metadata.epoch:
                state = a.m.apply(state, a.m.find(state, f"apply {name}")[0])
        open_here = not epochs.barriers(a) or epochs.is_open(replace(a, after=state))
        assert open_here == ({"B", "C"} <= {*some} and bool({"A", "E"} & {*some})), some
        state = b.after
        for name in some:
            state = b.m.apply(state, b.m.find(state, f"answer {name}")[0])
        assert (not coordinator.lacking(replace(b, after=state))) == ({*some} == {*asked}), some


def _subsets(names: list[str]) -> list[tuple[str, ...]]:
    chosen = product((False, True), repeat=len(names))
    return [tuple(n for n, on in zip(names, each, strict=True) if on) for each in chosen]


@every_pair
def test_the_two_stories_are_woven_in_the_order_of_their_steps(pair: Pair) -> None:
    """Up to a row, all steps of both worlds."""
    given = aligned(pair)
    told = [*woven(given)]
    for world, story in enumerate(given.ways):
        assert [step for each, step in told if each == world] == [*range(1, len(story))]
    for met in given.met:
        wanted = {(world, step) for world in (0, 1) for step in range(1, met.steps[world] + 1)}
        assert {*told[: sum(met.steps)]} == wanted, met.row.title


def test_an_unknown_pair_is_refused_with_the_nearest_name() -> None:
    """By its own name, not by that of its scenario."""
    assert pair_named("death") is PAIRS[2]
    with pytest.raises(BadInput, match=r"^pair: got 'deaht'.*death"):
        pair_named("deaht")


@every_pair
def test_a_run_tells_the_two_stories_whole_with_a_milestone_a_row(pair: Pair) -> None:
    """The run ends when the two worlds are at rest."""
    run, given = side_by_side_run(pair.name), aligned(pair)
    assert run.at == 0
    assert [run.model.suggest(run.moments[tip].state) for tip in run.branches()] == [None]
    for world, story in zip(WORLDS, given.ways, strict=True):
        steps = (run.model.part_of(action) for action in run.actions())
        own = [action for part, action in steps if part == world]
        assert own[: len(story) - 1] == [now.action for now in story[1:]]
    for number, met in zip(run.model.moments, given.met, strict=True):
        moment = run.moments[number]
        assert moment.milestone == met.row.title
        states = tuple(getattr(moment.state, world) for world in WORLDS)
        assert states == tuple(now.after for now in met.nows), met.row.title
        assert run.why(number).endswith(met.row.claim), met.row.title
    assert sum(m.milestone is not None for m in run.moments) == len(given.met)


@every_pair
def test_no_story_comes_to_a_state_twice(pair: Pair) -> None:
    """Else a state could not say how far its world has told its story."""
    for story in aligned(pair).ways:
        assert len({now.after for now in story}) == len(story)


def test_the_milestones_of_a_player_are_the_rows() -> None:
    """From the start; a world that is ahead is waited for."""
    player = kit.side_by_side("death")
    assert player.controls is None  # what to do next is told by the rows
    titles = [player.milestone().milestone for _ in player.model.aligned.met]
    assert titles == [met.row.title for met in player.model.aligned.met]
    other = kit.Player("worlds/death-in-both")
    other.act("topology join E")
    assert other.milestone().milestone == titles[0]
    assert other.model.verb(other.timeline.now.action).startswith("epochs ")


@pytest.mark.sweep(3)
@every_pair
def test_a_run_of_two_worlds_is_saved_linked_and_opened_again(pair: Pair, tmp_path: Path) -> None:
    """As a trace, as a link to any story of the model, and as what a notebook keeps."""
    player = kit.side_by_side(pair.name)
    run = player.timeline
    run.goto(player.model.moments[-1])
    other = kit.Player("worlds")
    other.load(player.save(tmp_path / "run.json"))
    assert (other.model.title, other.timeline.at) == (pair.question, run.at)
    assert [m.milestone for m in other.timeline.moments] == [m.milestone for m in run.moments]
    assert other.export(tmp_path / "page.html").size < 1_000_000
    story = build("worlds")
    linked = links.run_of(links.link_of(run, story), story)
    assert linked.actions() == run.actions()
    assert linked.state == run.state
    kept = run_stored(stored_run(run, None))
    assert kept is not None
    assert kept.timeline().actions() == run.actions()


def test_a_row_has_a_button_only_if_the_run_met_its_moment() -> None:
    """A run that was cut after two rows and opened again has two buttons."""
    story = build("worlds")
    met = runs("bootstrap").model.moments[1]
    cut = _at(side_by_side_run("bootstrap"), met)
    cut.fork()  # the branch ends here
    run = links.run_of(links.link_of(cut, story), story)
    rows = next(panel for panel in for_model(run.model).panels if panel.name == "rows")
    drawn = rows.draw(scene_at(run, 0))
    opened = [int(part.get("data-moment") or 0) for part in drawn.walk() if part.tag == "button"]
    assert opened == list(story.moments[:2])


def _at(run: Timeline, moment: int) -> Timeline:
    run.goto(moment)
    return run


def test_an_action_changes_its_own_world_alone() -> None:
    """The sentence names the world; a verb without a world is refused."""
    player = kit.side_by_side("bootstrap")
    player.goto(player.model.moments[2])
    before = player.state
    player.act("epochs apply D")
    assert player.state.topology is before.topology
    assert player.state.epochs != before.epochs
    assert "Epochs (CEP-21): D applies" in player.timeline.now.say
    with pytest.raises(BadInput, match="action: got 'apply D'"):
        player.act("apply D")


def test_the_promises_of_each_world_are_judged_on_its_own_steps() -> None:
    """A step of the other world is none of their steps."""
    run = runs("bootstrap")
    names = {prop.name for prop in run.model.properties}
    assert {"epochs:quorums", "epochs:locks"} <= names
    assert any(name.startswith("topology:") for name in names)
    assert not run.breaches(run.path()[-1])
    steps = [each for each in run.model.properties if each.kind == "step"]
    for step in run.passed(run.path()[-1]):
        world = run.model.part_of(step.action)[0]
        others = (prop for prop in steps if not prop.name.startswith(f"{world}:"))
        assert not any(prop.of_step(step.before, step.action, step.after) for prop in others)


def test_a_broken_promise_is_named_by_its_world() -> None:
    """Without locks two operations of the epochs take the same range; no other promise breaks."""
    model = build("worlds", {"pair": BOTH.name}, ("S-09",))
    run = Timeline(model)
    for verb in ("epochs bootstrap E --tokens 150", "topology join E", "epochs decommission B"):
        run.do(model.find(run.state, verb)[0])
    broken = [breach.title for breach in run.breaches(run.at)]
    assert "Epochs (CEP-21): Operations in flight have no range in common" in broken
    assert all(title.startswith("Epochs (CEP-21): ") for title in broken)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("pair", "word", "broken"),
    [
        ("bootstrap", "S-05", "Every node that serves reads also gets writes"),
        ("decommission", "S-28", "No node writes to a node that is told to shut down"),
        ("two-at-once", "topology:cleanup-first", "A node that gets ranges back is clean"),
    ],
)
def test_without_a_safeguard_its_own_world_breaks_a_promise(
    pair: str, word: str, broken: str
) -> None:
    """No promise of the other world; from the start, in a branch, and in the saved branch."""
    told = side_by_side_run(pair)
    told.goto(told.tip)
    assert not told.breaches(told.tip)
    model = build("worlds", {"pair": pair}, (word,))
    assert told.switch(model)[0] > 0
    [off] = model.off
    world = TITLES[off.partition(":")[0]]
    for run in (played_out(Timeline(model)), told, Timeline.load(told.save())):
        assert run.here.off == model.off
        titles = [breach.title for breach in run.breaches(run.tip)]
        assert f"{world}: {broken}" in titles
        assert all(title.startswith(world) for title in titles)
    broke = told.path()[told.breaches(told.tip)[0].step + 1]
    assert f"{world}: {broken}" in RenderedTimeline(told).html(broke)


def test_each_safeguard_of_a_pair_has_a_name_of_its_own() -> None:
    """The entry has those of all pairs; a safeguard of another pair is refused."""
    own = [entry_of("worlds").safeguards] + [
        build("worlds", {"pair": pair.name}).safeguards for pair in PAIRS
    ]
    for guards in own:
        words = [word for each in guards for word in (each.id, each.name)]
        assert len({*words}) == len(words)
    assert {each.name for each in own[0]} == {each.name for some in own[1:] for each in some}
    assert {"S-05", "epochs:S-53", "topology:S-53"} < {each.id for each in own[0]}
    setup = Setup(kit.Player("worlds/majority-in-both"))
    assert [each.id for each in setup.safeguards][:2] == ["S-13", "S-14"]
    assert "repeated as a branch" in setup.configure(("epochs:log-transfer",))
    with pytest.raises(BadInput, match=r"got 'epochs:write-.*: in pair majority, one of epochs:"):
        build("worlds", {"pair": "majority"}, ("S-05",))


@pytest.mark.parametrize("word", ["S-05", "epochs:one-at-a-time"])
def test_check_searches_a_pair_that_has_the_safeguard(word: str, tmp_path: Path) -> None:
    """The violation is saved as a trace of the pair without the safeguard, and plays."""
    file = str(tmp_path / "run.json")
    status, out, _ = call("check", "worlds", "--off", word, "--trace", file)
    [off] = Timeline.load(read(file)).model.off
    assert (status, off in out, word in (off, "S-05")) == (1, True, True)
    assert call("play", file).status == 0


@every_pair
def test_the_board_draws_the_two_worlds_without_a_repeated_key(pair: Pair) -> None:
    """At about twenty moments of each pair."""
    run = runs(pair.name)
    views = for_model(run.model)
    for moment in run.path()[:: max(1, len(run.moments) // 20)]:
        scene = scene_at(run, moment)
        seen = [key for panel in views.panels[1:4] for key in keys(panel.draw(scene))]
        assert len(seen) == len(set(seen))
        assert scene.state.epochs is part_scene(scene, "epochs").state


def test_the_picture_of_a_world_that_does_not_act_is_pale() -> None:
    """At the start neither picture is."""
    timeline = runs("bootstrap")
    for at in timeline.path()[:24:6]:
        scene = scene_at(timeline, at)
        acts = scene.action and scene.model.part_of(scene.action)[0]
        for panel in for_model(timeline.model).panels:
            if panel.name in WORLDS:
                drawn = panel.draw(scene)
                pale = {part.get("opacity") for part in drawn.walk() if part.tag == "svg"}
                assert pale == {None if acts in (None, panel.name) else IDLE}


def test_log_and_nodes_are_the_same_things_in_the_two_pictures() -> None:
    """So a press on a thing lights it in each."""
    run = runs("bootstrap")
    scene = scene_at(run, run.model.moments[2])
    views = {panel.name: panel for panel in for_model(run.model).panels}
    things = [{part.get("data-of") for part in views[world].draw(scene).walk()} for world in WORLDS]
    assert {"A", "B", "C", "D", "E", "log"} <= things[0] & things[1]


def test_a_node_before_a_gate_acts_in_its_own_world() -> None:
    """By a press on the node beside the words; each world has its first gate there."""
    player = kit.side_by_side("bootstrap")
    player.goto(player.model.moments[2])
    scene = player.rendered.scene(player.timeline.at)
    views = {panel.name: panel for panel in for_model(player.model).panels}
    shown = player.rendered.html(player.timeline.at)
    for world, done in (("epochs", "epochs apply"), ("topology", "topology answer")):
        gates = gates_of(scene, views[world].gates)
        drawn = draw_gates(scene, gates)
        acts = [act for part in drawn.walk() if (act := part.get("data-act"))]
        verbs = [player.model.verb(player._marked(act.removeprefix("do:"))) for act in acts]
        assert any(verb.startswith(done) for verb in verbs)
        first = {gate.part: gate for gate in reversed(gates)}.values()
        assert all(f'data-k="gate:{gate.thing}"' in shown for gate in first)


def test_each_row_has_a_button_to_its_moment() -> None:
    """The row of now is marked, and every claim is there."""
    run = runs("majority")
    rows = next(panel for panel in for_model(run.model).panels if panel.name == "rows")
    drawn = rows.draw(scene_at(run, run.model.moments[1]))
    buttons = [part for part in drawn.walk() if part.tag == "button"]
    assert [int(b.get("data-moment") or 0) for b in buttons] == list(run.model.moments)
    now = [part.key for part in drawn.walk() if part.get("class") == "moved"]
    assert now == ["row:1", "claim:1"]
    assert all(met.row.claim in drawn.text() for met in run.model.aligned.met)


def test_side_by_side_prints_rows_and_writes_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON, text and HTML; a wrong name is refused with what there is."""
    assert commands.SIDE_BY_SIDE(["cancel", "--json"]) == 0
    [told] = json.loads(capsys.readouterr().out)["pairs"]
    [pair] = [pair for pair in PAIRS if pair.name == "cancel"]
    assert [row["claim"] for row in told["rows"]] == [row.claim for row in pair.rows]
    assert commands.SIDE_BY_SIDE([]) == 0
    text = capsys.readouterr().out
    assert all(pair.question in text for pair in PAIRS)
    page = tmp_path / "page.html"
    assert commands.SIDE_BY_SIDE(["majority", "--html", str(page)]) == 0
    assert page.stat().st_size < 500_000
    with pytest.raises(BadInput, match="bootstrap, cancel"):
        commands.SIDE_BY_SIDE(["nothing"])
    with pytest.raises(BadInput, match="a pair to write"):
        commands.SIDE_BY_SIDE(["--html", str(page)])
    with pytest.raises(BadInput, match="bootstrap, cancel"):
        kit.side_by_side("nothing")


def test_the_lesson_knows_whom_each_barrier_asks_and_which_is_open() -> None:
    """Without a barrier in each world there is nothing to ask."""
    player = kit.side_by_side("bootstrap")
    player.goto(player.model.moments[2])
    assert predict(player, who_is_asked, "epochs").right == ("A", "B", "C", "E")
    assert predict(player, who_is_asked, "topology").right == ("A", "B", "C", "D", "E")
    death = kit.side_by_side("death")
    death.goto(death.model.moments[3])
    assert predict(death, goes_on_in).right == ("Epochs (CEP-21)",)
    for name in ("bootstrap", "majority"):
        with pytest.raises(KitError, match="no barrier runs in both"):
            predict(kit.side_by_side(name), goes_on_in)
