"""How the members of the CMS are drawn: nodes with their logs, who is read and written, quorums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import Any

from kit.masks import majority
from kit.protocols.cms.cms import Cms
from kit.protocols.cms.facts import members as facts
from kit.protocols.cms.facts.members import EpochRow, NodeRow
from kit.protocols.cms.rules.members import letters
from kit.views.actions import mark
from kit.views.busts import Health
from kit.views.declared import NONE, Badges, Column, Drawn, Note, Table, of_state, panel_of
from kit.views.fragment import Frag, Kid, h
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.parts import act_button, drawing, word
from kit.views.registry import staged
from kit.views.stage import Character, Stage, stage_panel
from kit.views.tape import Card

FORCED = h("span", "! forced", class_="badge alarm")
WIDE = 78
"""How wide a step of the plot of sizes is."""
HEALTH: dict[str, Health] = {"up": "up", "down": "down", "lost": "gone", "left": "gone"}


def _stage(scene: Scene) -> Stage:
    rows = scene.of(facts.nodes)
    return Stage(
        scene.model.names,
        tuple(_keeper(scene, row) for row in rows),
        (_operator(scene),) if scene.model.has_override else (),
        tape=tuple(_card(row) for row in scene.of(facts.log)),
        bodies=(("CMS", tuple(row.name for row in rows if row.reads)),),
        quorums=tuple(_quorums(scene)),
    )


def _keeper(scene: Scene, row: NodeRow) -> Character:
    held = (f"gap, then {' '.join(map(str, row.held))}",) if row.held else ()
    held = held if row.share is None else (f"log: {row.share:.0%}", *held)
    answers = row.health == "up"
    share = "" if row.share is None else f", has {row.share:.0%} of the log so far"
    return Character(
        row.name,
        scene.model.spot(row.name),
        HEALTH[row.health],
        tag=f"epoch {row.epoch}" if answers else row.status,
        holds=(f"CMS: {row.knows}", *held) if answers else (),
        title=f"{facts.node_line(row)}{share}",
        written=row.writes and not row.reads,
    )


def _operator(scene: Scene) -> Character:
    tag, does = "confirms first", "forces nothing"
    if scene.state.open:
        tag, does = "! override", "forces entries without a quorum"
    title = f"the operator {does}"
    return Character("op", "operator", tag=tag, holds=(does,), title=title, kind="operator")


def _card(row: EpochRow) -> Card:
    key = f"epoch:{row.epoch}:{row.by}"
    return Card(
        key,
        f"{row.epoch} {'! ' if row.forced else ''}{row.event}",
        row.by,
        title=facts.epoch_line(row),
        forced=row.forced,
    )


def _quorums(scene: Scene) -> Iterator[Gate]:
    """By the newest log, an epoch needs most of those who are written to and of those read."""
    m, s = scene.model, scene.state
    newest, up = m.newest(s), s.where(lambda node: node.health == "up")
    for what, group in (("write", newest.writers), ("read", newest.readers)):
        there, missing = m.named(group & up), m.named(group & ~up)
        yield Gate(f"quorum:{what}", what, "", there, missing, majority(group.bit_count()))


def _badges(scene: Scene) -> Badges:
    m, s = scene.model, scene.state
    newest = m.newest(s)
    has = m.has_quorum(s)
    yield "cms", f"CMS {facts.text(m, newest)}", "busy" * bool(newest.pending)
    yield "quorum", "" if has else "! no events", "alarm"
    yield "data", "" if m.serving(s) else "! not all data can be read", "alarm"
    yield "override", "! override" if s.open else "", "alarm"


def _leaving(scene: Scene) -> str:
    leaving = scene.model.newest(scene.state).leaving
    return f"leaving the cluster: {letters(leaving)}" if leaving else ""


def _quorum_columns(scene: Scene) -> list[Column | str]:
    # A row of the step before may be of quorums that are none any more.
    def shared(now: str) -> Column:
        return Column(f"now {now}", lambda row: row[1].get(now, "! nobody"))

    return ["before", *map(shared, next(iter(scene.of(facts.quorums).values()), {}))]


# -- what an operator forces, and which sizes there are --------------------------------------------


def _override(scene: Scene) -> str:
    if scene.state.open:
        return "! Confirmed: forced entries need no quorum, and are marked in the log."
    return "! Forcing can lose committed entries. You have to confirm it first."


def _button(*kinds: Any) -> Callable[[Scene, NodeRow], Frag]:
    def draw(scene: Scene, row: NodeRow) -> Frag:
        m, near = scene.model, ("", row.name)
        for action, refusal in scene.options():
            if isinstance(action, kinds) and getattr(action, "node", "") in near:
                verb, why = m.verb(action), scene.closed or (refusal.reason if refusal else None)
                return act_button(verb, f"press:{verb}", f"do:{mark(m, action)}", why)
        return h("span", NONE, class_="soft")

    return draw


def _confirm(scene: Scene) -> Kid:
    row = scene.of(facts.nodes)[0]
    return h("p", _button(Cms.open_override, Cms.resume_consensus)(scene, row))


def _spans(scene: Scene) -> Iterator[tuple[str, int, bool]]:
    m, first = scene.model, 1
    here = m.newest(scene.state).cluster.bit_count()
    for most, size in zip_longest(m.thresholds[0], m.thresholds[1]):
        nodes = f"{first} to {most}" if most else f"{first} or more"
        yield nodes, size, first <= here <= (most or here)
        first = (most or 0) + 1


def _step_lines(scene: Scene) -> Iterator[str]:
    for nodes, size, here in _spans(scene):
        yield f"{nodes} nodes: {size}{', this cluster' * here}"


def _steps(scene: Scene) -> Frag:
    spans = [*_spans(scene)]
    most, parts, way = max(size for _, size, _ in spans), list[Frag](), ""
    for at, (nodes, size, here) in enumerate(spans):
        x, y, middle = 8 + WIDE * at, 150 - 110 * size / most, 8 + WIDE * (at + 0.5)
        way += f"{'L' if way else 'M'}{x} {y:.0f}H{x + WIDE}"
        parts += [word(str(size), middle, y - 10), word(nodes, middle, 172, "soft")]
        parts += [h("circle", cx=middle, cy=round(y), r=6, class_="dot")] * here
    line = h("path", d=way, class_="message")
    return drawing("; ".join(_step_lines(scene)), 16 + WIDE * len(spans), 180, line, *parts)


VIEWS = staged(
    _badges,
    stage_panel(
        "nodes",
        "The nodes that keep the log",
        _stage,
        meanings={
            "body": "the members of the CMS",
            "CMS: A": "the members as a node knows them",
            "log: 33%": "how much of the log it has",
        },
    ),
    panel_of(
        "members",
        "What each node knows",
        Table(
            of_state(facts.nodes),
            "member:{0.name}",
            ("node", "is", "in the CMS", "epoch", "above a gap", "CMS as it knows it"),
            caption="Each node and what its log says",
            of="{0.name}",
            line=facts.node_line,
        ),
        still=True,
        tab="Nodes",
    ),
    panel_of(
        "log",
        "The log, epoch by epoch",
        Table(
            of_state(facts.log),
            lambda row: f"row:{row.epoch}:{row.by}",
            (
                *("epoch", "event", "submitted by"),
                Column("forced", lambda row: FORCED if row.forced else "", none=""),
                *("applied by", "stored only"),
            ),
            caption="Each epoch, and which nodes have it",
            line=facts.epoch_line,
        ),
        tab="Log",
    ),
    panel_of(
        "placement",
        "Placement of the metadata keyspace, and quorums",
        Table(
            of_state(facts.placement),
            "placement:{0[0]}",
            ("range", "read from", "written to"),
            caption="The metadata keyspace: one range, whose replicas are the CMS",
            line=facts.PLACED,
        ),
        Note(_leaving, "leaving"),
        Table(
            lambda scene: scene.of(facts.quorums).items(),
            "quorum:{0[0]}",
            _quorum_columns,
            caption="Members that a quorum before the last change shares with one after it",
        ),
        Table(
            of_state(facts.accepted),
            "accepted:{0[0]}",
            ("member", "has", "lacks"),
            caption="Paxos: accepted since the last addition began, by epoch",
            of="{0[0]}",
        ),
        tab="Quorums",
    ),
    panel_of(
        "sizes",
        "The CMS that a cluster wants",
        Drawn(_steps, _step_lines),
        tab="Sizes",
        shown=lambda scene: scene.model.edition == "documents",
    ),
    panel_of(
        "override",
        "The override",
        Note(_override),
        Drawn(_confirm),
        Table(
            of_state(facts.nodes),
            "forced:{0.name}",
            (
                Column("node", "name"),
                Column("epoch", "epoch"),
                Column("inject one event", draws=_button(Cms.force_member)),
                Column("load a whole state", draws=_button(Cms.load_snapshot)),
            ),
            caption="On which node",
            of="{0.name}",
        ),
        tab="Override",
        shown=lambda scene: scene.model.has_override,
    ),
)
