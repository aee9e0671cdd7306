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
from kit.views.diagrams import Standing, StateDiagram
from kit.views.fragment import Frag, h, keys
from kit.views.gate import Gate, gates_of
from kit.views.labels import LINE, Box, measured
from kit.views.panel import Panel, Scene, scene_of
from kit.views.registry import for_model
from kit.views.stage import (
    HIGH,
    PILL,
    WIDE,
    Character,
    Message,
    Paper,
    Row,
    Stage,
    Steps,
    Tile,
    Wall,
    draw_stage,
    places,
)
from kit.views.tape import Card
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
UNCHANGED = {
    "raft_upgrade": {"restart": "who restarts with the same version and option is as before"}
}
"""Steps that a picture does not show, as a model's kinds of action with the reason."""
MOST_STEPS = 120
"""Of each run: some go on for ever."""
LEAST, MOST_EXCUSED = 0.85, 0.05
LEFT_OUT = {"opened", "state-strip", "tape", "taken"}
MARKS = {"moved", "now", "changed", "missing"}
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
    if LEFT_OUT & {*classes}:
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
    """What stands at each character."""
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
        if part.key and any(is_mark({*(k.get("class") or "").split()}) for k in part.walk())
    }


def is_mark(classes: set[str]) -> bool:
    """Whether something is a mark of what changed."""
    return "moved" in classes or ("now" in classes and bool(classes & {"tile", "who"}))


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_what_a_step_changed_is_marked(model: str, others: bool) -> None:
    """Who says something that neither it nor its title said before has a mark, but for what comes
    to its inbox; at the start nobody has.
    """
    for name, frames in drawn(model, others):
        if frames[0][1].get("class") != "stage":
            continue
        assert not marked(frames[0][1])
        for at, ((_, before), (_, after)) in enumerate(pairwise(frames), 1):
            was = {part.key: part.text() for part in before.walk() if part.key}
            now, marks = said_by(without_inbox(after)), marked(after)
            new = {key for key, said in now.items() if any(x not in was.get(key, x) for x in said)}
            assert new <= marks, (name, at, new - marks)


def without_inbox(frag: Frag) -> Frag:
    """A picture without what is told at receivers: it is in flight, and no change of theirs."""
    kids = (kid if isinstance(kid, str) else without_inbox(kid) for kid in frag.kids)
    kept = (kid for kid in kids if isinstance(kid, str) or not is_inbox(kid))
    return Frag(frag.tag, frag.attrs, tuple(kept), frag.key)


def is_inbox(part: Frag) -> bool:
    """Whether a part is a line of an inbox."""
    is_more = part.tag == "text" and part.text().endswith(" more")
    return (part.key or "").startswith("in:") or is_more


def test_each_change_has_its_mark() -> None:
    """A tag, a line, a tile, a sign, the crown, stored rows, how somebody is: each for itself."""
    knows, papers = Row("knows", ("B",)), Paper((("features f", None),))
    node = Character(
        "A",
        "n:A",
        tag="v1",
        holds=("one", Tile("x", "B"), knows, papers, Steps("phases done", 1, 5)),
        stored="rows",
    )
    changes: tuple[dict[str, Any], ...] = (
        *({"tag": "v2"}, {"holds": ("one", "three")}, {"holds": ("one", Tile("y", "B"))}),
        *({"holds": (Row("knows", names), papers)} for names in (("A", "B"), ())),
        {"holds": (Row("knows", ("B",), hatched=("B",)),)},
        {"holds": (Paper((("features f", True),)),)},
        {"holds": (Steps("phases done", 2, 5),)},
        *({"sign": "key"}, {"leads": True}, {"health": "down"}, {"stored": "new rows"}),
    )
    before = replace(QUIET, characters=(node, *CAST[1:]), lines=8)
    scene = scene_of(Timeline(build("group0")), 0)
    for change in changes:
        after = replace(before, characters=(replace(node, **change), *CAST[1:]))
        assert marked(draw_stage(scene, after, "said", before)) == {"n:A"}, change
    assert not marked(draw_stage(scene, before, "said", before))
    assert not marked(draw_stage(scene, before, "said"))


