"""Exercises of a page: what a learner wrote runs in a worker of the browser, and is judged there.

It is the cell of the notebook, with what it needs of the cells before, so that it stands alone. The
judge is that of the notebook; the worker has nobody else's data, and the page may end it.
"""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import msgspec
from msgspec import Struct

from kit.edge.progress import HERE
from kit.errors import KitError
from kit.lessons.stills import Judgement
from kit.site.programs import FILE, outcome_of
from kit.site.worker import Tell
from kit.views.fragment import Frag, h
from kit.views.parts import prose
from kit.views.static import static_html


class Answered(Struct, frozen=True):
    """The outcome of an answer: whether it passed, and all that is said of it, as HTML."""

    passed: bool
    html: str


class Count:
    """The place where a page tells how far its judge is; ``tell`` sends it a message."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    def draw(self, done: int, total: int | None, words: str) -> None:
        """The words say it."""
        self.tell(msgspec.json.encode({"counted": words}).decode())

    def clear(self) -> None:
        """Nothing is counted any more."""
        self.draw(0, None, "")


def judge(program: str, tell: Tell) -> None:
    """Run and judge an answer; the page hears that this has begun, how far it is, and what came
    of it.
    """
    tell(msgspec.json.encode({"judging": True}).decode())
    HERE[:] = [Count(tell)]
    try:
        said = answered(program)
    finally:
        HERE.clear()
    tell(msgspec.json.encode({"answered": said}).decode())


def answered(program: str) -> Answered:
    """Run an answer, whose last expression is what the judge says of it."""
    printed, verdict, wrong = io.StringIO(), None, ""
    try:
        with redirect_stdout(printed):
            verdict = outcome_of(program)
    except KitError as error:
        wrong = str(error)
    except (Exception, SystemExit) as error:
        wrong = f"{_line(error)}{type(error).__name__}: {error}"
    if not wrong and not isinstance(verdict, Judgement):
        wrong = "The last line has to call the judge: exercise(…).check(…)."
    parts: list[Frag] = []
    if text := printed.getvalue():
        parts.append(h("pre", text))
    if wrong:
        parts.append(h("p", prose(f"✗ {wrong}"), role="alert"))
    if isinstance(verdict, Judgement):
        parts.append(verdict.draw(spoken=True))
    return Answered(isinstance(verdict, Judgement) and verdict.passed, static_html(*parts))


def _line(error: BaseException) -> str:
    number, trace = getattr(error, "lineno", None), error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE:
            number = trace.tb_lineno
        trace = trace.tb_next
    return f"line {number}: " if number else ""
