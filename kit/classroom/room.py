"""A room: one run on a network of nodes, a seat for each node, and what each may see and do.

Who sits at a node sees what that node knows: its own state, what lies in its inbox, and what it did
and received. It may do what a node does by itself, and receive what has been sent to it. All else,
faults above all, is for the projector, which shows everything. Nobody gives a name.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from kit.errors import BadInput, Refused, check_among, nearest
from kit.model.actors import NetworkModel
from kit.model.network import DeliverMessage
from kit.model.registry import entries
from kit.model.timeline import LONGEST_RUN, Timeline
from kit.playing.opening import Source, is_known, open_named
from kit.playing.session import Line, Session
from kit.views.actions import mark
from kit.views.fragment import Frag, h
from kit.views.registry import for_model
from kit.views.runs import Row, node_rows

LETTERS = "ABCDEFGHJKMNPQRSTUVWXYZ"
"""Those that nobody takes for another letter or a digit when they are read from a wall."""
CODE = 8
"""Letters of a code: 23 to the power of 8, far more than can be tried during a lesson."""
MOST_LINES = 40
"""Steps of its own that a node is shown, the last ones."""
MOST_PLAYED = 60
"""Steps of a story that are looked through for faults."""


def played() -> tuple[str, ...]:
    """The models that a class can play: those whose nodes send messages."""
    known = entries().values()
    networks = (e for e in known if isinstance(e.build, type) and issubclass(e.build, NetworkModel))
    return tuple(entry.name for entry in networks)


def _not_played(name: str) -> BadInput:
    models = played()
    stories = [each.name for model in models for each in entries()[model].scenarios]
    allowed = f"a model of nodes that send messages, or a scenario of one: {', '.join(models)}"
    return BadInput("model", name, allowed + nearest(name, [*models, *stories]))


# What a seat says.


class Enter(Struct, frozen=True, forbid_unknown_fields=True, tag_field="say", tag="enter"):
    """Somebody comes in, with the code of the class."""

    code: str


class Sit(Struct, frozen=True, forbid_unknown_fields=True, tag_field="say", tag="sit"):
    """A student who has come in takes the seat of a node."""

    node: str


class Return(Struct, frozen=True, forbid_unknown_fields=True, tag_field="say", tag="return"):
    """Who had a seat comes back to it: a phone that slept, a page that was loaded again."""

    ticket: str


class Press(Struct, frozen=True, forbid_unknown_fields=True, tag_field="say", tag="press"):
    """A button was pressed: the mark of its action."""

    act: str


class Leave(Struct, frozen=True, forbid_unknown_fields=True, tag_field="say", tag="leave"):
    """Somebody gives the seat back."""


Said: TypeAlias = Enter | Sit | Return | Press | Leave


class Known(Struct, frozen=True):
    """A node's knowledge and options: what it knows of itself, its actions, its own steps so far;
    one that ``is_down`` does nothing, and hears nothing.
    """

    row: Row
    acts: list[Any]
    did: list[str]
    is_down: bool = False


class Room:
    """A run that a class plays; ``code`` lets one in, ``key`` opens the projector.

    ``source`` is what a Player takes; parameters are ``given`` to one that is a name. Raises
    BadInput for a model whose nodes are not on a network: of others nobody can say what one node
    knows.
    """

    def __init__(self, source: Source, given: Mapping[str, Any] | None = None) -> None:
        self.line = Line()
        if isinstance(source, str) and not is_known(source):
            raise _not_played(source)
        named = open_named(source, given).timeline if given and isinstance(source, str) else source
        self.player = Session(named, self.line)
        model = self.player.model
        if not isinstance(model, NetworkModel):
            raise _not_played(source if isinstance(source, str) else model.name)
        self.names = model.names
        self.nodes = tuple(name for name in self.names if name not in model.shared)
        self.code = "".join(secrets.choice(LETTERS) for _ in range(CODE))
        self.key = secrets.token_urlsafe(24)
        self.tickets: dict[str, str] = {}
        self._worked_out: tuple[int, dict[str, Known]] = (-1, {})

    def faults(self) -> tuple[str, ...]:
        """The kinds of fault that can be caused while the story goes on, up to some steps."""
        timeline = Timeline(self.player.model, self.player.timeline.script)
        kinds = dict[str, None]()
        for _ in range(MOST_PLAYED):
            model = timeline.model
            for action, refusal in model.options(timeline.state):
                if refusal is None and model.kind(action) in model.faults:
                    kinds[model.kind(action)] = None
            if timeline.forward() is None:
                break
        return tuple(kinds)

    # -- seats -------------------------------------------------------------------------------------

    def lets_in(self, code: str) -> bool:
        """Whether this is the code, however it was typed."""
        typed = "".join(letter for letter in code.upper() if letter.isalpha())
        return hmac.compare_digest(typed.encode(), self.code.encode())

    def opens(self, key: str) -> bool:
        """Whether this is the key of the projector."""
        return hmac.compare_digest(key.encode(), self.key.encode())

    def sit(self, node: str) -> str:
        """Take a seat; returns the ticket by which one comes back to it.

        Raises BadInput for no node, Refused where somebody sits already.
        """
        check_among("node", node, self.nodes)
        if node in self.tickets.values():
            raise Refused(f"Node {node} is already taken: choose another one.")
        ticket = secrets.token_urlsafe(24)
        self.tickets[ticket] = node
        return ticket

    def seat_of(self, ticket: str) -> str:
        """The seat that a ticket is for. Raises Refused for a ticket of no seat (any more)."""
        if ticket not in self.tickets:
            raise Refused("Your seat was freed. Type the code of the class to come back.")
        return self.tickets[ticket]

    def free(self, node: str) -> None:
        """Let somebody else be a node; nothing happens where nobody was."""
        self.tickets = {ticket: seat for ticket, seat in self.tickets.items() if seat != node}

    # -- what one node sees and does ---------------------------------------------------------------

    def press(self, node: str, said: Press) -> None:
        """Do what a seat asked for.

        Others may have acted since the button was shown: it counts if the node may still do that.

        Raises Refused where it may not: whatever a page sends, it does no more than its buttons,
        of which there are none while the projector shows an earlier step.
        """
        if self.looks_back:
            raise Refused("The projector shows an earlier step: wait for the newest one.")
        if len(self.player.timeline.moments) >= LONGEST_RUN:
            raise Refused("This run has reached its limit. Ask for a new one.")
        for action in self.known()[node].acts:
            if mark(self.player.model, action) == said.act:
                self.player.act(action)
                return
        raise Refused(f"Node {node} cannot do that now.")

    @property
    def looks_back(self) -> bool:
        """Whether the projector shows a step that the run has gone on from.

        What a seat did then would begin a branch, and the class would not be on its own run.
        """
        return self.player.timeline.at != self.player.timeline.tip

    def seen(self, node: str) -> Frag:
        """A node's knowledge, and its buttons."""
        known = self.known()[node]
        past = "The projector shows an earlier step, so this is what you knew then. Wait."
        marks = self.marks()
        return h(
            "div",
            h("h2", f"You are node {node}"),
            h("p", h("b", past)) if self.looks_back else self._buttons(known),
            h("h3", "What you know"),
            h("dl", [h("div", h("dt", name), h("dd", value)) for name, value in known.row.items()]),
            h("p", h("small", marks)) if marks else None,
            _section(
                "What you did and received, newest first",
                [h("li", line) for line in known.did[: -MOST_LINES - 1 : -1]],
                "Nothing.",
            ),
        )

    def _buttons(self, known: Known) -> list[Frag | None]:
        inbox, own = list[Frag](), list[Frag]()
        for action in known.acts:
            (inbox if isinstance(action, DeliverMessage) else own).append(self._button(action))
        idle = "You can do nothing now. Wait for a message."
        if known.is_down:
            idle = "Your node is down: it does nothing and hears nothing."
        elif inbox:
            idle = "You can only receive what is in your inbox."
        elif self.player.timeline.suggest() is None:
            idle = "You can do nothing now, and nothing more happens by itself."
        return [
            *_section("Your inbox", inbox, "There is nothing to receive now."),
            h("p", h("b", "Your node is down.")) if known.is_down and own else None,
            *_section("What you can do", own, idle),
        ]

    def marks(self) -> str:
        """The meaning of the marks in what a node knows; empty where there are none."""
        scene = self.player.rendered.scene(self.player.timeline.at)
        views = for_model(scene.model)
        own = [panel for panel in views.panels if panel.own or panel.name == views.table]
        return " · ".join(panel.legend(scene) for panel in own if panel.legend)

    def _button(self, action: Any) -> Frag:
        model, state = self.player.model, self.player.state
        verb = model.verb(action)
        said, beside = model.label(state, action), [h("small", verb)]
        if isinstance(action, DeliverMessage) and isinstance(model, NetworkModel):
            what = model.in_full(action.envelope.message)
            said, beside = f"receive from {action.envelope.source}: {what}", []
        elif said == verb:  # nobody wrote more for a button: what the step will say
            said = model.describe(state, action, model.apply(state, action))
        return h("li", h("button", said, type="button", data_act=mark(model, action)), beside)

    def known(self) -> dict[str, Known]:
        """What each node knows and may do at the moment that is shown; worked out once for all."""
        timeline = self.player.timeline
        if self._worked_out[0] != timeline.at:
            model, state = self.player.model, self.player.state
            rows = node_rows(self.player.rendered.scene(timeline.at), self.nodes)
            acts: dict[str, list[Any]] = {node: [] for node in self.nodes}
            for action, refusal in model.options(state):
                if refusal is None and model.kind(action) not in model.faults:
                    acts.get(model.actor_of(state, action), []).append(action)
            did: dict[str, list[str]] = {node: [] for node in self.nodes}
            for step in timeline.passed(timeline.at):
                said = model.describe(step.before, step.action, step.after)
                did.get(model.actor_of(step.before, step.action), []).append(said)
            down = model.is_down if isinstance(model, NetworkModel) else lambda state, node: False
            known = {n: Known(rows[n], acts[n], did[n], down(state, n)) for n in self.nodes}
            self._worked_out = timeline.at, known
        return self._worked_out[1]


def _section(title: str, items: list[Frag], nothing: str) -> list[Frag]:
    return [h("h3", title), h("ul", items) if items else h("p", nothing)]
