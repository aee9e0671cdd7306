"""The stage: every step is seen in it, no word lies over another thing, nothing moves its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.model.actors import NetworkModel
from kit.model.registry import build, entries
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.playing.opening import open_named
from kit.views.busts import HEAD
from kit.views.diagrams import Standing, StateDiagram
from kit.views.fragment import Frag, h, keys
from kit.views.gate import Gate, gates_of
from kit.views.labels import LINE, Box, measured
from kit.views.panel import Panel, Scene, scene_of
from kit.views.registry import for_model
from kit.views.stage import (
    HEIGHT,
    WIDTH,
    Character,
    Message,
    Stage,
    Wall,
    draw_stage,
    places,
    stage_panel,
)
from kit.views.tape import FOLD, NEXT_WIDE, Card, Tape
from kit.views.wires import on
from tests.keyed import check_keys
from tests.views.frames import classed

NOT_YET = {
    *("tcm", "dataplane", "coordinator", "replica"),
    *("vnodes", "tablets", "resize"),
    *("balance", "tablet", "worlds"),
}
"""Models whose picture is none of these stages: a ring, a grid, lines down the page."""
BESIDE = {"worlds": "topology"}
"""What is a picture, too, beside the one in its slot."""
UNCHANGED: dict[str, dict[str, str]] = {}
"""Steps that a picture does not show, as a model's kinds of action with the reason."""
MOST_STEPS = 120
"""Of each run: some go on for ever."""
LEAST, MOST_EXCUSED = 0.85, 0.05
LEFT_OUT = {"trail", "state-strip", "tape"}
MARKS = {"moved", "changed", "missing"}
PORTED = sorted(set(entries()) - NOT_YET)
FEW, SHARE = 2, 3
"""A landing draws the first runs of a model, then one in so many; the deep tests the others."""
SOME_AND_OTHERS = pytest.mark.parametrize(
    "others", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["some", "others"]
)


@cache
def runs(model: str) -> tuple[tuple[str, tuple[Scene, ...]], ...]:
    """Every scenario of a model, registered or a file, played to its end: all its moments."""
    registered = (
        (scenario.name, open_named(f"{model}/{scenario.name}").timeline)
        for scenario in entries()[model].scenarios
    )
    found = []
    for name, timeline in (*registered, *filed().get(model, ())):
        while len(timeline.moments) <= MOST_STEPS and timeline.forward() is not None:
            pass
        found.append((name, tuple(scene_of(timeline, moment.id) for moment in timeline.moments)))
    return tuple(found)


@cache
def filed() -> dict[str, list[tuple[str, Timeline]]]:
    """The same of every file, by its model."""
    found: dict[str, list[tuple[str, Timeline]]] = {}
    for name, path in files().items():
        timeline = open_file(path)
        found.setdefault(timeline.model.name.partition("/")[0], []).append((name, timeline))
    return found


def drawn(model: str, others: bool) -> Iterator[tuple[str, tuple[tuple[Scene, Frag], ...]]]:
    """The picture of every moment of some runs of a model, or of its other ones."""
    for at, (name, scenes) in enumerate(runs(model)):
        if (at >= FEW and at % SHARE > 0) == others:
            yield name, tuple((scene, pictured(scene)) for scene in scenes)


def pictured(scene: Scene) -> Frag:
    """What the panel in the slot of the picture shows, with what is a picture beside it."""

    def work() -> Frag:
        views, beside = for_model(scene.model), BESIDE.get(scene.model.name)
        shown = [panel for panel in views.panels if panel.name in (views.picture, beside)]
        return shown[0].draw(scene) if len(shown) == 1 else h("div", [p.draw(scene) for p in shown])

    return scene.once(pictured, work)


def picture(timeline: Timeline) -> Panel:
    """The panel in the slot of the picture."""
    views = for_model(timeline.model)
    [panel] = [panel for panel in views.panels if panel.name == views.picture]
    return panel


# -- pictures differ -------------------------------------------------------------------------------


def bare(frag: Frag) -> Frag | None:
    """A picture without change marks, trails, strip, tape, and what only tells it in words."""
    classes = (frag.get("class") or "").split()
    if LEFT_OUT & {*classes} or (frag.key or "").startswith("label:trail:"):
        return None
    if frag.tag in ("title", "desc") or classes == ["moved"]:
        return None
    kept = " ".join(name for name in classes if name not in MARKS)
    attrs = tuple(
        (name, kept if name == "class" else value)
        for name, value in frag.attrs
        if name != "aria-label"
    )
    kids = (kid if isinstance(kid, str) else bare(kid) for kid in frag.kids)
    return Frag(frag.tag, attrs, tuple(kid for kid in kids if kid is not None), frag.key)


def waited_for(scene: Scene) -> tuple[Gate, ...]:
    """The gates beside a picture."""
    views = for_model(scene.model)
    [panel] = [panel for panel in views.panels if panel.name == (views.picture or "state")]
    return gates_of(scene, panel.gates or views.gates)


@pytest.mark.sweep(3)
@SOME_AND_OTHERS
@pytest.mark.parametrize("model", sorted(entries()))
def test_a_step_changes_the_picture(model: str, others: bool) -> None:
    """Of every family: in at least 85 % of the steps the picture is another one, or the gate beside
    it, and never twice in a row the same; what is excused is few, and still counts as unchanged.
    """
    steps = unchanged = excused = 0
    excuses = UNCHANGED.get(model, {})
    twice = []
    same_kinds: dict[str, int] = {}
    for name, frames in drawn(model, others):
        was_same = False
        for at, ((former, before), (scene, after)) in enumerate(pairwise(frames), 1):
            steps += 1
            is_same = bare(before) == bare(after) and waited_for(former) == waited_for(scene)
            kind = scene.model.kind(scene.action)
            unchanged += is_same
            excused += is_same and kind in excuses
            if is_same:
                same_kinds[kind] = same_kinds.get(kind, 0) + 1
            if is_same and was_same and kind not in excuses:
                twice.append(f"{name} step {at}: {scene.model.verb(scene.action)}")
            was_same = is_same
    assert not twice
    assert unchanged <= (1 - LEAST) * steps, same_kinds
    assert excused <= MOST_EXCUSED * steps


