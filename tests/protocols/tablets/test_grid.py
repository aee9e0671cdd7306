"""The tablet grid, and the stage diagrams, which are the tables of stages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations, groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.model.registry import build, entries
from kit.protocols.tablets.facts.resize import grid as resizing
from kit.protocols.tablets.panels.grid import MOST_SHARDS, draw_grid, layout
from kit.protocols.tablets.panels.tablets import diagram
from kit.protocols.tablets.rules.grid import GridHost, TabletGrid, grid_of_maps
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import BOUNDARY
from kit.views.diagrams import END, START
from kit.views.fragment import Frag
from kit.views.labels import Box
from kit.views.registry import for_model
from tests.keyed import check_keys
from tests.protocols.tablets.rules.drawn_maps import HOSTS, SHARDS, maps
from tests.views.frames import scenes, walk

CLUSTER = tuple(GridHost(name, SHARDS) for name in HOSTS)
A0 = TabletReplica("A")


def many(hosts: int, shards: int, tablets: int, name: str = "n{}") -> TabletGrid:
    """Tablets with three replicas, laid around the cluster."""
    cluster = tuple(GridHost(name.format(i), shards) for i in range(hosts))

    def at(number: int, slot: int) -> TabletReplica:
        return TabletReplica(name.format((number + slot) % hosts), number // hosts % shards)

    rows = (
        Tablet(last, tuple(at(i, slot) for slot in range(3)))
        for i, last in enumerate(last_tokens(tablets))
    )
    return grid_of_maps([TabletMap("ks.t", tuple(rows))], cluster)


@given(maps(), st.booleans())
def test_the_grid_draws_every_replica_once_within_its_shards_cell(
    table: TabletMap, sized: bool
) -> None:
    """No two tiles meet, and none is larger than its cell."""
    sizes = {
        ("ks.t", i, place): (i + 1) << 20
        for i, tablet in enumerate(table.tablets)
        for place in tablet.replicas
    }
    grid = grid_of_maps([table], CLUSTER, sizes if sized else {})
    held = [(place, each) for place, all_held in grid.held.items() for each in all_held]
    assert sorted(place for place, _ in held) == sorted(
        place for tablet in table.tablets for place in tablet.replicas
    )
    lies = layout(grid)
    for place, each in held:
        left, right, top, bottom = lies.tiles[each.key].edges
        start, ground = lies.left(place), lies.cells[place.host][1]
        assert start <= left <= right <= start + lies.cell
        assert ground - lies.high <= top <= bottom <= ground
    assert not any(one.meets(other) for one, other in combinations(lies.tiles.values(), 2))
    check_keys(draw_grid(grid))


def test_tiles_are_as_high_as_they_are_full() -> None:
    """Of two tablets one has twice the bytes; beside lines they stand on the ground."""
    rows = (Tablet(last, (A0,)) for last in last_tokens(2))
    sizes = {("ks.t", number, A0): 100 << number for number in range(2)}
    grid = grid_of_maps([TabletMap("ks.t", tuple(rows))], (GridHost("A"),), sizes)
    small, large = layout(grid).tiles.values()
    assert 2 * (small.height + 2) == pytest.approx(large.height + 2)
    lies = layout(grid, (("split above", 150),))
    small, large = lies.tiles.values()
    assert small.edges[3] == large.edges[3] <= lies.cells["A"][1]
    assert small.height < 150 * lies.scale < large.height


def test_a_tile_says_by_its_fill_how_it_is_used() -> None:
    """Solid, hatched where it is only written, dashed as long as it is planned."""
    shown = [
        {
            tile.key: (tile.get("class") or "").split()[0]
            for tile in drawn.walk()
            if (tile.key or "").startswith("tablet:ks.t:0:0")
        }
        for drawn in drawn_in("tablets/one-tablet-moves")
    ]
    ways = [tuple(tiles.values()) for tiles in shown]
    assert [way for way, _ in groupby(ways)] == [
        *(("read",), ("read", "plan"), ("read", "write"), ("write", "read")),
        *(("left", "read"), ("read",)),
    ]


def test_the_grid_gives_each_table_a_letter_and_escapes_its_name() -> None:
    """A table named like a tag is no tag."""
    nasty = "<img src=x onerror=alert(1)>"
    tables = [TabletMap(name, (Tablet(last_tokens(1)[0], (A0,)),)) for name in ("ks.t", nasty)]
    drawn = draw_grid(grid_of_maps(tables, (GridHost("A"),)))
    words = [one.text() for one in drawn.walk() if one.tag == "text" and one.get("class") == "let"]
    assert sorted(words) == ["a0", "b0"]
    assert "<img" not in str(drawn)


@pytest.mark.parametrize(("hosts", "shards"), [(10, 4), (1000, 16)])
def test_the_grid_of_many_tablets_shows_bars_in_place_of_tiles(hosts: int, shards: int) -> None:
    """The mean is told, and above a bound of shards there are no cells."""
    grid = many(hosts, shards, 20_000)
    drawn = draw_grid(grid)
    check_keys(drawn)
    cells = [one for one in drawn.walk() if (one.key or "").startswith("load:")]
    places = hosts * shards
    assert len(cells) == (places if places <= MOST_SHARDS else 0)
    assert not [one for one in drawn.walk() if (one.key or "").startswith("tablet:")]
    assert f"mean {60_000 / places:,.1f}" in drawn.text()


def test_the_grid_of_a_resize_has_every_shard_that_holds_a_tablet() -> None:
    """On each node as many."""
    model = build("resize", {"tablets": ("A:1 B",), "nodes": 2})
    assert [host.shards for host in resizing(model, model.start()).hosts] == [2, 2]


DRAWN = pytest.mark.parametrize("entry", ["balance", "resize", "tablets"])
"""The models whose picture is a grid."""


@cache
def drawn_in(scenario: str) -> tuple[Frag, ...]:
    """The grid in each step of a scenario."""
    steps = scenes(walk(scenario))
    [panel] = [each for each in for_model(steps[0].model).panels if each.name == "grid"]
    return tuple(panel.draw(scene) for scene in steps)


@DRAWN
def test_every_step_of_a_tablet_story_marks_what_is_new(entry: str) -> None:
    """A part that says what it did not say before is marked."""
    for scenario in entries()[entry].scenarios:
        first, *steps = drawn_in(f"{entry}/{scenario.name}")
        assert not any(map(marks_itself, first.walk()))
        for at, (before, after) in enumerate(pairwise((first, *steps)), 1):
            was, said = words_by_part(before), words_by_part(after)
            new = {key for key, words in said.items() if words - was.get(key, words)}
            lit = {each.key for each in after.walk() if any(map(marks_itself, each.walk()))}
            assert lit, (scenario.name, at)
            assert new <= lit, (scenario.name, at, new - lit)


def words_by_part(drawn: Frag) -> dict[str, set[str]]:
    """What is written below each node's head and on each card."""
    return {
        each.key: {
            word
            for kid in each.kids
            if isinstance(kid, Frag) and kid.tag == "text"
            for word in kid.text().split()
        }
        for each in drawn.walk()
        if each.key and each.key.startswith("host:")
    }


