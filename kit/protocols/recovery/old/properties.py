"""What must hold in the old procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster
from kit.protocols.recovery.old.state import OldState

if TYPE_CHECKING:
    from kit.protocols.recovery.old.model import RecoveryMode


def properties_of(m: RecoveryMode) -> tuple[Property, ...]:
    """The properties of a model."""

    def one_group(s: OldState) -> str | None:
        pair = cluster.in_two_groups(s)
        if pair is None:
            return None
        said = (f"{m.names[i]} of {m.group_name(s.nodes[i].group)}" for i in pair)
        return f"{' and '.join(said)} talk as one cluster"

    def one_schema(s: OldState) -> str | None:
        for i, node in enumerate(s.nodes):
            if node.mode == "group 0" and cluster.may_commit(s, i):
                for other in nodes_in(cluster.running(s, i)):
                    there = s.nodes[other]
                    if there.mode == "group 0" and there.columns != node.columns:
                        pair = f"{m.names[i]} and {m.names[other]}"
                        return f"{pair} run in {m.group_name(node.group)} with different schemas"
        return None

    def linearizable(before: OldState, action: Any, after: OldState) -> str | None:
        node = m.number(action.node)
        if before.nodes[node].mode != "group 0":
            return None
        missed = before.answered & ~after.nodes[node].columns
        if not missed or cluster.is_walled_off(before, before.nodes[node]):
            return None
        return f"{action.node} does not see column {next(nodes_in(missed)) + 1}, added before"

    return (
        always("one-group", "Who talks as one cluster is in one group", one_group, "INV-ONEGROUP"),
        always("one-schema", "Members of a group 0 have one schema", one_schema, "INV-SCHEMA"),
        step("linearizable", "A schema change sees all before it", linearizable, "INV-LIN",
             (act.AddAColumn,)),
        sometimes("whole", "The cluster is whole", cluster.is_whole),
        goal("ends", "The cluster can become whole", cluster.is_whole, "INV-PROGRESS"),
    )  # fmt: skip