def said_by(frag: Frag) -> dict[str, set[str]]:
    """What stands at each character and on its disk."""
    return {
        part.key: {kid.text() for kid in part.walk() if kid.tag == "text"}
        for part in frag.walk()
        if part.key and (part.get("class") or "").startswith("character")
    }


def marked(frag: Frag) -> set[str]:
    """The keyed parts in which something is marked as changed."""
    return {
        part.key
        for part in frag.walk()
        if part.key and any("moved" in (kid.get("class") or "").split() for kid in part.walk())
    }


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_what_a_step_changed_is_marked(model: str, others: bool) -> None:
    """Whoever says something that it did not say before has a mark, and at the start nobody has."""
    for name, frames in drawn(model, others):
        if frames[0][1].get("class") != "stage":
            continue
        assert not marked(frames[0][1])
        for at, ((_, before), (_, after)) in enumerate(pairwise(frames), 1):
            was, marks = said_by(before), marked(after)
            new = {key for key, said in said_by(after).items() if said - was.get(key, said)}
            assert new <= marks, (name, at, new - marks)


def test_each_change_has_its_mark() -> None:
    """A tag, a line, a sign, the crown, how full a disk is, how somebody is: each for itself."""
    node = Character("A", "n:A", tag="v1", holds=("one", "two"), fill=0.5, reads=True, writes=True)
    changes = (
        *({"tag": "v2"}, {"holds": ("one",)}, {"holds": ("one", "three")}, {"fill": 1.0}),
        *({"sign": "lock"}, {"leads": True}, {"health": "down"}, {"reads": False}),
    )
    before = replace(QUIET, characters=(node, *CAST[1:]))
    scene = scene_of(Timeline(build("group0")), 0)
    for change in changes:
        after = replace(before, characters=(replace(node, **change), *CAST[1:]))
        assert marked(draw_stage(scene, after, "said", before)) == {"n:A"}, change
    assert not marked(draw_stage(scene, before, "said", before))
    assert not marked(draw_stage(scene, before, "said"))


def test_what_is_new_of_a_log_is_marked() -> None:
    """A card, how far a node is, an envelope that was sent; no count of older cards."""
    cards = [Card(f"log:{i}", f"entry {i}", (("A", f"at:A:{i}", "stored"),)) for i in range(5)]
    before = replace(QUIET, tape=tuple(cards[:4]))
    cards[3] = replace(cards[3], marks=(("A", "at:A:3", "applied"),))
    after = replace(before, tape=tuple(cards), messages=(Message("A", "B", "hello"),))
    scene = scene_of(Timeline(build("group0")), 0)
    marks = marked(draw_stage(scene, after, "said", before))
    assert marks >= {"log:4", "at:A:3", "sent:A:B:hello"}
    assert not marks & {"tape:fold", "log:2", "at:A:2", "n:A"}


SHOWN = {
    "crown": "crown",
    "sign lock": "lock",
    "sign key": "key",
    "sign ban": "ban",
    "sign joining": "+",
    "sign ballot": "ballot",
    "sign gone": "✗",
    "fill": "fill",
    "log-card dashed": "dashed card",
    "log-card void": "struck out",
    "character down": "hollow",
    "opened": "open envelope",
    "rift": "torn",
    "bars": "with bars",
    "envelope": "envelope",
    "place-of": "dot",
    "moved": "outline",
}
"""Classes of what is drawn, and what the legend calls them."""


def without_hue(part: Frag) -> str:
    """The classes of a part, but for those that say whose it is."""
    return re.sub(r" ?\bh-[a-g]\b", "", part.get("class") or "")


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_each_mark_is_explained_beside_the_picture(model: str, others: bool) -> None:
    """The legend names each mark that is there at this moment."""
    for _, frames in drawn(model, others):
        for scene, frag in frames:
            views = for_model(scene.model)
            [panel] = [each for each in views.panels if each.name == views.picture]
            if frag.get("class") == "stage" and panel.legend:
                told = panel.legend(scene)
                seen = {SHOWN.get(without_hue(part)) for part in frag.walk()}
                assert not [mark for mark in seen if mark and f"{mark}: " not in told]


def test_cards_are_as_wide_as_their_words() -> None:
    """Words of real logs are whole in two lines; the place of the next card is within the tape, and
    so is the count of those that are folded within its own.
    """
    words = ("1 x", "2 decommission A", "19 → write both read new")
    cards = [Card(f"log:{i}", words[i % 3]) for i in range(20)]
    tape = Tape(cards, "log", 0, WIDTH)
    texts = [part.text() for part in tape.draw({}, None, ()).walk() if part.tag == "text"]
    assert not [text for text in texts if "…" in text]
    assert " ".join(texts).endswith(" ".join(words[2:] + words[:2]))
    assert tape.lefts[-1] + NEXT_WIDE <= WIDTH
    assert measured(texts[0]) <= FOLD - 2


def test_long_words_have_fewer_cards() -> None:
    """Two cards whose words are whole tell more than three that are cut; what is new of the count
    of folded ones is known by the same rule.
    """
    words = ("9 fence: 4", "10 C → decommissioning", "11 write both read new → left token ring")
    cards = [Card(f"log:{i}", words[i % 3]) for i in range(9)]
    tape = Tape(cards, "log", 0, WIDTH)
    drawn = tape.draw({}, cards[:-1], ())
    texts = [part.text() for part in drawn.walk() if part.tag == "text"]
    assert not [text for text in texts if "…" in text]
    assert len(tape.shown) == 2 < len(Tape([Card(f"log:{i}", "1 x") for i in range(9)], "log", 0,
                                           WIDTH).shown)  # fmt: skip


@pytest.mark.parametrize("model", ["raft", "raft_groups", "commit"])
def test_what_disks_say_is_explained(model: str) -> None:
    """Each meaning that a family gives is in the legend of some moment: none is lost."""
    told = set()
    for _, frames in drawn(model, False):
        for scene, _ in frames:
            legends = [panel.legend for panel in for_model(scene.model).panels if panel.legend]
            told |= {mark for legend in legends for mark in legend(scene).split(" · ")}
    marks = {each.partition(": ")[0] for each in told}
    assert marks >= MEANT[model]


