"""Both worlds on one board: a picture each, and a table of what is alike and what differs.

The pictures are those of the models' own families. One fills the place of the picture, the other
the first tab beside it; what corresponds is about one thing, so that both sides light up.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kit.edge.words import say
from kit.engine.timeline import PassedStep
from kit.protocols.worlds.alignment import TITLES, WORLDS, Met
from kit.protocols.worlds.side_by_side import placed
from kit.views.actions import mark
from kit.views.declared import Badges, Column, Table, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.gate import Gate, gates_of
from kit.views.panel import Panel, Scene
from kit.views.promises import LAMPS
from kit.views.registry import Views, for_model

EPOCHS, TOPOLOGY = WORLDS


def part_scene(scene: Scene, world: str) -> Scene:
    """The same moment of one world; where the other one acted, nothing changed in it."""

    def work() -> Scene:
        m = scene.model
        state, before, action, words = getattr(scene.state, world), None, None, {}
        if scene.action is not None:
            part, own = m.part_of(scene.action)
            before = getattr(scene.before, world)
            if part == world:
                action, words = own, {"say": scene.say, "why": m.parts[world].why(own)}
            else:
                before = state
        suggested = None
        if scene.suggested is not None and m.part_of(scene.suggested)[0] == world:
            suggested = m.part_of(scene.suggested)[1]

        def past() -> tuple[PassedStep, ...]:
            return tuple(_own_steps(scene, world))

        given: Mapping[str, Any] = {"suggested": suggested, "closed": scene.closed, **words}
        return Scene(m.parts[world], state, before, action, past=past, **given)

    return scene.once(("world", world), work)


def _own_steps(scene: Scene, world: str) -> Iterator[PassedStep]:
    for step in scene.way():
        part, own = scene.model.part_of(step.action)
        if part == world:
            yield PassedStep(getattr(step.before, world), own, getattr(step.after, world))


CORRESPONDING: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("log", ("log", "tape", "group0", "badge:epoch", "badge:version", "badge:cms")),
    ("gate", ("gate:", "gates", "badge:barrier", "badge:quorum")),
)
"""What is the same thing in both worlds, by the keys of their pictures."""


def in_world(drawn: Frag, scene: Scene, world: str) -> Frag:
    """A picture of a world as part of the board: its own keys, and controls that the board has."""
    m, own = scene.model, part_scene(scene, world)
    marks = {
        f"do:{mark(own.model, action)}": f"do:{mark(m, m.wrap[world](action))}"
        for action, _ in own.options()
    }

    def renamed(part: Frag) -> Frag:
        attrs, key = dict(part.attrs), part.key
        if "data-act" in attrs:
            attrs["data-act"] = marks.get(attrs["data-act"], attrs["data-act"])
        if key is not None:
            about = next((thing for thing, keys in CORRESPONDING if key.startswith(keys)), "")
            if about and ("data-of" not in attrs or key.startswith("gate:")) and ":" in key[:5] + ":":
                attrs["data-of"] = about
            key = placed(key, world)
        kids = tuple(renamed(kid) if isinstance(kid, Frag) else kid for kid in part.kids)
        return Frag(part.tag, tuple(attrs.items()), kids, key)

    return renamed(drawn)


def _panel(scene: Scene, world: str, slot: str) -> Panel:
    """The panel of a world's own views that fills a slot there."""
    views = for_model(scene.model.parts[world])
    own = part_scene(scene, world)
    named = {panel.name: panel for panel in views.panels}
    wanted = named[getattr(views, slot)]
    if wanted.shown is None or wanted.shown(own):
        return wanted
    rest = (p for p in views.panels if p.name not in (views.picture, views.badges, LAMPS.name))
    return next(panel for panel in rest if panel.shown is None or panel.shown(own))


def _drawn(world: str, slot: str) -> Callable[[Scene], Frag]:
    def draw(scene: Scene) -> Frag:
        drawn = _panel(scene, world, slot).draw(part_scene(scene, world))
        return in_world(drawn, scene, world)

    return draw


