"""Both worlds on one board: a picture each, and a table of what is alike and what differs.

The pictures are those of the models' own families. One fills the place of the picture, the other
the first tab beside it; what corresponds is about one thing, so that both sides light up.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kit.errors import counted
from kit.model.timeline import PassedStep
from kit.protocols.worlds.alignment import TITLES, WORLDS, Meeting
from kit.protocols.worlds.side_by_side import placed
from kit.views.actions import mark
from kit.views.declared import Badges, status
from kit.views.fragment import Frag, h
from kit.views.gate import Gate, gates_of
from kit.views.panel import Panel, Scene
from kit.views.parts import heads, moved, scroll
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
        return Scene(m.parts[world], state, before, action, past=past, half=True, **given)

    return scene.once(("world", world), work)


def _own_steps(scene: Scene, world: str) -> Iterator[PassedStep]:
    for step in scene.way():
        part, own = scene.model.part_of(step.action)
        if part == world:
            yield PassedStep(getattr(step.before, world), own, getattr(step.after, world))


LOG, LOCK, STREAM, KEEPER = "log", "lock", "stream", "keeper"
KEYS = {"log": LOG, "tape": LOG, "group0": LOG, "network": LOCK}
"""What is the same thing in both worlds, by the keys that it has in their pictures."""
SIGNS_OF = {
    ("tcm", "lock-glyph"): (LOCK, "locked: an operation that needs this range is refused"),
    ("tcm", "level"): (STREAM, "how much has been streamed"),
    ("topology", "level"): (STREAM, "how much has been streamed"),
    ("topology", "sign key"): (STREAM, "knows the session that permits the stream"),
    ("cms", "sign key"): (KEEPER, "a member of the CMS, which keeps the log"),
    ("recovery", "strong"): (KEEPER, "the node's group 0, which keeps the log"),
}
"""What small signs are about: by their model and class, and what they mean."""


def thing_of(part: Frag) -> str | None:
    """The subject of a part of a picture: nodes have the same names in both."""
    if part.key is None:
        return part.get("data-of")
    return KEYS.get(part.key, part.get("data-of"))


def _signed(part: Frag, model: str, within: str) -> Frag:
    looks = [kid.get("class") for kid in part.kids if isinstance(kid, Frag)]
    group = part.key is None and part.tag == "g"
    node = within.startswith("n:") and within.count(":") == 1
    word = node and part.tag == "text" and "group" in part.text()
    sought = looks if group else [part.get("class")] * word
    look = next((each for each in sought if each and (model, each) in SIGNS_OF), None)
    if look is None:
        return part
    thing, words = SIGNS_OF[model, look]
    kids = part.kids if group else (part,)
    own = part.attrs if group else ()
    key = f"{within}:{look.split()[-1]}"
    return Frag("g", (*own, ("data-of", thing)), (h("title", words), *kids), key)


IDLE = ".6"
"""How much is seen of the picture of a world in which the step changes nothing."""


def in_world(drawn: Frag, scene: Scene, world: str) -> Frag:
    """A picture of a world as part of the board: its own keys, and controls that the board has. It
    is pale while the other one acts.
    """
    acts = scene.action is None or scene.model.part_of(scene.action)[0] == world
    m, own = scene.model, part_scene(scene, world)
    marks = {
        f"do:{mark(own.model, action)}": f"do:{mark(m, m.wrap[world](action))}"
        for action, _ in own.options()
    }

    def renamed(part: Frag, within: str = "") -> Frag:
        part = _signed(part, own.model.name, within)
        within = part.key or within
        attrs, key = dict(part.attrs), part.key
        if part.tag == "svg" and not acts:
            attrs["opacity"] = IDLE
        if "data-act" in attrs:
            attrs["data-act"] = marks.get(attrs["data-act"], attrs["data-act"])
        if (thing := thing_of(part)) is not None:
            attrs["data-of"] = thing
        if key is not None:
            key = placed(key, world)
        kids = tuple(renamed(kid, within) if isinstance(kid, Frag) else kid for kid in part.kids)
        return Frag(part.tag, tuple(attrs.items()), kids, key)

    return renamed(drawn)


def _panel(scene: Scene, world: str, slot: str) -> Panel:
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
        own = part_scene(scene, world)
        return in_world(_panel(scene, world, slot).draw(own), scene, world)

    return draw


def _waited_for(scene: Scene) -> Iterator[Gate]:
    for world in WORLDS:
        own = part_scene(scene, world)
        declared = _panel(scene, world, "picture").gates or for_model(own.model).gates
        for gate in gates_of(own, declared):
            yield replace(gate, part=world)


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
        gates=_waited_for if slot == "picture" else None,
    )  # fmt: skip


# -- what is the same, and what differs ------------------------------------------------------------


def _row(scene: Scene, number: int, met: Meeting) -> list[Frag]:
    row = met.row
    name: Frag | str = row.title
    if (moment := scene.met(scene.model.meets(met))) is not None:
        name = h("button", row.title, type="button", data_do="visit", data_moment=moment)
    here = moved(_meeting_of(scene) is met)
    return [
        h("tr", h("th", name, scope="row"), [h("td", said) for said in met.words],
          k=f"row:{number}", class_=here),
        h("tr", h("td", f"{SIGNS[row.alike]} {row.claim}", colspan=3), k=f"claim:{number}",
          class_=here),
    ]  # fmt: skip


def _meeting_of(scene: Scene) -> Meeting | None:
    met: Meeting | None = scene.model.rows.get(scene.state)
    return met


def _draw_rows(scene: Scene) -> Frag:
    rows = [_row(scene, number, met) for number, met in enumerate(scene.model.aligned.met)]
    head = heads("what happens", *TITLES.values())
    return scroll("what is the same, and what differs", h("table", head, h("tbody", rows)))


SIGNS = {True: "=", False: "≠"}
ROWS = Panel("rows", "What is the same (=), and what differs (≠)", _draw_rows, tab="Alike or not")
VERDICTS = {"alike": "the same in both", "differs": "here they differ"}


def _badges(scene: Scene) -> Badges:
    met, every = _meeting_of(scene), scene.model.aligned.met
    yield "rows", counted(len(every), "comparison"), "plain"
    yield "row", "" if met is None else VERDICTS[met.row.verdict], "busy"


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
    even=True,
    evidence=(EPOCHS, TOPOLOGY),
    may_ask=lambda scene: False,
)
