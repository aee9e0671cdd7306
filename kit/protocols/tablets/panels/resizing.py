"""The panels of a resize: the grid, the average against both thresholds, readiness."""

from __future__ import annotations

from collections.abc import Iterator

from kit.errors import counted
from kit.protocols.tablets.facts import resizing as facts
from kit.protocols.tablets.facts.resizing import Readiness, ResizeLineFacts
from kit.protocols.tablets.facts.spots import LOG
from kit.protocols.tablets.panels.grid import grid_panel, storage_panel
from kit.protocols.tablets.panels.sibling_pairs import siblings_panel
from kit.protocols.tablets.rules.resize import TableSize
from kit.views.alike import draw_others, others_lines, told_apart
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import badge, badges, bulb, heads, scroll, volume

PHASES = {
    "": "not begun",
    "barrier": "waits for the barrier before the new map",
    "commit": "the new map may be committed",
    "after": "waits for the barrier after the new map",
}
WIDTH, HEIGHT, EDGE = 380.0, 96.0, 12.0
BAR_TOP, BAR = 40.0, 16.0


def _line(scene: Scene) -> ResizeLineFacts:
    line: ResizeLineFacts = scene.once("resize line", lambda: facts.line(scene.model, scene.state))
    return line


def draw_resize(scene: Scene) -> Frag:
    """Draw the average on a line with both thresholds, the decision, and what it waits for."""
    now = _line(scene)
    return h(
        "div",
        _thresholds(now),
        h(
            "table",
            h("caption", f"resize of {scene.state.map.table}"),
            h("tbody", [_row(head, words) for head, words in _words(now)]),
        ),
    )


def _row(head: str, words: str) -> Frag:
    return h("tr", h("th", head, scope="row"), h("td", words), k=f"resize:{head}")


def _words(now: ResizeLineFacts) -> list[tuple[str, str]]:
    ready = sum(each.is_ready for each in now.readiness)
    missing = f": {', '.join(now.missing)}" if now.missing else ""
    rows = [
        *_formula(now.size),
        ("average", f"{now.average} % of the target size"),
        ("growing mode", _growing(now.size)),
        ("decision", f"{now.decided}, number {now.number}"),
        ("sizes ask for", f"{now.asks}: {now.reason}"),
        ("finalization", PHASES[now.phase]),
    ]
    if now.decided == "split":
        awaited = sum(not each.is_ignored for each in now.readiness)
        rows.append(("ready", f"{ready} of {counted(awaited, 'replica')}"))
    return [*rows, ("waits", f"{now.waits}{missing}")] if now.waits else rows


def _formula(size: TableSize) -> Iterator[tuple[str, str]]:
    """From the bytes of all replicas, of all datacenters, to those of one tablet."""
    total, table, tablet = (
        volume(each) for each in (size.bytes, size.average_table, size.average_tablet)
    )
    yield "one copy", f"{total} in all ÷ {counted(size.replicas, 'replica')} = {table}"
    yield "one tablet", f"{table} ÷ {counted(size.count, 'tablet')} = {tablet}"


def _growing(size: TableSize) -> str:
    """Whether the table keeps the count that its schema asks for."""
    if size.growing:
        return f"on: not merged until there are more than {counted(size.initial, 'tablet')}"
    return "off"


def _thresholds(now: ResizeLineFacts) -> Frag:
    """The line of sizes: where tablets are merged, where they are split, where the average is."""
    most = 1.15 * max(now.average, now.split_above)

    def at(percent: float) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * percent / most

    low, high = at(now.merge_below), at(now.split_above)
    return h(
        "svg",
        _stretch(EDGE, low, "merge"),
        _stretch(low, high, "keep"),
        _stretch(high, WIDTH - EDGE, "split"),
        [
            h("text", f"{size} %", x=x, y=BAR_TOP + BAR + 16, text_anchor="middle", class_="soft")
            for size, x in ((now.merge_below, low), (now.split_above, high))
        ],
        h(
            "g",
            h("polygon", points="0,0 -7,-11 7,-11", class_="tip"),
            h("text", f"{now.average} %", y=-15, text_anchor=_anchor(at(now.average))),
            k="average",
            transform=f"translate({at(now.average):.0f} {BAR_TOP:.0f})",
        ),
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        width=WIDTH,
        role="img",
        aria_label=f"average {now.average} %: merge below {now.merge_below} %, "
        f"split above {now.split_above} %",
    )