MEANT = {
    "raft": {"ballot", "votes B", "✓ 1 of 2", "fill"},
    "raft_groups": {"crown", "above", "t1 ✓2 of 3", "ballot"},
    "commit": {"key", "promise 1B", "r1 1A", "snap 2", "fill"},
}
"""Marks of pictures whose disks have words that no legend knew."""


# -- nothing lies over anything --------------------------------------------------------------------

SOLID = {"head", "drum", "log-card", "state-of", "plate", "body"}
SIZES = {"small": 13.0, "letter-of": 15.0, "": 13.0}
"""Letters by their class, at last of all others; 0: they are not there."""
MOVED = re.compile(r"translate\((-?[\d.]+) (-?[\d.]+)\)")


class Part(Struct, frozen=True):
    """Something that covers a place: a word, or a thing; ``owner`` is the keyed part it is in."""

    what: str
    box: Box
    owner: str
    is_word: bool


def parts(
    frag: Frag,
    x: float = 0,
    y: float = 0,
    owner: str = "",
    sizes: Mapping[str, float] = SIZES,
    solid: Set[str] = SOLID,
) -> Iterator[Part]:
    """Everything in a drawing that covers a place."""
    moved = MOVED.search(frag.get("transform") or "")
    if moved:
        x, y = x + float(moved[1]), y + float(moved[2])
    owner = frag.key or owner
    kinds = {*(frag.get("class") or "").split()}
    at = x + float(frag.get("x") or 0), y + float(frag.get("y") or 0) + float(frag.get("dy") or 0)
    if frag.tag == "text" and frag.text():
        size = next(size for kind, size in sizes.items() if kind in kinds or not kind)
        bold = bool(kinds & {"strong", "letter-of", "now", "let"})
        wide, high = measured(frag.text(), size, bold=bold), LINE * size / 13 - 3
        aside = {"middle": 0, "end": -wide / 2}.get(frag.get("text-anchor") or "", wide / 2)
        place = Box(at[0] + aside, at[1] - size * 0.36, wide, high)
        yield from [Part(frag.text(), place, owner, True)] * bool(size)
    elif frag.tag == "circle" and kinds & solid:
        radius = 2 * float(frag.get("r") or 0)
        middle = x + float(frag.get("cx") or 0), y + float(frag.get("cy") or 0)
        yield Part("a head", Box(*middle, radius, radius), owner, False)
    elif frag.tag == "path" and "drum" in kinds and (shape := DRUM.match(frag.get("d") or "")):
        left, top, bottom = map(float, shape.groups())
        box = Box(x, y + (top + bottom) / 2, -2 * left, bottom - top + 8)
        yield Part("a disk", box, owner, False)
    elif frag.tag == "path" and "crown" in kinds:
        yield Part("a crown", Box(x, y, 24, 12), owner, False)
    elif frag.tag == "rect" and kinds & solid:
        wide, high = float(frag.get("width") or 0), float(frag.get("height") or 0)
        box = Box(at[0] + wide / 2, at[1] + high / 2, wide, high)
        yield Part(f"a {frag.get('class')}", box, owner, False)
    for kid in frag.kids:
        if isinstance(kid, Frag):
            yield from parts(kid, x, y, owner, sizes, solid)


def overlaps(
    frag: Frag, width: float = WIDTH, height: float = HEIGHT, **kinds: Any
) -> Iterator[str]:
    """Words that lie over one another, over a thing that is not theirs, or over the edge."""
    found = [*parts(frag, **kinds)]
    for one, other in combinations(found, 2):
        if not (one.is_word or other.is_word) or not one.box.meets(other.box):
            continue
        if (one.is_word and other.is_word) or one.owner != other.owner:
            yield f"{one.what} over {other.what}"
    for one in found:
        if not Box(width / 2, height / 2, width + 2, height + 2).holds(one.box):
            yield f"{one.what} over the edge"


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_no_word_lies_over_another_thing(model: str, others: bool) -> None:
    """In no frame of any run of a model: measured by the widest fonts."""
    found = {
        (name, at, what)
        for name, frames in drawn(model, others)
        for at, (_, frag) in enumerate(frames)
        for what in overlaps(frag)
    }
    assert not sorted(found)[:10], len(found)


MOST_ASTRAY = 0.05


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_the_words_of_an_envelope_stand_nearer_to_it_than_to_others(
    model: str, others: bool
) -> None:
    """Parked or opened, at least where there is room: so that nobody takes an answer for somebody
    else's.
    """
    labelled = astray = 0
    for _, frames in drawn(model, others):
        for _, frag in frames:
            standing = envelopes(frag)
            titles = {
                part.key or "": next(kid.text() for kid in part.walk() if kid.tag == "title")
                for part in frag.walk()
                if part.key in standing
            }
            words: dict[str, list[Part]] = {}
            for each in parts(frag):
                if each.is_word:
                    words.setdefault(each.owner.removeprefix("label:"), []).append(each)
            said = {key: " ".join(line.what for line in lines) for key, lines in words.items()}
            for key in standing.keys() & words.keys():
                away = {
                    other: min(distance(line.box, place) for line in words[key])
                    for other, place in standing.items()
                }
                alike = {key} | {other for other, title in titles.items() if said[key] in title}
                own = min(away[other] for other in alike & standing.keys())
                labelled += 1
                astray += any(
                    far < own - 1
                    for other, far in away.items()
                    if said.get(other, said[key]) != said[key]
                )
    assert astray <= MOST_ASTRAY * labelled, (astray, labelled)


def distance(box: Box, at: complex) -> float:
    """How far a point is from a box, along an axis."""
    right, down = abs(at.real - box.x) - box.width / 2, abs(at.imag - box.y) - box.height / 2
    return max(right, down, 0)


def test_three_in_a_row_stand_at_corners() -> None:
    """So the wire between two of them does not run over the third one's."""
    spots, looks = places(3, 0, 63, 284)
    assert looks.rows == 1
    assert spots[0].imag == spots[2].imag < spots[1].imag
    straight, _ = places(3, 0, 63, 190)
    assert len({spot.imag for spot in straight}) == 1


