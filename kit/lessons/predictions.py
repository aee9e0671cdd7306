"""Predict, then reveal: a question that is answered before the step is shown.

In a live notebook the question is a form; without a front end it is text, and ``answer`` in code
does what the form's button does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

from kit.edge.arguments import taken
from kit.errors import BadInput, BadType
from kit.lessons.questions import PosedQuestion, changes
from kit.lessons.stills import Judgement, timeline_of
from kit.model.model import Model
from kit.model.registry import check_one_of, one_of
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.views.fragment import Frag, h
from kit.views.static import FOLDED, bundle_of, static_html

NONE = "none of these"


class Prediction:
    """A question waiting for an answer."""

    def __init__(self, posed: PosedQuestion, *, tells_answer: bool = False) -> None:
        self.posed = posed
        self.tells_answer = tells_answer
        self.text = posed.question.text
        self.choices = (*posed.question.choices, NONE)

    def answer(self, *chosen: str | int) -> Judgement:
        """Judge an answer: the choices that the learner takes to be right, all of them.

        What is right in an answer is named first; a wrong one gets the model's own run for a reply.

        Raises BadInput when nothing was chosen, or something that was not offered.
        """
        given = [NONE if choice == NONE else _word(choice) for choice in chosen]
        for choice in given:
            check_one_of("answer", choice, self.choices)
        if not given:
            raise BadInput("answer", None, one_of("", list(self.choices)))
        because = (self.posed.question.because, *self.posed.question.reasons)
        good = [choice for choice in self.right if choice in given]
        lacking = [choice for choice in self.right if choice not in given]
        bad = [choice for choice in dict.fromkeys(given) if choice not in good]
        if not (bad or lacking):
            return Judgement(True, "Right.", because)
        if not good:
            lines = [f"You said: {', '.join(bad)}."]
            heading = "That is not right."
        else:
            lines = [f"Wrong: {'; '.join(bad)}."] if bad else []
            lines += [f"Missing: {'; '.join(lacking)}."] if lacking else []
            heading = f"Partly right: {'; '.join(good)}."
        return Judgement(False, heading, (*lines, *because), self.posed.evidence)

    def with_answer(self) -> Prediction:
        """The same question; where no form can be shown, its answer stands folded below it."""
        return Prediction(self.posed, tells_answer=True)

    @property
    def right(self) -> tuple[str, ...]:
        """The choices that are right, in the order in which they are offered."""
        right = self.posed.question.right or (NONE,)
        return tuple(choice for choice in self.choices if choice in right)

    def draw(self) -> Frag:
        """The question and its choices, without a form."""
        choices = h("ul", [h("li", f"☐ {choice}") for choice in self.choices])
        question = self.posed.question
        answer = h("p", h("strong", ", ".join(self.right)), h("br"), question.because)
        reasons = h("ul", [h("li", reason) for reason in question.reasons])
        facts = (answer, reasons) if question.reasons else answer
        head = h("summary", "Show the answer", class_=FOLDED)
        folded = h("details", head, facts, class_=FOLDED) if self.tells_answer else None
        return h("div", h("p", h("strong", self.text)), choices, folded)

    def __repr__(self) -> str:
        lines = [self.text, *(f"  [ ] {choice}" for choice in self.choices)]
        if self.tells_answer:
            lines += [f"Answer: {', '.join(self.right)}"]
            lines += [f"  {self.posed.question.because}"]
            lines += [f"  - {reason}" for reason in self.posed.question.reasons]
        return "\n".join(lines)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        # The form is made of widgets; a question can be asked and judged without any.
        form = import_module("kit.lessons.forms").form(self)
        live = bundle_of(form, **options)
        return {**live, "text/plain": repr(self), "text/html": static_html(self.draw())}


def predict(
    source: Any, question: Callable[..., PosedQuestion] = changes, *about: Any
) -> Prediction:
    """Ask a question about what a Player, a Timeline, a model or a scenario by name is going to do.

    ``question`` is one of ``kit.lessons.questions`` or of a family's own (left out: what the
    next step changes), ``about`` is what it takes beside the timeline: a token, a safeguard. A
    pipeline, reports on runs, opened dumps of tablets and a real log have questions of their own.

    Raises BadInput when ``source`` or what the question is about is not acceptable.
    Raises KitError when there is nothing to ask.
    """
    bare = question.func if isinstance(question, partial) else question
    if not isinstance(bare, FunctionType | MethodType):  # classes, and what Python brings
        raise BadType("question", question, "a question function, as in kit.lessons.questions")
    opened = _opened(source)
    taken(question, inspect.signature(question), opened, *about)
    posed = question(opened, *about)
    if not isinstance(posed, PosedQuestion):
        raise BadType("question", posed, "a function that returns a PosedQuestion")
    return Prediction(posed)


def _opened(source: Any) -> Any:
    if isinstance(source, str):
        return open_named(source).timeline
    if isinstance(source, Model):
        return Timeline(source)
    # A pipeline or reports, of whichever engine; the tablet maps of an opened dump; a real log.
    if any(hasattr(source, own) for own in ("engine", "maps", "entries")):
        return source
    return timeline_of(source)


def _word(choice: object) -> str:
    if isinstance(choice, bool) or not isinstance(choice, str | int):
        raise BadInput("answer", choice, "choices as text, exactly as they are offered")
    return str(choice).strip()
