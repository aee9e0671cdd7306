"""What must hold in a recovery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import actions as act
from kit.protocols.recovery import groups, steps
from kit.protocols.recovery.state import NOBODY, OLD, RecoveryState

if TYPE_CHECKING:
    from kit.protocols.recovery.model import Recovery


def is_recovered(m: Recovery, s: RecoveryState) -> bool:
    """Whether every step is done: one group, nobody dead in it, nothing left of the old one."""
    unset = m.parameters.edition == "documents" or all(n.option == NOBODY for n in s.nodes)
    clean = not any(n.takes_part and n.old_rows for n in s.nodes)
    ended = s.operation != "under way" and not groups.dead(s)
    return groups.is_together(s) and unset and clean and ended


def properties_of(m: Recovery) -> tuple[Property, ...]:
    """The properties of a model."""

    def causal(s: RecoveryState) -> str | None:
        for name, node in zip(m.names, s.nodes, strict=True):
            dangling = node.data & ~node.columns
            if node.group > OLD and dangling:
                column = next(nodes_in(dangling)) + 1
                return f"{name} has data in column {column}, which its group does not know"
        return None

    def one_group(s: RecoveryState) -> str | None:
        pair = groups.in_two_groups(s)
        if pair is None:
            return None
        said = (f"{m.names[i]} of {m.group_name(s.nodes[i].group)}" for i in pair)
        return f"{' and '.join(said)} talk as one cluster"

    def one_schema(s: RecoveryState) -> str | None:
        for group in range(OLD + 1, len(s.groups)):
            schemas = {s.nodes[i].columns for i in nodes_in(groups.running(s, group))}
            if len(schemas) > 1:
                return f"members of {m.group_name(group)} have different schemas"
        return None

    def linearizable(before: RecoveryState, action: Any, after: RecoveryState) -> str | None:
        node = m.number(action.node)
        company = steps.company(before, node)
        columns = after.nodes[node].columns
        for pair in groups.talking(before):
            for here, there in (pair, pair[::-1]):
                other = before.nodes[there].group
                missed = before.acknowledged[other] & ~columns
                if company >> here & 1 and missed:
                    column = next(nodes_in(missed)) + 1
                    group = m.group_name(before.nodes[node].group)
                    return f"{group} does not see column {column}, added before"
        return None

    return (
        always("causal", "Data stand in columns that the group knows", causal, "INV-CAUSAL"),
        always("one-group", "Who talks as one cluster is in one group", one_group, "INV-ONEGROUP"),
        always("one-schema", "Members of a new group have one schema", one_schema, "INV-SCHEMA"),
        step("linearizable", "A schema change sees all before it", linearizable, "INV-LIN",
             (act.AddColumn,)),
        sometimes("recovered", "The recovery is done", lambda s: is_recovered(m, s)),
        goal("ends", "The recovery can end", lambda s: is_recovered(m, s), "INV-PROGRESS"),
    )  # fmt: skip


def persists_in_order(m: Recovery) -> Property:
    """What breaks before the harm of a missing causality is seen."""

    def persisted(before: RecoveryState, action: Any, after: RecoveryState) -> str | None:
        known = before.nodes[m.number(action.node)].columns >> action.column - 1 & 1
        early = f"{action.node} stores data in column {action.column} before its entry"
        return None if known else early

    return step("persist-in-order", "Data are persisted after the schema that they need", persisted,
                "INV-CAUSAL", (act.StoreData,))  # fmt: skip
