"""What must hold in the Raft upgrade."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import TYPE_CHECKING, Any

from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.upgrade.raft import peers
from kit.protocols.upgrade.raft import state as act
from kit.protocols.upgrade.raft.state import RaftUpgradeState
from kit.protocols.upgrade.rules.upgrade_state import KNOWN, RECOVERY

if TYPE_CHECKING:
    from kit.protocols.upgrade.raft.model import RaftUpgrade


def _beside_finished(s: RaftUpgradeState) -> Iterator[tuple[int, int]]:
    """A node that has finished, and one that talks to it.

    None once a node is in RECOVERY mode: there gossip spreads changes again, to members that are
    still in ``synchronize``, too (a search finds that).
    """
    if any(node.state == RECOVERY for node in s.nodes):
        return
    for first, second in permutations(range(len(s.nodes)), 2):
        if s.nodes[first].has_finished and peers.is_linked(s, first, second):
            yield first, second


def properties_of(m: RaftUpgrade) -> tuple[Property, ...]:
    """The properties of a model."""

    def one_group(s: RaftUpgradeState) -> str | None:
        if len(s.entries) > 1:
            return f"{len(s.entries)} groups were created"
        for first, second in _beside_finished(s):
            if s.nodes[first].group != s.nodes[second].group:
                where = f"group {s.nodes[second].group}" if s.nodes[second].group else "no group"
                return f"{m.names[second]} is in {where}, and {m.names[first]} has finished"
        return None

    def one_schema(s: RaftUpgradeState) -> str | None:
        for first, second in _beside_finished(s):
            if s.nodes[first].schema != s.nodes[second].schema:
                return f"{m.names[first]} has finished, and {m.names[second]} has another schema"
        return None

    def one_base(s: RaftUpgradeState) -> str | None:
        for first, second in permutations(range(len(s.nodes)), 2):
            a, b = s.nodes[first], s.nodes[second]
            same = a.group == b.group and a.applied == b.applied > 0
            if same and a.has_finished and b.has_finished and a.schema != b.schema:
                both = f"{m.names[first]} and {m.names[second]}"
                return f"{both} applied the same commands to different schemas"
        return None

    def in_order(before: RaftUpgradeState, action: Any, after: RaftUpgradeState) -> str | None:
        for name, was, now in zip(m.names, before.nodes, after.nodes, strict=True):
            if now.state in (was.state, RECOVERY):
                continue
            if KNOWN.index(now.state) != KNOWN.index(was.state) + 1:
                return f"{name} went from {was.state} to {now.state}"
        return None

    def ends(s: RaftUpgradeState) -> bool:
        if peers.is_finished(s) or peers.needs_recovery(s):
            return True
        return m.parameters.schema_problem and all(n.group and n.is_up for n in s.nodes)

    return (
        always("one-group", "One group 0; once one has finished, all are in it", one_group,
               "INV-ONEGROUP"),
        always("one-schema", "Once Raft manages the schema, all have the same one", one_schema,
               "INV-SCHEMA"),
        always("one-base", "The same commands make the same schema", one_base, "INV-RAFT"),
        step("in-order", "group0_upgrade_state goes in order", in_order,
             on=(act.EnterSynchronize, act.FinishUpgrade, act.RestartUpgrading)),
        sometimes("finished", "The upgrade ends", peers.is_finished)
        if not m.parameters.schema_problem
        else sometimes("held", "Unequal schema holds the upgrade", ends),
        goal("ends", "The upgrade ends, or manual recovery or support is needed", ends,
             "INV-PROGRESS"),
    )  # fmt: skip