@pytest.mark.parametrize("count", [3, 4])
def test_who_stands_lower_has_its_words_beside_its_head(count: int) -> None:
    """So it stands as low as there is room for its head, and wires to it are long."""
    names = tuple("ABCD"[:count])
    cast = tuple(Character(x, f"n:{x}", tag=f"tag {x}", holds=("holds",)) for x in names)
    frag = staged(Stage(names, cast, tape=(Card("log:1", "1 x"),)))
    heads = [stands(frag, name) for name in names]
    assert heads[1].imag == max(at.imag for at in heads) > heads[0].imag + 100
    for name, head in zip(names, heads, strict=True):
        [tag] = [each.box for each in parts(frag) if each.what == f"tag {name}"]
        assert (tag.y > head.imag + 20) is (head.imag < heads[1].imag), name
    assert not [*overlaps(frag)]


def test_pairs_stand_as_far_apart_as_there_is_room() -> None:
    """What travels between them, and its words, need it."""
    spots, looks = places(4, 0, 4, 284, 1)
    assert {spot.real for spot in spots} == {looks.wide / 2, WIDTH - looks.wide / 2}
    assert looks.head == places(4, 0, 4, 284, 2)[1].head


def test_wires_lead_from_head_to_head() -> None:
    """Not from the edge of a disk, nor of words beside it, if there is a way around these."""
    cast = tuple(Character(x, f"n:{x}", tag="tag", holds=("holds", "more")) for x in "ABCD")
    sent = tuple(Message(a, b, "hi") for a, b in ("AC", "CA", "BD", "DB"))
    frag = staged(Stage(("A", "B", "C", "D"), cast, messages=sent))
    for each in sent:
        way = curve(keyed(frag, f"wire:sent:{each.source}:{each.target}:hi").get("d") or "", 1)
        for end, name in zip(way, (each.source, each.target), strict=True):
            assert abs(end - stands(frag, name)) < 30


WIRES = {"wire thin", "way"}
DRUM = re.compile(r"M(-?[\d.]+) (-?[\d.]+)a[\d.]+ 4 0 0 1 [\d.]+ 0V(-?[\d.]+)")


def covers(thing: Part, at: complex) -> bool:
    """Whether a point lies on a thing; heads are round."""
    box = thing.box
    if thing.what == "a head":
        return abs(at - complex(box.x, box.y)) < box.width / 2
    return box.meets(Box(at.real, at.imag, 0, 0))


def crossed(frag: Frag) -> Iterator[str]:
    """Wires that run over the head, the disk or the name of anybody; who stands at its end is
    touched with the edge only.
    """
    things = [
        each for each in parts(frag)
        if not each.owner.startswith(("label:", "gate:", "strip", "tape", "log:", "card:"))
    ]  # fmt: skip
    for part in frag.walk():
        if not any((part.get("class") or "").startswith(kind) for kind in WIRES):
            continue
        if part.get("d"):
            for at in curve(part.get("d") or "", 30)[1:-1]:
                yield from (f"a wire over {each.what} of {each.owner}" for each in things
                            if covers(each, at))  # fmt: skip


CROSSED = {"voters", "group0/five-voters", "group0/read-barrier-waits", "raft/figure-7"}
"""Seven nodes in two rows leave no free way for some wires of these stories."""


@pytest.mark.sweep(3)
@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_no_wire_runs_behind_anybody(model: str, others: bool) -> None:
    """In no frame of any run of a model, but for crowded ones."""
    found = {
        (name, at, what)
        for name, frames in drawn(model, others)
        for at, (_, frag) in enumerate(frames)
        for what in crossed(frag)
    }
    crowded = CROSSED & {name for name, _ in drawn(model, others)}
    assert {name for name, _, _ in found} == crowded, sorted(found)[:10]


def words_apart(frag: Frag) -> Iterator[str]:
    """Words at a trail that were cut, or, without a line that leads to it, are nearer to a trail of
    which other words are said than to any that carries them.
    """
    trails = {part.key: part for part in frag.walk() if (part.key or "").startswith("trail:")}
    ways = {
        key: [at for each in trail.walk() if each.get("class") == "way"
              for at in curve(each.get("d") or "", 30)]
        for key, trail in trails.items()
    }  # fmt: skip
    said: dict[str, list[Part]] = {}
    for part in parts(frag):
        if part.owner.startswith("label:"):
            said.setdefault(part.owner.removeprefix("label:"), []).append(part)
            if "…" in part.what:
                yield f"{part.what} is cut"
    carried = {key: next(part.text() for part in trail.walk() if part.tag == "title")
               for key, trail in trails.items()}  # fmt: skip
    led = {(part.key or "").removeprefix("label:") for part in frag.walk() if any(
        isinstance(kid, Frag) and kid.get("class") == "lead" for kid in part.kids)}  # fmt: skip
    for key in said.keys() & ways.keys() - led:
        words = " ".join(line.what for line in said[key])
        alike = [way for each, way in ways.items() if words.partition(",")[0] in carried[each]]
        own = min(away(said[key], way) for way in (ways[key], *alike))
        for other in said.keys() & ways.keys():
            if away(said[key], ways[other]) + AIR < own:
                yield f"{said[key][0].what} stands at {other}, not at {key}"


AIR = 12.0
"""How much nearer to another line words may be, between the points of both that are looked at."""


def away(lines: list[Part], way: list[complex]) -> float:
    """How far a line is from words."""
    return min(
        max(abs(at.real - box.x) - box.width / 2, abs(at.imag - box.y) - box.height / 2, 0)
        for box in (line.box for line in lines)
        for at in way
    )


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_words_are_whole_and_stand_at_what_they_say(model: str, others: bool) -> None:
    """In no frame of any run are words of what travels cut, or those of another line."""
    found = {
        (name, at, what)
        for name, frames in drawn(model, others)
        for at, (_, frag) in enumerate(frames)
        for what in words_apart(frag)
    }
    assert not sorted(found)[:10], len(found)


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_who_stands_aside_is_heard_out(model: str, others: bool) -> None:
    """In no frame of any run are words of a client or an operator cut, nor those of a card."""
    found = {
        (name, at, part.text())
        for name, frames in drawn(model, others)
        for at, (_, frag) in enumerate(frames)
        for each in (*classed(frag, "aside"), *classed(frag, "tape"))
        for part in each.walk()
        if part.tag == "text" and part.text().endswith("…") and part.text() != "…"
    }
    assert not sorted(found)[:10], len(found)


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_words_that_stand_away_have_a_line_to_their_own_thing(model: str, others: bool) -> None:
    """It ends beside the thing, and runs over none on its way."""
    for name, frames in drawn(model, others):
        for at, (_, frag) in enumerate(frames):
            things = [each for each in parts(frag) if not each.owner.startswith("gate:")]
            for label in frag.walk():
                for lead in label.kids if (label.key or "").startswith("label:") else ():
                    if isinstance(lead, Frag) and lead.get("class") == "lead":
                        pairs = re.findall(r"(-?\d+) (-?\d+)", lead.get("d") or "")
                        start, end = (complex(*map(float, pair)) for pair in pairs)
                        points = [start + (end - start) * i / 20 for i in range(1, 21)]
                        over = [each.what for each in things for point in points
                                if each.owner != label.key and covers(each, point)]  # fmt: skip
                        assert not over, (name, at, label.key)