def _anchor(x: float) -> str:
    return "start" if x < 3 * EDGE else "end" if x > WIDTH - 3 * EDGE else "middle"


def _stretch(left: float, right: float, word: str) -> Frag:
    """One of the three stretches of the line, with its word where there is room."""
    wide = right - left
    has_room = 7.5 * len(word) < wide
    middle = BAR_TOP + BAR - 4
    return h(
        "g",
        h("rect", x=left, y=BAR_TOP, width=wide, height=BAR, class_="box"),
        h("text", word, x=left + wide / 2, y=middle, text_anchor="middle", class_="on")
        if has_room
        else None,
    )


def resize_text(scene: Scene) -> str:
    """Write the thresholds, then a line for each thing."""
    now = _line(scene)
    limits = f"  merge below {now.merge_below} %, split above {now.split_above} %"
    return "\n".join([limits, *(f"  {head}: {words}" for head, words in _words(now))])


def draw_readiness(scene: Scene) -> Frag:
    """Draw a row for each replica: whether it has divided its storage, for which number."""
    rows = told_apart(_line(scene).readiness, _look, lambda each: False)
    return scroll(
        "readiness",
        h(
            "table",
            h("caption", _caption(_line(scene))),
            heads("tablet", "replica", "storage", "number", "ready"),
            h("tbody", [_replica(each, _line(scene).decided) for each in rows.listed]),
        ),
        draw_others(rows.others),
    )


def _caption(now: ResizeLineFacts) -> str:
    """What replicas have to show; a split alone waits for them."""
    if now.decided == "split":
        return f"the split waits until each replica shows number {now.number}"
    return "no split is decided: no replica is waited for"


def _look(each: Readiness) -> tuple[str, ...]:
    standing = "ignored" if each.is_ignored else "ready" if each.is_ready else ""
    return _storage(each), f"number {each.number}", standing


def _storage(each: Readiness) -> str:
    return "divided" if each.divided else "whole"


def _replica(each: Readiness, decided: str) -> Frag:
    waits = bulb("…", "not ready") if decided == "split" else None
    sign = h("small", "ignored") if each.is_ignored else waits
    return h(
        "tr",
        h("th", str(each.tablet), scope="row"),
        h("td", str(each.replica)),
        h("td", _storage(each), _halves() if each.divided else None),
        h("td", str(each.number)),
        h("td", bulb("✓", "ready") if each.is_ready else sign),
        k=f"ready:{each.tablet}:{each.replica}",
        data_of=f"tablet ks.t {each.tablet}",
    )


def _halves() -> list[Frag]:
    """The two halves of a storage that was divided, in two colours."""
    return [h("span", "left", class_="badge"), h("span", "right", class_="badge busy")]


def readiness_text(scene: Scene) -> str:
    """Write a line for each replica."""
    rows = told_apart(_line(scene).readiness, _look, lambda each: False)
    lines = [
        f"  tablet {each.tablet} at {each.replica}: {', '.join(filter(None, _look(each)))}"
        for each in rows.listed
    ]
    return "\n".join([*lines, *(f"  {line}" for line in others_lines(rows.others))])


def draw_badges(scene: Scene) -> Frag:
    """Draw the number of tablets, the decision, and whether it is being finalized."""
    now = _line(scene)
    return badges(
        scene.state.map.count,
        badge("decision", f"resize {now.decided}", "" if now.decided == "none" else "busy"),
        badge("number", f"number {now.number}"),
        badge("growing", "growing mode") if now.size.growing else None,
        badge("phase", f"finalization: {now.phase}", "busy") if now.phase else None,
        counts="tablets",
    )


GRID = grid_panel(
    lambda scene: facts.grid(scene.model, scene.state),
    lambda scene: {LOG: f"group 0: {counted(scene.state.map.count, 'tablet')}"},
)
STORAGE = storage_panel(lambda scene: facts.grid(scene.model, scene.state))
LINE = Panel("resize", "Resize decision", draw_resize, resize_text, still=True, tab="Resize")
SIBLINGS = siblings_panel(lambda scene: scene.state.map)
READINESS = Panel("readiness", "Readiness by replica", draw_readiness, readiness_text, tab="Ready")
BADGES = Panel("badges", "Status", draw_badges, still=True)