def test_what_is_new_of_a_log_is_marked() -> None:
    """A card and an envelope that was sent; no count of older cards."""
    cards = tuple(Card(f"log:{i}", f"entry {i}", "A") for i in range(5))
    before = replace(QUIET, tape=cards[:4])
    after = replace(before, tape=cards, messages=(Message("A", "B", "hello"),))
    scene = scene_of(Timeline(build("group0")), 0)
    marks = marked(draw_stage(scene, after, "said", before))
    assert marks >= {"log:4", "sent:A:B:hello"}
    assert not marks & {"tape:fold", "log:2", "n:A"}


# -- nothing lies over anything --------------------------------------------------------------------

SOLID = {"head", "state-of", "badge-of"}
SIZES = {"": 13.0}
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
    at = x + float(frag.get("x") or 0), y + float(frag.get("y") or 0)
    if frag.tag == "text" and frag.text():
        size = next(size for kind, size in sizes.items() if kind in kinds or not kind)
        bold = bool(kinds & {"strong", "letter-of", "now", "let"})
        wide, high = measured(frag.text(), size, bold=bold), LINE * size / 13 - 5
        aside = {"middle": 0, "end": -wide / 2}.get(frag.get("text-anchor") or "", wide / 2)
        place = Box(at[0] + aside, at[1] - size * 0.36, wide, high)
        yield from [Part(frag.text(), place, owner, True)] * bool(size)
    elif frag.tag == "circle" and kinds & solid:
        radius = 2 * float(frag.get("r") or 0)
        middle = x + float(frag.get("cx") or 0), y + float(frag.get("cy") or 0)
        yield Part("a head", Box(*middle, radius, radius), owner, False)
    elif frag.tag == "rect" and kinds & solid:
        wide, high = float(frag.get("width") or 0), float(frag.get("height") or 0)
        box = Box(at[0] + wide / 2, at[1] + high / 2, wide, high)
        yield Part(f"a {frag.get('class')}", box, owner, False)
    for kid in frag.kids:
        if isinstance(kid, Frag):
            yield from parts(kid, x, y, owner, sizes, solid)


def overlaps(frag: Frag, width: float = WIDE, height: float = HIGH, **kinds: Any) -> Iterator[str]:
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
    """In no frame of any run of a model."""
    found = {
        (name, at, what)
        for name, frames in drawn(model, others)
        for at, (_, frag) in enumerate(frames)
        if frag.get("class") == "stage"
        for what in overlaps(frag)
    }
    assert not sorted(found)[:10], len(found)


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
def test_who_wrote_it_is_told_by_more_than_a_hue(model: str, others: bool) -> None:
    """In a tile with a hue stands its maker's letter, unless it is that one's own."""
    for name, frames in drawn(model, others):
        for at, (_, frag) in enumerate(frames):
            own = {part: who for who in classed(frag, "character") for part in who.walk()}
            letters = {
                hue: letter.text()
                for who in own.values()
                for letter in classed(who, "letter-of")
                for hue in (who.get("class") or "").split()
                if hue.startswith("h-")
            }
            for tile in classed(frag, "tile"):
                whose = own[tile].get("class") if tile in own else None
                for hue in (tile.get("class") or "").split():
                    if hue in letters and hue not in (whose or "").split():
                        assert letters[hue][0] in tile.text(), (name, at, tile.text())


@SOME_AND_OTHERS
@pytest.mark.parametrize("model", PORTED)
def test_nobody_who_is_dead_opens_a_letter(model: str, others: bool) -> None:
    """What is sent to who was down and stays so is lost, unless a network says that it came."""
    for _, frames in drawn(model, others):
        for (_, before), (scene, frag) in pairwise(frames):
            down = silent(before) & silent(frag)
            if not isinstance(scene.model, NetworkModel):
                came = {(each.key or "").partition(">")[2] for each in classed(frag, "opened")}
                assert not came & down


