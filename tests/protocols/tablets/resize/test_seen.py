"""What a student sees of a resize, step by step: decision and number, readiness, both maps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from kit.model.flows import flows
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.rules.resize import THRESHOLDS
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene, scene_of
from kit.views.registry import for_model
from tests.views.frames import classed, part, scenes, walk

APPLY = ("apply A", "apply B", "apply C")
SIBLING = ("move 3 C:0 B:0", *APPLY, "end move 3")
MERGES: dict[str, Any] = {"nodes": 3, "initial": 1, "grows": 1, "shrinks": 1}


def walked(given: dict[str, Any], *verbs: str) -> Iterator[Scene]:
    """The scenes of the start and of each verb; without another edition that of the server."""
    model: Any = build("resize", {"edition": "server", **given})
    state = model.start()
    yield Scene(model, state)
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None, verb
        assert option[1] is None, option
        state = model.act(state, option[0])
        yield Scene(model, state)


def last(given: dict[str, Any], *verbs: str) -> Scene:
    """The scene after all verbs."""
    return list(walked(given, *verbs))[-1]


def panel(scene: Scene, name: str) -> Panel:
    """A panel of the model."""
    [found] = [each for each in for_model(scene.model).panels if each.name == name]
    return found


def lines(scene: Scene, name: str) -> dict[str, str]:
    """The lines of a panel: what stands before the first colon, and what behind it; without those
    of a client, who asks whom is no matter of a resize.
    """
    heads = (line.strip().partition(": ") for line in panel(scene, name).text(scene).splitlines())
    return {head: words for head, _, words in heads if not head.startswith("a client")}


def drawn(scene: Scene, name: str, key: str) -> Frag | None:
    """A part of a drawn panel."""
    return part(panel(scene, name).draw(scene), key)


def is_offered(scene: Scene, verb: str) -> bool:
    """Whether a step may be taken now."""
    option = scene.model.find(scene.state, verb)
    return option is not None and option[1] is None


@pytest.mark.spec("E-037", "E-038")
def test_the_decision_and_its_number_stand_on_the_screen() -> None:
    """Badges and the tab's row have what group 0 stores; each decision takes the next number."""
    given = {"tablets": ("A B",), "nodes": 2, "edition": "documents", "size": 75, "shrinks": 1}
    seen = []
    for scene in walked(given, "grow", "resize", "shrink", "resize"):
        row = drawn(scene, "resize", "resize:decision")
        kind, number = (drawn(scene, "badges", f"badge:{key}") for key in ("decision", "number"))
        assert row is not None
        assert kind is not None
        assert number is not None
        stored = scene.state.map
        assert f"{stored.resize_type}, number {stored.resize_seq_number}" in row.text()
        seen.append((kind.text().strip(), number.text().strip()))
    assert seen == [
        *[("resize none", "number 0")] * 2,
        *[("resize split", "number 1")] * 2,
        ("resize none", "number 2"),
    ]


def _stands(scene: Scene) -> tuple[bool, bool]:
    """Whether the mark of the average is left of the lower threshold, and right of the upper."""
    picture = panel(scene, "resize").draw(scene)
    mark = part(picture, "average")
    assert mark is not None
    found = re.match(r"translate\((\d+)", mark.get("transform") or "")
    assert found is not None
    _, low, high = (float(one.get("x") or 0) for one in picture.walk() if one.tag == "rect")
    return int(found[1]) < low, int(found[1]) > high