def envelopes(frag: Frag) -> dict[str, complex]:
    """Where each envelope stands, parked or opened."""
    return {
        part.key: complex(*map(float, moved.groups()))
        for part in frag.walk()
        if part.key and (part.get("class") or "").startswith(("envelope", "trail"))
        for shape in (part, *(kid for kid in part.kids if isinstance(kid, Frag)))
        if (moved := MOVED.search(shape.get("transform") or ""))
    }


MOST_AWAY = 40.0
"""How far words are from their envelope at most, without a line to it."""


@pytest.mark.sweep(3)
@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_words_far_from_their_envelope_have_a_line_to_it(model: str, others: bool) -> None:
    """Else they seem to be about whatever they stand at; those for which there is no room are left
    out.
    """
    for name, frames in drawn(model, others):
        for at, (_, frag) in enumerate(frames):
            led = {part.key for part in frag.walk() if any(
                isinstance(k, Frag) and k.get("class") == "lead" for k in part.kids)}  # fmt: skip
            standing = envelopes(frag)
            titles = {part.key: part.text() for part in frag.walk() if part.key in standing}
            words: dict[str, list[Part]] = {}
            for each in parts(frag):
                if each.is_word and each.owner.startswith("label:") and each.owner not in led:
                    words.setdefault(each.owner.removeprefix("label:"), []).append(each)
            trailed = [key for key in words if key.startswith("trail:")]
            several = {*trailed} if len(classed(frag, "trail")) > 1 else set()
            for key in words.keys() & standing.keys() - several:  # said once of what is alike
                said = " ".join(line.what for line in words[key])
                alike = [key, *(other for other, title in titles.items() if said in title)]
                far = min(distance(line.box, standing[other])
                          for line in words[key] for other in alike)  # fmt: skip
                assert far <= MOST_AWAY, (name, at, said, far)


def test_both_ways_between_two_are_apart() -> None:
    """Also where words of who stands there leave room for wires at one side only: what comes and
    what goes is told apart by its wire.
    """
    cast = tuple(Character(x, f"n:{x}", leads=True, tag=f"ballot 1{x}", holds=("promise 1A", "x"))
                 for x in "ABC")  # fmt: skip
    sent = (Message("A", "B", "there"), Message("B", "A", "back"))
    drawn = staged(Stage(("A", "B", "C"), cast, messages=sent, tape=(), lines=3))
    there, back = (curve(keyed(drawn, f"wire:sent:{each.source}:{each.target}:{each.words}")
                         .get("d") or "", 20) for each in sent)  # fmt: skip
    assert min(abs(there[10] - at) for at in back) >= 12


ASTRAY = 8.0


@pytest.mark.parametrize("model", ["raft", "raft_groups", "paxos", "gossip"])
def test_no_envelope_stands_on_the_wire_of_others(model: str) -> None:
    """It seems to come from somebody else there: on the lines of what travels only as a last
    resort.
    """
    seen, astray = 0, []
    for name, frames in drawn(model, False):
        for at, (_, frag) in enumerate(frames):
            ways = {part.key: curve(part.get("d") or "", 40) for part in frag.walk()
                    if (part.key or "").startswith("wire:")}  # fmt: skip
            trailed = [curve(part.get("d") or "", 40) for part in classed(frag, "way")]
            for key, place in envelopes(frag).items():
                if own := ways.get(f"wire:{key}"):
                    seen += 1
                    off = min(abs(place - point) for point in own)
                    others = (*(way for way in ways.values() if way != own), *trailed)
                    near = min((abs(place - point) for way in others for point in way), default=99)
                    astray += [(name, at, key)] * (near < ASTRAY < off)
    assert seen
    assert len(astray) <= MOST_ASTRAY / 2 * seen, astray


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_nobody_who_is_dead_opens_a_letter(model: str, others: bool) -> None:
    """What is sent to who was down and stays so is lost, unless a network says that it came."""
    for _, frames in drawn(model, others):
        for (_, before), (scene, frag) in pairwise(frames):
            down = silent(before) & silent(frag)
            if isinstance(scene.model, NetworkModel):
                continue
            for trail in classed(frag, "trail"):
                opened = [each for each in trail.walk() if each.get("class") == "opened"]
                assert not opened or (trail.key or "").partition(">")[2] not in down


def silent(frag: Frag) -> set[str]:
    """The keys of who is down or dead in a picture."""
    gone = (*classed(frag, "down"), *classed(frag, "gone"))
    return {each.key or "" for each in gone if "character" in (each.get("class") or "")}


def test_a_flat_head_has_a_flat_halo() -> None:
    """What is around the box of group 0 while it acts is no ring, which would be cut by it."""
    halos = set()
    for _, frames in drawn("truncate", False):
        for _, frag in frames:
            [box] = [each for each in frag.walk() if each.key == "host:group0"]
            halos |= {k.tag for k in box.walk() if k.get("class") == "moved"}
    assert halos == {"rect"}