def _worded(world: str, slot: str) -> Callable[[Scene], str]:
    return lambda scene: _panel(scene, world, slot).text(part_scene(scene, world))


def _legend(scene: Scene) -> str:
    panel = _panel(scene, EPOCHS, "picture")
    return panel.legend(part_scene(scene, EPOCHS)) if panel.legend else ""


def world_panel(world: str, slot: str, title: str, tab: str = "") -> Panel:
    """A panel of a world: what fills a slot in its own family's views."""
    legend = _legend if (world, slot) == (EPOCHS, "picture") else None
    name = world if slot == "picture" else f"{world}-{slot}"
    return Panel(
        name, title, _drawn(world, slot), _worded(world, slot),
        optional=slot == "table", still=slot == "picture", tab=tab, legend=legend,
    )  # fmt: skip


# -- what is alike, and what differs ---------------------------------------------------------------


def _rows(scene: Scene) -> Iterator[tuple[int, Met]]:
    yield from enumerate(scene.model.aligned.met)


def _to_row(scene: Scene, row: tuple[int, Met]) -> Frag | str:
    """A button that leads to the row's moment; where no such moment is known, its name alone."""
    number, met = row
    if number >= len(scene.model.moments):
        return met.row.title
    to = scene.model.moments[number]
    return h("button", met.row.title, type="button", data_do="visit", data_moment=to)


def _compares(row: tuple[int, Met]) -> str:
    met = row[1].row
    return f"{'=' if met.alike else '≠'} {met.claim}"


def _now(scene: Scene, row: tuple[int, Met]) -> bool:
    """Whether this moment is the row's own."""
    return scene.model.rows.get((scene.action, scene.state)) is row[1]


ROWS = panel_of(
    "rows",
    "What is alike, and what differs",
    Table(
        _rows,
        "row:{0[0]}",
        (
            Column("what happens", lambda row: row[1].row.title, draws=_to_row),
            Column("alike = or different ≠", _compares),
            Column("epochs", lambda row: row[1].said[0]),
            Column("topology", lambda row: row[1].said[1]),
        ),
        line=lambda row: (
            f"{row[1].row.title}: epochs: {row[1].said[0]} topology: {row[1].said[1]} "
            f"{_compares(row)}"
        ),
    ),
    tab="Alike or not",
)


def _badges(scene: Scene) -> Badges:
    met = scene.model.rows.get((scene.action, scene.state))
    every = scene.model.aligned.met
    if met is None:
        yield "aligned", say("{n} rows", n=len(every)), "plain"
    else:
        yield "aligned", f"{every.index(met) + 1}/{len(every)} {met.row.verdict}", "busy"


def gates(scene: Scene) -> Iterator[Gate]:
    """Who is waited for in the first world, where its picture does not show that itself."""
    own, views = part_scene(scene, EPOCHS), for_model(scene.model.parts[EPOCHS])
    if _panel(scene, EPOCHS, "picture").gates is None:
        for gate in gates_of(own, views.gates):
            yield replace(gate, thing=gate.thing)


VIEWS = Views(
    (
        status(_badges, "badges"),
        world_panel(EPOCHS, "picture", TITLES[EPOCHS]),
        world_panel(TOPOLOGY, "picture", TITLES[TOPOLOGY]),
        ROWS,
        world_panel(EPOCHS, "table", f"{TITLES[EPOCHS]}: table", "Epochs: table"),
        world_panel(TOPOLOGY, "table", f"{TITLES[TOPOLOGY]}: table", "Topology: table"),
        LAMPS,
    ),
    picture=EPOCHS,
    table=TOPOLOGY,
    badges="badges",
    evidence=(EPOCHS, TOPOLOGY),
    gates=gates,
    question=lambda scene: None,
    may_ask=lambda scene: False,
)