@pytest.mark.spec("E-040", "E-041")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_size_that_crosses_a_line_asks_for_a_resize(edition: Edition) -> None:
    """From setting to setting the mark goes along the line; only beyond a threshold the tab asks
    for a resize and one may be decided. 100 % is the default target, 5 GiB.
    """
    limits = THRESHOLDS[edition]
    low, high = limits.merge_percent, limits.split_percent
    for size, asks in (
        (low // 2, "merge"), (low - 1, "merge"), (low, "none"),
        (high, "none"), (high + 1, "split"), (2 * high, "split"),
    ):  # fmt: skip
        scene = last({"edition": edition, "tablets": ("A", "B"), "initial": 1, "size": size})
        text = lines(scene, "resize")
        assert lines(scene, "sizes")["average"] == f"{size} % of the target size"
        assert text["sizes ask for"].startswith(f"{asks}: ")
        assert is_offered(scene, "resize") == (asks != "none")
        if size in (low // 2, 2 * high):
            assert _stands(scene) == (asks == "merge", asks == "split")
    whole = last({"edition": edition, "tablets": ("A", "B"), "size": 100})
    assert lines(whole, "storage")["A:0"] == "5.0 GiB"


@pytest.mark.spec("E-042")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("kind", "size", "there", "back"),
    [("split", 75, "grow", "shrink"), ("merge", 180, "shrink", "grow")],
)
def test_a_decision_flips_back_to_none(
    edition: Edition, kind: str, size: int, there: str, back: str
) -> None:
    """A size that goes back takes a split or a merge back, and the tab says why."""
    given = {**MERGES, "edition": edition, "tablets": ("A B", "A C"), "size": size}
    scenes = list(walked(given, there, "resize", back, "resize"))
    assert [lines(each, "resize")["decision"] for each in scenes[2:]] == [
        *[f"{kind}, number 1"] * 2,
        "none, number 2",
    ]
    assert lines(scenes[3], "resize")["sizes ask for"].startswith(
        "none: the opposite would be needed afterwards: "
    )


@pytest.mark.spec("E-044", "E-045")
def test_numbers_are_copied_one_by_one_and_the_last_lets_a_split_end() -> None:
    """A replica's row has 0, then the number and a lit lamp; the coordinator waits for those
    that are left, by name, and may finalize with the last.
    """
    given = {"tablets": ("A B", "B C"), "size": 75}
    places = [(0, "A:0"), (0, "B:0"), (1, "B:0"), (1, "C:0")]
    verbs = [f"divide {tablet} {place}" for tablet, place in places]
    scenes = list(walked(given, "grow", "resize", *APPLY, *verbs))[-5:]
    for done, scene in enumerate(scenes):
        for at, (tablet, place) in enumerate(places):
            row = drawn(scene, "readiness", f"ready:{tablet}:{place}")
            assert row is not None
            number, lamp = [one.text() for one in row.walk() if one.tag == "td"][-2:]
            assert (number, lamp.strip()) == (("1", "✓") if at < done else ("0", "…"))
        waits = lines(scene, "resize").get("waits", "")
        for at, (tablet, place) in enumerate(places):
            assert (f"tablet {tablet} on {place}" in waits) == (at >= done)
        assert is_offered(scene, "poll") == (done == len(places))
        assert not is_offered(scene, "finalize")
        assert lines(scene, "resize")["polled"] == "not every replica has reported it yet"
    polled = last(given, "grow", "resize", *APPLY, *verbs, "poll")
    assert is_offered(polled, "finalize")
    assert lines(polled, "resize")["polled"] == "every replica has reported number 1"


def _final(
    begun: tuple[str, ...], *within: str, edition: Edition = "server", nodes: int = 3
) -> tuple[str, ...]:
    """All until the new map is committed; the documents' track of migrations comes first."""
    track = ("begin track",) * (edition == "documents")
    polls = ("poll",) * any(verb.startswith("divide") for verb in begun)
    return (*begun, *polls, *track, "finalize", *within, *APPLY[:nodes], "barrier", "commit map")


@pytest.mark.spec("E-043")
def test_a_storage_is_divided_into_two_colours() -> None:
    """Once A knows of the split its monitor divides the storage of A alone: its cell has the left
    and the right half, B's is whole.
    """
    begun = ("grow", "resize", "apply A")
    scenes = list(walked({"tablets": ("A B",), "nodes": 2}, *begun, "divide 0 A:0"))[-2:]
    found = []
    for scene in scenes:
        rows = [drawn(scene, "readiness", f"ready:0:{place}") for place in ("A:0", "B:0")]
        halves = [[one.text() for one in classed(row, "badge")] for row in rows if row is not None]
        found.append(halves)
        assert [len(classed(row, "busy")) for row in rows if row is not None] == [
            int(bool(each)) for each in halves
        ]
    assert found == [[[], []], [["0 left", "0 right"], []]]


def badge(scene: Scene, name: str) -> str:
    """The words of a badge; empty where it is not shown."""
    found = drawn(scene, "badges", f"badge:{name}")
    return found.text().strip() if found else ""


FINALIZES = "tablet_resize_finalization"
PHASES: dict[Edition, list[tuple[str, str, str]]] = {
    "server": [
        *((FINALIZES, f"barrier {done}/2", "0") for done in (0, 1, 2)),
        (FINALIZES, "commit", "0"),
        ("", "barrier 0/2", "0/1"),
        *(("", f"barrier {done}/2", "0, 1") for done in (1, 2)),
        ("", "", "0, 1"),
    ],
    "documents": [
        ("tablet_migration", "", "0"),
        *((FINALIZES, f"barrier {done}/2", "0") for done in (0, 1, 2)),
        (FINALIZES, "commit", "0"),
        ("", "", "0/1"),
        *[("", "", "0, 1")] * 2,
    ],
}


@pytest.mark.spec("E-046", "E-047")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_barrier_is_seen_before_the_new_map(edition: Edition) -> None:
    """The transition state is marked in the diagram and in a badge, and no stage is: no replica
    moves or may move. The drain meter fills up; A has twice as many tablets once it applies it.
    """
    given = {"tablets": ("A B",), "nodes": 2, "moves": 1, "edition": edition}
    begun = ("grow", "resize", "apply A", "apply B", "divide 0 A:0", "divide 0 B:0")
    later = (*APPLY[:2], *["barrier"] * (edition == "server"))
    seen = []
    for scene in walked(given, *_final(begun, edition=edition, nodes=2), *later):
        state, phase = badge(scene, "state"), badge(scene, "phase")
        seen.append((state, phase, lines(scene, "grid")["A"]))
        assert not [held for held in lines(scene, "grid").values() if "+" in held or "−" in held]
        if phase:
            option = scene.model.find(scene.state, "move 0 A:0 B:0")
            assert option is None or option[1] is not None
    assert seen[-8:] == PHASES[edition]
    timeline = Timeline(build("resize", given))
    for verb in _final(begun, edition=edition, nodes=2)[:-1]:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    scene = scene_of(timeline, timeline.at)
    assert panel(scene, "states").text(scene).splitlines()[0].endswith(f"→ {FINALIZES}")


@pytest.mark.spec("E-048")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_split_doubles_the_map_where_it_is(edition: Edition) -> None:
    """Each node has two tablets for each, in the same cells, and remaps its own compaction groups
    as it applies the map; until then it has those of the former one, and is behind.
    """
    divides = ("divide 0 A:0", "divide 0 B:0", "divide 1 B:0", "divide 1 C:0")
    begun = ("grow", "resize", *APPLY, *divides)
    given = {"tablets": ("A B", "B C"), "edition": edition}
    *_, before, after, a, b, c = walked(given, *_final(begun, edition=edition), *APPLY)
    assert lines(before, "grid") == {"A": "0", "B": "0, 1", "C": "1"}
    assert lines(after, "grid") == {"A": "0/2", "B": "0/2, 1/2", "C": "1/2"}
    assert lines(a, "grid") == {"A": "0, 1", "B": "0/2, 1/2", "C": "1/2"}
    assert lines(c, "grid") == {"A": "0, 1", "B": "0, 1, 2, 3", "C": "2, 3"}
    divided = "divided, number 1, ready, compaction groups {0} left and {0} right"
    former = {f"tablet {n} at {at}": divided.format(n) for n, at in PLACES}
    assert lines(before, "readiness") == former
    whole = {place: words.replace(", ready", "") for place, words in former.items()}
    behind = {place: f"{words}, of 2, not yet remapped" for place, words in whole.items()}
    assert lines(after, "readiness") == behind
    remapped = {
        f"tablet {2 * n + side} at {at}": f"whole, number 0, compaction groups {2 * n + side}"
        for n, at in PLACES
        for side in (0, 1)
    }
    done = set[str]()
    for scene, host in ((a, "A"), (b, "B"), (c, "C")):
        done |= {place for place in remapped if f" {host}:" in place}
        waits = {place for place in behind if place.partition(" at ")[2][0] > host}
        new = {place: remapped[place] for place in done}
        assert lines(scene, "readiness") == {**new, **{place: behind[place] for place in waits}}
    assert lines(before, "storage") == lines(after, "storage")
    note = drawn(after, "grid", "host:A")
    assert note is not None
    assert "behind" in note.text()


PLACES = ((0, "A:0"), (0, "B:0"), (1, "B:0"), (1, "C:0"))


@pytest.mark.spec("E-051", "E-054")
def test_odd_tablets_go_to_the_even_ones_and_then_a_merge_may_end() -> None:
    """The odd one's replicas alone move, from shard to shard or from node to node; the tab names
    the pairs that are still apart, and with none left the merge may be finalized.
    """
    given = {**MERGES, "grows": 0, "tablets": ("A:0 B:1", "A:1 C:0", "B:0 C:1", "B:0 A:1")}
    ways = ("1 A:1 A:0", "1 C:0 B:1", "3 A:1 C:1")
    begun, rounds = ("shrink", "resize", *APPLY), [(f"move {w}", f"end move {w[0]}") for w in ways]
    verbs = [*begun, *(verb for each in rounds for verb in each), "end track"]
    every = list(walked(given, *verbs))
    scenes = [every[at] for at in (5, 7, 9, 12)]
    assert [lines(each, "grid") for each in (scenes[0], scenes[-1])] == [
        {"A:0": "0", "A:1": "1, 3", "B:0": "2, 3", "B:1": "0", "C:0": "1", "C:1": "2"},
        {"A:0": "0, 1", "B:0": "2, 3", "B:1": "0, 1", "C:1": "2, 3"},
    ]
    moving = [lines(every[at], "resize")["waits"] for at in (6, 8)]
    assert [each.partition(": ")[2] for each in moving] == [
        "tablet 1: intranode_migration",
        "tablet 1: migration",
    ]
    waits = [lines(each, "resize").get("waits", "").rpartition(": ")[2] for each in scenes]
    assert [lines(each, "resize")["pairs apart"] for each in scenes] == [
        *("2 of 2", "2 of 2", "1 of 2", "0 of 2")
    ]
    pairs = "tablets 0 and 1", "tablets 2 and 3"
    assert waits == [", ".join(pairs), ", ".join(pairs), pairs[1], ""]
    assert [is_offered(each, "finalize") for each in scenes] == [False] * 3 + [True]


@pytest.mark.spec("E-055")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("grows", [False, True])
def test_a_merge_is_looked_at_again_at_its_end(grows: bool, edition: Edition) -> None:
    """The table grows within finalization: the map of the grid stays, and the tab asks for none.
    Else it has half as many tablets, and each node merges its siblings' compaction groups in turn.
    """
    given = {**MERGES, "tablets": ("A B", "A B"), "size": 180, "edition": edition}
    within = ("grow",) if grows else ()
    ends = _final(("shrink", "resize"), *within, edition=edition)
    *_, before, after, a, b = walked(given, *ends, *APPLY[:2])
    kept = {"A": "0, 1", "B": "0, 1"}
    assert lines(before, "grid") == kept
    older = {"A": "0/2, 1/2", "B": "0/2, 1/2"}
    assert lines(after, "grid") == (kept if grows else older)
    assert lines(b, "grid") == (kept if grows else {"A": "0", "B": "0"})
    counts = [len(lines(each, "readiness")) for each in (before, after, a, b)]
    assert counts == ([4, 4, 4, 4] if grows else [4, 4, 3, 2])
    assert lines(after, "storage") == lines(before, "storage")
    if not grows:
        own = lines(a, "readiness")
        assert own["tablet 0 at A:0"] == "whole, number 0, compaction groups 0"
        assert own["tablet 1 at B:0"].endswith("compaction groups 1, of 2, not yet remapped")
        assert [store.groups for store in b.state.stores] == [(b.model.parts_of(0, 1),)] * 2
    else:
        assert lines(before, "resize")["sizes ask for"].startswith("none: ")
        passes = (*APPLY, "barrier") if edition == "server" else ()
        revoked = last(given, *ends, *passes, "resize")
        assert lines(revoked, "resize")["decision"] == "none, number 2"


@pytest.mark.spec("E-049")
@pytest.mark.parametrize("initial", [0, 2, 4])
def test_every_table_starts_growing_and_is_not_merged(initial: int) -> None:
    """In the documents the mode is on for each new table, which keeps its count however small it
    is. Once it was split beyond the count that its schema asked for, or else that it began with,
    the flag is gone for good: it may be merged below that count.
    """
    given = {"tablets": ("A", "A"), "nodes": 1, "edition": "documents", "initial": initial}
    given |= {"size": 40, "grows": 3, "shrinks": 3}
    began, small = initial or 2, last(given)
    counted = f"it has 2 tablets and began with {began}"
    assert lines(small, "resize")["sizes ask for"] == f"none: the table is growing: {counted}"
    kept = f"on: no merge until there are more than {began} tablets"
    assert lines(small, "sizes")["growing mode"] == kept
    assert drawn(small, "badges", "badge:growing") is not None
    assert not is_offered(small, "resize")
    verbs, count = ["grow", "grow", "grow"], 2
    while count <= began:
        divides = [f"divide {tablet} A:0" for tablet in range(count)]
        split = ("resize", "apply A", *divides)
        verbs += _final(split, nodes=1, edition="documents")
        count *= 2
        assert lines(last(given, *verbs), "sizes")["growing mode"] == (
            "off" if count > began else kept
        )
    verbs += ["shrink", "shrink", "shrink"]
    while count > 1:
        beyond = last(given, *verbs)
        assert drawn(beyond, "badges", "badge:growing") is None
        assert lines(beyond, "resize")["sizes ask for"].startswith("merge: ")
        verbs += _final(("resize", "apply A"), nodes=1, edition="documents")
        count //= 2
    assert lines(last(given, *verbs, "apply A"), "grid") == {"A": "0"}


def test_the_server_has_no_growing_mode_of_its_own() -> None:
    """There the count that the schema asks for is kept, before a split and after it."""
    given = {"tablets": ("A", "A"), "nodes": 1, "size": 40}
    assert lines(last(given), "sizes")["growing mode"] == "off"
    assert is_offered(last(given), "resize")
    assert not is_offered(last({**given, "initial": 2}), "resize")


@pytest.mark.spec("E-039")
def test_the_average_is_worked_out_with_the_numbers_of_now() -> None:
    """All bytes by the replicas of a tablet, then by the tablets; it follows size and count."""
    given = {"tablets": ("A B", "B C"), "size": 80}
    formulas = [
        (lines(scene, "sizes")["one copy"], lines(scene, "sizes")["one tablet"])
        for scene in walked(given, "grow")
    ]
    assert formulas == [
        ("16.0 GiB in total ÷ 2 replicas = 8.0 GiB", "8.0 GiB ÷ 2 tablets = 4.0 GiB"),
        ("64.0 GiB in total ÷ 2 replicas = 32.0 GiB", "32.0 GiB ÷ 2 tablets = 16.0 GiB"),
    ]
    four = {"tablets": ("A", "A", "B", "B"), "size": 75, "shrinks": 1}
    quarters = last(four, "shrink")
    assert lines(quarters, "sizes")["one tablet"] == "3.8 GiB ÷ 4 tablets = 960.0 MiB"
    for scene in walked({"tablets": ("A B C",), "size": 80}):
        formula = drawn(scene, "sizes", "sizes:one copy")
        assert formula is not None
        assert "12.0 GiB in total ÷ 3 replicas = 4.0 GiB" in formula.text()


@pytest.mark.spec("E-050")
def test_brackets_pair_siblings() -> None:
    """(0, 1), (2, 3) and so on; a bracket closes once both are in the same places."""
    given = {**MERGES, "grows": 0, "tablets": ("A B", "B A", "A B", "A C")}
    apart, together = (last(given, "shrink", "resize", *verbs) for verbs in ((), SIBLING))
    for scene, closed in ((apart, [True, False]), (together, [True, True])):
        drawings = [drawn(scene, "siblings", f"pair:{even}") for even in (0, 2)]
        for pair, numbers, is_closed in zip(drawings, ("0 1", "2 3"), closed, strict=True):
            assert pair is not None
            assert pair.text().endswith(f"{'=' if is_closed else '≠'} {numbers}")
            bracket = next(one for one in pair.walk() if one.tag == "path")
            assert ("dashed" in (bracket.get("class") or "")) != is_closed
    assert "apart: C:0 → B:0" in panel(apart, "siblings").text(apart)
    single = last({"tablets": ("A B",)})
    assert "no pairs" in panel(single, "siblings").text(single)


@pytest.mark.spec("E-053")
def test_siblings_that_are_together_travel_as_one() -> None:
    """A move of the balancer takes both along, and its arrow names both; before, only the odd one
    is named.
    """
    given = {**MERGES, "grows": 0, "moves": 1, "tablets": ("A B", "A C")}
    first = ("move 1 C:0 B:0", "end move 1")
    begun = ("shrink", "resize", *APPLY, *first, "move 0 A:0 C:0", "end move 0", "end move 1")
    steps = list(walked(given, *begun))
    labels = [
        [flow.label for flow in flows(before.model, before.state, action, after.state)]
        for (before, after), verb in zip(pairwise(steps), begun, strict=True)
        for action in (before.model.find(before.state, verb)[0],)
    ]
    assert [each for each in labels if each and each[0].startswith("tablet")] == [
        ["tablet 1"],
        ["tablets 0 and 1"],
    ]
    assert lines(steps[-1], "grid") == {"B": "0, 1", "C": "0, 1"}
    model, (*_, before, moving, _, _) = steps[-1].model, steps
    action = model.find(before.state, begun[-3])[0]
    assert "tablets 0 and 1 begins" in model.describe(before.state, action, moving.state)
    assert lines(moving, "grid")["C"] == "+0, +1"


@pytest.mark.parametrize("story", ["table-splits", "table-merges", "split-is-revoked"])
def test_the_table_of_a_resize_is_whole_on_the_smallest_board(story: str) -> None:
    """In no step has it more rows than there is room for, some of them of two or three lines."""
    for scene in scenes(walk(f"resize/{story}")):
        rows = [part for part in panel(scene, "resize").draw(scene).walk() if part.tag == "tr"]
        assert len(rows) <= 8
