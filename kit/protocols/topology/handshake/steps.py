"""Steps on group 0: a member places a request; the coordinator takes it, answers, and concludes.

What a node reads in group 0 and the command that it then commits are one step: the guard makes it
so (model ``group0``). Sources: Topology over Raft, "The procedure"; published code,
``validate_joining_node`` and ``finish_accepting_node``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from kit.engine.actors import ActorState
from kit.engine.model import Rule
from kit.engine.pairs import paired
from kit.errors import Refusal
from kit.protocols.topology.handshake import actions as act
from kit.protocols.topology.handshake.actors import (
    OutcomeSeen,
    RequestChecked,
    Unanswered,
    VerdictDue,
)
from kit.protocols.topology.handshake.messages import (
    ACCEPTED,
    JOINER,
    JoinNodeResponse,
    ResponseHandled,
)
from kit.protocols.topology.handshake.state import (
    coordinator,
    joiner,
    member,
    members,
    tables,
    up,
    with_member,
    with_tables,
)
from kit.protocols.topology.rules.joining import (
    FEATURE,
    Names,
    enabling_obstacle,
    moved,
    placed,
    rejection,
    request_in,
)

if TYPE_CHECKING:
    from kit.protocols.topology.handshake.model import Join

NO_COORDINATOR = Refusal("there is no coordinator")
_WAITS = ("asking", "requesting", "waiting")
Condition = Callable[[ActorState], Refusal | None]
Effect = Callable[[ActorState, Any], ActorState]


def rules(model: Join) -> tuple[Rule[ActorState, Any], ...]:
    """What members, the coordinator and the joiner do with group 0, beside their messages."""
    return (*_of_members(model), *_of_coordinator(model), *_of_joiner(model), _enabling(model))


def _of_members(model: Join) -> tuple[Rule[ActorState, Any], ...]:
    """Whoever received a request checks it, and puts it into the queue or turns it away."""

    def place(s: ActorState, action: act.PlaceRequest) -> ActorState:
        asks = member(s, action.node).handling[0]
        why = rejection("placing", tables(s), asks, up(s), model.setting)
        if not why:
            s = with_tables(s, placed(tables(s), asks))
        return model.advance(s, action.node, RequestChecked(why))

    handling = paired(
        act.PlaceRequest,
        "place",
        lambda s: [act.PlaceRequest(each.name) for each in members(s) if each.handling],
        _always,
        place,
    )
    return (handling,)


def _of_coordinator(model: Join) -> tuple[Rule[ActorState, Any], ...]:
    """It takes a request, adds the joiner, sends its verdict, and goes on when that was heard."""

    def take(s: ActorState, action: act.TakeRequest) -> ActorState:
        row = tables(s).pending
        assert row is not None
        why = rejection("coordinator", tables(s), request_in(row), up(s), model.setting)
        if not why:
            state = "replacing" if row.replaces else "bootstrapping"
            return with_tables(s, moved(tables(s), row.host, state))
        s = left(s, row.host, why)
        return with_member(s, replace(coordinator(s), owes=(row.host, why)))

    def respond(s: ActorState, action: act.Respond) -> ActorState:
        return model.advance(s, tables(s).coordinator, VerdictDue(*verdict_due(s)))

    def call_fails(s: ActorState, action: act.CallFails) -> ActorState:
        # Edition documents tries again for ever; the published code gives the joiner up.
        joining = tables(s).joining
        assert joining is not None
        s = with_member(s, replace(coordinator(s), call=""))
        return s if model.setting.edition == "documents" else left(s, joining.host, "not-accepted")

    return (
        _led(act.TakeRequest, "take", _once(act.TakeRequest), _may_take, take),
        _led(act.AddMember, "add", _once(act.AddMember), _may_add, _add),
        _led(act.Respond, "respond", _once(act.Respond), _may_respond, respond),
        _led(act.Conclude, "conclude", _once(act.Conclude), _may_conclude, _conclude),
        paired(act.CallFails, "fails", _failing, _always, call_fails),
    )


def _of_joiner(model: Join) -> tuple[Rule[ActorState, Any], ...]:
    """It sees in group 0 what became of it, or waits no longer."""

    def learn(s: ActorState, action: act.LearnOutcome) -> ActorState:
        row = tables(s).row(joiner(s).host)
        assert row is not None
        return model.advance(s, JOINER, OutcomeSeen(row.state == "normal"))

    def give_up(s: ActorState, action: act.StopWaiting) -> ActorState:
        why = "unanswered" if joiner(s).status == "waiting" else "lost"
        return model.advance(s, JOINER, Unanswered(why))

    return (
        paired(act.LearnOutcome, "learn", _learners, _always, learn),
        paired(act.StopWaiting, "give up", _hopeless, _always, give_up),
    )


def _enabling(model: Join) -> Rule[ActorState, Any]:
    """The feature is enabled, once nobody joins who lacks it."""

    def may_enable(s: ActorState) -> Refusal | None:
        why = enabling_obstacle(tables(s), model.setting)
        return Refusal(why) if why else None

    return _led(
        act.EnableFeature,
        "enable",
        lambda s: () if FEATURE in tables(s).enabled else (act.EnableFeature(),),
        may_enable,
        lambda s, a: with_tables(s, replace(tables(s), enabled=(FEATURE,))),
    )


def _always(s: ActorState, action: Any) -> None:
    return None


def _once(kind: Any) -> Callable[[ActorState], tuple[Any, ...]]:
    only = (kind(),)
    return lambda s: only


def _led(
    kind: Any, name: str, candidates: Any, condition: Condition, effect: Effect
) -> Rule[ActorState, Any]:
    """A step of the coordinator: somebody has to be it."""
    return paired(
        kind,
        name,
        candidates,
        lambda s, a: condition(s) if tables(s).coordinator else NO_COORDINATOR,
        effect,
    )


def left(s: ActorState, host: str, why: str = "") -> ActorState:
    """The state once a host id has left: every member refuses it from then on."""
    s = with_tables(s, moved(tables(s), host, "left", why))
    for each in members(s):
        s = with_member(s, replace(each, banned=(*each.banned, host)))
    return s


def _may_take(s: ActorState) -> Refusal | None:
    if tables(s).pending is None:
        return Refusal("no request waits")
    return Refusal("a join is under way") if tables(s).joining else None


def _may_add(s: ActorState) -> Refusal | None:
    joining = tables(s).joining
    if joining is None:
        return Refusal("no request was accepted")
    inside = joining.host in tables(s).members
    return Refusal("it is in the configuration") if inside else None


def _add(s: ActorState, action: act.AddMember) -> ActorState:
    joining = tables(s).joining
    assert joining is not None
    return with_tables(s, replace(tables(s), members=(*tables(s).members, joining.host)))


def verdict_due(s: ActorState) -> Names:
    """The host id, and the verdict on it, that the coordinator has to send next; empty: none."""
    state, joining = coordinator(s), tables(s).joining
    if state.owes:
        return state.owes
    added = joining is not None and joining.host in tables(s).members
    return (joining.host, ACCEPTED) if joining and added and not state.call else ()


def _may_respond(s: ActorState) -> Refusal | None:
    return None if verdict_due(s) else Refusal("no verdict is due")


def _may_conclude(s: ActorState) -> Refusal | None:
    handled = coordinator(s).call == "handled" and tables(s).joining is not None
    return None if handled else Refusal("the joiner has not answered")


def _conclude(s: ActorState, action: act.Conclude) -> ActorState:
    """The joiner is normal; in the same step, the node that it replaces has left."""
    joining = tables(s).joining
    assert joining is not None
    s = with_member(s, replace(coordinator(s), call=""))
    for old in joining.replaces:
        s = left(s, old)
    return with_tables(s, moved(tables(s), joining.host, "normal"))


def _failing(s: ActorState) -> tuple[Any, ...]:
    """A call has failed when neither it nor its answer can arrive any more."""
    leader = tables(s).coordinator
    if not leader or coordinator(s).call != "sent" or not tables(s).joining:
        return ()
    on_its_way = any(
        {e.source, e.target} == {leader, JOINER}
        and isinstance(e.message, JoinNodeResponse | ResponseHandled)
        for e in s.network.in_flight
    )
    return () if on_its_way or joiner(s).parked else (act.CallFails(),)


def _learners(s: ActorState) -> tuple[Any, ...]:
    row = tables(s).row(joiner(s).host)
    over = row is not None and row.state in ("normal", "left")
    return (act.LearnOutcome(),) if over and joiner(s).status == "accepted" else ()


def _hopeless(s: ActorState) -> tuple[Any, ...]:
    """The joiner waits for what cannot come: then its operator, or a timeout, ends it."""
    state = joiner(s)
    if state.status not in _WAITS or any(each.handling for each in members(s)):
        return ()
    if any(JOINER in (e.source, e.target) for e in s.network.in_flight):
        return ()
    row = tables(s).row(state.host)
    answered = row is not None and row.state == "left" and not any(m.owes for m in members(s))
    return (act.StopWaiting(),) if state.status != "waiting" or answered else ()
