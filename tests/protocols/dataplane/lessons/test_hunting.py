"""The bug hunt of reads and writes, and questions that the model answers."""

from __future__ import annotations

import re
from itertools import combinations, product
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
def test_a_search_breaks_every_hunt_variant_and_refutes_wrong_accusations(
    model: str, id_: str
) -> None:
    """Only the name of the missing safeguard passes. A run of the models refutes any other."""
    variant = variant_of(model, id_)
    found = check(variant.build(), max_states=60_000)
    assert found.violation is not None
    for guard in entry_of(model).safeguards:
        verdict = judged(variant, 3, guard.name)
        assert verdict.passed == (guard.id == id_), guard.id
        if not verdict.passed:
            assert f"With only {guard.id} missing" in " ".join(verdict.lines), guard.id
            ends = ("is refused:", "does this:", "nothing breaks", "in the same way")
            assert any(end in verdict.lines[-1] for end in ends), verdict.lines
            assert verdict.evidence is not None, guard.id
            assert repr(verdict.evidence), guard.id


def test_a_wrong_accusation_is_not_refuted_by_a_run_that_fails_both_models_alike() -> None:
    """The evidence tells the accused safeguard from the missing one, for every pair of them."""
    for model, id_ in EVERY:
        for guard in entry_of(model).safeguards:
            if guard.id != id_:
                verdict = judged(variant_of(model, id_), 1, guard.id)
                assert "in the same way" not in verdict.lines[1], (id_, guard.id)


def test_a_hunt_variant_does_not_reveal_its_missing_safeguard() -> None:
    """Neither board, player nor search names it, and the suspects are all safeguards."""
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


def test_a_hunt_seed_draws_the_same_eight_different_variants() -> None:
    """Half of them are about requests, and twenty seeds give twenty draws."""
    for seed in range(20):
        variants = drawn(seed)
        assert variants == drawn(seed), seed
        names = {variant.missing.id for variant in variants}
        assert len(names) == len(variants) == VARIANTS, seed
        assert sum(variant.model == "tcm" for variant in variants) == VARIANTS // 2, seed
    assert len({tuple(v.missing.id for v in drawn(seed)) for seed in range(20)}) == 20


def test_a_hunt_search_tells_its_shortest_run_step_by_step() -> None:
    """The run opens in the Player and saves as a trace."""
    found = hunt(HUNT).search(2)
    lines = repr(found).splitlines()
    steps = len(found.timeline.path()) - 1
    assert lines[0].endswith(f"the shortest run that breaks something, {steps} steps")
    assert len(lines) == steps + 3
    assert lines[-1].startswith("✗ ")
    assert Player(found.timeline, controls=False).timeline is found.timeline
    assert "fingerprint" in dumps(found.timeline.save())
    assert "<table" in found._repr_mimebundle_()["text/html"]


def test_the_find_the_bug_exercise_judges_the_accusations_that_a_hunt_keeps() -> None:
    """It counts right ones, refutes wrong ones, and is silent on variants without an accusation."""
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


def test_epochs_whose_quorums_miss_each_other_are_two_apart() -> None:
    """With the progress barrier no such pair is even offered."""
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
def test_a_hunt_refuses_unknown_seeds_variants_and_safeguards(act: Any, said: str) -> None:
    """The error names the argument, its value, and what is allowed."""
    with pytest.raises(BadInput, match=like(said)):
        act()


def code_of(cells: list[Any], said: str) -> str:
    """The code of the one cell that says this."""
    [cell] = [cell for cell in cells if said in str(cell.outputs)]
    return str(cell.source)


def test_the_hunt_notebook_stores_no_right_answer() -> None:
    """Its solved example lacks what none of the eight variants lacks."""
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


def test_a_hunt_board_plays_searches_and_scores_accusations() -> None:
    """Play opens the variant at its start, Search its shortest run, and Accuse keeps the score."""
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


