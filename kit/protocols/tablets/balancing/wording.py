"""What the model of balancing says: what a move did, what the planner says of it, loads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.protocols.tablets.facts.reasons import load_said, loads_said, reason_said
from kit.protocols.tablets.rules.balance.reasons import Reason
from kit.protocols.topology.rules.machines import Edition

if TYPE_CHECKING:
    from kit.protocols.tablets.balancing.model import Balance, BalanceState


def reason(said: Reason, edition: Edition) -> str:
    """A reason of the planner's."""
    return reason_said(said, edition)


def describe(model: Balance, before: BalanceState, action: Any) -> str:
    """What a move did to the loads, and whether the plan had it."""
    edition = model.parameters.edition
    loads = loads_said(edition, *model.loads(before).compared(*model.place(before, action)))
    answer = model.why(before, action)
    inside = action.source.partition(":")[0] == action.target.partition(":")[0]
    shards = inside or edition == "documents"
    here, there = (
        each if shards else each.partition(":")[0] for each in (action.source, action.target)
    )
    noun = "tablets" if edition == "documents" else "loads"
    return (
        f"Tablet {model.labels[action.tablet]} moves from {action.source} to {action.target}; "
        f"{noun}: {here} from {loads[0]} to {loads[2]}, {there} from {loads[1]} to {loads[3]}. "
        f"{'In' if answer.moves else 'Not in'} the plan: {reason(answer.reason, edition)}."
    )


def readable(model: Balance, s: BalanceState) -> dict[str, str]:
    """Each tablet's replicas, each node's load."""
    edition = model.parameters.edition
    loads = model.loads(s).node_load.tolist()
    tablets = {
        f"tablet {label}": ", ".join(map(str, replicas))
        for label, replicas in zip(model.labels, s.replicas, strict=True)
    }
    nodes = {name: load_said(load, edition) for name, load in zip(model.names, loads, strict=True)}
    return {**tablets, **nodes}
