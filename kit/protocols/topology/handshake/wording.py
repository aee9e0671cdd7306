"""What the steps of a join are called, and what they did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.engine.actors import ActorState
from kit.engine.links import posted
from kit.protocols.topology.handshake import actions as act
from kit.protocols.topology.handshake.messages import (
    ACCEPTED,
    JOINER,
    REMOVED,
    BannedNotice,
    JoinNodeQuery,
    JoinNodeResponse,
    ModeReply,
    OldWrite,
    PlacedReply,
    RejectedReply,
    ResponseHandled,
)
from kit.protocols.topology.handshake.state import joiner, tables
from kit.protocols.topology.handshake.steps import verdict_due
from kit.protocols.topology.rules.joining import FEATURE, JoinNodeRequest, because


def verb(action: Any) -> str | None:
    """``place B``, ``take``, ``start-again``; None for what messages do."""
    tag = str(type(action).__struct_config__.tag)
    match action:
        case act.PlaceRequest(name) | act.MemberRestarts(name) | act.TakeTheLead(name):
            return f"{tag} {name}"
        case act.StartAgain(True):
            return f"{tag} without {FEATURE}"
    return tag if isinstance(action, act.OWN) else None


def called(message: Any) -> str:
    """A message in two or three words: ``request of N1``, ``wait``, ``accepted``."""
    match message:
        case JoinNodeQuery(host):
            return f"query of {host}"
        case ModeReply(_, mode):
            return f"by {mode}"
        case JoinNodeRequest(host):
            return f"request of {host}"
        case PlacedReply():
            return "wait"
        case RejectedReply(_, reason):
            return f"rejected: {reason}"
        case JoinNodeResponse(_, verdict):
            return verdict if verdict == ACCEPTED else f"rejected: {verdict}"
        case ResponseHandled():
            return "handled"
        case BannedNotice(host):
            return f"{host} is banned"
        case OldWrite():
            return "old write"
    raise TypeError(message)


def in_full(message: Any) -> str:
    """A message by its name in the protocol, with all that it says."""
    match message:
        case JoinNodeQuery(host, call):
            return f"JOIN_NODE_QUERY of {host} (start {call})"
        case ModeReply(_, mode):
            return f"the answer that one joins by {mode}"
        case JoinNodeRequest(host, call, cluster, snitch, features, replaces):
            has = f"features {', '.join(features) or 'none'}"
            said = f"start {call}, cluster {cluster}, snitch {snitch}, {has}"
            instead = f", replaces {', '.join(replaces)}" if replaces else ""
            return f"JOIN_NODE_REQUEST of {host} ({said}{instead})"
        case PlacedReply():
            return "the answer to wait for JOIN_NODE_RESPONSE"
        case RejectedReply(_, reason):
            return f"the answer that it is rejected ({reason})"
        case JoinNodeResponse(host, verdict):
            how = ACCEPTED if verdict == ACCEPTED else f"rejected, {because(verdict)}"
            return f"JOIN_NODE_RESPONSE for {host} ({how})"
        case ResponseHandled(host):
            return f"the answer that {host} goes on as accepted"
        case BannedNotice(host):
            return f"the notice that {host} is banned"
        case OldWrite(host):
            return f"an old write of {host}"
    raise TypeError(message)


def actor_of(s: ActorState, action: Any) -> str:
    """Who does what no member is named for; empty: nobody, while no one coordinates."""
    if isinstance(action, act.WakeUp):
        return REMOVED
    by_joiner = (act.StartAgain, act.WipeAndStart, act.StopWaiting, act.LearnOutcome)
    return JOINER if isinstance(action, by_joiner) else tables(s).coordinator


def label(s: ActorState, action: Any) -> str | None:
    """What is about to be done, and by whom; None for what messages do."""
    say = _LABELS.get(type(action))
    return None if say is None else say(s, action)


def sentence(before: ActorState, action: Any, after: ActorState) -> str | None:
    """What a step did, and why; None for what messages do."""
    say = _TOLD.get(type(action))
    return None if say is None else say(before, action, after)


def stop(before: ActorState, after: ActorState) -> str:
    """Why the joiner stopped in this step; empty: it did not."""
    stops = joiner(before).status != "stopped" == joiner(after).status
    return f" It stops: {because(joiner(after).reason)}." if stops else ""


def _joining(s: ActorState) -> str:
    joining = tables(s).joining
    return joining.host if joining else "the joiner"


def _lead(s: ActorState) -> str:
    return tables(s).coordinator or "the coordinator"


def _placed(before: ActorState, action: act.PlaceRequest, after: ActorState) -> str:
    name = action.node
    new = [row for row in tables(after).rows if row not in tables(before).rows]
    if new:
        return f"{name} puts the request of {new[0].host} into the queue and tells it to wait."
    [answer] = posted(before.network, action, after.network)
    return f"{name} turns the request away: {because(answer.message.reason)}."


def _ended(before: ActorState, action: Any, after: ActorState) -> str:
    state, host = joiner(after), joiner(after).host
    if state.status == "normal":
        return f"{host} sees that it is normal: it has joined."
    return f"{host} stops: {because(state.reason)}."


def _taken(before: ActorState, action: Any, after: ActorState) -> str:
    lead = tables(before).coordinator
    changed = next(row for row in tables(after).rows if row not in tables(before).rows)
    if changed.state == "left":
        return f"{lead} turns {changed.host} away: {because(changed.reason)}."
    return f"{lead} finds the request of {changed.host} and accepts it: join_group0."


def _responded(before: ActorState, action: Any, after: ActorState) -> str:
    to, verdict = verdict_due(before)
    what = ACCEPTED if verdict == ACCEPTED else f"rejected: {because(verdict)}"
    return f"{tables(before).coordinator} sends its verdict on {to}: {what}."


def _concluded(before: ActorState, action: Any, after: ActorState) -> str:
    joining = tables(before).joining
    assert joining is not None
    ends = "its bootstrap ends well"
    if joining.replaces:
        ends = f"its replace ends well, and {', '.join(joining.replaces)} has left"
    return f"{tables(before).coordinator} knows that {joining.host} is there; {ends}."


def _failed(before: ActorState, action: Any, after: ActorState) -> str:
    then = "moves it to left" if tables(after).joining is None else "will try again"
    lead, host = tables(before).coordinator, _joining(before)
    return f"{lead} has no answer of {host}: the call failed; it {then}."


def _started(before: ActorState, action: act.StartAgain, after: ActorState) -> str:
    less = f" without feature {FEATURE}" if action.drop else ""
    stored = ", from what it has stored" if joiner(after).attempt else ""
    return f"{joiner(after).host} starts again{less}{stored}: start {joiner(after).boot}."


_LABELS: dict[type, Callable[[ActorState, Any], str]] = {
    act.PlaceRequest: lambda s, a: f"{a.node} checks the request with group 0",
    act.TakeRequest: lambda s, a: f"{_lead(s)} takes the request from the queue",
    act.AddMember: lambda s, a: f"{_lead(s)} adds {_joining(s)} to group 0",
    act.Respond: lambda s, a: f"{_lead(s)} sends its verdict",
    act.CallFails: lambda s, a: f"the call of {_lead(s)} fails",
    act.Conclude: lambda s, a: f"{_lead(s)} ends the operation",
    act.EnableFeature: lambda s, a: f"{_lead(s)} enables feature {FEATURE}",
    act.StartAgain: lambda s, a: (
        f"{joiner(s).host} starts again" + (f" without feature {FEATURE}" if a.drop else "")
    ),
    act.WipeAndStart: lambda s, a: "clear the data directory and start",
    act.StopWaiting: lambda s, a: f"{joiner(s).host} gives up",
    act.LearnOutcome: lambda s, a: f"{joiner(s).host} reads the outcome in group 0",
    act.MemberRestarts: lambda s, a: f"{a.node} crashes and starts again",
    act.TakeTheLead: lambda s, a: f"{a.node} takes the lead",
    act.WakeUp: lambda s, a: f"{REMOVED} wakes up",
}

_TOLD: dict[type, Callable[[ActorState, Any, ActorState], str]] = {
    act.PlaceRequest: _placed,
    act.TakeRequest: _taken,
    act.AddMember: lambda s, a, after: (
        f"{tables(s).coordinator} adds {_joining(s)} to the configuration of group 0."
    ),
    act.Respond: _responded,
    act.CallFails: _failed,
    act.Conclude: _concluded,
    act.LearnOutcome: _ended,
    act.StopWaiting: _ended,
    act.StartAgain: _started,
    act.WipeAndStart: lambda s, a, after: (
        f"The data directory is cleared: the joiner has a new host id, {joiner(after).host}."
    ),
    act.EnableFeature: lambda s, a, after: (
        f"Every normal node supports feature {FEATURE}: {tables(s).coordinator} enables it."
    ),
    act.MemberRestarts: lambda s, a, after: (
        f"{a.node} crashes and starts again; what it was at is forgotten."
    ),
    act.TakeTheLead: lambda s, a, after: (
        f"{a.node} leads group 0 and coordinates, by what the tables say."
    ),
    act.WakeUp: lambda s, a, after: (
        f"{REMOVED}, which was removed, hears A again and sends an old write."
    ),
}