def test_a_hunt_is_shown_as_widgets_and_stored_as_text_and_table() -> None:
    """A reader without a kernel still sees the table and the score."""
    bundle = hunt(SEED)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "<table" in bundle["text/html"]
    assert "Score: 0 of 8 named" in bundle["text/plain"]


@pytest.mark.spec("B-022")
def test_the_right_prediction_of_a_missed_write_is_that_the_read_returns_nothing() -> None:
    """The write itself is offered as a choice, and is wrong."""
    player = story("dataplane/anomaly-invisible-write")
    player = before(player, "answer read 2")
    asked = predict(player, outcome, "answer read 2")
    assert asked.posed.question.right == ("returned nothing",)
    assert "returned write 1" in asked.choices
    assert not asked.answer("returned write 1").passed
    assert asked.answer("returned nothing").passed
    assert player.timeline.now.action != player.timeline.moments[-1].action


def test_a_step_that_waits_or_tells_nothing_is_refused_as_a_question() -> None:
    """So is a step that the run does not have."""
    player = Player(build("dataplane"))
    with pytest.raises(BadInput, match="one of"):
        predict(player, outcome, "answer read 9")
    player.act("bootstrap X --tokens 150")
    with pytest.raises(KitError, match="must wait: waiting at the barrier"):
        predict(player, outcome, "commit X")
    with pytest.raises(KitError, match="nothing to ask"):
        predict(player, outcome, "apply A")


@pytest.mark.spec("B-024")
def test_the_holders_of_a_write_leave_out_replicas_that_are_down() -> None:
    """Once A has cleaned up and B has crashed, no live replica has the write."""
    player = story("dataplane/anomaly-lost-write")
    player = after(player, "answer write 1")
    assert predict(player, holders, "write 1").posed.question.right == ("A", "B")
    player = after(player, "crash B")
    assert predict(player, holders, "write 1").posed.question.right == ()
    with pytest.raises(BadInput, match="write 1"):
        predict(player, holders, "write 7")


@pytest.mark.spec("A-027")
def test_data_not_owned_is_on_the_replica_whose_place_the_joiner_took() -> None:
    """A keeps the data of the range after X has joined."""
    assert predict("dataplane/write-and-read", not_owned).posed.question.right == ("A",)


@pytest.mark.parametrize("acknowledgement", ["union", "joint"])
def test_two_answers_of_each_group_are_enough_only_by_the_joint_rule(acknowledgement: str) -> None:
    """B and C are enough for the joint rule alone, and A, B and C for either rule."""
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


def test_an_unknown_story_or_step_is_refused_with_the_nearest_names() -> None:
    """A known story opens at its first moment."""
    with pytest.raises(BadInput, match="anomaly-lost-write"):
        story("dataplane/anomaly-lost")
    player = story("dataplane/anomaly-lost-write")
    assert player.timeline.at == 0
    with pytest.raises(BadInput, match="crash B"):
        player = before(player, "crash C")


def test_the_solution_on_majorities_agrees_with_enumeration() -> None:
    """All pairs of groups with up to four of five nodes are tried."""
    groups = [list(some) for size in range(1, 5) for some in combinations("ABCDE", size)]
    counted = RIGHT["always-meet"]()
    pairs = product(groups, repeat=2)
    assert not [(a, b) for a, b in pairs if always_meet(a, b) != counted(a, b)]


def test_a_wrong_run_of_an_exercise_gets_the_reason_in_its_reply() -> None:
    """A run that breaks nothing, or fails for another reason, does not pass."""
    calm = Timeline(build("dataplane", {}, ("S-01",)))
    calm.forward()
    assert "no read has missed a write" in repr(exercise("miss-a-write").check(calm))
    given_up = ["write 1 at epoch 100", "A answers ok at epoch 100", "time out"]
    assert "plan had gone stale" in repr(exercise("stale-plan").check(given_up))
