"""How a Raft group is drawn: servers with crowns and ballots, the log above them, majorities."""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from inspect import getsource, signature
from typing import Any

from kit.protocols.raft import facts
from kit.protocols.raft.facts import EntryRow, ServerRow, held_text
from kit.protocols.raft.library import Persistence, RaftServer, Rpc, StateMachine
from kit.protocols.raft.panels.groups import ENTRIES, TABS, majorities
from kit.protocols.raft.state import Leader
from kit.views.declared import Badges, Column, Table, of_state, panel_of
from kit.views.gate import Gate
from kit.views.palette import GRAPH_LETTERS, GRAPHVIZ, NOTE_LETTERS, SHADES
from kit.views.panel import Scene
from kit.views.registry import staged
from kit.views.spacetime import MESSAGES
from kit.views.stage import Character, Stage, stage_panel
from kit.views.tape import Card

AT_WORK = ("candidate", "pre-candidate")


def _stage(scene: Scene) -> Stage:
    rows = scene.of(facts.servers)
    return Stage(
        scene.model.names, tuple(_server(scene, row) for row in rows), tape=tuple(_cards(scene))
    )


def _server(scene: Scene, row: ServerRow) -> Character:
    server, last = row.server, row.server.log.last_index
    vote = f"voted for {row.vote}" if row.vote else ""
    agreed = f"{server.commit} of {last} committed" if last else ""
    lines = tuple(filter(None, (agreed, vote)))
    asks = row.role in AT_WORK
    return Character(
        row.name,
        scene.model.spot(row.name),
        "down" if row.role == "down" else "up",
        leads=row.role == "leader",
        tag=f"term {row.term}{', asks' * asks}",
        holds=lines,
        timer=server.elapsed / server.timeout if row.wait else None,
        title=f"{row.name}: {row.role}, term {row.term}, {', '.join(lines) or 'an empty log'}",
    )


def _leaders(scene: Scene) -> dict[int, str]:
    """Who led each term of the run."""
    states = [scene.state, *(step.after for step in scene.way())]
    servers = (n.server for s in states for n in s.nodes)
    return {each.term: each.id for each in servers if isinstance(each.role, Leader)}


def _cards(scene: Scene) -> Iterator[Card]:
    """A card for each entry; two of one index stand side by side, until one is committed."""
    servers, leaders = [n.server for n in scene.state.nodes], _leaders(scene)
    every = sorted({(each.index, each.term) for x in servers for each in x.log})
    alone = Counter(index for index, _ in every)
    for index, term in every:
        key, there = f"entry:{index}:{term}", [(x, x.log.entry(index)) for x in servers]
        holders = {x.id: entry for x, entry in there if entry and entry.term == term}
        # What a snapshot stands for has no term of its own any more.
        knows = {*holders, *(x.id for x, entry in there if entry is None and alone[index] == 1)}
        committed = [x.id for x in servers if x.id in knows and x.commit >= index]
        lost = any(x.commit >= index and x.log.term(index) not in (term, None) for x in servers)
        held = held_text(next(iter(holders.values())).data)
        known = ", ".join(committed) or "nobody"
        title = f"index {index}, term {term}: {held}; known to be committed by {known}"
        text = f"{index} {held} t{term}"
        by = leaders.get(term, "")
        yield Card(key, text, by, void=lost, open=not committed, title=title)


def _gates(scene: Scene) -> Iterator[Gate]:
    for server in (n.server for n in scene.state.nodes):
        yield from majorities(scene.model.spot(server.id), server)


def _badges(scene: Scene) -> Badges:
    rows = scene.of(facts.servers)
    leaders = [row for row in rows if row.role == "leader"]
    leads = ", ".join(f"{row.name} leads term {row.term}" for row in leaders)
    asks = ", ".join(f"{row.name} asks for votes" for row in rows if row.role in AT_WORK)
    yield "leader", leads or "nobody leads" * (not asks), "" if leads else "busy"
    yield "asks", asks, "busy"
    joint = facts.in_force(scene.state).is_joint
    yield "joint", "members are changing" if joint else "", "busy"
    committed = max(row.server.commit for row in rows)
    yield "commit", f"committed up to {committed}" if committed else "", ""


