"""The server that one is on in a drill: which node, whether it answers, in maintenance or not.

A node in maintenance mode is down for all others: its state is that of a node that is down, and the
mark of the drill says that its tables can be read on the machine.
"""

from __future__ import annotations

from collections.abc import Iterable

from kit.engine.drill import DrillMoment
from kit.engine.timeline import Moment
from kit.errors import Refused
from kit.protocols.recovery.recovering_cluster import RecoveryNode
from kit.protocols.recovery.recovery import Crash, Recovery, Replace
from kit.protocols.recovery.rules.hosts import ServerHost


def machines(m: Recovery, run: Iterable[Moment]) -> tuple[ServerHost, ...]:
    """Every machine, in the order of nodes; a new one where a dead node was replaced in the run."""
    fresh = {step.action.node for step in run if isinstance(step.action, Replace)}
    return tuple(m.host(number, name in fresh) for number, name in enumerate(m.names))


def here(now: DrillMoment) -> int:
    """The number of the machine that one is on."""
    m: Recovery = now.model
    return m.number(now.place)


def running(now: DrillMoment, tool: str, in_maintenance: bool = False) -> int:
    """The machine that one is on, whose server answers, in maintenance mode or not.

    Raises:
        Refused: as the tool says where the server is down.
    """
    number = here(now)
    node: RecoveryNode = now.state.nodes[number]
    answers = in_maintenance and is_maintained(now, number)
    if node.status not in ("up", "returned") and not answers:
        raise Refused(f"{tool} on {now.place}: connection refused, the server is down")
    return number


def named(now: DrillMoment, host_id: str) -> int:
    """The number of the node with a host id."""
    ids = [machine.host_id for machine in machines(now.model, now.run)]
    return ids.index(host_id)


def maintenance(now: DrillMoment, number: int, stops: int = 0) -> str:
    """The mark of a node that is in maintenance since it was stopped so often, and ``stops``."""
    name = now.model.names[number]
    actions = (step.action for step in now.run)
    before = sum(isinstance(each, Crash) and each.node == name for each in actions)
    return f"maintenance {number} {before + stops}"


def is_maintained(now: DrillMoment, number: int) -> bool:
    """Whether a node is down for all others, and was started in maintenance mode."""
    node: RecoveryNode = now.state.nodes[number]
    return node.status == "down" and maintenance(now, number) in now.marks
