"""A frame: what a person sees at one moment of a history, whatever the model.

One picture, one sentence about this moment, one thing to press. Each part fills a slot of a fixed
size (``kit/views/css/board.css``), so that no step moves anything: the title, the picture and what
may take its place, the words with the gate of the next step, the actions.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from msgspec import Struct

from kit.catalogue.glossary import finder, lesson_title, words
from kit.model.flows import Flow, FlowKind
from kit.model.parameters import edition_in
from kit.views.actions import Macro, draw_actions, ends_well
from kit.views.breaks import break_lines, draw_break, draw_ways, draw_what_if
from kit.views.cover import Story, draw_cover, draw_further, draw_told, titled
from kit.views.fragment import PRESSED, Frag, Kid, h
from kit.views.gate import Declared, awaited_gates, came, draw_gates, former_gates, gates_of
from kit.views.headlines import Facts, headline_of
from kit.views.panel import Panel, Scene, is_shown, section
from kit.views.parts import sheet
from kit.views.promises import LAMPS, Named, draw_promises, nothing, promises_badge

SHAPES: dict[FlowKind, str] = {
    "entry": "M-7-7h14v14h-14zM-4-2h8M-4 2h8",
    "data": "M0-8a8 8 0 1 0 .01 0z",
    "request": "M-7-8L9 0L-7 8z",
    "answer": "M0-9L9 0L0 9L-9 0z",
    "refusal": "M-7-7L7 7M-7 7L7-7",
    "message": "M-9-6h18v12h-18zM-9-6L0 1L9-6",
}
"""A shape for each kind, around its middle; the colour beside it is in flows.css."""


class Marker:
    """Marks the words of a model's texts so that they can be pressed, each where it is first."""

    def __init__(self, model: str) -> None:
        self.finder = finder(model)
        self.met: set[str] = set()

    def __call__(self, text: str) -> list[Kid]:
        """Split a text into what stands around its words and a button for each."""
        kids: list[Kid] = []
        done = 0
        for word, begin, end in self.finder.find(text):
            if word not in self.met:
                self.met.add(word)
                kids += [text[done:begin], _button(word, text[begin:end])]
                done = end
        return [*kids, text[done:]]


def _button(word: str, text: str) -> Frag:
    meant = meaning(word)
    return h("button", text, type="button", class_=PRESSED, data_do="word", data_means=meant)


@cache
def meaning(word: str) -> str:
    """What is said of a word: its meaning, its lesson, and how to see its picture."""
    entry = words()[word]
    title = lesson_title(entry.lesson)
    lesson = f"Lesson {title}." if title else ""
    picture = "Picture: {what}".format(what=f'kit.glossary("{word}")')
    return "\n".join(filter(None, [f"{word}: {entry.means.replace('`', '')}", lesson, picture]))


def draw_flows(flows: Iterable[Flow]) -> Frag:
    """List what travels: a sentence each, and beside it what the browser needs to show it.

    The list is not part of a frame; equal steps of a history share one.
    """
    lines = (
        h(
            "li",
            flow.text,
            data_kind=flow.kind,
            data_from=flow.from_key,
            data_to=flow.to_key,
            data_label=flow.label,
            data_leg=flow.leg,
            data_around=flow.around,
        )
        for flow in flows
    )
    return h("ul", lines)


def flow_markers() -> Frag:
    """Draw what the browser copies to let it travel: one marker a kind, in a layer of their own."""
    markers = [
        h("svg", h("path", d=shape), h("text"), class_=f"kp-flow {kind}", data_kind=kind)
        for kind, shape in SHAPES.items()
    ]
    return h("div", markers, class_="kp-flows", aria_hidden="true")


class Slots(Struct, frozen=True, kw_only=True):
    """The names of the panels that fill the slots; the others stand in a list.

    ``picture`` is what one looks at, ``table`` what explains it, ``badges`` the status line. An
    ``even`` picture has half of the board, and the table the other. ``gates`` says what the next
    step waits for, ``named`` what a broken promise names.
    """

    picture: str = ""
    table: str = ""
    badges: str = ""
    even: bool = False
    gates: Declared = awaited_gates
    named: Named = nothing
    facts: Facts = lambda scene: ()