def marks_itself(drawn: Frag) -> bool:
    """Whether a part has the plate of what is new, or is one."""
    kids = (kid.get("class") or "" for kid in drawn.kids if isinstance(kid, Frag))
    return any("moved" in kinds.split() for kinds in kids)


@pytest.mark.spec("E-007", "E-008", "E-009")
def test_the_diagram_of_a_transition_has_the_edges_of_its_table() -> None:
    """Each edge once, with the boundary as beginning and end."""
    for whose, tables in TRANSITIONS.items():
        for kind, table in tables.items():
            drawn = [(source, target) for source, _, target in diagram(kind, whose).transitions]
            assert drawn == [
                (START if e.source == BOUNDARY else e.source,
                 END if e.target == BOUNDARY else e.target)
                for e in table.edges
            ]  # fmt: skip


@pytest.mark.parametrize("entry", ["balance", "tablets"])
def test_a_stream_runs_beside_all_tiles(entry: str) -> None:
    """From tile to tile between the cells; it ends at the edge of a tile."""
    seen = 0
    for scenario in entries()[entry].scenarios:
        for drawn in drawn_in(f"{entry}/{scenario.name}"):
            tiles = [*tiles_of(drawn)]
            for wire in drawn.walk():
                if (wire.key or "").startswith(("trail:tablet", "trail:shard")):
                    seen += 1
                    way = next(kid for kid in wire.kids if isinstance(kid, Frag) and kid.get("d"))
                    for begin, end in pairwise(corners(way.get("d") or "")):
                        points = (begin + (end - begin) * at / 20 for at in range(21))
                        assert not [p for p in points for tile in tiles if tile.covers(p)], wire
    assert seen


def tiles_of(drawn: Frag) -> Iterator[Box]:
    """What tiles cover, without their edges."""
    for part in drawn.walk():
        if (part.key or "").startswith("tablet:"):
            x, y = map(float, re.findall(r"[-\d.]+", part.get("transform") or "")[:2])
            for kid in part.kids:
                if isinstance(kid, Frag) and kid.get("class") == "fill":
                    sides = (float(kid.get(side) or 0) for side in ("x", "y", "width", "height"))
                    left, top, wide, high = sides
                    yield Box(x + left + wide / 2, y + top + high / 2, wide - 2, high - 2)


def corners(way: str) -> list[complex]:
    """The points at which a way of level and upright lines turns."""
    found, at = [], 0j
    for kind, numbers in re.findall(r"([MHV])([-\d. ]+)", way):
        x, y = ([*map(float, numbers.split())] * 2)[:2]
        at = complex(at.real if kind == "V" else x, at.imag if kind == "H" else y)
        found.append(at)
    return found
