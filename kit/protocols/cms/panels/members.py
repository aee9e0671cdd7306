"""How the members of the CMS are drawn: nodes with their logs, who is read and written, quorums."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kit.protocols.cms.cms import Cms, CmsState
from kit.protocols.cms.facts import members as facts
from kit.protocols.cms.facts.members import EpochRow, NodeRow, QuorumRow
from kit.protocols.cms.rules.members import letters
from kit.views.busts import Health
from kit.views.declared import Badges, Column, Note, Table, of_state, panel_of, status
from kit.views.panel import Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.stage import Character, Stage, stage_panel
from kit.views.tape import Card, Reach

HEALTH: dict[str, Health] = {"up": "up", "down": "down", "lost": "gone", "left": "gone"}


def _stage(scene: Scene) -> Stage:
    """Each node with its epoch and its part in the CMS; the cards of the log say who has them."""
    rows = scene.of(facts.nodes)
    return Stage(
        scene.model.names,
        tuple(_keeper(scene, row) for row in rows),
        (_operator(scene),) if scene.model.has_override else (),
        tape=tuple(_card(row) for row in scene.of(facts.log)),
    )


def _keeper(scene: Scene, row: NodeRow) -> Character:
    held = (f"gap, {' '.join(map(str, row.held))}",) if row.held else ()
    answers = row.node.health == "up"
    return Character(
        row.name,
        scene.model.spot(row.name),
        HEALTH[row.node.health],
        sign="key" if row.reads else "",
        tag=f"epoch {row.epoch}" if answers else row.status,
        holds=(f"CMS {row.knows.replace(', ', ' ')}", *held) if answers else (),
        title=facts.node_line(row),
        reads=row.reads,
        writes=row.writes,
    )


def _operator(scene: Scene) -> Character:
    """Who may force entries, once that is confirmed."""
    tag = "! override" if scene.state.open else "confirms first"
    words = "forces entries without a quorum" if scene.state.open else "forces nothing"
    title = f"the operator {words}"
    return Character("op", "operator", tag=tag, holds=(words,), title=title, kind="operator")


def _card(row: EpochRow) -> Card:
    reached: tuple[tuple[Reach, tuple[str, ...]], ...]
    reached = ("applied", row.applied), ("stored", row.stored)
    key = f"epoch:{row.epoch}:{row.by}"
    return Card(
        key,
        f"{row.epoch} {'! ' if row.forced else ''}{row.event}",
        tuple((name, f"{key}:{name}", reach) for reach, names in reached for name in names),
        title=facts.epoch_line(row),
    )


def _badges(scene: Scene) -> Badges:
    m, s = scene.model, scene.state
    newest = m.newest(s)
    has = m.has_quorum(s)
    yield "cms", f"CMS {facts.text(m, newest)}", "busy" * bool(newest.pending)
    yield "quorum", "events: quorum" if has else "! no events", "broken" * (not has)
    yield "data", _data(m, s), ""
    yield "override", "! override" if s.open else "", "broken"


def _data(m: Cms, s: CmsState) -> str:
    return "data: served" if m.serving(s) else "! data: not all"


def _cut(scene: Scene) -> str:
    return facts.placement(scene.model, scene.state)


def _leaving(scene: Scene) -> str:
    leaving = scene.model.newest(scene.state).leaving
    return f"on the way out of the cluster: {letters(leaving)}" if leaving else ""


def _forced(row: EpochRow) -> str:
    return "! forced" if row.forced else ""


def _shared(now: str, row: QuorumRow) -> str:
    return dict(row.shared).get(now) or "! nobody"


def _quorum_columns(scene: Scene) -> list[Column]:
    rows = scene.of(facts.quorums)
    heads = [new for new, _ in rows[0].shared] if rows else []
    return [
        Column("before", "before"),
        *(Column(f"now {new}", partial(_shared, new)) for new in heads),
    ]


def _quorum_lines(scene: Scene) -> Iterator[str]:
    for row in scene.of(facts.quorums):
        yield "; ".join(
            f"{row.before} and {new} share {both or '! nobody'}" for new, both in row.shared
        )


VIEWS = Views(
    (
        status(_badges, "badges"),
        stage_panel(
            "nodes",
            "Nodes, and who keeps the log",
            _stage,
            meanings={
                "below a node": "its epoch",
                "on a disk": "who it takes for the CMS; what it holds above a gap",
                "key": "a member of the CMS",
                "eye": "its answers count for reads of the log; pencil: for writes",
            },
        ),
        panel_of(
            "members",
            "What each node knows",
            Table(
                of_state(facts.nodes),
                "member:{0.name}",
                (
                    Column("node", "name"),
                    Column("is", "status"),
                    Column("in the CMS", "role"),
                    Column("epoch", "epoch"),
                    Column("above a gap", "held"),
                    Column("takes for the CMS", "knows"),
                ),
                caption="Each node, and what its log says",
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
                    Column("epoch", "epoch"),
                    Column("event", "event"),
                    Column("submitted by", "by"),
                    Column("forced", _forced, none=""),
                    Column("applied by", "applied"),
                    Column("stored only", "stored"),
                ),
                caption="Each epoch, and who has it",
                line=facts.epoch_line,
            ),
            tab="Log",
        ),
        panel_of(
            "placement",
            "Placement of the metadata keyspace, and quorums",
            Note(_cut, "placement"),
            Note(_leaving, "leaving"),
            Table(
                of_state(facts.quorums),
                "quorum:{0.before}",
                _quorum_columns,
                caption="Whom a quorum before the last change shares with one after it",
                lines=_quorum_lines,
            ),
            tab="Quorums",
        ),
        LAMPS,
    ),
    evidence=("members",),
    picture="nodes",
    table="members",
    badges="badges",
    wide=True,
)
