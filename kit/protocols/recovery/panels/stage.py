"""A recovery and its old procedure on the stage: groups, what each node has persisted, walls."""

from collections.abc import Callable, Iterator

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
SHORT = {"RECOVERY mode": "recovery", "Raft upgrade": "upgrade", "group 0": "Raft"}
TABLES = {
    (True, True): "all tables",
    (True, False): "peers",
    (False, True): "history",
    (False, False): "no tables",
}
"""What ``system.discovery`` and ``system.group0_history`` hold."""
VALUES = {
    "": "no row",
    "use_pre_raft_procedures": "pre-raft",
    "use_post_raft_procedures": "post-raft",
}


def _walls(scene: Scene) -> Iterator[Wall]:
    s = scene.state
    if s.isolated and s.dead:
        yield Wall(scene.model.named(s.dead), "firewall")
    if isinstance(scene.model, Recovery):
        for group in scene.of(facts.parties):
            yield Wall(group, "gossip rejected")


def _operator(scene: Scene, tag: str, *holds: str) -> Character:
    wall = "the dead are cut off" if scene.state.isolated else "the dead are not cut off"
    title = f"operator: {', '.join((tag, *holds, wall))}"
    return Character("op", "operator", tag=tag, holds=holds, title=title, kind="operator")


def _removed(scene: Scene) -> Iterator[Character]:
    m, s = scene.model, scene.state
    for name in m.named(s.where(lambda node: node.standing == "removed")):
        yield Character(name, m.spot(name), "gone", tag="removed", title=f"{name}: removed")


def _no_dead(scene: Scene) -> Gate:
    s, m = scene.state, scene.model
    out = s.where(lambda node: node.standing == "removed")
    all_ = (s.dead | out).bit_count()
    return Gate("dead", "removing the dead", "been removed", m.named(out), m.named(s.dead), all_)


def _by_all(scene: Scene, there: int, thing: str, what: str, knows: str) -> Gate:
    s, named = scene.state, scene.model.named
    missing = s.live & ~there
    return Gate(thing, what, knows, named(s.live & there), named(missing), s.live.bit_count())


def _id(row: PersistedRow | ModeRow) -> str:
    name = row.group_id.removeprefix("the old group").removeprefix("group ")
    return f"id {name}" if name else "old id" if row.group_id else "no id"


# -- the recovery with recovery_leader -------------------------------------------------------------


def _stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    led = f"{m.names[s.leader]} leads" if s.leader >= 0 else "no leader"
    tag = led if s.leader >= 0 or not s.indexes_read else "indexes read"
    at = f"{m.given_up[0]} was leaving: {s.operation.replace('_', ' ')}" if m.operation else ""
    return Stage(
        m.names,
        (*(_member(scene, row) for row in scene.of(facts.persisted)), *_removed(scene)),
        (_operator(scene, tag, *filter(None, [at])),),
        walls=tuple(_walls(scene)),
        lines=3,
    )


def _member(scene: Scene, row: PersistedRow) -> Character:
    node, entries = row.node, scene.state.entries
    data = ", ".join(f"{at + 1}{'!' * (row.dangling >> at & 1)}" for at in nodes_in(node.data))
    runs = node.group != NO_GROUP and node.status != "returned"
    holds = (
        f"{node.index}, data {data}" if data else f"index {node.index}",
        *[_id(row)] * (not runs or node.group_id != node.group),  # else its tag says it
        *[f"leader {row.option}"] * bool(row.option),
        *["old rows"] * (runs and node.old_rows and node.group > OLD),
    )
    return Character(
        row.name,
        scene.model.spot(row.name),
        HEALTH.get(node.status, "up"),
        leads=row.leads,
        sign="ban" if scene.state.is_walled_off(node) else "",
        tag="back" if node.status == "returned" else row.group.removeprefix("the ") or node.status,
        holds=holds[:1] if node.status == "dead" else holds,
        fill=node.index / entries if entries else None,
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
    meanings={
        "on a disk": "its last committed entry, what else it stores",
        "blue": "share of the log",
        "crown": "the recovery leader",
    },
)


# -- the old procedure, with RECOVERY mode ---------------------------------------------------------


def _mode_stage(scene: Scene) -> Stage:
    m, s = scene.model, scene.state
    seen = [*["logs read"] * s.logs_read, *["one schema"] * s.compared]
    return Stage(
        m.names,
        (*(_in_mode(scene, row) for row in scene.of(facts.rows)), *_removed(scene)),
        (_operator(scene, seen[-1] if seen else "nothing read"),),
        walls=tuple(_walls(scene)),
        lines=3,
    )


def _in_mode(scene: Scene, row: ModeRow) -> Character:
    node = row.node
    back = node.standing == "returned"
    mode = SHORT.get(row.mode, row.mode)
    there = bool(node.discovery), bool(node.history)
    holds = (VALUES.get(node.value, node.value), _id(row), TABLES[there])
    return Character(
        row.name,
        scene.model.spot(row.name),
        HEALTH.get(row.mode, "up"),
        sign="ban" if scene.state.is_walled_off(node) else "",
        tag="back" if back else mode,
        holds=holds[:1] if node.standing == "dead" else holds,
        fill=node.columns.bit_count() / scene.state.entries if scene.state.entries else None,
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


MODE_STAGE = stage_panel(
    "nodes",
    "Nodes and their modes",
    _mode_stage,
    gates=_mode_gates,
    meanings={
        "on a disk": "its upgrade state, group id, tables of group 0",
        "blue": "its schema changes",
    },
)
