"""The space-time panel of any model of actors on a network."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.engine.actors import NetworkModel
from kit.engine.network import (
    MESSAGE_ACTIONS,
    DeliverMessage,
    DropMessage,
    DuplicateMessage,
    Envelope,
    HoldMessage,
    ReleaseMessage,
    posted,
)
from kit.engine.timeline import PassedStep
from kit.views.panel import Panel, Scene
from kit.views.spacetime import Arrow, Fate, Mark, Spacetime, draw_spacetime, spacetime_text


class MessageArrow(Struct):
    """A message under way through a run: what the bag calls it, and its arrow so far."""

    envelope: Envelope[Any]
    arrow: Arrow


def run_of(scene: Scene) -> Spacetime:
    """The messages and marks of the way to a moment."""
    steps = scene.way()
    first = steps[0].before if steps else scene.state
    model = scene.model
    journal = [_new(model, envelope, 0) for envelope in first.network.in_flight]
    journal += [_new(model, envelope, 0, "held") for envelope in first.network.held]
    marks = []
    for number, passed in enumerate(steps, start=1):
        _write(model, journal, number, passed)
        if not isinstance(passed.action, MESSAGE_ACTIONS):
            done = model.label(passed.before, passed.action)
            marks.append(Mark(model.actor_of(passed.before, passed.action), number, done))
    marks += [Mark("", b.step + 1, b.title, alarm=True) for b in scene.breaches()]
    return Spacetime(model.names, len(steps), tuple(sent.arrow for sent in journal), tuple(marks))


def _new(
    model: NetworkModel, envelope: Envelope[Any], step: int, fate: Fate = "in flight"
) -> MessageArrow:
    label, full = model.in_short(envelope.message), model.in_full(envelope.message)
    arrow = Arrow(envelope.source, envelope.target, label, step, fate=fate, full=full)
    return MessageArrow(envelope, arrow)


FATES: dict[Any, tuple[Fate, Fate]] = {
    DeliverMessage: ("in flight", "received"),
    DropMessage: ("in flight", "lost"),
    HoldMessage: ("in flight", "held"),
    ReleaseMessage: ("held", "in flight"),
}
"""What each action makes of a message: from which fate to which."""


def _write(model: NetworkModel, journal: list[MessageArrow], step: int, passed: PassedStep) -> None:
    """Enter a step into a journal. Of equal messages the one that was sent first is meant."""
    action, before, after = passed.action, passed.before.network, passed.after.network
    if type(action) in FATES:
        was, fate = FATES[type(action)]
        sent = _first(journal, action.envelope, was)
        if fate == "received" and before.left.duplicates is None:  # it stays
            journal.append(MessageArrow(sent.envelope, replace(sent.arrow, copied_at=step)))
        ended = step if fate in ("received", "lost") else None
        sent.arrow = replace(sent.arrow, fate=fate, ended_at=ended)
    elif isinstance(action, DuplicateMessage):
        sent = _first(journal, action.envelope, "in flight")
        journal.append(MessageArrow(sent.envelope, replace(sent.arrow, copied_at=step)))
    journal += [_new(model, envelope, step) for envelope in posted(before, action, after)]


def _first(journal: list[MessageArrow], envelope: Envelope[Any], fate: Fate) -> MessageArrow:
    return next(s for s in journal if s.envelope == envelope and s.arrow.fate == fate)


MESSAGES = Panel(
    "messages",
    "Messages in space and time",
    lambda scene: draw_spacetime(run_of(scene)),
    lambda scene: spacetime_text(run_of(scene)),
    still=True,
)
