"""Orders of the documented steps: which of them end with one group and no loss, which do not.

The steps of each live node stay in their documented order, and so do those of the operator that
concern the whole cluster; these rows mix in every way. With a crash a live node goes down and is
started again at one more point. At the end a client changes the schema at every live node.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.console.drill import refusal_line
from kit.edge.arguments import checked
from kit.errors import BadInput, Refusal, check_among
from kit.model.model import Model
from kit.model.scenario import begun
from kit.model.timeline import Timeline
from kit.protocols.recovery import recovery as new
from kit.protocols.recovery import recovery_mode as old
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.recovery.recovery_mode import RecoveryMode
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from kit.search.orders import Ordered, OrderedState, OrderPlan, broken_by, chains, order_outcomes

INDEXES, DEAD = (1, 2, 2, 2), "C D"
WHOLE, NOT_WHOLE = "whole", "not whole"
ANY_ORDER = ("order",)
"""By RECOVERY mode an operator may do any step at any time: no server refuses it."""


class OrderRow(Struct, frozen=True):
    """How many orders of a procedure, with or without one more crash, end in an outcome."""

    procedure: str
    crash: bool
    outcome: str
    orders: int


def recovery_orders() -> tuple[OrderRow, ...]:
    """Count the orders of both procedures by how they end. A and B of four nodes live; B knows
    more.

    The outcomes are *whole*, *not whole*, *breaks NAME* (of a promise) and *refused*: a server
    refuses a step, and the order ends there.
    """
    return tuple(
        OrderRow(procedure, crash, outcome, orders)
        for procedure, model, plan in order_plans()
        for crash in (False, True)
        for outcome, orders in sorted(order_outcomes(model, plan, crash).items())
    )


def order_plans() -> Iterator[tuple[str, Model[Any, Any], OrderPlan]]:
    """Each procedure with its model and the orders of its steps."""
    yield from ((f"new, {edition}", *_new(edition)) for edition in EDITIONS)
    yield "old", *_old()


Step: TypeAlias = tuple[str, tuple[Any, ...]]


def _plan(
    m: Any, operator: Sequence[Any], steps: Callable[[str], list[Step]], restart: tuple[Any, Any],
    servers: tuple[type, ...], is_whole: Callable[[Any], bool], change: Any,
) -> tuple[Any, OrderPlan]:  # fmt: skip
    live = [name for name in m.names if name not in m.given_up]

    def ended(s: Any) -> str:
        return _changed(m, s, change, live) if is_whole(s) else NOT_WHOLE

    mishaps = tuple(tuple(kind(name) for kind in restart) for name in live)
    moves = chains(_steps_of(m, *operator), *map(steps, live))
    return m, OrderPlan(moves, ended, servers, mishaps)


def _steps_of(m: Any, *actions: Any) -> list[Step]:
    return [(m.verb(action), (action,)) for action in actions]


def _old() -> tuple[Model[Any, Any], OrderPlan]:
    m = RecoveryMode(off=ANY_ORDER, commit_indexes=INDEXES, dead=DEAD, changes=2)

    def steps(name: str) -> list[Step]:
        restart = (f"restart {name}", (old.Stop(name), old.StartServer(name)))
        queries = (old.TruncateDiscovery(name), old.TruncateHistory(name), old.DropId(name))
        first = _steps_of(m, old.SetRecovery(name))
        return [*first, restart, *_steps_of(m, *queries, old.Unset(name)), restart]

    operator = (old.Isolate(), *map(old.Remove, m.given_up))
    restart = (old.Stop, old.StartServer)
    return _plan(m, operator, steps, restart, old.BY_SERVERS, lambda s: s.is_whole, old.Alter)


def _new(edition: Edition) -> tuple[Model[Any, Any], OrderPlan]:
    off = tuple(each.name for each in Recovery.safeguards if each.name != "isolation")
    given = {"edition": edition, "commit_indexes": INDEXES, "dead": DEAD}
    m = Recovery(off=off, **given, crashes=1, changes=2)

    def steps(name: str) -> list[Step]:
        return _steps_of(m, *(kind(name) for kind in m.procedure if kind in new.OF_EACH))

    leader = [name for name in m.names if name not in m.given_up][-1]
    first = (kind() for kind in (new.Isolate, new.Read) if kind in m.procedure)
    operator = (*first, new.Choose(leader), *map(new.Remove, m.given_up))
    return _plan(m, operator, steps, (new.Crash, new.Restart), (), m.is_recovered, new.Alter)


def _changed(m: Model[Any, Any], s: Any, change: Any, live: list[str]) -> str:
    for name in live:
        before, action = s, change(name)
        if m.refusal(before, action) is not None:
            continue
        s = m.apply(before, action)
        if broken := broken_by(m, before, action, s):
            return broken
    return WHOLE


def _each(*actions: type) -> Callable[[RecoveryMode, Sequence[str]], tuple[Any, ...]]:
    return lambda m, live: tuple(action(name) for name in live for action in actions)


def _once(action: type) -> Callable[[RecoveryMode, Sequence[str]], tuple[Any, ...]]:
    return lambda m, live: (action(),)


_RESTART = _each(old.Stop, old.StartServer)
STEPS: dict[str, Callable[[RecoveryMode, Sequence[str]], tuple[Any, ...]]] = {
    "isolate": _once(old.Isolate),
    "enter": _each(old.SetRecovery),
    "restart": _RESTART,
    "check mode": _once(old.ReadLogs),
    "remove": lambda m, live: tuple(map(old.Remove, sorted(m.given_up))),
    "truncate discovery": _each(old.TruncateDiscovery),
    "truncate history": _each(old.TruncateHistory),
    "delete group id": _each(old.DropId),
    "compare": _once(old.Compare),
    "leave": _each(old.Unset),
    "restart again": _RESTART,
}
"""The documented steps in their order, each with the actions that it is made of; the Raft upgrade
then runs by itself. What the manual on Raft has as one step, three queries, are three."""

DOCUMENTED = tuple(STEPS)


def actions_of(m: RecoveryMode, order: Iterable[str]) -> tuple[Any, ...]:
    """The actions of some steps, in order."""
    live = [name for name in m.names if name not in m.given_up]
    return tuple(action for step in order for action in STEPS[step](m, live))


USUAL = RecoveryMode.Parameters(commit_indexes=(1, 2, 2, 2), dead="C D", changes=2, returns=2)
"""Two live nodes of four, of which one knows less; a client that changes the schema twice."""


class Harm(Struct, frozen=True):
    """The harm of an order.

    ``wrong`` is the place of its first wrong step (None: the documented order), ``missing`` the
    documented step that does not stand there. ``breaks`` is what breaks first in ``run``, the
    shortest run after the wrong step, ``witness`` what shows it; both are empty where nothing does.
    ``waits`` says for what the operator or a server waits where the rest of the order comes to
    rest and the cluster is not whole. ``states`` counts what was searched.
    """

    order: tuple[str, ...]
    wrong: int | None
    missing: str = ""
    breaks: str = ""
    witness: str = ""
    run: tuple[str, ...] = ()
    waits: str = ""
    states: int = 0

    @property
    def sentence(self) -> str:
        """The harm in a sentence."""
        if not self.breaks:
            return "no harm"
        after = f" after {', '.join(self.run)}" if self.run else ""
        waits = f"; {self.waits}" if self.waits else ""
        return f"{self.breaks}: {self.witness}{after}{waits}"


@checked
def order_harm(order: Sequence[str], parameters: Struct = USUAL) -> Harm:
    """Show what a given order of the old procedure's steps does to a cluster.

    The steps up to the first wrong one are played as given. From there on, every interleaving is
    searched: the rest of the order, what servers do on their own, and the clients and faults of
    ``parameters``. No more nodes die, because no order has a step that would remove them. If a
    server refuses the wrong step itself, the harm is *refused*.

    Raises BadInput for an unknown step, a repeated step, or parameters of another model.
    """
    order = tuple(order)
    for at, step in enumerate(order):
        check_among("order", step, STEPS)
        if step in order[:at]:
            raise BadInput("order", step, "each step once")
    if not isinstance(parameters, RecoveryMode.Parameters):
        raise BadInput("parameters", parameters, "parameters of model recovery_mode")
    m = RecoveryMode(replace(parameters, deaths=0), ANY_ORDER)
    pairs = enumerate(zip_longest(DOCUMENTED, order))
    wrong = next((at for at, (step, taken) in pairs if step != taken), None)
    played = len(order) if wrong is None else min(wrong + 1, len(order))
    missing = "" if wrong is None else DOCUMENTED[wrong]
    run = Timeline(m)
    if (refusal := _play(m, run, actions_of(m, order[:played]))) is not None:
        return Harm(order, wrong, missing, "refused", refusal_line(refusal))
    rest = Ordered(
        begun(run).model, actions_of(m, order[played:]), old.BY_OPERATOR, always=(old.StartServer,)
    )
    result = check(rest)
    if result.violation is None:
        return Harm(order, wrong, missing, states=result.states)
    verbs = tuple(map(m.verb, result.violation.actions))
    name, witness = result.violation.property, result.violation.witness
    waits = at_rest(m, rest) if name == "ends" else ""
    return Harm(order, wrong, missing, name, witness, verbs, waits, result.states)


def _play(m: RecoveryMode, run: Timeline, actions: Sequence[Any]) -> Refusal | None:
    for action in actions:
        settle(m, run)
        if m.comes_to(run.state, action) is None:
            continue
        if (refusal := m.refusal(run.state, action)) is not None:
            return refusal
        run.do(action)
    settle(m, run)
    return None


def settle(m: RecoveryMode, run: Timeline) -> None:
    """Servers do what they can on their own."""
    while (own := by_servers(m, run.state)) is not None:
        run.do(own)


def by_servers(m: Model[Any, Any], s: Any) -> Any:
    """What servers do by themselves: they pull schema, and go through the Raft upgrade."""
    return next((a for a in m.actions(s) if isinstance(a, old.BY_SERVERS)), None)


def at_rest(m: RecoveryMode, rest: Ordered) -> str:
    """Why an order that is followed comes to rest before its end, in the servers' words."""
    state: OrderedState = rest.start()
    while True:
        due = rest.due(state)
        action = by_servers(rest, state)
        if action is None and due in rest.actions(state):
            action = due
        if action is None:
            break
        state = rest.apply(state, action)
    if state.inner.is_whole:
        return ""
    waits = [
        f"{rest.verb(action)} waits: {refusal_line(refusal)}"
        for action, refusal in rest.waiting(state)
        if isinstance(action, old.BY_SERVERS) or action == due
    ]
    if waits:
        return "; ".join(waits)
    nodes = zip(m.names, state.inner.nodes, strict=True)
    runs = (f"{name} runs in {node.mode_text}" for name, node in nodes if node.is_up)
    return f"nothing more can happen: {', '.join(runs)}"
