"""How the two upgrades into Raft are drawn.

Here are the states of both, from the tables of their states, and a run as a time line.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.upgrade import rules
from kit.protocols.upgrade.raft_upgrade import PHASES
from kit.views.diagrams import START, Cell, Standing, StateDiagram, state_panel, table_source
from kit.views.panel import Scene


def _diagram(name: str, label: str, edges: Iterable[tuple[str, str, str]]) -> StateDiagram:
    drawn = tuple((before or START, event, after) for before, event, after in edges)
    back = frozenset(event for _, event, after in drawn if after == rules.RECOVERY)
    return StateDiagram(name, label, drawn, back, tight=True)


RAFT = _diagram("state-upgrade-group0", "states of group0_upgrade_state", rules.RAFT_EDGES)
TOPOLOGY = _diagram("state-upgrade-topology", "states of upgrade_state", rules.TOPOLOGY_EDGES)


def diagrams() -> Iterator[StateDiagram]:
    """Both of them."""
    yield from (RAFT, TOPOLOGY)


def graphs() -> Iterator[tuple[str, str]]:
    """The time line of the five phases: a row for each node, a column for each step of a run."""
    model: Any = build("raft_upgrade")
    states = [step.after for step in played_out(Timeline(model)).passed()]
    run = [state for state in states if any(node.position for node in state.nodes)]
    lives = zip(*(state.nodes for state in run), strict=True)
    rows = [_lane(name, life) for name, life in zip(model.names, lives, strict=True)]
    refuses, changes = (Cell(text, 6, fill) for text, fill in MEANINGS)
    yield (
        "upgrade-phases",
        table_source([*rows, [Cell()], [Cell(), refuses, changes]], [20, *[54] * len(run)]),
    )


MEANINGS = (
    ("the node refuses schema changes", "removed"),
    ("group 0 accepts schema changes", "added"),
)


def _lane(name: str, life: Iterable[Any]) -> list[Cell]:
    cells = [Cell(name)]
    for (position, row), same in groupby(life, lambda node: (node.position, node.row)):
        fill = "removed" if row == rules.SYNCHRONIZE else "added" if row == rules.POST else "plain"
        done = f"{position} {PHASES[position - 1]}" if position else ""
        cells.append(Cell(done, len([*same]), fill if done else ""))
    return cells


def _path(states: Iterable[str]) -> tuple[str, ...]:
    return tuple(state for state, _ in groupby((START, *states)))


def of_first_node(scene: Scene) -> Standing:
    """The state of the first node in the Raft upgrade, and how it came there."""
    states = (scene.model.start(), *(step.after for step in scene.way()))
    return Standing(RAFT, _path(rules.state_at_start(s.nodes[0].row) for s in states))


def of_cluster(scene: Scene) -> Standing:
    """The state of the cluster in the topology upgrade, and how it came there."""
    states = (scene.model.start(), *(step.after for step in scene.way()))
    return Standing(TOPOLOGY, _path(s.upgrade_state for s in states))


ROW = state_panel("row", "group0_upgrade_state on the first node", of_first_node, tab="States")
UPGRADE = state_panel("upgrade", "the cluster's upgrade_state", of_cluster, tab="States")
