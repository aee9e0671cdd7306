"""The drill of the Raft upgrade: the option on every node, a rolling restart, and a look."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from kit.engine.drill import DrillKind
from kit.protocols.upgrade.drill.grading import checklist, grade
from kit.protocols.upgrade.drill.words import FORMS, SLOTS
from kit.protocols.upgrade.raft_upgrade import MOST, RaftUpgrade
from kit.protocols.upgrade.upgrading_cluster import RaftUpgradeState

RETRIES = 2
"""How often each node says for whom it waits, before somebody types again."""
OWN = ("gossip", "phase", "catch up", "retry")
"""The kinds of what nodes do by themselves, in the order in which they do it."""


def opened(model: RaftUpgrade) -> RaftUpgrade:
    """The same cluster, in which nodes may go down, and pairs lose their connection."""
    return RaftUpgrade(
        replace(
            model.parameters,
            changes=MOST,
            crashes=MOST,
            deaths=max(model.deaths, 1),
            cuts=MOST,
            turns=MOST,
            restarts=MOST,
            retries=RETRIES,
        )
    )


def own_step(model: RaftUpgrade, state: RaftUpgradeState) -> Any:
    """What nodes do by themselves: schema by gossip, the phases, and to wait."""
    enabled = list(model.actions(state))
    return next((a for kind in OWN for a in enabled if model.kind(a) == kind), None)


DRILL = DrillKind(
    title="Bring a cluster into Raft",
    task="Schema changes still spread by gossip. Turn consistent_cluster_management on in every "
    "node, restart them one by one, and see on each node that the Raft upgrade has ended. help "
    "lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.names[0],
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)
