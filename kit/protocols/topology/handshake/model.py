"""The join handshake with messages: how a node gets from its first call into group 0.

Messages are lost, copied and late; the joiner crashes and comes back, members restart, and another
coordinator takes over. What follows the handshake is model ``topology``. Sources: Topology over
Raft, "Join procedure" and "Choosing how to join a cluster"; blog post on 6.0, on features and host
ids; published code, ``join_node_request_handler``.
"""

from __future__ import annotations

from typing import Any

from kit.engine.actors import Actor, ActorModel, ActorState
from kit.engine.model import Rule
from kit.engine.network import FAULTS, NetworkOptions
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.topology.handshake import faults, steps, wording
from kit.protocols.topology.handshake.actors import (
    JoinerActor,
    MemberActor,
    RemovedActor,
    TablesActor,
)
from kit.protocols.topology.handshake.messages import JOINER, REMOVED, JoinMessage
from kit.protocols.topology.handshake.parameters import JoinParameters
from kit.protocols.topology.handshake.properties import properties_of
from kit.protocols.topology.handshake.state import joiner
from kit.protocols.topology.rules.joining import (
    FEATURE,
    JoinNodeRequest,
    JoinRow,
    JoinSafeguards,
    JoinSetting,
    JoinTables,
    Names,
)
from kit.protocols.topology.safeguards import JOIN_SAFEGUARDS

TITLE = "The join handshake: a node asks to be let in"


class Join(ActorModel):
    """A cluster and a node that wants to join it."""

    safeguards = JOIN_SAFEGUARDS
    faults = (*FAULTS, "crash", "outage", "wipe", "wake")
    rests_at_goals = True

    def __init__(self, parameters: JoinParameters | None = None, off: tuple[str, ...] = ()) -> None:
        """A model with the safeguards ``off`` switched off.

        Raises:
            BadInput: when a parameter is out of its limits, or names no member.
        """
        self.given = parameters or JoinParameters()
        check_limits(self.given)
        self.setting = JoinSetting(self.given.edition, switched_off(JoinSafeguards, off))
        options = NetworkOptions(drops=self.given.losses, duplicates=self.given.copies)
        super().__init__("join", TITLE, self._actors(), options, message=JoinMessage)
        self.parameters = self.given
        self.off = off
        self.properties = properties_of(self)

    def _actors(self) -> tuple[Actor, ...]:
        given = self.given
        names = tuple("ABCDE"[: given.nodes])
        down = _among(names[1:], given.down, "down")
        replaces = _among((*names, REMOVED), tuple(filter(None, (given.replaces,))), "replaces")
        rows = self._rows(names)
        left = tuple(row.host for row in rows if row.state == "left")
        members = tuple(MemberActor(name, name not in down, left, self.setting) for name in names)
        contact = [name for name in names if name not in down][-1]
        features = (FEATURE,) if given.supports else ()
        asks = JoinNodeRequest("", 0, given.cluster, given.snitch, features, replaces)
        enabled = (FEATURE,) if given.enabled else ()
        return (
            TablesActor(JoinTables(rows, names, enabled, "A")),
            *members,
            JoinerActor(contact, asks, self.setting),
            *([RemovedActor()] if given.zombie else []),
        )

    def _rows(self, names: Names) -> tuple[JoinRow, ...]:
        """The rows at first: members, and host ids that were removed before."""
        left = [f"{JOINER}1"] * self.given.removed + [REMOVED] * self.given.zombie
        return (
            *(JoinRow(name, "normal", (FEATURE,)) for name in names),
            *(JoinRow(name, "left", (FEATURE,)) for name in left),
        )

    def more_rules(self) -> tuple[Rule[ActorState, Any], ...]:
        """Steps on group 0, and what goes wrong."""
        return (*steps.rules(self), *faults.rules(self))

    def verb(self, action: Any) -> str:
        """``place B``, ``take``, ``start-again``, and those of messages."""
        return wording.verb(action) or super().verb(action)

    def in_short(self, message: Any) -> str:
        """The short name of a message, and what it is about."""
        return wording.called(message)

    def in_full(self, message: Any) -> str:
        """A message by its name in the protocol, with all that it says."""
        return wording.in_full(message)

    def actor_of(self, s: ActorState, action: Any) -> str:
        """The member, the coordinator, the joiner or the removed node."""
        return super().actor_of(s, action) or wording.actor_of(s, action)

    def label(self, s: ActorState, action: Any) -> str:
        """What is about to be done, and by whom."""
        return wording.label(s, action) or super().label(s, action)

    def describe(self, before: ActorState, action: Any, after: ActorState) -> str:
        """What the step did, and why."""
        said = wording.sentence(before, action, after)
        return said or super().describe(before, action, after) + wording.stop(before, after)

    def suggest(self, s: ActorState) -> Any | None:
        """Messages first, then steps of members and of the joiner; no faults."""
        unasked = (*self.faults, "enable")
        enabled = (action for action in self.actions(s) if self.kind(action) not in unasked)
        return next(enabled, None)

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """The joiner was told to wait, was accepted, is in, or has stopped."""
        status = joiner(after).status
        ends = ("waiting", "accepted", "normal", "stopped")
        return status if status in ends and joiner(before).status != status else None


def _among(allowed: Names, given: Names, field: str) -> Names:
    """These names, if each of them is one that may be.

    Raises:
        BadInput: when one is not.
    """
    for name in given:
        if name not in allowed:
            raise BadInput(field, name, "one of " + (", ".join(allowed) or "nobody"))
    return given
