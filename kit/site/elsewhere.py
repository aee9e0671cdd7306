"""What the second worker of a page does: it searches, or looks for the cause of a broken promise.

The first one goes on meanwhile. It says through the page what is to be done, and hears through it
how far that is, and what came of it. Whoever stops it ends that worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.json_text import fitting
from kit.edge.progress import Progress, seldom
from kit.errors import KitError, Refused
from kit.model import trace as traces
from kit.model.timeline import Timeline
from kit.model.trace import action_from
from kit.playing.breaking import BUSY, BreakQuestion
from kit.search.causes import Cause, Possible


class Inquiry(Struct, frozen=True, forbid_unknown_fields=True):
    """The question: the model as a trace, the actions of the run, which promise it breaks.

    ``program`` makes a model that is not the kit's.
    """

    trace: str
    run: tuple[Any, ...]
    about: Literal["cause", "possible"]
    name: str
    program: str = ""


# What the page passes on; the field ``inquiry`` tells which of these it is.


class Count(Struct, frozen=True, forbid_unknown_fields=True, tag_field="inquiry", tag="count"):
    """How far the second worker is."""

    done: int
    now: int


class Outcome(Struct, frozen=True, forbid_unknown_fields=True, tag_field="inquiry", tag="found"):
    """The answer that was found, or why there is none: one of these."""

    cause: Cause | None = None
    possible: Possible | None = None
    why: str = ""


Message: TypeAlias = Count | Outcome


class Elsewhere:
    """The work of the second worker, one thing at a time; ``tell`` sends the page a message.

    ``program`` is what makes the model there, where it is not the kit's.
    """

    def __init__(self, tell: Callable[[Any], object], program: str = "") -> None:
        self.tell, self.program = tell, program
        self.is_searching = False
        self._question: tuple[BreakQuestion, Progress, Callable[[Any], None]] | None = None

    @property
    def running(self) -> bool:
        """Whether something is under way."""
        return self.is_searching or self._question is not None

    def search(self, trace: str, most: int) -> None:
        """Let the model of a trace be searched. Raises Refused while something is under way."""
        if self.running:
            raise Refused(BUSY)
        self.is_searching = True
        self.tell({"search": {"trace": trace, "most": most, "program": self.program}})

    def begin(self, work: BreakQuestion, report: Progress, ended: Callable[[Any], None]) -> None:
        """Let a question be answered."""
        self._question = work, report, ended
        trace = traces.dumps(Timeline(work.model).save())
        inquiry = Inquiry(trace, work.run, work.about, work.name, self.program)
        self.tell({"inquire": inquiry})
        report(0, len(work.run))

    def stop(self) -> None:
        """End the answering, if anything is asked; nothing comes of it then."""
        if self._question is not None:
            self.tell({"halt": True})
            self._end(None)

    def hear(self, content: object) -> None:
        """Take what the second worker says of what is asked. Raises BadInput for anything else."""
        message: Message = fitting(content, Message, "inquiry", "what a second worker says")
        if self._question is None:  # it was stopped meanwhile
            return
        work, report, _ = self._question
        if isinstance(message, Count):
            report(message.done, message.now)
        elif message.why:
            self._end(KitError(message.why))
        elif message.possible is not None:
            possible = message.possible
            actions = tuple(action_from(work.model, each, "run") for each in possible.actions)
            self._end(replace(possible, actions=actions))
        else:
            self._end(message.cause)

    def _end(self, outcome: Any) -> None:
        if self._question is not None:
            (_, _, ended), self._question = self._question, None
            ended(outcome)


def answered(inquiry: Inquiry, tell: Progress) -> Outcome:
    """In the second worker: what is found out; ``tell`` hears how far it is."""
    try:
        model = traces.model_of(traces.loads(inquiry.trace))
        run = tuple(action_from(model, each, "run") for each in inquiry.run)
        answer = BreakQuestion(inquiry.about, model, run, inquiry.name)(seldom(tell))
    except KitError as error:
        return Outcome(why=str(error))
    return Outcome(answer) if isinstance(answer, Cause) else Outcome(possible=answer)
