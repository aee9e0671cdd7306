"""What lessons ask of recoveries, their exercises, and the hunt among broken ones."""

from __future__ import annotations

import pytest

from kit import Player, build
from kit.errors import BadInput, KitError
from kit.lessons import exercise, hunt, predict
from kit.lessons.hunting import VARIANTS, Variant, drawn, hunts, judged, suspected
from kit.lessons.replays import shortest_breach
from kit.lessons.tasks import tasks
from kit.model.timeline import Timeline
from kit.protocols.recovery.lessons import (
    RUNS,
    hears,
    if_led,
    may_lead,
    runs_after_restart,
    starts_in,
    walks_graded,
)
from kit.protocols.recovery.recovery import Recovery
from tests.protocols.recovery.answers import typed_recovery
from tests.protocols.recovery.drill.walks import DELETE, ISOLATE, READ, WHOLE, lead
from tests.protocols.recovery.runs import SEED_STEPS, after
from tests.saying import like
from tests.views.frames import go_on

OF = "recovery"


FIVE = {"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"}


def at(*verbs: str, **more: object) -> Timeline:
    """A recovery of five nodes after these steps."""
    return after({**FIVE, **more}, *verbs)


def test_the_node_with_the_latest_index_may_lead() -> None:
    """B knows an entry more than A, so B is the right answer; A and B are offered first."""
    question = predict(at(), may_lead)
    assert question.choices[:2] == ("A", "B")
    assert question.right == ("B",)


def test_the_lesson_knows_in_which_group_each_start_ends() -> None:
    """A leader's new group, a joiner's group 2, none without the option, or the old group."""
    before = at(*SEED_STEPS)
    assert predict(before, starts_in, "B").right == ("in a group that it creates",)
    assert predict(at(*SEED_STEPS, "restart B"), starts_in, "A").right == ("in group 2",)
    code = ("isolate", "read", "choose B", "delete A", "delete B", "set B", "restart B")
    forgotten = at(*code, edition="server")
    assert predict(forgotten, starts_in, "A").right == ("in none: it refuses to start",)
    crashed = at("crash A", crashes=1)
    assert predict(crashed, starts_in, "A").right == ("in the old group",)
    with pytest.raises(KitError, match="A cannot be started now"):
        predict(before, starts_in, "A")
    with pytest.raises(BadInput, match="node: got 'Z'"):
        predict(before, starts_in, "Z")


def test_the_lesson_asks_for_each_pair_whether_gossip_passes() -> None:
    """C is back behind the firewall: only A and B hear each other."""
    back = at(*SEED_STEPS, "restart B", "restart A", "return C", returns=1)
    question = predict(back, hears)
    assert question.choices[:3] == ("A and B", "A and C", "B and C")
    assert question.right == ("A and B",)
    with pytest.raises(KitError, match="no two nodes are up"):
        predict(build("recovery", {"commit_indexes": (1, 1, 1), "dead": "B C"}), hears)


def test_the_table_of_leaders_shows_what_each_choice_would_lose() -> None:
    """With A the entry of B goes back, and B's data lose their column."""
    sheet = if_led(Player(at("write B column 11", writes=1), controls=False))
    assert sheet.rows == (
        ("A", "10", "✗ B by 1", "column 11 on B"),
        ("B", "11", "✓ nothing", "nothing"),
    )


def test_the_table_of_walks_grades_each_typed_recovery() -> None:
    """The documents' walk passes; with the wrong leader an entry is lost."""
    wrong = [*ISOLATE, *READ, *DELETE, *lead("A"), "restart A", "restart B"]
    walks = {"by the book": WHOLE["documents"], "A leads": wrong}
    sheet = walks_graded("recovery/majority-is-lost", walks)
    assert sheet.rows[0] == ("by the book", "✓", "✓", "✓", "nothing is wrong")
    assert sheet.rows[1][1:4] == ("✗", "✓", "✗")
    assert "no live node has these entries any more: 11" in sheet.rows[1][4]


def test_questions_about_a_recovery_are_refused_for_another_model() -> None:
    """The error names the model."""
    for question in (may_lead, hears):
        with pytest.raises(BadInput, match="the model recovery"):
            predict("tcm/bootstrap", question)


def test_the_exercise_grades_a_typed_recovery_by_its_run() -> None:
    """The grade names a step left out, an option left set, and a line that was refused."""
    task = exercise("typed-recovery")
    lines = typed_recovery()
    assert task.check(lines).passed
    left_out = " ".join(task.check([lines[0], *lines[2:]]).lines)
    assert "Left out: restart the live nodes one by one; each must be normal again" in left_out
    verdict = task.check([line for line in lines if not line.endswith("recovery_leader:")])
    assert "recovery_leader is still set: A, B" in " ".join(verdict.lines)
    assert "Refused: rm -rf /: command: got 'rm'" in " ".join(task.check(["rm -rf /"]).lines)


@pytest.mark.parametrize("name", ["typed-recovery", "lead-after-the-leader"])
def test_the_judge_accepts_its_own_answer_and_rejects_a_shorter_run(name: str) -> None:
    """The last step is needed."""
    judge = tasks()[name].judge
    lines = list(judge.answers())  # type: ignore[attr-defined]  # every judge has it
    verbs = lines if name == "typed-recovery" else lines[0].split(", ")
    assert judge(verbs).passed
    assert not judge(verbs[:-1]).passed


@pytest.mark.parametrize("guard", Recovery.safeguards, ids=lambda guard: guard.id)
def test_a_hunt_accepts_the_missing_safeguard_and_refutes_another_name(guard: object) -> None:
    """A search finds each variant broken."""
    [chosen] = [each for each in Recovery.safeguards if each is guard]
    variant = Variant("recovery", {**chosen.smallest, **hunts()["recovery"].budgets}, chosen)
    assert shortest_breach(variant.build(), 20_000).violation is not None
    assert judged(variant, 1, chosen.id).passed
    other = next(each for each in suspected(variant) if each is not chosen)
    assert not judged(variant, 1, other.id).passed


def test_a_hunt_of_four_safeguards_draws_each_twice() -> None:
    """The table of variants names no safeguard."""
    for seed in range(5):
        missing = [variant.missing.id for variant in drawn(seed, OF)]
        assert len(missing) == VARIANTS
        assert {missing.count(id_) for id_ in missing} == {2}
    shown = repr(hunt(1, OF))
    assert "S-4" not in shown
    assert "recovery of A, B without C, D" in shown


@pytest.mark.parametrize(
    ("verbs", "mode"),
    [((), "group 0"), (("isolate", "set A"), "recovery"), (("isolate", "mistype A"), "recovery")],
)
def test_a_node_restarts_by_the_row_in_its_table(verbs: tuple[str, ...], mode: str) -> None:
    """A value that is not known counts as recovery."""
    timeline = Timeline(build("recovery_mode", {"mistypes": 1}))
    go_on(timeline, *verbs)
    assert predict(timeline, runs_after_restart, "A").right == (RUNS[mode],)


def test_the_lesson_refuses_to_ask_about_a_dead_or_unknown_node() -> None:
    """With the reason, or with the names of nodes."""
    timeline = Timeline(build("recovery_mode"))
    with pytest.raises(KitError, match="C cannot be started"):
        predict(timeline, runs_after_restart, "C")
    with pytest.raises(BadInput, match=like("node | one of A, B, C, D")):
        predict(timeline, runs_after_restart, "Z")