PLAIN = Slots()
STATES = "States"
"""The tab of a state diagram: it stands beside the picture and the table."""
TABLES = "kp-pop kp-tables"
"""The list of all panels, which a button among the modes opens."""
FILLS = {each: each for each in ("solid", "hatched", "dashed")} | {"ink outline": "outlined"}
"""Marks of a legend that are shown beside what they mean, and the class of each."""


def frame(
    scene: Scene,
    panels: Sequence[Panel],
    macros: Sequence[Macro] = (),
    slots: Slots = PLAIN,
    changed: Collection[str] = (),
    story: Story | None = None,
) -> Frag:
    """Draw a whole frame. Its root says the step in one sentence (``data-say``).

    ``changed`` names the panels in which the step changed something: their tabs are marked. The
    first frame of a ``story`` has its cover.
    """
    picture, tabs = _filled(scene, panels, slots)
    declared = _declared(picture, slots)
    gates = gates_of(scene, declared)
    drawn = None if picture is None else _picture(scene, picture)
    kind = "" if picture and tabs else " alone"
    broken = draw_break(scene, drawn, slots.named)
    well = story is not None and ends_well(scene, gates)  # else it is nobody's end
    further = draw_further(scene, story) if well else draw_ways(scene)
    ways = draw_actions(scene, macros, gates, further, draw_what_if(scene))
    waits = draw_gates(scene, gates, scene.kept.get("picture"), former_gates(scene, declared))
    return h(
        "div",
        _title(scene, story),
        _judged(scene, panels, slots),
        drawn,
        _pages(scene, picture, tabs, changed, slots) if tabs else None,
        h(
            "div",
            _status(scene, panels, slots),
            broken
            or (
                draw_told(scene, story, _words(scene, panels, slots)[2:])
                if well
                else [*_words(scene, panels, slots), waits]
            ),
            class_="kp-said",
            tabindex=0,
            role="region",
            aria_label="what happened",
        ),
        h("div", ways, k="acts", class_="kp-acts", data_quiet=True),
        draw_cover(story, scene, drawn) if story and scene.action is None else None,
        k="frame",
        class_=f"kp-frame{' even' * slots.even}{kind}",
        data_say=scene.say,
        data_well=well,
    )


def readable_frame(scene: Scene, panels: Sequence[Panel], slots: Slots = PLAIN) -> Frag:
    """Draw a frame for readers without JavaScript: every panel in full, nothing to press."""
    picture, tabs = _filled(scene, panels, slots)
    shown = tabs if picture is None else [picture, *tabs]
    return h(
        "div",
        narration(scene),
        [h("p", line) for line in break_lines(scene)],
        _status(scene, panels, slots),
        _judged(scene, panels, slots),
        [section(panel, panel.draw(scene), "kp-page") for panel in shown],
        class_="kp-readable",
    )


def stored_frame(scene: Scene, panels: Sequence[Panel], slots: Slots = PLAIN) -> Frag:
    """Draw a frame as a notebook keeps it: the picture beside the table that explains it."""
    picture, tabs = _filled(scene, panels, slots)
    beside = [panel for panel in (picture, *tabs[:1]) if panel is not None]
    judged = any(panel.name == LAMPS.name and is_shown(panel, scene) for panel in panels)
    words, good = promises_badge(scene) if judged else ("", True)
    edition = edition_in(scene.model.parameters)
    return h(
        "div",
        narration(scene),
        [h("p", line) for line in break_lines(scene)],
        [panel.draw(scene) for panel in panels if panel.name == slots.badges],
        h("p", words, class_="badge kept" if good else "badge broken") if judged else None,
        h("p", f"edition {edition}", class_="badge") if edition else None,
        h("div", [h("div", panel.draw(scene)) for panel in beside], class_="beside"),
    )


def _filled(
    scene: Scene, panels: Sequence[Panel], slots: Slots
) -> tuple[Panel | None, list[Panel]]:
    shown = [panel for panel in panels if is_shown(panel, scene)]
    picture = next((panel for panel in shown if panel.name == slots.picture), None)
    tabs = [p for p in shown if p.name not in (slots.picture, slots.badges, LAMPS.name)]
    return picture, sorted(tabs, key=lambda panel: panel.name != slots.table)


