"""Orders of the documented steps: which of them end with one group and no loss, which do not.

The steps of each live node stay in their documented order, and so do those of the operator that
concern the whole cluster; these rows mix in every way. With a crash a live node goes down and is
started again at one more point. At the end a client changes the schema at every live node.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.engine.model import Model
from kit.engine.orders import OrderPlan, chains, order_outcomes
from kit.protocols.recovery import recovery as new
from kit.protocols.recovery import recovery_mode as old
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.recovery.recovery_mode import RecoveryMode
from kit.protocols.topology.rules.machines import Edition

INDEXES, DEAD = (1, 2, 2, 2), "C D"
WHOLE, NOT_WHOLE = "whole", "not whole"
PROCEDURES = ("new, documents", "new, server", "old")


class OrderRow(Struct, frozen=True):
    """How many orders of a procedure, with or without one more crash, end in an outcome."""

    procedure: str
    crash: bool
    outcome: str
    orders: int


def recovery_orders() -> tuple[OrderRow, ...]:
    """The orders of both procedures by what they end in: A and B live of four nodes, B knows more.

    Outcomes are *whole*, *not whole*, *breaks NAME* of a promise, and *refused*: a server does not
    do a step where it stands, and the order is given up there.
    """
    return tuple(
        OrderRow(procedure, crash, outcome, orders)
        for procedure in PROCEDURES
        for model, plan in (_planned(procedure),)
        for crash in (False, True)
        for outcome, orders in sorted(order_outcomes(model, plan, crash).items())
    )


def _planned(procedure: str) -> tuple[Model[Any, Any], OrderPlan]:
    if procedure == "old":
        return _old()
    return _new("server" if procedure == "new, server" else "documents")


def _named(m: Any, *actions: Any) -> list[tuple[str, tuple[Any, ...]]]:
    return [(m.verb(action), (action,)) for action in actions]


def _old() -> tuple[RecoveryMode, OrderPlan]:
    m = RecoveryMode(commit_indexes=INDEXES, dead=DEAD, changes=2)
    live = [name for name in m.names if name not in m.given_up]

    def steps(name: str) -> list[tuple[str, tuple[Any, ...]]]:
        restart = (f"restart {name}", (old.Stop(name), old.StartServer(name)))
        queries = (old.TruncateDiscovery(name), old.TruncateHistory(name), old.DropId(name))
        first = _named(m, old.SetRecovery(name))
        return [*first, restart, *_named(m, *queries, old.Unset(name)), restart]

    def ended(s: Any) -> str:
        return _changed(m, s, old.Alter, live) if s.is_whole else NOT_WHOLE

    removals = (old.Remove(name) for name in m.given_up)
    operator = _named(m, old.Isolate(), *removals)
    mishaps = tuple((old.Stop(name), old.StartServer(name)) for name in live)
    moves = chains(operator, *map(steps, live))
    return m, OrderPlan(moves, ended, old.BY_SERVERS, mishaps)


def _new(edition: Edition) -> tuple[Recovery, OrderPlan]:
    off = tuple(each.name for each in Recovery.safeguards if each.name != "isolation")
    given = {"edition": edition, "commit_indexes": INDEXES, "dead": DEAD}
    m = Recovery(off=off, **given, crashes=1, changes=2)
    live = [name for name in m.names if name not in m.given_up]
    leader = live[-1]

    def steps(name: str) -> list[tuple[str, tuple[Any, ...]]]:
        unset = (new.UnsetOption(name),) if edition == "server" else ()
        do = (new.DeleteId(name), new.SetOption(name), new.Restart(name))
        return _named(m, *do, *unset, new.CleanRows(name))

    def ended(s: Any) -> str:
        return _changed(m, s, new.Alter, live) if m.is_recovered(s) else NOT_WHOLE

    removals = (new.Remove(name) for name in m.given_up)
    chosen = (new.Isolate(), new.Read(), new.Choose(leader))
    operator = _named(m, *chosen, *removals)
    mishaps = tuple((new.Crash(name), new.Restart(name)) for name in live)
    return m, OrderPlan(chains(operator, *map(steps, live)), ended, (), mishaps)


def _changed(m: Model[Any, Any], s: Any, change: Any, live: list[str]) -> str:
    """The outcome once a client has changed the schema at every live node."""
    for name in live:
        before, action = s, change(name)
        if m.refusal(before, action) is not None:
            continue
        s = m.apply(before, action)
        for prop in m.properties:
            said = prop.check(s) if prop.kind == "always" else None
            if prop.kind == "step":
                said = prop.of_step(before, action, s)
            if said:
                return f"breaks {prop.name}"
    return WHOLE
