"""How several groups on the same nodes are drawn, and the tables in which a node keeps them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import astuple

from kit.protocols.raft import facts
from kit.protocols.raft.facts import held_text
from kit.protocols.raft.groups import IDS
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.state import Candidate, Leader, Server
from kit.protocols.raft.tables import ConfigurationRow, RaftRow, SnapshotRow, rows_of
from kit.protocols.raft.words import configuration_text
from kit.views.declared import Badges, Choice, Column, Table, panel_of
from kit.views.gate import Gate, of_members
from kit.views.panel import Panel, Scene
from kit.views.registry import staged
from kit.views.spacetime import MESSAGES
from kit.views.stage import Character, Stage, stage_panel
from kit.views.tape import Card

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
            yield (node, *map(_value_words, astuple(row)))


def _value_words(value: Any) -> Any:
    return f"members {configuration_text(value)}" if isinstance(value, Configuration) else value


def _short(at: int, row: tuple[Any, ...]) -> Any:
    held = row[at]
    return f"{held[:4]}…" if isinstance(held, str) and len(held) == len(IDS["schema"]) else held


def _key(table: str, row: tuple[Any, ...]) -> str:
    return ":".join(map(str, (table, *row[:4])))


def _tab(title: str, kind: Any) -> Panel:
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


ENTRIES = "1:x: an entry of term 1 that holds x · 1:-: one that holds nothing, a leader's first"
"""What the marks in the text of a log mean."""
TABS = tuple(_tab(title, kind) for title, kind in TABLES.items())


def _badges(scene: Scene) -> Badges:
    for group, servers in groups_of(scene).items():
        leads = [each.id for each in servers.values() if isinstance(each.role, Leader)]
        yield group, f"{group}: {', '.join(leads) or 'nobody'} leads", "" if leads else "busy"


def majorities(thing: str, server: Server, *, card: str = "", more: str = "") -> Iterator[Gate]:
    """The majorities that a candidate or a leader waits for, of each group of voters; ``card`` is
    the key of an entry where each has none of its own, ``more`` says whose they are.
    """
    role, groups = server.role, server.configuration.groups
    if isinstance(role, Candidate):
        what = f"elect {server.id}{more} in term {server.term + role.trial}"
        did = "promised to vote for it" if role.trial else "voted for it"
        yield from of_members(thing, what, did, groups, role.granted, against=role.refused)
    elif isinstance(role, Leader):
        for read in role.reads[:1]:
            sure = {server.id, *(p.id for p in role.progress if p.read >= read.number)}
            what = f"read at {read.index}{more}"
            yield from of_members(thing, what, "still follow", groups, sure)
        # A leader counts answers for entries of its own term alone (dissertation, section 3.6.2).
        waiting = server.log.part(server.commit + 1)
        for entry in [each for each in waiting if each.term == server.term][:1]:
            sure = {server.id, *(p.id for p in role.progress if p.match >= entry.index)}
            what = f"commit {entry.index}{more or f': {held_text(entry.data)}'}"
            key = card or f"entry:{entry.index}:{entry.term}"
            yield from of_members(key, what, "confirmed it", groups, sure)


def _stage(scene: Scene) -> Stage:
    groups = groups_of(scene)
    cards = (_newest(group, [*of.values()]) for group, of in groups.items())
    return Stage(
        scene.model.names,
        tuple(_node(node, groups) for node in scene.model.names),
        tape=tuple(cards),
        lines=4,
    )


def _newest(group: str, servers: Sequence[Server]) -> Card:
    longest = facts.longest(servers)
    last, term = longest.log.last_index, longest.log.last_term
    entry = longest.log.entry(last)
    held = held_text(entry.data) if entry else "in a snapshot" if last else "empty log"
    leader = facts.first_leader(servers)
    known = any(x.log.term(last) == term and x.commit >= last for x in servers)
    words = f"{group} {last}: {held}" if last else f"{group}: {held}"
    title = f"group {group}, id {IDS[group]}, newest entry: {words}"
    return Card(f"newest:{group}", words, leader.id if leader else "", open=not known, title=title)


def _node(node: str, groups: Mapping[str, Mapping[str, Server]]) -> Character:
    of = {group: servers[node] for group, servers in groups.items()}
    leads = [group for group, each in of.items() if isinstance(each.role, Leader)]
    asks = [group for group, each in of.items() if isinstance(each.role, Candidate)]
    holds, more, member_of = [], [], []
    for group, server in of.items():
        members = facts.members_of([*groups[group].values()]).members
        if node not in members:
            holds.append(f"{group}: not a member")
            continue
        member_of.append(group)
        last = server.log.last_index
        stored = f"{server.commit} of {last} committed" if last else "empty log"
        holds.append(f"{group}: {stored}")
        more.append(f"{group}: term {server.term}")
        if snapshot := server.log.snapshot.index:
            more.append(f"{group}: snapshot of {snapshot}")
    holds += more
    tag = f"follows {', '.join(member_of) or 'nobody'}" if len(member_of) < len(of) else "follows"
    tag = f"asks: {asks[0]}" if asks else tag
    if leads:
        tag = "leads both" if len(leads) == len(of) > 1 else f"leads {', '.join(leads)}"
    title = f"{node}: {tag}; {', '.join(holds)}"
    return Character(node, f"n:{node}", leads=bool(leads), tag=tag, holds=tuple(holds), title=title)


def _gates(scene: Scene) -> Iterator[Gate]:
    for group, servers in groups_of(scene).items():
        for node, server in servers.items():
            card = f"newest:{group}"
            yield from majorities(f"n:{node}:{group}", server, card=card, more=f" in {group}")


def _log_rows(scene: Scene) -> Iterator[tuple[Any, ...]]:
    for group, servers in groups_of(scene).items():
        last = max(each.log.last_index for each in servers.values())
        for index in range(1, last + 1):
            yield group, index, *(facts.cell(each, index) for each in servers.values())


VIEWS = staged(
    _badges,
    stage_panel(
        "nodes",
        "Nodes and their groups",
        _stage,
        gates=_gates,
        meanings={
            "above": "the newest entry of each group's log",
            "2 of 3 committed": "it knows that of its 3 entries the first 2 are committed",
            "crown": "leads a group",
        },
    ),
    panel_of(
        "logs",
        "The logs of both groups",
        Table(
            _log_rows,
            "index:{0[0]}:{0[1]}",
            lambda scene: ("group", "index", *scene.model.names),
            caption="Each entry is “term: content”; ✓: that node knows it is committed",
            of="newest:{0[0]}",
            empty="All logs are empty.",
        ),
        still=True,
        tab="Logs",
        marks=ENTRIES,
    ),
    *TABS,
    MESSAGES,
)