def silent(frag: Frag) -> set[str]:
    """The keys of who is down or dead in a picture."""
    gone = (*classed(frag, "down"), *classed(frag, "gone"))
    return {each.key or "" for each in gone if "character" in (each.get("class") or "")}


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
                    assert stood.setdefault(part.key, at) == at


@pytest.mark.parametrize("count", range(1, 25))
@pytest.mark.parametrize("lines", [0, 2, 4])
def test_each_has_room(count: int, lines: int) -> None:
    """From one to 24 characters stand apart from each other, inside of the stage."""
    top, bottom = 46.0, HIGH - 54
    spots, cells, looks = places(count, top, bottom, lines)
    assert len(spots) == len(cells) == count
    for one, other in combinations(spots, 2):
        assert abs(one - other) >= 2 * looks.head
    for spot in spots:
        assert looks.wide / 2 - 1 <= spot.real <= WIDE - looks.wide / 2 + 1
        below = PILL + 4 if looks.lines >= 0 else 0
        assert top <= spot.imag - looks.head
        assert spot.imag + looks.head + below <= bottom + 1


# -- what is declared is drawn ---------------------------------------------------------------------

CAST = tuple(Character(name, f"n:{name}") for name in "ABCD")
QUIET = Stage(("A", "B", "C", "D"), CAST)


def staged(stage: Stage) -> Frag:
    """A stage drawn at the start of some model."""
    return draw_stage(scene_of(Timeline(build("group0")), 0), stage, "said")


def keyed(frag: Frag, key: str) -> Frag:
    """The one part with a key."""
    [part] = [each for each in frag.walk() if each.key == key]
    return part


def test_equal_messages_are_one_pile() -> None:
    """Two that say the same are counted; one that is held has bars, a lost one is torn."""
    same, held = Message("A", "B", "hello"), Message("B", "C", "wait", held=True)
    lost = Message("C", "A", "gone")
    frag = staged(replace(QUIET, messages=(same, same, held), lost=(lost,)))
    assert keyed(frag, "label:sent:A:B:hello").text() == "hello ×2"
    assert keyed(frag, "sent:A:B:hello").get("class") == "envelope  h-a"
    assert keyed(frag, "sent:B:C:wait:held").get("class") == "envelope held h-b"
    torn = keyed(frag, "sent:C:A:gone:torn")
    assert torn.get("class") == "envelope torn h-c"
    assert "(lost)" in torn.text()


def test_from_four_messages_on_each_receiver_tells_its_own() -> None:
    """The wire keeps one envelope a direction with a count; words are told below the receiver."""
    sent = [Message(a, "B", f"{word} {a}") for a in "AC" for word in ("ask", "tell")]
    few, many = (staged(replace(QUIET, messages=tuple(sent[:count]))) for count in (3, 4))
    assert [key for key in keys(few) if (key or "").startswith("in:")] == []
    told = [part.text() for part in keyed(many, "n:B").walk() if (part.key or "")[:3] == "in:"]
    assert told == ["ask A", "tell A", "ask C", "tell C"]
    assert [part.text() for part in many.walk() if (part.key or "")[:6] == "label:"] == ["2", "2"]


def test_a_message_says_what_such_messages_are_for() -> None:
    """Behind what it says, so that a press on the envelope shows both; without a receiver it is
    near its sender.
    """
    sent = Message("A", "C", "hello", title="a greeting", why="Friends greet.")
    held = replace(sent, words="bye", held=True, why="")
    frag = staged(replace(QUIET, messages=(sent, held, Message("B", "", "late"))))
    titles = [next(p for p in keyed(frag, key).walk() if p.tag == "title").kids[0]
              for key in ("sent:A:C:hello", "sent:A:C:bye:held")]  # fmt: skip
    assert titles == ["A → C: a greeting. Friends greet.", "A → C: a greeting (held)"]
    assert MOVED.search(keyed(frag, "sent:B::late").get("transform") or "")