def _judged(scene: Scene, panels: Sequence[Panel], slots: Slots) -> Frag:
    judged = any(panel.name == LAMPS.name and is_shown(panel, scene) for panel in panels)
    return h("div", draw_promises(scene, slots.named) if judged else None, class_="kp-badges")


def _status(scene: Scene, panels: Sequence[Panel], slots: Slots) -> Frag:
    shown = [p for p in panels if p.name == slots.badges and is_shown(p, scene)]
    return h("div", [p.draw(scene) for p in shown], k="kicker", class_="kp-kicker")


def _title(scene: Scene, story: Story | None) -> Frag:
    model = scene.model
    name = titled(story.title)[0] if story else model.title
    edition = edition_in(model.parameters)
    about = [model.title] * (name != model.title) + [f"edition {edition}"] * bool(edition)
    return h(
        "div",
        h("b", name),
        h("span", " · ".join(about)) if about else None,
        k="title",
        class_="kp-title",
        data_quiet=True,
    )


def _picture(scene: Scene, panel: Panel) -> Frag:
    drawn = scene.kept["picture"] = panel.draw(scene)  # for the question about the next step
    foot = h("div", _legend(scene, panel, drawn), class_="kp-foot")
    body = section(panel, drawn, "kp-scroll", f"picture: {panel.title}")
    return h("div", body, foot, k="picture", class_="kp-picture")


def _legend(scene: Scene, panel: Panel, drawn: Frag) -> Frag | None:
    """Say what the marks of a picture mean: as many as fit in its line; a sheet has all."""
    legends = (part.text() for part in drawn.walk() if "legend" in (part.get("class") or ""))
    words = panel.legend(scene) if panel.legend else next(legends, "").replace("; ", " · ")
    marks = [*filter(None, words.split(" · "))]
    summary = h("summary", map(_swatch, marks), title="what the marks mean")
    mark = Marker(scene.model.name)
    listed, kind = h("ul", [h("li", mark(each)) for each in marks]), "kp-pop kp-marks"
    return sheet(summary, listed, key="legend", kind=kind, quiet=True) if marks else None


def _swatch(words: str) -> Frag:
    """A mark of a legend beside what it means: a fill is shown, another mark is told."""
    kind, _, means = words.partition(": ")
    shown = FILLS.get(kind)
    if not shown:
        return h("span", words)
    return h("span", h("i", class_=f"swatch {shown}", role="img", aria_label=kind), means)


def _new_why(scene: Scene) -> str:
    """What the step was for, where it was not said of such a step before."""
    kinds = (step for step in scene.way()[-2::-1] if type(step.action) is type(scene.action))
    same, why_here = next(kinds, None), scene.model.why_here
    return "" if same and why_here(same.before, same.action, same.after) == scene.why else scene.why


def step_words(scene: Scene, panels: Sequence[Panel], slots: Slots) -> tuple[str, str]:
    """The headline of a step, and what else happened or holds now."""
    declared = _declared(_filled(scene, panels, slots)[0], slots)

    def facts(each: Scene) -> list[str]:
        badges = "\n".join(panel.text(each) for panel in panels if panel.name == slots.badges)
        gates = (gate.sentence for gate in gates_of(each, declared))
        return [*slots.facts(each), *map(str.strip, badges.splitlines()), *gates]

    head, rest = headline_of(scene, facts)
    if not rest and not _new_why(scene):  # how many have come by now to where somebody came
        before = former_gates(scene, declared)
        counted = (gate.counted for gate in gates_of(scene, declared) if came(gate, before))
        rest = next(filter(None, counted), "")
    return head, rest


def _declared(picture: Panel | None, slots: Slots) -> Declared:
    return picture.gates if picture and picture.gates else slots.gates