def test_overlaps_are_found() -> None:
    """Two words in one place, and a word over another's head, are told; a head's own is not."""
    word = Frag("text", (("x", "50"), ("y", "50")), ("word",), "a")
    head = Frag(
        "circle", (("r", "9"), ("class", "head"), ("transform", "translate(50 50)")), (), "b"
    )
    own = Frag("g", (), (Frag("circle", head.attrs, (), None), word), "c")
    assert [*overlaps(Frag("svg", (), (word, head), None))] == ["word over a head"]
    assert not [*overlaps(Frag("svg", (), (Frag("g", own.attrs, (own.kids[0],), "d"),), None))]


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_nobody_moves(model: str, others: bool) -> None:
    """A character that is there before and after a step stands where it stood."""
    for _, frames in drawn(model, others):
        stood: dict[str, str] = {}
        for _, frag in frames:
            for part in frag.walk():
                if part.key and (part.get("class") or "").startswith("character"):
                    at = part.get("transform") or ""
                    if not part.key.startswith("gate:"):
                        assert stood.setdefault(part.key, at) == at


@pytest.mark.parametrize("count", range(1, 25))
@pytest.mark.parametrize("left", [0.0, 132.0])
@pytest.mark.parametrize("lines", [0, 2, 4])
def test_each_has_room(count: int, left: float, lines: int) -> None:
    """From one to 24 characters stand apart from each other, inside of the stage."""
    top, bottom = 92.0, HEIGHT - 42
    spots, looks = places(count, left, top, bottom, lines)
    assert len(spots) == count
    for one, other in combinations(spots, 2):
        apart = abs(one.real - other.real) >= looks.wide - 1
        assert apart or abs(one.imag - other.imag) >= looks.above + looks.below - 1
    for spot in spots:
        assert left + looks.wide / 2 - 1 <= spot.real <= WIDTH - looks.wide / 2 + 1
        assert top - 1 <= spot.imag - looks.above
        is_low = looks.beside and spot.imag > spots[0].imag
        below = max(looks.head, looks.block / 2) if is_low else looks.below
        assert spot.imag + below <= bottom + 1


# -- what is declared is drawn ---------------------------------------------------------------------

CAST = tuple(Character(name, f"n:{name}") for name in "ABCD")
QUIET = Stage(("A", "B", "C", "D"), CAST)


def staged(stage: Stage, name: str = "group0") -> Frag:
    """A stage as it is drawn at the start of a model."""
    timeline = Timeline(build(name))
    return draw_stage(scene_of(timeline, 0), stage, "said")


def keyed(frag: Frag, key: str) -> Frag:
    """A part by its key."""
    return next(part for part in frag.walk() if part.key == key)


def test_envelopes_stand_at_their_wires() -> None:
    """However many there are between two: none floats between the wires of others."""
    sent = tuple(Message("A", "B", f"message {i} of more") for i in range(6))
    frag = staged(replace(QUIET, messages=(*sent, Message("B", "A", "an answer"))))
    for each in sent:
        key = f"sent:A:B:{each.words}"
        way = curve(keyed(frag, f"wire:{key}").get("d") or "", 40)
        moved = MOVED.search(keyed(frag, key).get("transform") or "")
        assert moved
        assert min(abs(complex(*map(float, moved.groups())) - at) for at in way) < 40


def test_lines_of_a_label_are_about_as_long() -> None:
    """No word stands alone in the last line, where two lines can share the words."""
    frag = staged(replace(QUIET, messages=(Message("A", "B", "schema: vote? table"),)))
    label = keyed(frag, "label:sent:A:B:schema: vote? table")
    assert [part.text() for part in label.walk() if part.tag == "text"] == [
        "schema:",
        "vote? table",
    ]


def test_equal_messages_are_one_pile() -> None:
    """Two that say the same are counted; one that is held has bars, a lost one is torn."""
    same, held = Message("A", "B", "hello"), Message("B", "C", "wait", held=True)
    lost = Message("C", "A", "gone")
    frag = staged(replace(QUIET, messages=(same, same, held), lost=(lost,)))
    assert keyed(frag, "label:sent:A:B:hello").text() == "hello ×2"
    assert (keyed(frag, "sent:A:B:hello").get("class") or "") == "envelope many h-a"
    assert (keyed(frag, "sent:B:C:wait:held").get("class") or "") == "envelope held h-b"
    torn = keyed(frag, "sent:C:A:gone:torn")
    assert torn.get("class") == "envelope torn h-c"
    assert "(lost)" in torn.text()


def test_a_message_stands_on_its_wire() -> None:
    """Its envelope is between sender and receiver; where nobody is known it is near its sender."""
    frag = staged(replace(QUIET, messages=(Message("A", "C", "hello"), Message("B", "", "late"))))
    for key in ("sent:A:C:hello", "sent:B::late"):
        assert keyed(frag, f"wire:{key}").get("d")
        assert MOVED.search(keyed(frag, key).get("transform") or "")


def test_a_message_says_what_such_messages_are_for() -> None:
    """Behind what it says, so that a press on the envelope shows both."""
    sent = Message("A", "C", "hello", title="a greeting", why="Friends greet.")
    frag = staged(replace(QUIET, messages=(sent, replace(sent, words="bye", held=True, why=""))))
    titles = [next(p for p in keyed(frag, key).walk() if p.tag == "title").kids[0]
              for key in ("sent:A:C:hello", "sent:A:C:bye:held")]  # fmt: skip
    assert titles == ["A → C: a greeting. Friends greet.", "A → C: a greeting (held)"]


@pytest.mark.parametrize("group", [("A",), ("A", "B"), ("A", "D"), ("B", "C", "D"), ("A", "C")])
def test_a_wall_parts_a_group(group: tuple[str, ...]) -> None:
    """Who goes straight from one of the group to another node crosses the thick line, also where
    the group stands crosswise; within two rows or columns nobody has to.
    """
    frag = staged(replace(QUIET, walls=(Wall(group),)))
    lines = pieces(frag)
    for one, other in combinations("ABCD", 2):
        crossed = any(cross(stands(frag, one), stands(frag, other), *line) for line in lines)
        if (one in group) is not (other in group):
            assert crossed, (one, other)
        elif len(group) == 2 and group != ("A", "C"):
            assert not crossed, (one, other)
    things = [each.box for each in parts(frag) if not each.owner.startswith("label:")]
    for start, end in lines:
        at, over = (start + end) / 2, end - start
        line = Box(at.real, at.imag, abs(over.real) + 4, abs(over.imag) + 4)
        assert not [box for box in things if box.meets(line)]