@pytest.mark.parametrize("group", [("A",), ("A", "B"), ("A", "D"), ("B", "C", "D"), ("A", "C")])
def test_a_wall_parts_a_group(group: tuple[str, ...]) -> None:
    """Who goes straight from one of the group to another node crosses a double line."""
    frag = staged(replace(QUIET, walls=(Wall(group),)))
    for one, other in combinations("ABCD", 2):
        if (one in group) is not (other in group):
            a, b = stands(frag, one), stands(frag, other)
            assert any(cross(a, b, *line) for line in pieces(frag)), (one, other)


def test_a_cut_between_two_is_a_bar_across_their_wire() -> None:
    """Others still reach both; one that is open one way has an arrow."""
    frag = staged(replace(QUIET, walls=(Wall(("A",), beyond="B"),)))
    [bar] = pieces(frag)
    assert cross(stands(frag, "A"), stands(frag, "B"), *bar)
    assert keyed(frag, "wall:A,B:cut").text().startswith("cut: A and B")
    assert not classed(frag, "now")
    assert classed(staged(replace(QUIET, walls=(Wall(("A",), one_way=True),))), "now")


def pieces(frag: Frag) -> list[tuple[complex, complex]]:
    """The straight pieces of the double line."""
    wall = next(part for part in frag.walk() if part.get("class") == "wall")
    ends = map(float, re.findall(r"-?\d+", wall.get("d") or ""))
    drawn_lines = zip(*[ends] * 4, strict=True)
    return [(complex(x1, y1), complex(x2, y2)) for x1, y1, x2, y2 in drawn_lines]


def stands(frag: Frag, name: str) -> complex:
    """Where a character stands."""
    moved = MOVED.search(keyed(frag, f"n:{name}").get("transform") or "")
    assert moved
    return complex(float(moved[1]), float(moved[2]))


def cross(a: complex, b: complex, c: complex, d: complex) -> bool:
    """Whether two lines between points cross."""

    def left(p: complex, q: complex, r: complex) -> bool:
        return ((q - p).conjugate() * (r - p)).imag > 0

    return left(a, b, c) != left(a, b, d) and left(c, d, a) != left(c, d, b)


def test_old_cards_are_folded_with_their_number() -> None:
    """The newest are seen, in the hue of who wrote them with the letter; what is on its way to the
    log is the dashed card past the bar, which counts those that are alike.
    """
    tape = tuple(Card(f"log:{i}", f"entry {i}", "B") for i in range(9))
    sent = Message("A", "log", "entry 9")
    frag = staged(replace(QUIET, tape=tape, messages=(sent, sent)))
    assert keyed(frag, "tape:fold").text() == "6 earlier entries +6"
    assert [part.key for part in keyed(frag, "tape").walk() if (part.key or "")[:4] == "log:"] == [
        f"log:{i}" for i in (6, 7, 8)
    ]
    assert classed(keyed(frag, "log:8"), "h-b")
    assert [each.text() for each in classed(keyed(frag, "log:8"), "maker")] == ["B"]
    assert "entry 9" in keyed(frag, "tape:next").text()
    assert classed(keyed(frag, "tape:next"), "dashed")
    assert "tape:next1" not in keys(frag)


def test_the_members_of_a_body_have_one_outline() -> None:
    """Those who stand side by side; who is none of them stands outside."""
    for members, outlines in ((("A", "B"), 1), (("A", "C"), 2), ((), 0)):
        frag = staged(replace(QUIET, bodies=(("CMS", members),)))
        boxes = classed(frag, "body-of")
        assert len(boxes) == outlines
        for name in "ABCD":
            at = stands(frag, name).real
            lefts = [(float(b.get("x") or 0), float(b.get("width") or 0)) for b in boxes]
            assert any(left < at < left + wide for left, wide in lefts) is (name in members)


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


@pytest.mark.parametrize(("model", "step"), [("schema", 1), ("commit", 3), ("group0", 3)])
def test_clients_say_whom_a_request_is_with(model: str, step: int) -> None:
    """At the start nobody has asked; then a line leads to a node."""
    _, frames = next(drawn(model, False))
    asked = [any(key.startswith("asks:") for key in keys(frag)) for _, frag in frames]
    assert not asked[0]
    assert any(asked[: step + 1])
