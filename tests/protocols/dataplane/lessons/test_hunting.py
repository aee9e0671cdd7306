"""The bug hunt of reads and writes, and questions that the model answers."""

from __future__ import annotations

import re
from itertools import combinations
from typing import Any

import nbformat
import pytest

from kit.errors import BadInput, KitError
from kit.lessons import (
    after,
    before,
    crossed,
    enough_answers,
    exercise,
    holders,
    hunt,
    not_owned,
    outcome,
    predict,
    story,
)
from kit.lessons.forms import HuntBoard
from kit.lessons.hunting import VARIANTS, Variant, drawn, hunts, judged
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline
from kit.model.trace import dumps
from kit.protocols.dataplane.lessons import always_meet
from kit.search.check import check
from kit.widgets import Player
from tests.house.source import ROOT
from tests.lessons.answers import HUNT, RIGHT, named_hunt
from tests.saying import like

LONG = {("tcm", "S-55")}


EVERY = [
    (model, id_)
    for model, pool in hunts().items()
    if pool.of == "CEP-21"
    for id_ in pool.safeguards
]


def variant_of(model: str, id_: str) -> Variant:
    """The variant that lacks one safeguard."""
    guard = next(g for g in entry_of(model).safeguards if g.id == id_)
    return Variant(model, {**guard.smallest, **hunts()[model].budgets}, guard)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("model", "id_"),
    [pytest.param(*one, marks=[pytest.mark.deep] * (one in LONG)) for one in EVERY],
)
def test_every_variant_is_broken_and_every_wrong_name_is_refuted(model: str, id_: str) -> None:
    """Each variant breaks something that a search finds; its own name is right; any other is
    answered by a run of the models, which stops or leads elsewhere at a step that is told.
    """
    variant = variant_of(model, id_)
    found = check(variant.build(), max_states=60_000)
    assert found.violation is not None
    for guard in entry_of(model).safeguards:
        verdict = judged(variant, 3, guard.name)
        assert verdict.passed == (guard.id == id_)
        if not verdict.passed:
            assert f"With only {guard.id} missing" in " ".join(verdict.lines)
            assert any(
                word in verdict.lines[-1]
                for word in ("is refused:", "does this:", "nothing breaks", "in the same way")
            )
            assert verdict.evidence is not None
            assert repr(verdict.evidence)


def test_no_two_safeguards_are_the_same_to_the_judge() -> None:
    """A run that refutes a name is never one that both models allow and fail by."""
    for model, id_ in EVERY:
        for guard in entry_of(model).safeguards:
            if guard.id != id_:
                verdict = judged(variant_of(model, id_), 1, guard.id)
                assert "in the same way" not in verdict.lines[1], (id_, guard.id)


def test_a_variant_does_not_say_what_it_lacks() -> None:
    """Neither the hunt nor a variant's player, search or suspects single the missing one out."""
    found = hunt(HUNT)
    for number, variant in enumerate(drawn(HUNT), 1):
        model = found.model(number)
        assert model.safeguards == ()
        player = Player(found.timeline(number), controls=False)
        ids = {guard.id for guard in entry_of(variant.model).safeguards}
        shown = f"{found!r} {player!r} {found.search(number)!r} {player._repr_mimebundle_()}"
        assert not [id_ for id_ in ids if f"{id_} " in shown or f"{id_}:" in shown]
        assert variant.missing.name not in shown
        assert all(id_ in repr(found.suspects(number)) for id_ in ids)


def test_a_seed_draws_eight_different_variants() -> None:
    """The same seed gives the same eight, none twice, half of them about requests; seeds differ."""
    for seed in range(20):
        variants = drawn(seed)
        assert variants == drawn(seed)
        names = {variant.missing.id for variant in variants}
        assert len(names) == len(variants) == VARIANTS
        assert sum(variant.model == "tcm" for variant in variants) == VARIANTS // 2
    assert len({tuple(v.missing.id for v in drawn(seed)) for seed in range(20)}) == 20


def test_the_search_tells_the_run_step_by_step() -> None:
    """The shortest run is told in words, opens in the player, and is a trace like any other."""
    found = hunt(HUNT).search(2)
    lines = repr(found).splitlines()
    steps = len(found.timeline.path()) - 1
    assert lines[0].endswith(f"the shortest run that breaks something, {steps} steps")
    assert len(lines) == steps + 3
    assert lines[-1].startswith("✗ ")
    assert Player(found.timeline, controls=False).timeline is found.timeline
    assert "fingerprint" in dumps(found.timeline.save())
    assert "<table" in found._repr_mimebundle_()["text/html"]


