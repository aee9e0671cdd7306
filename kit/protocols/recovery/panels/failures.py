"""Nodes that fail: where each stands, what it does, whether a majority of the voters is there; the
documents' table of failures, filled row by row as nodes fail in a run; data by level and range.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

from kit.errors import are, counted
from kit.masks import majority
from kit.protocols.recovery import facts
from kit.protocols.recovery import failures as act
from kit.protocols.recovery.facts import LevelLine
from kit.protocols.recovery.panels.stage import states_of
from kit.protocols.recovery.rules.availability import FailureRow
from kit.views.actions import mark
from kit.views.busts import Health
from kit.views.declared import Badges, Column, Several, Table, panel_of, unsaid
from kit.views.fragment import Frag
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.parts import act_button, bulb, lamp
from kit.views.registry import staged
from kit.views.stage import Character, Stage, Wall, stage_panel

HEALTH: dict[str, Health] = {"serving": "up", "down": "down"}
NO_TABLE = "The documents have tables only for one, two or three datacenters of three nodes, RF 3."
NOT_YET = "not met yet"


# -- the picture -----------------------------------------------------------------------------------


def _stage(scene: Scene) -> Stage:
    m = scene.model
    cut = m.named(scene.state.apart)
    return Stage(
        m.names,
        tuple(_character(scene, at) for at in range(len(m.names))),
        (_client(scene),),
        walls=(Wall(cut, ends="rejoin"),) if cut else (),
        bodies=tuple(_datacenters(scene)) if m.several else (),
    )


def _datacenters(scene: Scene) -> Iterator[tuple[str, tuple[str, ...]]]:
    places = dict(zip(scene.model.names, (dc for dc, _ in scene.model.places), strict=True))
    for dc in dict.fromkeys(places.values()):
        yield dc, tuple(name for name, place in places.items() if place == dc)


def _character(scene: Scene, at: int) -> Character:
    m, s, name = scene.model, scene.state, scene.model.names[at]
    (dc, rack), standing = m.places[at], s.standing(at)
    schema, votes = _schema(s, at), s.voters >> at & 1
    return Character(
        name,
        m.spot(name),
        HEALTH.get(standing, "joining"),
        tag=standing,
        holds=(*[_columns(s, at)] * bool(s.entries), *["no vote"] * (not votes)),
        title=f"{name}: {dc} {rack}, {standing}, schema {schema}"
        f"{'' if votes else ', does not vote'}{', cut off' * (s.apart >> at & 1)}",
    )


def _columns(s: act.FailuresState, at: int) -> str:
    has = s.schemas[at].bit_count()
    lacks = f"lacks {counted(s.entries - has, 'column')}"
    return lacks if _is_old(s, at) else f"has {counted(has, 'column')}"


def _schema(s: act.FailuresState, at: int) -> str:
    return f"{act.columns(s.schemas[at])}{' (old)' * _is_old(s, at)}"


def _is_old(s: act.FailuresState, at: int) -> bool:
    return s.schemas[at].bit_count() < s.entries


def _able(scene: Scene, side: int) -> bool:
    return not scene.model.majority or scene.state.may_commit(side)


def _best(s: act.FailuresState) -> int:
    return max(s.sides(), key=lambda side: (side & s.voters).bit_count())


def _client(scene: Scene) -> Character:
    m, s = scene.model, scene.state
    best = _best(s)
    said = f"{(best & s.voters).bit_count()} of {s.voters.bit_count()} voters"
    if s.apart and _able(scene, best):
        others = [name for side in s.sides() if side != best for name in m.named(side)]
        elsewhere = f"; not at {', '.join(others)}" if others else ""
        said = f"at {', '.join(m.named(best))}: {said}{elsewhere}"
    return Character(
        "client",
        "client",
        tag="✓ schema can change" if _able(scene, best) else "! no schema changes",
        holds=(said,),
        title="\n  ".join(_side_words(scene, side) for side in s.sides()),
        kind="client",
    )


def gates(scene: Scene) -> Iterator[Gate]:
    """The majority of the voters, on the side that has most of them."""
    s, m = scene.state, scene.model
    if m.majority:
        side, needed = _best(s), majority(s.voters.bit_count())
        there, missing = m.named(side & s.voters), m.named(s.voters & ~side)
        yield Gate("voters", "a majority of voters", "been reached", there, missing, needed)


def _side_words(scene: Scene, side: int) -> str:
    m, s = scene.model, scene.state
    size, reached = s.voters.bit_count(), (side & s.voters).bit_count()
    needed = f"{majority(size)} {are(majority(size))} needed" if m.majority else "none is needed"
    return (
        f"{', '.join(m.named(side)) or 'no node'}: {reached} of {size} voters, {needed}, "
        f"so schema changes are {'possible' if _able(scene, side) else 'impossible'}"
    )


# -- a row for each node with the button that stops or starts it; then several at once -------------


def _rows(scene: Scene) -> Iterator[tuple[str, str, str, str]]:
    s = scene.state
    for at, name in enumerate(scene.model.names):
        votes = "yes" if s.voters >> at & 1 else "no"
        yield name, s.standing(at), votes, _schema(s, at)
    for several in (*scene.model.dcs, *map(", ".join, scene.model.at_once)):
        if several in _presses(scene):
            yield several, "", "", ""


def _button(scene: Scene, row: tuple[str, ...]) -> Frag | None:
    place = row[0]
    action = _presses(scene).get(place)
    if action is None:
        return None
    verb, do = scene.model.verb(action), f"do:{mark(scene.model, action)}"
    return act_button(verb.removesuffix(f" {place}"), f"press:{place}", do, scene.closed, verb)


def _presses(scene: Scene) -> dict[str, Any]:
    def work() -> dict[str, Any]:
        presses: dict[str, Any] = {}
        for action, refusal in scene.options():
            if refusal is None and (place := _pressed(action)):
                presses.setdefault(place, action)
        return presses

    return scene.once("presses", work)


def _pressed(action: Any) -> str:
    match action:
        case act.CatchUp(node) | act.Serve(node) | act.StartNode(node) | act.Stop(node):
            return str(node)
        case act.StartAll(datacenter) | act.Lose(datacenter):
            return str(datacenter)
        case act.StopTogether(nodes):
            return ", ".join(nodes)
    return ""


# -- the documents' table of failures, and what is computed ----------------------------------------


def _failures(scene: Scene) -> Iterator[tuple[str, Frag, str, str, FailureRow]]:
    for row, s in facts.met_failures(scene.model, states_of(scene)):
        if s is None:
            yield row.words, bulb("·", NOT_YET), row.said, NOT_YET, row
            continue
        lines = facts.level_lines(scene.model, s, next(s.sides()))
        available = [each for each in lines if each.standing == "available"]
        data = any(each.level == "QUORUM" for each in available)
        agrees = (s.has_majority, data) == (row.schema, row.data)
        missing = facts.voters_missing(s)
        back = f", {counted(missing, 'voter')} must be back" if missing else ""
        schema = f"schema changes {'possible' if s.has_majority else 'impossible'}{back}"
        computed = f"{schema}; data at {', '.join(x.name for x in available) or 'no level'}"
        yield row.words, lamp(agrees, "agrees", "differs"), row.said, computed, row


# -- data by level and range -----------------------------------------------------------------------


def _sides(scene: Scene) -> Iterator[Table]:
    for side in scene.state.sides():
        names = ", ".join(scene.model.named(side & scene.state.serving)) or "no node"
        yield Table(
            _of_side(facts.level_lines, side),
            f"level:{side}:{{.name}}".format,
            (
                Column("level", "name"),
                Column("met", _met_level),
                Column("ranges", "{0.met} of {0.ranges}".format),
            ),
            caption=f"Data for clients of {names}, {_factor(scene)}",
        )
        yield Table(
            _of_side(facts.range_lines, side),
            f"range:{side}:{{.label}}".format,
            ("range", "replicas", Column("serving", "live", none="none")),
            lines=unsaid,
        )


def _of_side(work: Callable[[Any, Any, int], Any], side: int) -> Callable[[Scene], Any]:
    return lambda scene: work(scene.model, scene.state, side)


def _met_level(each: LevelLine) -> Frag:
    return bulb("✓" if each.standing == "available" else "!", f"{each.name} {each.standing}")


def _factor(scene: Scene) -> str:
    m = scene.model
    small = [dc for dc in m.dcs if m.members(dc).bit_count() < m.rf]
    missing = f": levels count replicas that {', '.join(small)} cannot have" if small else ""
    return f"RF {m.rf}{missing}"


def _badges(scene: Scene) -> Badges:
    state = scene.state
    able = [side for side in state.sides() if _able(scene, side)]
    nodes = ", ".join(name for side in able for name in scene.model.named(side))
    where = f" at {nodes}" if able and state.apart else ""
    yield ("schema", *((f"✓ schema changes{where}", "") if able else _broken("no schema changes")))
    levels = chain(*(facts.level_lines(scene.model, state, side) for side in state.sides()))
    best = max((each for each in levels if each.level == "QUORUM"), key=attrgetter("met"))
    data = f"QUORUM in {best.met} of {best.ranges}"
    yield "data", *(("✓ data at QUORUM", "") if best.standing == "available" else _broken(data))


def _broken(words: str) -> tuple[str, str]:
    return f"! {words}", "alarm"


VIEWS = staged(
    _badges,
    stage_panel(
        "nodes",
        "Nodes",
        _stage,
        gates=gates,
        meanings={"body": "a datacenter", "joining": "is up, catches up"},
    ),
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
                    for at, head in enumerate(("state", "votes", "schema"), 1)
                ),
            ),
            caption="The switch at each node does this as well",
            of="{0[0]}",
        ),
        tab="Nodes",
    ),
    panel_of(
        "failures",
        "Table of failures",
        Table(
            _failures,
            "failure:{0[4].failure}:{0[4].least}",
            ("down", "agree", "the documents", "computed in this run"),
            caption="Failures: the documents, and this run",
            empty=NO_TABLE,
        ),
        tab="Failures",
    ),
    panel_of("ranges", "Availability of data", Several(_sides), tab="Data"),
)
