"""The state diagrams of both upgrades, drawn from the tables of their states."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from kit.protocols.upgrade.rules import RAFT_EDGES, RECOVERY, TOPOLOGY_EDGES, state_at_start
from kit.views.diagrams import START, Standing, StateDiagram, state_panel
from kit.views.panel import Scene


def _diagram(name: str, label: str, edges: Iterable[tuple[str, str, str]]) -> StateDiagram:
    drawn = tuple((before or START, event, after) for before, event, after in edges)
    back = frozenset(event for _, event, after in drawn if after == RECOVERY)
    return StateDiagram(name, label, drawn, back, tight=True)


RAFT = _diagram("state-upgrade-group0", "states of group0_upgrade_state", RAFT_EDGES)
TOPOLOGY = _diagram("state-upgrade-topology", "states of upgrade_state", TOPOLOGY_EDGES)


def diagrams() -> Iterator[StateDiagram]:
    """Both of them."""
    yield from (RAFT, TOPOLOGY)


def _path(states: Iterable[str]) -> tuple[str, ...]:
    return tuple(state for state, _ in groupby((START, *states)))


def of_first_node(scene: Scene) -> Standing:
    """Where the first node stands in the Raft upgrade, and how it came there."""
    states = (scene.model.start(), *(step.after for step in scene.way()))
    return Standing(RAFT, _path(state_at_start(s.nodes[0].row) for s in states))


def of_cluster(scene: Scene) -> Standing:
    """Where the cluster stands in the topology upgrade, and how it came there."""
    states = (scene.model.start(), *(step.after for step in scene.way()))
    return Standing(TOPOLOGY, _path(s.upgrade_state for s in states))


ROW = state_panel("row", "group0_upgrade_state on the first node", of_first_node, tab="States")
UPGRADE = state_panel("upgrade", "upgrade_state of the cluster", of_cluster, tab="States")
