"""A frame: what a person sees at one moment of a history, whatever the model.

One picture is in the focus; everything else is a glance beside it. Each part fills a slot of a
fixed size (``kit/views/css/board.css``), so that no step moves anything: the badges, the picture, a
pane of tabs whose first explains the picture, the narration, the actions.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cache

from msgspec import Struct

from kit.catalogue.glossary import finder, lesson_title, words
from kit.model.flows import Flow, FlowKind
from kit.model.parameters import edition_in
from kit.views.actions import Macro, draw_actions, ends_well
from kit.views.breaks import break_lines, draw_break
from kit.views.cover import Story, draw_cover
from kit.views.fragment import PRESSED, Frag, Kid, h
from kit.views.gate import Declared, awaited_gates, gates_above, gates_of
from kit.views.labels import clause, measured
from kit.views.panel import Panel, Scene, is_shown, section
from kit.views.parts import scroll, sheet
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
    """The names of the panels that fill the slots; the others are further tabs.

    ``picture`` is what one looks at, ``table`` what explains it, ``badges`` the status line. A
    ``wide`` picture needs more width than height, an ``even`` one has half of the board. ``gates``
    says what the next step waits for, ``named`` what a broken promise names.
    """

    picture: str = ""
    table: str = ""
    badges: str = ""
    wide: bool = False
    even: bool = False
    gates: Declared = awaited_gates
    named: Named = nothing


PLAIN = Slots()
LINE, WIDER = 740.0, 1250.0
"""How wide a line of the narration is on the smallest board, with letters as on a projector, and
from 1,200 pixels on."""
SHEET, BADGE = 96.0, 26.0
"""What the sheet that has all of it takes of a line, and the milestone beside its letters."""
WHY, FINE = 17, 14
"""The letters of what a step was for, and finer ones."""
SHORT = 5
"""Columns of a table that leaves more of the board to the picture."""
MOST_IN_LINE, MOST_ON_PROJECTOR = 6, 2
"""Tabs that stand in one line of the smallest board, and on a projector; of more, a list is offered
as well."""


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
    pages = [(panel, panel.draw(scene)) for panel in tabs]
    kind = " alone"
    if picture and pages:
        kind = " even" * slots.even or " wide" * slots.wide or " rail" * _is_short(pages[0][1])
    declared = picture.gates if picture and picture.gates else slots.gates
    gates = gates_of(scene, declared)
    drawn = None if picture is None else _picture(scene, picture, declared)
    return h(
        "div",
        _badges(scene, panels, slots),
        drawn,
        _pane(pages, changed) if pages else None,
        h(
            "div",
            brief_narration(scene),
            class_="kp-said",
            tabindex=0,
            role="region",
            aria_label="what happened",
        ),
        h("div", draw_actions(scene, macros, gates), k="acts", class_="kp-acts", data_quiet=True),
        draw_cover(story, scene, drawn) if story and scene.action is None else None,
        draw_break(scene, drawn, slots.named),
        k="frame",
        class_=f"kp-frame{kind}",
        data_say=scene.say,
        data_well=ends_well(scene, gates),
    )


def readable_frame(scene: Scene, panels: Sequence[Panel], slots: Slots = PLAIN) -> Frag:
    """Draw a frame for readers without JavaScript: every panel in full, nothing to press."""
    picture, tabs = _filled(scene, panels, slots)
    shown = tabs if picture is None else [picture, *tabs]
    return h(
        "div",
        narration(scene),
        [h("p", line) for line in break_lines(scene)],
        _badges(scene, panels, slots),
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


def _badges(scene: Scene, panels: Sequence[Panel], slots: Slots) -> Frag:
    shown = {panel.name: panel for panel in panels if is_shown(panel, scene)}
    badges = shown.get(slots.badges)
    status = scroll("status", badges.draw(scene)) if badges else None
    promises = draw_promises(scene, slots.named) if LAMPS.name in shown else None
    return h("div", status, promises, class_="kp-badges")


def _picture(scene: Scene, panel: Panel, declared: Declared) -> Frag:
    gates = gates_of(scene, declared)
    zoom = [
        h("button", sign, type="button", data_do=f"zoom-{way}", aria_label=word)
        for way, sign, word in (("out", "−", "picture smaller"), ("in", "+", "picture larger"))
    ]
    edition = edition_in(scene.model.parameters, " · {}")
    title = [panel.title, h("span", edition, class_="edition") if edition else None]
    drawn = scene.kept["picture"] = panel.draw(scene)  # for the question about the next step
    former, above = scene.former(), None
    if not panel.gates:
        then = gates_of(former, declared) if former and gates else ()
        above = gates_above(scene, gates, drawn, then)
    legend = _legend(scene, panel, drawn, gated=above is not None)
    top = h("div", h("h3", title), above, legend, zoom, class_="kp-top")
    body = section(panel, drawn, "kp-scroll", f"picture: {panel.title}")
    return h("div", top, body, k="picture", class_="kp-picture")


def _legend(scene: Scene, panel: Panel, drawn: Frag, *, gated: bool) -> Frag | None:
    """Say what the marks of a picture mean: as many as fit beside its title, beside gates none; a
    sheet has all.
    """
    legends = (part.text() for part in drawn.walk() if "legend" in (part.get("class") or ""))
    words = panel.legend(scene) if panel.legend else next(legends, "").replace("; ", " · ")
    marks = [*filter(None, words.split(" · "))]
    shown = "marks" if gated else [h("span", each) for each in marks]
    summary = h("summary", shown, title="what the marks mean")
    mark = Marker(scene.model.name)
    listed = h("ul", [h("li", mark(each)) for each in marks])
    kind = "kp-pop" if gated else "kp-pop kp-marks"
    return sheet(summary, listed, key="legend", kind=kind) if marks else None


def _is_short(page: Frag) -> bool:
    """Whether a page begins with a table of few columns, which needs less room beside a picture."""
    head = next((part for part in page.walk() if part.tag == "thead"), None)
    return head is not None and sum(part.tag == "th" for part in head.walk()) <= SHORT


def _pane(pages: Sequence[tuple[Panel, Frag]], changed: Collection[str]) -> Frag:
    tabs = [panel for panel, _ in pages]
    first, *others = [_tab(panel, panel.name in changed) for panel in tabs]
    line = h(
        "div",
        first,
        h("div", others, class_="kp-line") if others else None,
        _all_tabs(tabs, changed) if len(tabs) > MOST_ON_PROJECTOR else None,
        k="tabs",
        class_="kp-tabs",
        role="group",
        aria_label="panels",
        data_quiet=True,
    )
    shown = [section(panel, drawn, "kp-page kp-scroll") for panel, drawn in pages]
    return h("div", line, shown, k="pane", class_="kp-pane")


def _all_tabs(tabs: Sequence[Panel], changed: Collection[str]) -> Frag:
    marked = sum(panel.name in changed for panel in tabs)
    summary = h(
        "summary",
        f"all {len(tabs)}",
        k="all-tabs",
        class_="changed-tab" if marked else None,
        aria_label=f"all {len(tabs)} panels; changed in this step: {marked}",
    )
    few = "kp-pop few" if len(tabs) <= MOST_IN_LINE else "kp-pop"
    listed = [_tab(panel, panel.name in changed, listed=True) for panel in tabs]
    return sheet(summary, listed, kind=few)


def _tab(panel: Panel, changed: bool, *, listed: bool = False) -> Frag:
    title = panel.title
    return h(
        "button",
        title if listed else (panel.tab or panel.title),
        k=f"{'list' if listed else 'tab'}:{panel.name}",
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
    return [_said(_milestone(scene), scene.say), *_why(scene.why)]


def brief_narration(scene: Scene) -> list[Frag]:
    """Say each in a line, as far as there is room for whole clauses; a sheet has all of it."""
    milestone, why, mark = _milestone(scene), scene.why, Marker(scene.model.name)
    badge = BADGE + measured(milestone, bold=True) if milestone else 0.0
    size, lines = (13, 1.0) if why else (15, 1.9)
    if measured(scene.say, size) + badge <= lines * LINE and measured(why, FINE, bold=True) <= LINE:
        return [_said(milestone, mark(scene.say)), *_brief_why(mark, why, LINE)]
    in_full = Marker(scene.model.name)
    words = [h("p", in_full(text)) for text in (scene.say, why) if text]
    whole = sheet(h("summary", "full text"), words, key="said", quiet=True)
    beside = lines * LINE - badge - SHEET
    # Where no clause has room beside it, the smallest board leaves the milestone to the time bar.
    roomy = measured(clause(scene.say, beside, size), size) <= beside
    rooms = beside if roomy else beside + badge, lines * WIDER - badge - SHEET
    said = _said(milestone, _as_far(mark, scene.say, rooms, size), roomy=roomy)
    return [whole, said, *_brief_why(mark, why, LINE - SHEET)]


def _as_far(
    mark: Marker, words: str, rooms: tuple[float, float], size: int, bold: bool = False
) -> list[Kid]:
    brief, more = (clause(words, room, size, bold=bold) for room in rooms)
    if brief == words:
        return mark(words)
    kind = "rest" if more == words else "cut rest"
    rest = more.removeprefix(brief)
    return [h("span", mark(brief), class_="cut"), h("span", mark(rest), class_=kind)]


def _milestone(scene: Scene) -> str:
    name = scene.milestone or ""
    return "" if name.lower() in scene.say.lower() else name


def _brief_why(mark: Marker, why: str, room: float) -> list[Frag]:
    if measured(why, WHY, bold=True) > room >= measured(why, FINE, bold=True):
        return _why(mark(why), "kp-why fine")
    return _why(why and _as_far(mark, why, (room, WIDER - SHEET), WHY, bold=True))


def _why(words: Kid, kind: str = "kp-why") -> list[Frag]:
    return [h("p", words, k="why", class_=kind, data_quiet=True)] if words else []


def _said(milestone: str, words: Kid, *, roomy: bool = True) -> Frag:
    kind = "milestone" if roomy else "milestone rest"
    badge = h("span", milestone, k="milestone", class_=kind) if milestone else None
    return h("p", badge, h("span", words), k="say", class_="say", data_quiet=True)