def test_names_are_kept_and_checked_in_a_fresh_process() -> None:
    """What was said of each variant is what the exercise judges; the count is told, wrong ones get
    word against them, and those without a name are not spoken of.
    """
    found = hunt(HUNT)
    wrong = next(
        g.id for g in entry_of(drawn(HUNT)[0].model).safeguards if g != drawn(HUNT)[0].missing
    )
    assert not found.accuse(1, wrong).passed
    right = drawn(HUNT)[1].missing
    assert found.accuse(2, right.name).passed
    told = repr(exercise("find-the-bug").check(found))
    assert "Public cases: 1 of 8 passed." in told
    assert f"No: {wrong} is not what variant 1 lacks." in told
    assert "variant 3" not in told
    assert wrong in repr(found)
    assert exercise("find-the-bug").check(named_hunt()).passed


def test_which_epochs_miss_one_another_is_computed() -> None:
    """The question's answer is the simulator's: two pairs two apart without the barrier, and with
    it no pair two apart is even offered.
    """
    worked = {"rf": 3, "epoch": 99, "operations": ("bootstrap X --tokens 150",)}
    without = predict(Timeline(build("tcm", worked, ("S-01",))), crossed, "(100, 150]")
    both = "read at 101, write at 103", "read at 102, write at 100"
    assert without.answer(*both).passed
    assert "misses a write" in repr(without.answer("read at 100, write at 101"))
    kept = predict(Timeline(build("tcm", worked)), crossed, "(100, 150]")
    assert not set(both) & set(kept.choices)
    assert kept.answer("none of these").passed
    with pytest.raises(BadInput, match=like("range | 'x'")):
        predict(Timeline(build("tcm", worked)), crossed, "x")


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda: hunt(-1), "seed | -1"),
        (lambda: hunt("5"), "seed | '5'"),  # type: ignore[arg-type]  # what a person may type
        (lambda: hunt(HUNT).model(9), "variant | 9 | 1 to 8"),
        (lambda: hunt(HUNT).search(0), "variant | 0"),
        (lambda: hunt(HUNT).accuse(1, "S-99"), "safeguard | 'S-99'"),
        (lambda: hunt(HUNT).accuse(1, 5), "safeguard | 5"),  # type: ignore[arg-type]  # the same
        (lambda: exercise("find-the-bug").check({1: "S-01"}), "answer | hunt"),
    ],
)
def test_bad_input_is_told(act: Any, said: str) -> None:
    """Seeds, numbers and names that do not exist are refused in one line."""
    with pytest.raises(BadInput, match=like(said)):
        act()


def code_of(cells: list[Any], said: str) -> str:
    """The code of the one cell that says this."""
    [cell] = [cell for cell in cells if said in str(cell.outputs)]
    return str(cell.source)


