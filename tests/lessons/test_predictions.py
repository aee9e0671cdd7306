"""Predictions: asked ahead of the step, answered by the model, refuted by its own run."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import (
    allowed,
    barrier,
    breaks,
    changes,
    events,
    predict,
    readers,
    sources,
    writers,
)
from kit.lessons.forms import form, reply_to
from kit.lessons.predictions import NONE
from kit.lessons.questions import copied
from kit.model.registry import build, entries, entry_of
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.protocols.tcm.facts import moment as facts
from kit.views.static import static_html


def worked(rf: int = 2, milestones: int = 0) -> Timeline:
    """The worked bootstrap, some epochs on."""
    parameters = {"rf": rf, "operations": ("bootstrap X --tokens 150",), "focus": (0, 200)}
    timeline = Timeline(build("tcm", parameters))
    for _ in range(milestones):
        timeline.to_milestone()
    return timeline


@pytest.mark.parametrize("question", [changes, allowed, events, sources])
def test_asking_moves_nothing(question: object) -> None:
    """A question looks ahead on a copy: what the learner sees stays where it is."""
    timeline = worked(milestones=1)
    predict(timeline, question)  # type: ignore[arg-type]  # one of the questions
    assert len(timeline.moments) == 2
    assert timeline.at == timeline.tip == 1


def test_the_changed_rows_are_those_of_the_next_epoch() -> None:
    """Right are the rows whose group differs between this epoch and the next, side by side."""
    timeline = worked(milestones=1)
    asked = changes(timeline)
    m, before = timeline.model, timeline.state
    timeline.to_milestone()
    then = {row.label: row for row in facts.rows(m, before)}
    moved = {
        f"{side} of {row.label}"
        for row in facts.rows(m, timeline.state)
        for side in ("reads", "writes")
        if getattr(row, side) != getattr(then[row.label], side) and row.right <= 200
    }
    assert set(asked.question.right) == moved
    assert moved


@pytest.mark.spec("H-011")
def test_a_wrong_prediction_is_refuted_by_the_run() -> None:
    """A wrong answer is told what was said, what the model does, and shows the tables of it."""
    guess = predict(worked(milestones=1))
    verdict = guess.answer("reads of (0, 100]")
    assert not verdict.passed
    assert "You said: reads of (0, 100]." in repr(verdict)
    assert guess.posed.question.because in repr(verdict)
    assert "+X" in verdict._repr_mimebundle_()["text/html"]


def test_a_right_prediction_is_told_so() -> None:
    """All right choices and no other are right, in any order."""
    guess = predict(worked(milestones=1))
    right = guess.posed.question.right
    assert guess.answer(*reversed(right)).passed
    assert not guess.answer(*right[:1]).passed


def test_what_is_right_in_an_answer_is_named_first() -> None:
    """Then what is not so, then what is missing; the run that settles it comes last."""
    guess = predict(worked(milestones=2), writers, 130)
    verdict = repr(guess.answer("A", "B", "X")).splitlines()
    assert verdict[0] == "✗ Partly right: B; X."
    assert [line.strip() for line in verdict[1:3]] == ["Wrong: A.", "Missing: C."]
    assert repr(guess.answer("B", "C")).splitlines()[1].strip() == "Missing: X."


@pytest.mark.parametrize(("rf", "union", "needed"), [(2, 3, 2), (3, 4, 3)])
def test_the_barrier_question_follows_the_replication_factor(
    rf: int, union: int, needed: int
) -> None:
    """The number asked for is that of the model's barrier: 2 of 3 with RF 2, 3 of 4 with RF 3."""
    guess = predict(worked(rf, milestones=2), barrier)
    assert guess.choices == (*(str(n) for n in range(1, union + 1)), NONE)
    assert guess.answer(needed).passed
    assert not guess.answer(union).passed


