"""The panels of a resize: the grid, the average against both thresholds, readiness, siblings."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.errors import counted
from kit.protocols.tablets.facts import resize as facts
from kit.protocols.tablets.facts.resize import Readiness, ResizeLineFacts
from kit.protocols.tablets.hosts import LOG
from kit.protocols.tablets.panels import plans
from kit.protocols.tablets.panels.grid import grid_panel, storage_panel
from kit.protocols.tablets.rules.maps import (
    TabletMap,
    colocating,
    first_token,
    is_power_of_two,
    siblings,
)
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.resize import TableSize
from kit.views.declared import (
    Alike,
    Badges,
    Column,
    Drawn,
    Table,
    of_state,
    panel_of,
    status,
    unsaid,
)
from kit.views.fragment import Frag, Kid, h
from kit.views.panel import Scene
from kit.views.parts import bulb, volume
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.sizes import SLOT

PHASES = {
    "": "not begun",
    "barrier": "waits for the barrier before the new map",
    "commit": "the new map may be committed",
    "after": "waits for the barrier after the new map",
}
HEIGHT, EDGE = 96.0, 12.0
BAR_TOP, BAR = 40.0, 16.0


# -- the average on a line with both thresholds, the decision, what it waits for -------------------


def _words(scene: Scene) -> list[tuple[str, str]]:
    now = scene.of(facts.line)
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


def _limits(scene: Scene) -> list[str]:
    now = scene.of(facts.line)
    return [f"merge below {now.merge_below} %, split above {now.split_above} %"]


def _draw_thresholds(scene: Scene) -> Frag:
    return _thresholds(scene.of(facts.line))


def _thresholds(now: ResizeLineFacts) -> Frag:
    """The line of sizes: where tablets are merged, where they are split, where the average is."""
    most = 1.15 * max(now.average, now.split_above)

    def at(percent: float) -> float:
        return EDGE + (SLOT - 2 * EDGE) * percent / most

    low, high = at(now.merge_below), at(now.split_above)
    return h(
        "svg",
        _stretch(EDGE, low, "merge"),
        _stretch(low, high, "keep"),
        _stretch(high, SLOT - EDGE, "split"),
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
        viewBox=f"0 0 {SLOT:.0f} {HEIGHT:.0f}",
        width=SLOT,
        role="img",
        aria_label=f"average {now.average} %: merge below {now.merge_below} %, "
        f"split above {now.split_above} %",
    )


def _anchor(x: float) -> str:
    return "start" if x < 3 * EDGE else "end" if x > SLOT - 3 * EDGE else "middle"


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


# -- readiness by replica --------------------------------------------------------------------------


def _readiness(scene: Scene) -> tuple[Readiness, ...]:
    return scene.of(facts.line).readiness


def _waited_for(scene: Scene) -> str:
    """What replicas have to show; a split alone waits for them."""
    now = scene.of(facts.line)
    if now.decided == "split":
        return f"the split waits until each replica shows number {now.number}"
    return "no split is decided: no replica is waited for"


def _look(each: Readiness) -> tuple[str, ...]:
    standing = "ignored" if each.is_ignored else "ready" if each.is_ready else ""
    return _storage(each), f"number {each.number}", standing


def _storage(each: Readiness) -> str:
    return "divided" if each.divided else "whole"


def _halves(each: Readiness) -> list[Kid]:
    """The two halves of a storage that was divided, in two colours."""
    left, right = h("span", "left", class_="badge"), h("span", "right", class_="badge busy")
    return [_storage(each), *((left, right) if each.divided else ())]


def _ready(scene: Scene, each: Readiness) -> Frag | None:
    if each.is_ready:
        return bulb("✓", "ready")
    if each.is_ignored:
        return h("small", "ignored")
    return bulb("…", "not ready") if scene.of(facts.line).decided == "split" else None


def _replica(each: Readiness) -> str:
    return f"tablet {each.tablet} at {each.replica}: {', '.join(filter(None, _look(each)))}"


# -- the line of tokens cut into tablets, a bracket over each pair that a merge makes one ----------


PAIRS_EDGE = 6.0
LINE, BRACKET, BOX = 62.0, 20.0, 24.0
"""How high a line of tablets is, where its brackets are, how high a tablet is."""
MOST_PAIRS = 64
"""Pairs that are drawn; the table below has what stands out of more."""
A_LINE = 8  # pairs
NO_PAIRS = "There are no pairs: tablets are paired from two on, and by powers of two."


class SiblingPair(Struct, frozen=True):
    """Two tablets that a merge would make one, the tokens of both, and where each has replicas.

    The tokens are those after ``first`` up to ``last``. ``moves`` are the odd one's, from and to;
    without any both are together.
    """

    even: int
    odd: int
    first: int
    last: int
    even_replicas: Replicas
    odd_replicas: Replicas
    moves: tuple[tuple[TabletReplica, TabletReplica], ...]


def pairs(given: TabletMap) -> tuple[SiblingPair, ...]:
    """Every pair; none where there is one tablet, or a count that is no power of two."""
    if given.count < 2 or not is_power_of_two(given.count):
        return ()
    lasts, tablets = given.last_tokens, given.tablets
    return tuple(
        SiblingPair(
            *(even, odd, first_token(even, lasts), lasts[odd]),
            *(tablets[even].replicas, tablets[odd].replicas),
            colocating(tablets[even], tablets[odd]),
        )
        for even, odd in siblings(given.count)
    )


def _draw_pairs(scene: Scene) -> Frag | None:
    """Draw the tablets in their order, brackets over siblings."""
    every = pairs(scene.state.map)
    shown = every[:MOST_PAIRS]
    lines = [shown[at : at + A_LINE] for at in range(0, len(shown), A_LINE)]
    count = counted(scene.state.map.count, "tablet")
    return (
        h(
            "svg",
            [list(_bracketed(line, LINE * y)) for y, line in enumerate(lines)],
            viewBox=f"0 0 {SLOT:.0f} {LINE * len(lines):.0f}",
            width=SLOT,
            role="img",
            aria_label=f"{count} in {counted(len(every), 'pair')}",
        )
        if every
        else None
    )


def _bracketed(line: tuple[SiblingPair, ...], top: float) -> Iterator[Frag]:
    wide = (SLOT - 2 * PAIRS_EDGE) / (2 * len(line))
    for at, pair in enumerate(line):
        yield _pair(pair, PAIRS_EDGE + 2 * at * wide, top, wide)


def _pair(pair: SiblingPair, left: float, top: float, wide: float) -> Frag:
    """Two tablets and the bracket over them: closed with an equals sign once both are together."""
    sign = "≠" if pair.moves else "="
    over, apart = BRACKET, "" if not pair.moves else " dashed"
    return h(
        "g",
        h("title", _said(pair)),
        h(
            "path",
            d=f"M{wide / 2:.0f} {over + 8:.0f}V{over:.0f}H{1.5 * wide:.0f}V{over + 8:.0f}",
            class_=f"wire{apart}",
        ),
        h("text", sign, x=wide, y=over - 5, text_anchor="middle", class_="strong"),
        [
            h(
                "g",
                h("rect", x=wide * side + 1, y=over + 10, width=wide - 2, height=BOX, class_="box"),
                h(
                    "text",
                    str(number),
                    x=wide * (side + 0.5),
                    y=over + 10 + BOX / 2 + 4.5,
                    text_anchor="middle",
                    class_="on",
                ),
            )
            for side, number in enumerate((pair.even, pair.odd))
        ],
        k=f"pair:{pair.even}",
        class_=None if pair.moves else "taken",
        transform=f"translate({left:.0f} {top:.0f})",
    )


def _standing(pair: SiblingPair) -> str:
    ways = ", ".join(f"{source} → {target}" for source, target in pair.moves)
    return f"apart: {ways}" if ways else "together"


def _said(pair: SiblingPair) -> str:
    return (
        f"tablets {pair.even} and {pair.odd}, tokens after {pair.first} up to {pair.last}: "
        f"{_standing(pair)}"
    )


# -- badges ----------------------------------------------------------------------------------------


def _badges(scene: Scene) -> Badges:
    """The number of tablets, the decision, and whether it is being finalized."""
    now = scene.of(facts.line)
    yield "tablets", f"tablets {scene.state.map.count}", "plain"
    yield "decision", f"resize {now.decided}", "" if now.decided == "none" else "busy"
    yield "number", f"number {now.number}", ""
    yield "growing", "growing mode" * now.size.growing, ""
    yield "phase", f"finalization: {now.phase}" if now.phase else "", "busy"


RESIZE = Views(
    (
        status(_badges, "badges"),
        grid_panel(
            of_state(facts.grid),
            lambda scene: {LOG: f"group 0: {counted(scene.state.map.count, 'tablet')}"},
        ),
        panel_of(
            "resize",
            "Resize decision",
            Drawn(_draw_thresholds, _limits),
            Table(
                _words,
                "resize:{0[0]}",
                ("what", "now"),
                caption=lambda scene: f"resize of {scene.state.map.table}",
                line=": ".join,
                headless=True,
            ),
            still=True,
            tab="Resize",
        ),
        panel_of(
            "readiness",
            "Readiness by replica",
            Table(
                _readiness,
                "ready:{0.tablet}:{0.replica}",
                (
                    Column("tablet", "tablet"),
                    Column("replica", "replica"),
                    Column("storage", _halves),
                    Column("number", "number"),
                    Column("ready", draws=_ready),
                ),
                caption=_waited_for,
                of="tablet ks.t {0.tablet}",
                line=_replica,
                alike=Alike(_look),
            ),
            tab="Ready",
        ),
        panel_of(
            "siblings",
            "Siblings along the tokens",
            Drawn(_draw_pairs, unsaid),
            Table(
                lambda scene: pairs(scene.state.map),
                "siblings:{0.even}",
                (
                    Column("siblings", "{0.even}, {0.odd}".format),
                    Column("even", lambda pair: " ".join(map(str, pair.even_replicas))),
                    Column("odd", lambda pair: " ".join(map(str, pair.odd_replicas))),
                    Column("stands", _standing),
                ),
                caption="what a merge makes one",
                of=lambda pair: f"tablet ks.t {pair.odd}",
                line=_said,
                empty=NO_PAIRS,
                alike=Alike(
                    lambda pair: ("apart" if pair.moves else "together",),
                    lambda scene, pair: bool(pair.moves),
                ),
            ),
            tab="Siblings",
        ),
        storage_panel(of_state(facts.grid)),
        plans.RESIZE_LOAD,
        plans.RESIZE_PLAN,
        LAMPS,
    ),
    evidence=("resize",),
    picture="grid",
    table="resize",
    badges="badges",
)
