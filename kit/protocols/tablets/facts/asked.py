"""How often the coordinator has asked the balancer.

Source: Topology over Raft, "Load balancing": when nothing else is to do, then at each change of a
stage and as long as there is something to begin, and not while a request of the topology waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from kit.engine.breaches import PassedStep
from kit.protocols.tablets.tracks.state import TracksState
from kit.protocols.topology.actions import CommitDecision, CommitDeposed, FindImbalance
from kit.protocols.topology.rules.queue import pending

COMMITS = (CommitDecision, CommitDeposed)


def balancer_calls(steps: Sequence[PassedStep]) -> int:
    """How often the balancer was asked on the way."""
    return sum(map(_asks, steps))


def _asks(step: PassedStep) -> bool:
    """Whether the coordinator asks after this step: a command has changed tablets."""
    if isinstance(step.action, FindImbalance):
        return True
    changed = step.before.tablets is not step.after.tablets
    return changed and isinstance(step.action, COMMITS) and is_asked(step.after)


def is_asked(s: TracksState) -> bool:
    """Whether the coordinator asks the balancer in such a state."""
    topology = s.control.topology
    return topology.transition == "tablet_migration" and not pending(topology)