@pytest.mark.parametrize("guard", entry_of("tcm").safeguards, ids=lambda guard: guard.id)
def test_a_broken_lamp_is_found_by_search(guard: object) -> None:
    """For every safeguard the right answers are lamps that are red at the end of a found run."""
    guess = predict("tcm", breaks, guard.id)  # type: ignore[attr-defined]  # a Safeguard
    right = guess.posed.question.right
    assert right
    assert set(right) < set(guess.choices)
    evidence = guess.posed.evidence
    assert evidence is not None
    assert all(f"[BROKEN] {title}" in repr(evidence) for title in right)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [((), "answer"), (("reads of (0, 999]",), "(0, 999]"), ((True,), "True"), ((None,), "None")],
)
def test_a_malformed_answer_is_one_clear_line(chosen: tuple[object, ...], told: str) -> None:
    """What was not offered, or is no choice at all, is a KitError that says what is allowed."""
    guess = predict(worked(milestones=1))
    with pytest.raises(KitError) as raised:
        guess.answer(*chosen)  # type: ignore[arg-type]  # that is the point
    assert told in str(raised.value)
    assert "allowed" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("source", "question", "about"),
    [
        (7, changes, ()),
        ("nowhere", changes, ()),
        ("tcm", breaks, ("S-99",)),
        ("twophase", readers, (1,)),
        ("bootstrap", readers, (4000,)),
        ("bootstrap", lambda timeline: None, ()),
        ("bootstrap", lambda: None, ()),
        ("bootstrap", changes, (1,)),
        ("bootstrap", len, ()),
        ("bootstrap", partial(len), ()),
        ("bootstrap", str.upper, ()),
    ],
)
def test_asking_about_nothing_is_one_clear_line(
    source: object, question: object, about: tuple[object, ...]
) -> None:
    """A source, safeguard, model or token that does not serve is BadInput with what is allowed."""
    with pytest.raises(BadInput):
        predict(source, question, *about)  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize("source", [*entries(), "decommission", "group0/race"])
def test_a_question_names_the_step_that_it_is_about(source: str) -> None:
    """What is said to come next is the very next step; of another one it is told how far it is."""
    timeline = open_named(source).timeline
    ahead = copied(timeline)
    ahead.to_milestone()
    steps = len(ahead.path()) - len(timeline.path())
    if ahead.now.milestone is None:
        ahead, steps = copied(timeline), 1
        ahead.forward()
    verb = timeline.model.verb(ahead.now.action)
    text = ""
    with suppress(KitError):  # not every step has something to ask about
        text = predict(timeline).text
    said, _, rest = text.partition(": ")
    if rest.startswith(f"{verb}. Which"):
        steps_before = f"{steps - 1} other step{'s' * (steps != 2)}"
        assert said == ("Next" if steps == 1 else f"After {steps_before}"), text


def test_at_the_end_there_is_nothing_to_ask() -> None:
    """Where no epoch comes next, no step waits and nothing streams, the question says so."""
    timeline = worked(milestones=4)
    for question in (changes, barrier, events, sources):
        with pytest.raises(KitError, match=r"^predict: no"):
            predict(timeline, question)


@pytest.mark.spec("H-014")
def test_a_prediction_reads_well_without_a_front_end() -> None:
    """Beside the live form there is the question with its choices, as text and as HTML."""
    guess = predict(worked(milestones=1))
    bundle = guess._repr_mimebundle_()
    assert bundle["text/plain"].count("[ ]") == len(guess.choices)
    assert bundle["text/html"].count("☐") == len(guess.choices)


def test_the_form_judges_as_the_code_does() -> None:
    """Ticking boxes and pressing the button shows the verdict that ``answer`` gives."""
    guess = predict(worked(milestones=1))
    children = form(guess).children
    boxes = {box.description: box for box in children[1:-2]}
    button, reply = children[-2:]
    button.click()
    assert "Tick at least one box." in reply.value
    for choice in guess.posed.question.right:
        boxes[choice].value = True
    button.click()
    assert "Right." in reply.value
    assert "That is not right." in reply_to(guess, [NONE])


def test_names_from_outside_are_shown_as_text() -> None:
    """A node with a tag for a name stays text in questions, verdicts and stills."""
    name = "<img src=x onerror=alert(1)>"
    members = ({"name": name, "tokens": (100,)}, {"name": "b", "tokens": (200,)})
    model = build("tcm", {"members": members, "low": 0, "high": 400, "rf": 1})
    guess = predict(Timeline(model), readers, 50)
    shown = guess._repr_mimebundle_()["text/html"]
    shown += guess.answer("b")._repr_mimebundle_()["text/html"]
    shown += form(guess).children[0].value + reply_to(guess, ["b"])
    assert "<img src=x" not in shown
    assert "&lt;img" in shown


def test_a_stored_question_can_tell_its_answer() -> None:
    """Told, the answer stands folded below the choices; as usual, it does not stand there."""
    guess = predict(worked(), readers, 130)
    told = guess.with_answer()
    assert told.right == ("B", "C")
    assert repr(told).startswith(repr(guess))
    assert repr(told).endswith(f"Answer: B, C\n  {guess.posed.question.because}")
    answer = "<details><summary>Show the answer</summary><p><strong>B, C</strong>"
    assert answer in static_html(told.draw())
    assert "<details" not in static_html(guess.draw())
    none = predict(worked(milestones=3), changes).with_answer()
    assert set(none.right) == set(none.posed.question.right or (NONE,))
