"""A recovery and its old procedure on the stage: groups, what each node has persisted, walls."""

from collections.abc import Callable, Iterator
from typing import Any

from kit.errors import counted
from kit.masks import nodes_in
from kit.protocols.recovery import facts
from kit.protocols.recovery.facts import ModeRow, PersistedRow
from kit.protocols.recovery.lost_majority import NO_GROUP, OLD
from kit.protocols.recovery.mode_cluster import ModeNode
from kit.protocols.recovery.recovery import Recovery
from kit.views.busts import Health
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.stage import Character, Stage, Wall, stage_panel

HEALTH: dict[str, Health] = {"down": "down", "dead": "gone"}
TABLES = (("both cleared", "history only"), ("peers only", "peers and history"))
"""What ``system.discovery`` and ``system.group0_history`` hold, by whether each holds anything."""
VALUES = {"": "no upgrade row", "use_pre_raft_procedures": "set to pre-raft"}
VALUES |= {"use_post_raft_procedures": "set to post-raft"}


def states_of(scene: Scene) -> list[Any]:
    """The states of the run, from its start to now."""
    way = scene.way()
    return [way[0].before if way else scene.state, *(step.after for step in way)]


def _walls(scene: Scene) -> Iterator[Wall]:
    s = scene.state
    if s.isolated and s.dead:
        yield Wall(scene.model.named(s.dead), "firewall")
    if isinstance(scene.model, Recovery):
        for group in scene.of(facts.parties):
            yield Wall(group, "gossip rejected")


def _stage_of(scene: Scene, nodes: Iterator[Character], tag: str, *holds: str) -> Stage:
    """The stage of both recoveries; ``tag`` and ``holds`` are the operator's."""
    m = scene.model
    wall = "the dead are cut off" if scene.state.isolated else "the dead are not cut off"
    title = f"operator: {', '.join((tag, *holds, wall))}"
    operator = Character("op", "operator", tag=tag, holds=holds, title=title, kind="operator")
    removed = (
        Character(name, m.spot(name), "gone", tag="removed", title=f"{name}: removed")
        for name in _removed(scene)
    )
    walls = tuple(_walls(scene))
    return Stage(m.names, (*nodes, *removed), (operator,), walls=walls)


def _removed(scene: Scene) -> tuple[str, ...]:
    out = scene.state.where(lambda node: node.standing == "removed")
    names: tuple[str, ...] = scene.model.named(out)
    return names


def _no_dead(scene: Scene) -> Gate:
    dead, out = scene.model.named(scene.state.dead), _removed(scene)
    return Gate("dead", "removing the dead", "been removed", out, dead, len(dead) + len(out))


def _by_all(scene: Scene, there: int, thing: str, what: str, knows: str) -> Gate:
    live, named = scene.state.live, scene.model.named
    return Gate(thing, what, knows, named(live & there), named(live & ~there), live.bit_count())


def _id(row: PersistedRow | ModeRow) -> str:
    name = row.group_id.removeprefix("the old group").removeprefix("group ")
    return f"group id {name}" if name else "old group id" if row.group_id else "no group id"


# -- the recovery with recovery_leader -------------------------------------------------------------


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    tag = "indexes read" if s.indexes_read else "no leader"
    if s.leader >= 0:
        tag = f"recovery leader: {m.names[s.leader]}"
    at = f"{m.given_up[0]} was leaving: {s.operation.replace('_', ' ')}"
    nodes = (_member(scene, row) for row in scene.of(facts.persisted))
    return _stage_of(scene, nodes, tag, *[at] * m.operation)


def _member(scene: Scene, row: PersistedRow) -> Character:
    node = row.node
    data = " ".join(f"{at + 1}{'!' * (row.dangling >> at & 1)}" for at in nodes_in(node.data))
    runs = node.group != NO_GROUP and node.status != "returned"
    holds = (
        f"commit index {node.index}",
        *[f"data in column {data}"] * bool(data),
        *[_id(row)] * (not runs or node.group_id != node.group),  # else its tag says it
        *[f"recovery leader: {row.option}"] * bool(row.option),
        *["old Raft rows"] * (runs and node.old_rows and node.group > OLD),
    )
    return Character(
        row.name,
        scene.model.spot(row.name),
        HEALTH.get(node.status, "up"),
        leads=row.leads and runs and node.group > OLD,
        sign="ban" if scene.state.is_walled_off(node) else "",
        tag="back" if node.status == "returned" else row.group.removeprefix("the ") or node.status,
        holds=holds * (node.status != "dead"),
        title=f"{'★' * row.leads}{row.name}: {row.where}, commit index {node.index}",
    )


