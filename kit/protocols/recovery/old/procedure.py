"""The old procedure as a list of steps that can be left out or put into another order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kit.errors import BadInput
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old.model import RecoveryMode


def _each(*actions: type) -> Callable[[RecoveryMode, Sequence[str]], tuple[Any, ...]]:
    """On each live node in turn these actions."""
    return lambda m, live: tuple(action(name) for name in live for action in actions)


def _once(action: type) -> Callable[[RecoveryMode, Sequence[str]], tuple[Any, ...]]:
    return lambda m, live: (action(),)


_RESTART = _each(act.StopServer, act.StartServer)
STEPS: dict[str, Callable[[RecoveryMode, Sequence[str]], tuple[Any, ...]]] = {
    "isolate": _once(act.CutOffDead),
    "enter": _each(act.SetRecovery),
    "restart": _RESTART,
    "check mode": _once(act.ReadLogs),
    "remove": lambda m, live: tuple(map(act.RemoveDead, sorted(m.given_up))),
    "truncate discovery": _each(act.TruncateDiscovery),
    "truncate history": _each(act.TruncateHistory),
    "delete group id": _each(act.DropGroupId),
    "compare": _once(act.CompareVersions),
    "leave": _each(act.DeleteStateRow),
    "restart again": _RESTART,
}
"""The documented steps in their order, each with the actions that it is made of; the Raft upgrade
then runs by itself. What the manual on Raft has as one step, three queries, are three."""

DOCUMENTED = tuple(STEPS)


def actions_of(m: RecoveryMode, order: Iterable[str]) -> tuple[Any, ...]:
    """The actions of some steps, in order."""
    live = [name for name in m.names if name not in m.given_up]
    return tuple(action for step in order for action in STEPS[step](m, live))


def checked_order(order: Sequence[str]) -> tuple[str, ...]:
    """An order of steps of the procedure, each at most once.

    Raises:
        BadInput: for an unknown step, or one that comes twice.
    """
    for at, step in enumerate(order):
        if step not in STEPS:
            raise BadInput("order", step, f"one of {', '.join(STEPS)}")
        if step in order[:at]:
            raise BadInput("order", step, "each step once")
    return tuple(order)


def first_wrong(order: Sequence[str]) -> int | None:
    """The place of the first step that is not the documented one; None: the order is that one."""
    for at, step in enumerate(DOCUMENTED):
        if at == len(order) or order[at] != step:
            return at
    return None
