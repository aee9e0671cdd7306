"""Nodes that fail: where each stands, what it does, whether a majority of the voters is there; the
documents' table of failures, filled row by row as nodes fail in a run; data by level and range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from kit.errors import are, counted
from kit.protocols.recovery import facts
from kit.protocols.recovery import failures as act
from kit.protocols.recovery.facts import FailingNode, LevelLine, SideLine
from kit.protocols.recovery.rules.availability import FailureRow
from kit.views.actions import mark
from kit.views.declared import Badges, Column, Drawn, Several, Table, panel_of, status, unsaid
from kit.views.fragment import Frag, h
from kit.views.node_boxes import NodeBox, node_box
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import act_button, bulb, lamp
from kit.views.promises import LAMPS
from kit.views.registry import Views

BOX_WIDE, BOX_HIGH, GAP = 118.0, 42.0, 10.0
TOP = 22.0  # the name of a datacenter
GAUGE_HIGH = 20.0
VOTES = "●"
DOES_NOT = "○"
NO_TABLE = "The documents have tables for one, two and three datacenters of three nodes, RF 3."
NOT_YET = "not met yet"


# -- the picture -----------------------------------------------------------------------------------


def _draw_picture(scene: Scene) -> Frag:
    m, sides = scene.model, scene.of(facts.side_lines)
    wide = len(m.dcs) * (BOX_WIDE + GAP) + GAP
    below = TOP + max(m.datacenters) * (BOX_HIGH + GAP)
    width, height = max(wide, 260.0), below + len(sides) * GAUGE_HIGH + GAP
    left = (width - wide) / 2 + GAP + BOX_WIDE / 2
    middles = {dc: left + at * (BOX_WIDE + GAP) for at, dc in enumerate(m.dcs)}
    row = dict.fromkeys(m.dcs, 0)
    drawn = []
    for line in scene.of(facts.failing):
        y = TOP + row[line.datacenter] * (BOX_HIGH + GAP) + BOX_HIGH / 2
        row[line.datacenter] += 1
        drawn.append(node_box(_box(line), middles[line.datacenter], y, BOX_WIDE, BOX_HIGH))
    return h(
        "svg",
        [h("text", dc, x=x, y=15, text_anchor="middle", class_="soft")
         for dc, x in middles.items()],
        drawn,
        [h("text", _gauged(side), x=width / 2, y=below + at * GAUGE_HIGH + 14,
           text_anchor="middle", class_="strong", k=f"gauge:{at}")
         for at, side in enumerate(sides)],
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        role="img",
        aria_label=alternative("nodes", _picture_text(scene)),
    )  # fmt: skip


def _box(line: FailingNode) -> NodeBox:
    cut, sign = " (cut off)" if line.is_apart else "", VOTES if line.votes else DOES_NOT
    lines = f"{sign} {line.name}{cut}", f"{line.standing} · {line.schema}"
    title = f"{line.name}: {line.standing}{cut}"
    return NodeBox(f"node:{line.name}", line.name, lines, title, line.standing == "down")


def _gauged(side: SideLine) -> str:
    """The gauge of a side: a dot for each voter that it reaches, the mark that it has to get to."""
    dots = VOTES * side.reached + DOES_NOT * (side.voters - side.reached)
    sign = "✓ majority" if side.can_commit else f"! {side.needed} {are(side.needed)} needed"
    if not side.needed:
        sign = "✓ none is needed"
    return f"{dots[: side.needed]}│{dots[side.needed :]} {side.reached} of {side.voters} {sign}"


def _picture_text(scene: Scene) -> str:
    lines = [
        f"  {line.name}: {line.datacenter} {line.rack}, {line.standing}, schema {line.schema}"
        f"{'' if line.votes else ', does not vote'}{', cut off' if line.is_apart else ''}"
        for line in scene.of(facts.failing)
    ]
    return "\n".join([*lines, *(f"  {_side_words(side)}" for side in scene.of(facts.side_lines))])


def _side_words(side: SideLine) -> str:
    can = "can" if side.can_commit else "cannot"
    needed = f"{side.needed} {are(side.needed)} needed" if side.needed else "none is needed"
    return (
        f"{', '.join(side.nodes) or 'nobody'}: {side.reached} of {side.voters} voters, "
        f"{needed}: {can} change the schema"
    )


# -- a row for each node with the button that stops or starts it; then several at once -------------


def _rows(scene: Scene) -> Iterator[tuple[str, str, str, str]]:
    for line in scene.of(facts.failing):
        yield line.name, line.standing, "yes" if line.votes else "no", line.schema
    for several in (*scene.model.dcs, *map(", ".join, scene.model.at_once)):
        if several in _buttons(scene):
            yield several, "", "", ""


def _button(scene: Scene, row: tuple[str, ...]) -> Frag | None:
    return scene.once("buttons", lambda: _buttons(scene)).get(row[0])


def _buttons(scene: Scene) -> dict[str, Frag]:
    shown: dict[str, Frag] = {}
    for action, refusal in scene.options():
        place = _pressed(action)
        if place and refusal is None and place not in shown:
            verb = scene.model.verb(action)
            do = f"do:{mark(scene.model, action)}"
            shown[place] = act_button(
                verb.removesuffix(f" {place}"), f"press:{place}", do, scene.closed, verb
            )
    return shown


def _pressed(action: Any) -> str:
    match action:
        case act.CatchUp(node) | act.Serve(node) | act.StartNode(node) | act.Stop(node):
            return str(node)
        case act.StartAll(datacenter) | act.Lose(datacenter):
            return str(datacenter)
        case act.StopTogether(nodes):
            return ", ".join(nodes)
    return ""


def _node_words(scene: Scene) -> Iterator[str]:
    for line in scene.of(facts.failing):
        votes = "votes" if line.votes else "does not vote"
        yield f"{line.name}: {line.standing}, {votes}, schema {line.schema}"


# -- the documents' table of failures, and what is computed ----------------------------------------


def _failures(scene: Scene) -> Iterator[tuple[str, Frag, str, str, FailureRow]]:
    m, way = scene.model, scene.way()
    run = [way[0].before if way else scene.state, *(step.after for step in way)]
    for row, s in facts.met_failures(m, run):
        back = f", {row.back} must be back" if row.back else ""
        possible = "possible" if row.schema else "impossible"
        documents = f"schema changes {possible}{back}; data available; {row.advice}"
        if s is None:
            yield row.words, bulb("·", NOT_YET), documents, NOT_YET, row
            continue
        lines = facts.level_lines(m, s, next(s.sides()))
        data = all(each.standing == "available" for each in lines if each.level == "QUORUM")
        agrees = (s.has_majority, data) == (row.schema, row.data)
        names = ", ".join(each.name for each in lines if each.standing == "available")
        missing = facts.voters_missing(s)
        back = f", {counted(missing, 'voter')} must be back" if missing else ""
        levels = f"at {names}" if names else "at no level"
        computed = f"schema changes {facts.schema_changes(s)}{back}; data {levels}"
        yield row.words, lamp(agrees, "agrees", "differs"), documents, computed, row


def _failure(row: tuple[str, Frag, str, str, FailureRow]) -> str:
    agrees = f"{row[1].get('aria-label')}: " if row[3] != NOT_YET else ""
    return f"{row[0]}: the documents: {row[2]}; {agrees}{row[3]}"


# -- data by level and range -----------------------------------------------------------------------


def _sides(scene: Scene) -> Iterator[Table]:
    for side in scene.state.sides():
        names = ", ".join(scene.model.named(side & scene.state.serving)) or "nobody"
        yield Table(
            _of_side(facts.level_lines, side),
            f"level:{side}:{{.name}}".format,
            (
                Column("level", "name"),
                Column("met", _met_level),
                Column("ranges", "{0.met} of {0.ranges}".format),
            ),
            caption=f"Data for clients of {names}, {_factor(scene)}",
            line=partial(_level, names),
        )
        yield Table(
            _of_side(facts.range_lines, side),
            f"range:{side}:{{.label}}".format,
            (
                Column("range", "label"),
                Column("replicas", "replicas"),
                Column("serving", "live", none="nobody"),
            ),
            lines=unsaid,
        )


def _of_side(work: Callable[[Any, Any, int], Any], side: int) -> Callable[[Scene], Any]:
    return lambda scene: work(scene.model, scene.state, side)


def _met_level(each: LevelLine) -> Frag:
    return bulb("✓" if each.standing == "available" else "!", f"{each.name} {each.standing}")


def _level(names: str, each: LevelLine) -> str:
    ranges = counted(each.ranges, "range")
    return f"for clients of {names}: {each.name} in {each.met} of {ranges}"


def _factor(scene: Scene) -> str:
    m = scene.model
    small = [dc for dc in m.dcs if m.members(dc).bit_count() < m.rf]
    missing = f": {', '.join(small)} lacks replicas, and levels count them" if small else ""
    return f"RF {m.rf}{missing}"


def _badges(scene: Scene) -> Badges:
    state = scene.state
    able = [side for side in scene.of(facts.side_lines) if side.can_commit]
    nodes = ", ".join(name for side in able for name in side.nodes)
    where = f" at {nodes}" if able and state.apart else ""
    yield "schema", *((f"✓ schema changes{where}", "") if able else _broken("no schema changes"))
    levels = [
        each for side in state.sides() for each in facts.level_lines(scene.model, state, side)
    ]
    best = max((each for each in levels if each.level == "QUORUM"), key=attrgetter("met"))
    data = f"data at QUORUM in {best.met} of {counted(best.ranges, 'range')}"
    yield "data", *(("✓ data at QUORUM", "") if best.standing == "available" else _broken(data))


def _broken(words: str) -> tuple[str, str]:
    return f"! {words}", "broken"


VIEWS = Views(
    (
        status(_badges, "badges"),
        Panel("nodes", "Nodes", _draw_picture, _picture_text, still=True),
        panel_of(
            "presses",
            "Nodes",
            Table(
                _rows,
                "row:{0[0]}",
                (
                    "node",
                    Column("press", draws=_button),
                    *(
                        Column(head, itemgetter(at), none="")
                        for at, head in enumerate(("is", "votes", "schema"), 1)
                    ),
                ),
                caption="Click nodes off, and on again",
                of="{0[0]}",
                lines=_node_words,
            ),
            tab="Nodes",
        ),
        panel_of(
            "failures",
            "Table of failures",
            Table(
                _failures,
                "failure:{0[4].failure}:{0[4].least}",
                ("down", "agree", "the documents", "in this run"),
                caption="Failures: the documents, and this run",
                line=_failure,
                empty=NO_TABLE,
            ),
            tab="Failures",
        ),
        panel_of(
            "ranges",
            "Availability of data",
            Drawn(lambda scene: None, lambda scene: [_factor(scene)]),
            Several(_sides),
            tab="Data",
        ),
        LAMPS,
    ),
    evidence=("presses",),
    picture="nodes",
    table="presses",
    badges="badges",
)