def _columns(scene: Scene) -> list[Column | str]:
    joint = facts.in_force(scene.state).is_joint
    heads = *scene.model.names, *(("old members", "new members") if joint else ("stored by",))
    return ["index", *(Column(head, partial(_cell, at)) for at, head in enumerate(heads))]


def _cell(place: int, row: EntryRow) -> str:
    cells = row.cells + row.quorums
    return cells[place] if place < len(cells) else ""


VIEWS = staged(
    _badges,
    stage_panel(
        "group",
        "The servers",
        _stage,
        gates=_gates,
        meanings={
            "voted for B": "in its term",
            "2 of 3 committed": "it knows that of its 3 entries the first 2 are committed",
        },
    ),
    panel_of(
        "log",
        "The logs",
        Table(
            of_state(facts.entries),
            "index:{0.index}",
            _columns,
            caption="Each entry is “term: content”; ✓: that server knows it is committed",
            of="{0.entry}",
            line=facts.log_line,
            kind=lambda row: "commit-line" if row.is_last else None,
            empty="All logs are empty.",
        ),
        still=True,
        tab="Logs",
    ),
    panel_of(
        "terms",
        "Terms and votes",
        Table(
            of_state(facts.servers),
            "server:{0.name}",
            (
                *("server", "role", "term", "has voted for"),
                *("follows", "has waited", "members that it knows"),
            ),
            caption="A server votes once per term, so a term has at most one leader",
            of="n:{0.name}",
        ),
        tab="Terms",
        own=True,
        marks=ENTRIES,
    ),
    *TABS,
    MESSAGES,
)


# -- the library in two drawings: three interfaces around the core, and what that imports ----------

CORE = "kit.protocols.raft.core"
STYLE = (
    f"  {GRAPHVIZ}; rankdir=LR; nodesep=0.2; ranksep=0.5;\n"
    f"  node [shape=record, fontsize={GRAPH_LETTERS}]; edge [fontsize={NOTE_LETTERS}];"
)


def core_imports(module: str = CORE) -> dict[str, tuple[str, ...]]:
    """Every module of the kit that the core needs, with those that it imports itself."""
    imports: dict[str, tuple[str, ...]] = {}
    ahead = [module]
    while ahead:
        name = ahead.pop()
        if name not in imports:
            tree = ast.walk(ast.parse(getsource(import_module(name))))
            froms = {each.module or "" for each in tree if isinstance(each, ast.ImportFrom)}
            imports[name] = tuple(sorted(each for each in froms if each.startswith("kit.")))
            ahead += imports[name]
    return imports


def _box(kind: type[Any]) -> str:
    methods = [
        f"{name}({', '.join([*signature(method).parameters][1:])})\\l"
        for name, method in vars(kind).items()
        if callable(method) and not name.startswith("_")
    ]
    return f'  {kind.__name__} [label="{kind.__name__}|{"".join(methods)}"];'


def graphs() -> Iterator[tuple[str, str]]:
    """Yield the drawings: (name, DOT text)."""
    interfaces = (Persistence, Rpc, StateMachine)
    core = f'  core [label="core", style=filled, fillcolor="{SHADES["added"]}"];'
    boxes = [*map(_box, (RaftServer, *interfaces)), core]
    calls = ("1. stores what was written", "2. sends messages", "3. applies what is committed")
    ends = zip(interfaces, calls, strict=True)
    arrows = [f'  RaftServer -> {each.__name__} [label="{call}"];' for each, call in ends]
    arrows.append('  core -> RaftServer [label="event, Output", dir=both];')
    yield "raft-library", "\n".join(["digraph {", STYLE, *boxes, *arrows, "}", ""])
    edges = [f'  "{a[4:]}" -> "{b[4:]}";' for a, below in core_imports().items() for b in below]
    yield "raft-core-imports", "\n".join(["digraph {", STYLE, *sorted(edges), "}", ""])