def test_a_wire_goes_round_a_wall_and_no_word_stands_on_it() -> None:
    """Between two on one side of it; between both sides it has to cross."""
    client = Character("c1", "op:0", tag="an answer", kind="client")
    apart = replace(QUIET, sides=(client,), walls=(Wall(("C", "D")),))
    frag = staged(replace(apart, messages=(Message("c1", "B", "hello", "sent:1"),)))
    way = list(curve(keyed(frag, "wire:sent:1").get("d") or "", 40))
    for start, end in pieces(frag):
        assert not any(cross(a, b, start, end) for a, b in pairwise(way))
        line = Box(((start + end) / 2).real, ((start + end) / 2).imag,
                   abs((end - start).real) + 2, abs((end - start).imag) + 2)  # fmt: skip
        assert not [each.what for each in parts(frag) if each.is_word and each.box.meets(line)]


def pieces(frag: Frag) -> list[tuple[complex, complex]]:
    """The straight pieces of the thick line."""
    wall = next(part for part in frag.walk() if part.get("class") == "wall")
    ends = map(float, re.findall(r"-?\d+", wall.get("d") or ""))
    drawn_lines = zip(*[ends] * 4, strict=True)
    return [(complex(x1, y1), complex(x2, y2)) for x1, y1, x2, y2 in drawn_lines]


def stands(frag: Frag, name: str) -> complex:
    """Where a character stands."""
    moved = MOVED.search(keyed(frag, f"n:{name}").get("transform") or "")
    assert moved
    return complex(float(moved[1]), float(moved[2]))


def curve(way: str, steps: int) -> list[complex]:
    """Points along a wire that is drawn, both ends included."""
    numbers = [float(each) for each in re.findall(r"-?\d+", way)[:8]]
    found = tuple(complex(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True))
    a, b, c, d = found
    return [on((a, b, c, d), i / steps) for i in range(steps + 1)]


def cross(a: complex, b: complex, c: complex, d: complex) -> bool:
    """Whether two lines between points cross."""

    def left(p: complex, q: complex, r: complex) -> bool:
        return ((q - p).conjugate() * (r - p)).imag > 0

    return left(a, b, c) != left(a, b, d) and left(c, d, a) != left(c, d, b)


def test_a_one_way_wall_shows_the_way_that_is_open() -> None:
    """An arrow leads from those who still reach the others."""
    frag = staged(replace(QUIET, walls=(Wall(("A",), one_way=True),)))
    assert [part for part in frag.walk() if part.get("class") == "tip"]


def test_a_cut_between_two_is_a_bar_across_their_wire() -> None:
    """It stands where the wire between them bends; others still reach both."""
    frag = staged(replace(QUIET, walls=(Wall(("A",), beyond="B"),)))
    [bar] = pieces(frag)
    wire = next(part for part in frag.walk() if part.get("class") == "wire thin")
    [*_, middle] = curve(wire.get("d") or "", 2)[:2]
    assert abs(sum(bar) / 2 - middle) < 2
    assert keyed(frag, "wall:A,B:cut").text().startswith("cut: A and B")


def test_old_cards_are_folded_with_their_number() -> None:
    """The newest are seen, and what is on its way to the log is the dashed card that comes next."""
    tape = tuple(Card(f"log:{i}", f"entry {i}", (("A", f"at:A:{i}", "applied"),)) for i in range(9))
    sent = Message("A", "log", "entry 9")
    frag = staged(replace(QUIET, tape=tape, messages=(sent,)))
    assert keyed(frag, "tape:fold").text() == "6 earlier entries +6"
    assert [part.key for part in keyed(frag, "tape").walk() if (part.key or "")[:4] == "log:"] == [
        f"log:{i}" for i in (6, 7, 8)
    ]
    coming = keyed(frag, "tape:next")
    assert "entry 9" in coming.text()
    assert [part for part in coming.walk() if "dashed" in (part.get("class") or "")]
    reached = keyed(frag, "at:A:8")
    assert reached.get("class") == "reached applied h-a"


def test_the_strip_says_the_way_and_what_follows() -> None:
    """The state of now is filled; states before it are folded where there is no room for all."""
    ways = (("one", "", "two"), ("two", "", "three"), ("two", "x", "one"))
    machine = StateDiagram("m", "m", ways, frozenset("x"))
    standing = Standing(machine, ("one", "two"))
    frag = staged(replace(QUIET, standing=standing, has_strip=True))
    words = [part.text() for part in keyed(frag, "strip").walk() if part.tag == "text"]
    assert words == ["one", "two", "three", "↩ one"]
    long = Standing(machine, ("one", "two") * 20)
    shown = keyed(staged(replace(QUIET, standing=long, has_strip=True)), "strip:passed:folded")
    assert int(shown.text()) > 20


def test_many_nodes_are_a_heat_map() -> None:
    """Above 24 the stage is a heat map, in which each node has its key."""
    timeline = Timeline(build("topology", {"nodes": 40, "operations": ("cleanup",)}))
    timeline.forward()
    drawn = picture(timeline).draw(scene_of(timeline, timeline.at))
    assert [part for part in drawn.walk() if part.get("class") == "heat"]
    assert len([key for key in keys(drawn) if key.startswith("n:")]) == 40
    check_keys(drawn)


def test_a_wire_begins_beside_the_words_of_who_stands_aside() -> None:
    """No line strikes out what a client says; an arrow's head shows who shall get the message."""
    client = Character("c1", "op:0", tag="a long answer", kind="client")
    sent = Message("c1", "B", "hello")
    drawn = staged(replace(QUIET, sides=(client,), messages=(sent,)))
    assert not [*crossed(drawn)]
    way = next(part.get("d") or "" for part in drawn.walk() if part.get("class") == "wire thin")
    assert way.count("M") == 2


def test_the_first_meanings_of_a_family_stand_first() -> None:
    """What has to be guessed is beside the title, whatever the mark."""
    meant = {"crown": "leads", "below a node": "its term"}
    led = replace(QUIET, characters=(replace(CAST[0], leads=True), *CAST[1:]))
    panel = stage_panel("nodes", "Nodes", lambda scene: led, meanings=meant)
    scene = scene_of(Timeline(build("group0")), 0)
    told = panel.legend(scene).split(" · ") if panel.legend else []
    assert told[:2] == ["crown: leads", "below a node: its term"]