def test_the_notebook_gives_no_answer_away() -> None:
    """No word that is filled in is right, and no stored output names what a variant lacks.

    The example that is solved is of another hunt, and lacks what none of these eight lacks.
    """
    notebook = nbformat.read(ROOT / "notebooks" / "09-find-the-bug.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    text = "\n".join(cell.source for cell in notebook.cells)
    text = re.sub(r"\]\([^)\s]*\)", "]", text)  # where a word of the glossary leads is not read
    (seed,) = re.findall(r"hunt\((\d+)\)", text)
    variants = drawn(int(seed))
    accused = re.findall(r'bugs\.accuse\((\d+), "(S-\d+)"\)', text)
    assert len(accused) >= 2
    assert all(variants[int(number) - 1].missing.id != word for number, word in accused)
    stored = "\n".join(str(output) for cell in code for output in cell.outputs)
    names = {variant.missing.name for variant in variants}
    assert not [name for name in names if name in stored or name in text]
    assert stored.count("Right: that is what variant") == 2  # the example's, as text and as HTML
    [solved] = re.findall(r'example\.accuse\(\d+, "(S-\d+)"\)\n', f"{code_of(code, 'Right: ')}\n")
    assert solved not in {variant.missing.id for variant in variants}


SEED = 1


SHORT = 7  # a variant of this seed that one step breaks


def test_a_board_plays_searches_and_accuses() -> None:
    """Play opens the variant, Search its shortest run, Accuse the verdict and the score."""
    found = hunt(SEED)
    board = HuntBoard(found)
    assert board.variant.options == tuple(str(number) for number in range(1, VARIANTS + 1))
    board.variant.value = str(SHORT)
    board.play.click()
    [player] = board.place.children
    assert isinstance(player, Player)
    assert player.timeline.path() == [0]
    board.search.click()
    assert "shortest run" in board.reply.value
    [player] = board.place.children
    assert player.timeline.path() == found.search(SHORT).timeline.path()
    board.suspect.value = "S-09"
    board.accuse.click()
    assert "No: S-09" in board.reply.value
    assert "Score: 0 of 8 named, 1 accusation." in board.table.value
    board.suspect.value = drawn(SEED)[SHORT - 1].missing.id
    board.accuse.click()
    assert "Right" in board.reply.value
    assert "Score: 1 of 8 named, 2 accusations." in board.table.value
    assert found.score() == "Score: 1 of 8 named, 2 accusations."


def test_a_hunt_is_shown_as_its_board_and_stored_as_its_table() -> None:
    """A live notebook has the widgets; the text and the table are there without a kernel."""
    bundle = hunt(SEED)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "<table" in bundle["text/html"]
    assert "Score: 0 of 8 named" in bundle["text/plain"]


@pytest.mark.spec("B-022")
def test_the_missed_write_is_foretold() -> None:
    """What the client will be told is taken from the model; the write is offered, and wrong."""
    player = story("dataplane/anomaly-invisible-write")
    player = before(player, "answer read 2")
    asked = predict(player, outcome, "answer read 2")
    assert asked.posed.question.right == ("returned nothing",)
    assert "returned write 1" in asked.choices
    assert not asked.answer("returned write 1").passed
    assert asked.answer("returned nothing").passed
    assert player.timeline.now.action != player.timeline.moments[-1].action


def test_a_step_that_must_wait_is_no_question() -> None:
    """A step that is refused, or is not there, or is not worth asking about, says so."""
    player = Player(build("dataplane"))
    with pytest.raises(BadInput, match="one of"):
        predict(player, outcome, "answer read 9")
    player.act("bootstrap X --tokens 150")
    with pytest.raises(KitError, match="must wait: waiting at the barrier"):
        predict(player, outcome, "commit X")
    with pytest.raises(KitError, match="nothing to ask"):
        predict(player, outcome, "apply A")


@pytest.mark.spec("B-024")
def test_who_holds_a_write_leaves_out_who_is_down() -> None:
    """After A has cleaned up and B has failed nobody within reach has the write."""
    player = story("dataplane/anomaly-lost-write")
    player = after(player, "answer write 1")
    assert predict(player, holders, "write 1").posed.question.right == ("A", "B")
    player = after(player, "crash B")
    assert predict(player, holders, "write 1").posed.question.right == ()
    with pytest.raises(BadInput, match="write 1"):
        predict(player, holders, "write 7")


@pytest.mark.spec("A-027")
def test_leftovers_are_those_of_the_replica_that_gave_the_range_up() -> None:
    """When a node has joined, the one whose place it took still has the data."""
    assert predict("dataplane/write-and-read", not_owned).posed.question.right == ("A",)


@pytest.mark.parametrize("acknowledgement", ["union", "joint"])
def test_enough_answers_follow_the_rule(acknowledgement: str) -> None:
    """Two of each set do by the one rule, and never by the other."""
    player = Player(
        build("dataplane", {"acknowledgement": acknowledgement, "requests": ["K1 write QUORUM"]})
    )
    with pytest.raises(KitError, match="not open"):
        predict(player, enough_answers)
    for verb in ("bootstrap X --tokens 150", "apply A", "apply B", "apply X", "commit X"):
        player.act(verb)
    player.act("write 1 at epoch 101")
    right = predict(player, enough_answers).posed.question.right
    assert ("B C" in right) == (acknowledgement == "joint")
    assert "A B C" in right
    assert "A X" not in right or acknowledgement == "joint"


def test_a_story_is_named_or_the_nearest_names_are() -> None:
    """Stories are the scenario files of the kit; steps are found by their verbs."""
    with pytest.raises(BadInput, match="anomaly-lost-write"):
        story("dataplane/anomaly-lost")
    player = story("dataplane/anomaly-lost-write")
    assert player.timeline.at == 0
    with pytest.raises(BadInput, match="crash B"):
        player = before(player, "crash C")


def test_majorities_that_always_meet() -> None:
    """The judge's enumeration agrees with counting, on all groups of up to four of five nodes."""
    groups = [list(some) for size in range(1, 5) for some in combinations("ABCDE", size)]
    counted = RIGHT["always-meet"]()
    assert all(always_meet(a, b) == counted(a, b) for a in groups for b in groups)


def test_wrong_runs_are_told_what_is_missing() -> None:
    """A run that breaks nothing, or fails for another reason, does not pass."""
    calm = Timeline(build("dataplane", {}, ("S-01",)))
    calm.forward()
    assert "no read has missed a write" in repr(exercise("miss-a-write").check(calm))
    given_up = ["write 1 at epoch 100", "A answers ok at epoch 100", "time out"]
    assert "plan had gone stale" in repr(exercise("stale-plan").check(given_up))