def gates(scene: Scene) -> Iterator[Gate]:
    """Nodes that live restart into a new group, one after the other; then the dead are removed,
    and what is left of the old group is cleaned up.
    """
    s = scene.state
    clean = s.where(lambda node: not s.leftover(node))
    if not s.is_together:
        there = s.where(lambda node: node.takes_part and node.group > s.abandoned)
        yield _by_all(scene, there, "group", "a new group", "joined it")
    elif s.dead:
        yield _no_dead(scene)
    elif s.live & ~clean:
        yield _by_all(scene, clean, "rows", "cleaning old rows", "deleted theirs")


STAGE = stage_panel(
    "nodes",
    "Nodes and their groups",
    _stage,
    gates=gates,
    meanings={"crown": "the recovery leader"},
)


# -- the old procedure, with RECOVERY mode ---------------------------------------------------------


def _mode_stage(scene: Scene) -> Stage:
    s = scene.state
    tag = "RECOVERY mode in all logs" if s.logs_read else "nothing checked yet"
    tag = "one schema on all" if s.compared else tag
    return _stage_of(scene, (_in_mode(scene, row) for row in scene.of(facts.rows)), tag)


def _in_mode(scene: Scene, row: ModeRow) -> Character:
    node = row.node
    back = node.standing == "returned"
    holds = (
        f"schema: {counted(node.columns.bit_count(), 'column')}",
        *[VALUES.get(node.value, f"set to {node.value}")] * (node.value != node.mode),
        _id(row),
        TABLES[node.discovery > 0][node.history > 0],
    )
    return Character(
        row.name,
        scene.model.spot(row.name),
        HEALTH.get(row.mode, "up"),
        sign="ban" if scene.state.is_walled_off(node) else "",
        tag="back" if back else row.mode.removesuffix(" mode"),
        holds=holds * (node.standing != "dead"),
        title=f"{row.name}: {row.mode}, {row.group.removeprefix('the ') or 'no group'}"
        f"{' (back)' * back}",
    )


def has_row(node: ModeNode) -> bool:
    """Whether the row that leads into recovery mode is still there."""
    return node.value in ("recovery", "unknown")


MODE_GATES: tuple[tuple[Callable[[ModeNode], bool], str, str, str], ...] = (
    (
        lambda node: bool(node.discovery or node.history) or node.group_id != NO_GROUP,
        *("tables", "clearing the tables", "cleared theirs"),
    ),
    (has_row, "row", "removing the row", "removed theirs"),
    (lambda node: node.mode in ("recovery", "down"), "start", "the Raft upgrade", "started again"),
    (lambda node: node.waits_for_group, "group", "one new group", "joined it"),
    (lambda node: node.mode == "upgrade", "synchronize", "synchronize", "reached it"),
    (lambda node: node.mode != "group 0", "end", "the end of the upgrade", "finished it"),
)
"""Who keeps the others waiting once the dead are removed, in the order of the procedure, and for
what: tables are cleared only while somebody still has the row.
"""


def _mode_gates(scene: Scene) -> Iterator[Gate]:
    """What the procedure waits for: all who live are in RECOVERY mode, the dead are removed, tables
    are cleaned, and all go through the Raft upgrade.
    """
    s = scene.state
    if not s.logs_read:
        recovers = s.where(lambda node: node.mode == "recovery")
        yield _by_all(scene, recovers, "mode", "RECOVERY mode", "started in it")
    elif s.dead:
        yield _no_dead(scene)
    else:
        later = MODE_GATES if s.live & s.where(has_row) else MODE_GATES[1:]
        for waits, thing, what, knows in later:
            if s.live & (waiting := s.where(waits)):
                yield _by_all(scene, ~waiting, thing, what, knows)
                return


MODE_STAGE = stage_panel("nodes", "Nodes and their modes", _mode_stage, gates=_mode_gates)