def test_who_has_a_request_shows_the_square_of_its_client() -> None:
    """At its left, as long as the client says so; no wire to it crosses the picture."""
    client = Character("c1", "op:0", tag="asks", kind="client", asks="B")
    drawn = staged(replace(QUIET, sides=(client,)))
    square = keyed(drawn, "asks:op:0")
    assert square.text().endswith("c1")
    assert square in [*keyed(drawn, "n:B").walk()]
    assert not [*crossed(drawn)]
    answered = staged(replace(QUIET, sides=(replace(client, asks=""),)))
    assert "asks:op:0" not in keys(answered)


def test_what_is_on_its_way_to_the_log_goes_to_its_own_card() -> None:
    """Of two that differ each wire ends below the dashed card with its words."""
    card = Card("log:1", "1 start", (("A", "at:A:1", "applied"),))
    sent = (Message("A", "log", "make t", "one"), Message("B", "log", "drop u", "two"))
    drawn = staged(replace(QUIET, tape=(card,), messages=sent))
    ends = [curve(keyed(drawn, f"wire:{key}").get("d") or "", 1)[-1].real for key in ("one", "two")]
    lefts = [
        float(next(p for p in keyed(drawn, key).walk() if p.tag == "rect").get("x") or 0)
        for key in ("tape:next", "tape:next1")
    ]
    assert all(left < end < left + NEXT_WIDE for left, end in zip(lefts, ends, strict=True))


def test_a_wire_ends_at_the_marks_that_are_seen() -> None:
    """Where only B has the card, it begins at B's mark; where nobody has, at the card."""
    for has, low in ((("", "stored", ""), 60.0), (("", "", ""), 43.0)):
        marks: Any = tuple((x, f"at:{x}:1", reach) for x, reach in zip("ABC", has, strict=True))
        tape = Tape((Card("log:1", "1 start", marks),), "log", 0, WIDTH)
        assert tape.spots["log:1"] == complex(tape.spots["at:B:1"].real, low)
        assert [box.width for box in tape.covered("log:1")] == [17] * any(has)


def test_a_client_has_a_frame_at_which_wires_begin() -> None:
    """As wide as the column, whatever it says; only the lines that are new are marked."""
    now = Character("c1", "op:0", tag="asks", holds=("drop table t", "validates"), kind="client")
    sent, was = Message("c1", "B", "hello"), replace(now, holds=("drop table t", "asked"))
    drawn = staged(replace(QUIET, sides=(now,), messages=(sent,)))
    [frame] = [part for part in keyed(drawn, "op:0").walk() if part.get("class") == "rail"]
    right = HEAD + 4 + sum(float(frame.get(side) or 0) for side in ("x", "width"))
    way = next(part.get("d") or "" for part in drawn.walk() if part.get("class") == "wire thin")
    assert abs(curve(way, 1)[0].real - right) < 6
    scene = scene_of(Timeline(build("group0")), 0)
    stage, before = (replace(QUIET, sides=(each,)) for each in (now, was))
    assert len(classed(draw_stage(scene, stage, "said", before), "moved")) == 1


def test_what_failed_has_a_plate() -> None:
    """All lines of a tag that begins so, at whoever stands aside and at nodes, new or not."""
    for tag, plates in (("! lost to epoch 3", 2), ("! replaced", 1), ("done", 0)):
        client = Character("c1", "op:0", tag=tag, holds=("make t",), kind="client")
        stage = replace(QUIET, sides=(client,))
        assert len(classed(keyed(staged(stage), "op:0"), "failed")) == plates
        before = replace(QUIET, sides=(replace(client, tag="asks"),))
        drawn = draw_stage(scene_of(Timeline(build("group0")), 0), stage, "said", before)
        assert marked(drawn) == {"op:0"}
    node = replace(QUIET, characters=(replace(CAST[0], tag="! no room"), *CAST[1:]))
    assert len(classed(staged(node), "failed")) == 1


@pytest.mark.parametrize(("model", "step"), [("schema", 1), ("commit", 3), ("group0", 3)])
def test_clients_say_whom_a_request_is_with(model: str, step: int) -> None:
    """At the start nobody has asked; then its square is at a node."""
    _, frames = next(drawn(model, False))
    asked = [any(key.startswith("asks:") for key in keys(frag)) for _, frag in frames]
    assert not asked[0]
    assert any(asked[: step + 1])


def test_what_many_are_told_alike_is_said_once() -> None:
    """Up to four envelopes of one sender with the same words have their own; of more the first."""

    def labels(count: int) -> int:
        """How many labels there are where so many are asked the same."""
        sent = tuple(Message("A", name, "hello") for name in NAMES[1 : 1 + count])
        cast = tuple(Character(name, f"n:{name}") for name in NAMES)
        drawn = staged(Stage(NAMES, cast, messages=sent))
        assert len(classed(drawn, "envelope")) == count
        return sum((key or "").startswith("label:") for key in keys(drawn))

    assert (labels(4), labels(5)) == (4, 1)


NAMES = tuple("ABCDEF")


def test_a_long_tag_keeps_its_end() -> None:
    """A state before it is cut, the version is not: that is what the next step changes."""
    cast = tuple(Character(name, f"n:{name}", tag="bootstrapping now v12") for name in NAMES)
    half = replace(scene_of(Timeline(build("group0")), 0), half=True)
    drawn = draw_stage(half, Stage(NAMES, cast), "said")
    told = {part.text() for part in drawn.walk() if part.tag == "text"}
    [cut] = told - {*NAMES}
    assert re.fullmatch(r"boot[a-z]*… v12", cut)


def test_what_differs_on_its_way_to_the_log_is_not_one_card() -> None:
    """Two that are alike are counted; where one is otherwise, each has a card of its own."""
    for coming, said in (
        ([("make t", ""), ("make t", "")], ["2 × make t"]),
        ([("make t", ""), ("drop u", "")], ["make t", "drop u"]),
    ):
        drawn = Tape((), "log", 0, 460, coming).draw({}, None, ())
        cards = [part for part in drawn.walk() if (part.key or "").startswith("tape:next")]
        assert [next(k.text() for k in c.walk() if k.tag == "text") for c in cards] == said
