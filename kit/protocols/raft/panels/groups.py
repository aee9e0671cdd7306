"""How several groups on the same nodes are drawn, and the tables in which a node keeps them."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from msgspec.structs import astuple

from kit.protocols.raft.groups import IDS
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.state import Leader, Server
from kit.protocols.raft.tables import ConfigurationRow, RaftRow, SnapshotRow, rows_of
from kit.views.declared import Badges, Choice, Column, Table, panel_of
from kit.views.panel import Panel, Scene
from kit.views.registry import staged
from kit.views.spacetime import MESSAGES
from kit.views.stage import Character, Stage, stage_panel

TABLES: dict[str, Any] = {
    "raft": RaftRow,
    "raft_snapshots": SnapshotRow,
    "raft_snapshot_config": ConfigurationRow,
    "members": ConfigurationRow,
}
"""The tables of a node, and the members that count: of the log, if that is newer."""


def groups_of(scene: Scene) -> dict[str, dict[str, Server]]:
    """The server of each group on each node; a model of one group has a server on each node."""
    nodes = [each if isinstance(each, tuple) else (each.server,) for each in scene.state.nodes]
    servers = zip(*nodes, strict=True)
    return {
        name: dict(zip(scene.model.names, of, strict=True))
        for name, of in zip(IDS, servers, strict=False)
    }


def _rows(table: str, group: str, scene: Scene) -> Iterator[tuple[Any, ...]]:
    for node, server in groups_of(scene)[group].items():
        for row in rows_of(table, IDS[group], server.stored):
            yield (node, *map(_held, astuple(row)))


def _held(value: Any) -> Any:
    return f"members {', '.join(value.members)}" if isinstance(value, Configuration) else value


def _short(at: int, row: tuple[Any, ...]) -> Any:
    """A cell with the beginning of an id: there are few, and columns are narrow."""
    held = row[at]
    return f"{held[:4]}…" if isinstance(held, str) and len(held) == len(IDS["schema"]) else held


def _key(table: str, row: tuple[Any, ...]) -> str:
    return ":".join(map(str, (table, *row[:4])))


def _tab(title: str, kind: Any) -> Panel:
    """A tab with the rows of every node, and a list of the groups to choose from."""
    whole = ("node", *kind.__struct_fields__)
    short = (Column(head, partial(_short, at)) for at, head in enumerate(whole))
    drawn = [column for column in short if column.head != "group_id"]

    def table(group: str, columns: Sequence[Column | str], caption: str) -> Table:
        rows = partial(_rows, title, group)
        key = partial(_key, title)
        return Table(rows, key, columns, caption=caption, of="n:{0[0]}")

    def parts(scene: Scene, group: str) -> list[Table]:
        return [table(group, drawn, f"{title} on each node, group_id {IDS[group]}")]

    def words(scene: Scene) -> Iterator[str]:
        for group in groups_of(scene):
            yield from table(group, whole, f"{title} on each node").words(scene)

    chooser = Choice("group", "group", lambda s: tuple(groups_of(s)), parts, words, title)
    return panel_of(title, title, chooser, still=True)


TABS = tuple(_tab(title, kind) for title, kind in TABLES.items())


def _badges(scene: Scene) -> Badges:
    for group, servers in groups_of(scene).items():
        leads = [each.id for each in servers.values() if isinstance(each.role, Leader)]
        yield group, f"{group}: {', '.join(leads) or 'nobody'} leads", "" if leads else "busy"


def _stage(scene: Scene) -> Stage:
    return Stage(scene.model.names, tuple(_node(scene, node) for node in scene.model.names))


def _node(scene: Scene, node: str) -> Character:
    """A node with its server of each group: role, term, how much of its log is committed."""
    servers = {group: of[node] for group, of in groups_of(scene).items()}
    leads = [group for group, each in servers.items() if isinstance(each.role, Leader)]
    holds = tuple(
        f"{group} {type(each.role).__name__[0]} t{each.term} {each.commit}/{each.log.last_index}"
        for group, each in servers.items()
    )
    tag = f"leads {', '.join(leads)}" if leads else "follows"
    title = f"{node}: {tag}; {', '.join(holds)}"
    return Character(node, f"n:{node}", leads=bool(leads), tag=tag, holds=holds, title=title)


VIEWS = staged(
    _badges,
    stage_panel(
        "nodes",
        "Nodes and their groups",
        _stage,
        gates=None,
        meanings={
            "crown": "leads a group",
            "on a disk": "L leads, F follows, C asks; term, committed",
        },
    ),
    *TABS,
    MESSAGES,
)