def _words(scene: Scene, panels: Sequence[Panel], slots: Slots) -> list[Frag | None]:
    """The headline, what else happened, and what the step was for."""
    mark = Marker(scene.model.name)
    head, rest = step_words(scene, panels, slots)
    why = _new_why(scene) or ("" if rest else scene.why)
    return [
        h("h2", mark(head), k="say", class_="say", data_quiet=True),
        h("p", mark(rest), k="more", class_="kp-more-said", data_quiet=True) if rest else None,
        h("p", mark(why), k="why", class_="kp-why", data_quiet=True) if why else None,
    ]


def _pages(
    scene: Scene,
    picture: Panel | None,
    tabs: Sequence[Panel],
    changed: Collection[str],
    slots: Slots,
) -> Frag:
    """Draw the switch, and what may take the place of the picture: the table, the states of the
    machine; a list behind the three dots has all panels.
    """
    states = next((panel for panel in tabs[1:] if panel.tab == STATES), None)
    named = [(tabs[0], "Table"), (states, STATES)]
    if picture is None:
        named[0] = tabs[0], tabs[0].tab or tabs[0].title
    elif not slots.even:  # there the table has half of the board
        named.insert(0, (picture, "Picture"))
    line = h(
        "div",
        [_tab(panel, panel.name in changed, name) for panel, name in named if panel],
        _all_tabs([*filter(None, [picture]), *tabs], changed),
        k="tabs",
        class_="kp-tabs",
        role="group",
        aria_label="panels",
        data_quiet=True,
    )
    pages = [section(panel, panel.draw(scene), "kp-page kp-scroll") for panel in tabs]
    known = [*_known(scene, picture)] if picture and not slots.even and not scene.closed else None
    return h("div", line, pages, known, k="pane", class_="kp-pane")


def _known(scene: Scene, picture: Panel) -> Iterator[Frag]:
    """Draw the picture as each node knows it, a page each; the menu of the node leads there."""
    views = [*picture.known(scene)] if picture.known else []

    def to(panel: Panel, words: str) -> Frag:
        named = json.dumps([panel.tab])
        return h("button", words, type="button", data_tab=panel.name, data_names=named)

    for panel in views:
        others = [(" ", to(each, f"as {each.tab}")) for each in views if each is not panel]
        ways = h("p", to(picture, "Back to the log"), others)
        yield section(panel, [ways, panel.draw(scene)], "kp-page kp-scroll")
    yield h("div", [to(each, each.title) for each in views], class_="actions", hidden=True)


def _all_tabs(tabs: Sequence[Panel], changed: Collection[str]) -> Frag:
    marked = sum(panel.name in changed for panel in tabs)
    summary = h(
        "summary",
        f"all {len(tabs)}",
        k="all-tabs",
        class_="changed-tab" if marked else None,
        aria_label=f"all {len(tabs)} panels; changed in this step: {marked}",
    )
    return sheet(summary, [_tab(each, each.name in changed) for each in tabs], kind=TABLES)


def _tab(panel: Panel, changed: bool, name: str = "") -> Frag:
    title = panel.title
    return h(
        "button",
        name or title,
        k=f"{'tab' if name else 'list'}:{panel.name}",
        type="button",
        class_="changed-tab" if changed else None,
        data_tab=panel.name,
        aria_pressed="false",
        aria_label=f"{title}: changed in this step" if changed else title,
    )


def frame_text(scene: Scene, panels: Sequence[Panel]) -> str:
    """Write the step, what travels in it, and every panel of a frame, one under the other."""
    broken = break_lines(scene)
    step = "\n".join(filter(None, [scene.say, *(flow.text for flow in scene.flows()), *broken]))
    parts = [step] if step else []
    parts += [
        f"{panel.title}\n{panel.text(scene)}".rstrip() for panel in panels if is_shown(panel, scene)
    ]
    return "\n\n".join(parts)


def narration(scene: Scene) -> list[Frag]:
    """Say what happened in the step, which milestone it reached, and what it was for."""
    name = scene.milestone or ""
    is_new = name and name.lower() not in scene.say.lower()
    badge = h("span", name, k="milestone", class_="milestone") if is_new else None
    said = h("p", badge, h("span", scene.say), k="say", class_="say")
    return [said, *([h("p", scene.why, k="why", class_="kp-why")] if scene.why else ())]
