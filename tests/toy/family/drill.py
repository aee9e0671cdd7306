"""The drill of a lease: its words, its checklist, and how a run is graded."""

from __future__ import annotations

from collections.abc import Callable

from kit.console.drill import CheckedStep, CommandReply, DrillKind, DrillMoment, Grade, GradeRow
from kit.console.forms import Form, Given, Slot
from kit.protocols.toy.model import Lapse, Lease, Take, Write


def _status(now: DrillMoment, given: Given) -> CommandReply:
    state = now.state
    running = "runs" if state.running else "does not run"
    return CommandReply((f"lease {state.newest} {running}; the store has seen {state.seen}",))


def _does(action: type[Take] | type[Write]) -> Callable[[DrillMoment, Given], CommandReply]:
    return lambda now, given: CommandReply(actions=(action(int(str(given["client"])[1:])),))


def _clients(now: DrillMoment) -> list[str]:
    return [f"C{number}" for number in range(now.model.parameters.clients)]


def _checklist(now: DrillMoment) -> tuple[CheckedStep, ...]:
    return (CheckedStep("write", "write with the second lease", now.state.seen > 1),)


def _grade(now: DrillMoment) -> Grade:
    ordered = all(a.state.seen <= b.state.seen for a, b in zip(now.run, now.run[1:], strict=False))
    return Grade(
        (
            GradeRow("second write", now.state.seen > 1, f"the store has seen {now.state.seen}"),
            GradeRow("in order", ordered, "no write came after a newer one" if ordered else "one"),
        )
    )


DRILL = DrillKind(
    title="Write with the second lease",
    task="Let a second client take the lease and write.",
    forms=(
        Form("lease status", "who has what", _status),
        Form("lease take {client}", "take the lease", _does(Take)),
        Form("lease lapse", "the lease ends", lambda now, given: CommandReply(actions=(Lapse(),))),
        Form("store write {client}", "write to the store", _does(Write)),
    ),
    slots={"client": Slot("a client", _clients)},
    opened=lambda model: Lease(model.parameters, ("fence",)),
    starts_at=lambda model: "service",
    checklist=_checklist,
    grade=_grade,
)
