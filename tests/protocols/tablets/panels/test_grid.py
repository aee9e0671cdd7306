"""The tablet grid: every replica in its cell once, both halves of a move, many as densities."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.model.registry import entries
from kit.protocols.tablets.panels.grid import (
    BARRIER_SIGNS,
    CHIP,
    HEIGHT,
    LEFT,
    MOST_LISTED,
    MOST_SHARDS,
    draw_grid,
    layout,
)
from kit.protocols.tablets.rules.grid import GridHost, TabletGrid, TabletWay, grid_of_maps
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import ReplicaSets, TabletReplica
from kit.views.fragment import Frag
from kit.views.registry import for_model
from tests.keyed import check_keys
from tests.protocols.tablets.rules.drawn_maps import HOSTS, SHARDS, maps
from tests.views.frames import scenes, walk

CLUSTER = tuple(GridHost(name, SHARDS) for name in HOSTS)
A0, B0, C0, D0 = (TabletReplica(name) for name in "ABCD")


def one(**columns: object) -> TabletGrid:
    """A tablet on A, B and C, with some of its columns changed."""
    tablet = replace(Tablet(last_tokens(1)[0], (A0, B0, C0)), **columns)
    return grid_of_maps([TabletMap("ks.t", (tablet,))], tuple(GridHost(n) for n in "ABCD"))


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
def test_every_replica_is_in_its_cell_once(table: TabletMap, by_storage: bool) -> None:
    """No two chips meet, each lies within its shard's cell, and no replica is left out."""
    sizes = {
        ("ks.t", i, place): (i + 1) << 20
        for i, tablet in enumerate(table.tablets)
        for place in tablet.replicas
    }
    grid = grid_of_maps([table], CLUSTER, sizes)
    held = [(place, each) for place, all_held in grid.held.items() for each in all_held]
    assert sorted(place for place, _ in held) == sorted(
        place for tablet in table.tablets for place in tablet.replicas
    )
    lies = layout(grid, {each.key: "0" for _, each in held}, by_storage=by_storage)
    for place, each in held:
        chip = lies.chips[each.key]
        left, top = LEFT + place.shard * lies.cell, lies.tops[place.host]
        assert left <= chip.x - chip.width / 2 <= chip.x + chip.width / 2 <= left + lies.cell
        assert top <= chip.y - CHIP / 2 <= chip.y + CHIP / 2 <= top + lies.row
    for one_chip, other in combinations(lies.chips.values(), 2):
        apart = abs(one_chip.x - other.x) * 2 >= one_chip.width + other.width
        assert apart or abs(one_chip.y - other.y) >= CHIP
    check_keys(draw_grid(grid, by_storage=by_storage))


def test_tables_are_told_apart_and_a_nasty_name_is_text() -> None:
    """Of two tables each has its letter; a name like a tag is escaped."""
    nasty = "<img src=x onerror=alert(1)>"
    tables = [TabletMap(name, (Tablet(last_tokens(1)[0], (A0,)),)) for name in ("ks.t", nasty)]
    drawn = draw_grid(grid_of_maps(tables, (GridHost("A"),)))
    words = [one.text() for one in drawn.walk() if one.tag == "text" and one.get("class") == "on"]
    assert words == ["a0", "b0"]
    assert "<img" not in str(drawn)


@pytest.mark.parametrize(("hosts", "shards"), [(10, 4), (1000, 16)])
def test_many_tablets_are_a_density_of_bounded_size(hosts: int, shards: int) -> None:
    """Beyond the chips a cell says how many replicas it has; the least, mean and most are said."""
    grid = many(hosts, shards, 20_000)
    drawn = draw_grid(grid)
    check_keys(drawn)
    cells = [one for one in drawn.walk() if (one.key or "").startswith("load:")]
    places = hosts * shards
    assert len(cells) == (places if places <= MOST_SHARDS else 0)
    assert not [one for one in drawn.walk() if (one.key or "").startswith("tablet:")]
    assert f"mean {60_000 / places:,.1f}" in drawn.text()


def test_a_density_is_searched() -> None:
    """A box stands over a list of tablets with their places, those in transition first; what the
    list has no room for is counted.
    """
    whole = many(10, 4, MOST_LISTED + 5)
    sets = ReplicaSets(whole.tablets[-1].replicas, (A0,))
    moving = TabletWay("migration", "streaming", sets, sets.old, sets.both)
    last = replace(whole.tablets[-1], ways=(moving,))
    drawn = draw_grid(replace(whole, tablets=(*whole.tablets[:-1], last)))
    [box] = [one for one in drawn.walk() if one.tag == "input"]
    assert box.get("type") == "search"
    [listed] = [one for one in drawn.walk() if one.get("data-find") is not None]
    lines = [one.text() for one in listed.walk() if one.tag == "li"]
    assert len(lines) == MOST_LISTED
    number = len(whole.tablets) - 1
    places = ", ".join(map(str, last.replicas))
    assert lines[0] == f"tablet {number}: {places}; migration in streaming to A:0"
    assert lines[1] == "tablet 0: n0:0, n1:0, n2:0"
    assert "5 more tablets not in this list" in drawn.text()
    assert not [one for one in draw_grid(many(4, 2, 16)).walk() if one.tag == "input"]


DRAWN = pytest.mark.parametrize("entry", ["balance", "resize", "tablets"])
"""The models whose picture is a grid."""


@cache
def drawn_in(scenario: str) -> tuple[Frag, ...]:
    """The grid in each step of a scenario."""
    steps = scenes(walk(scenario))
    [panel] = [each for each in for_model(steps[0].model).panels if each.name == "grid"]
    return tuple(panel.draw(scene) for scene in steps)


@DRAWN
def test_every_row_is_in_sight(entry: str) -> None:
    """In no step of a scenario is a node below the picture's slot."""
    for scenario in entries()[entry].scenarios:
        for drawn in drawn_in(f"{entry}/{scenario.name}"):
            [picture] = [each for each in drawn.walk() if each.tag == "svg"]
            assert float(str(picture.get("viewBox")).split()[3]) <= HEIGHT + 2


@DRAWN
def test_no_step_goes_unseen(entry: str) -> None:
    """In every step of a scenario something is marked, and whoever says what it did not say before
    is.
    """
    for scenario in entries()[entry].scenarios:
        first, *steps = drawn_in(f"{entry}/{scenario.name}")
        assert not any(map(marks_itself, first.walk()))
        for at, (before, after) in enumerate(pairwise((first, *steps)), 1):
            was, said = words_by_part(before), words_by_part(after)
            new = {key for key, words in said.items() if words - was.get(key, words)}
            lit = {each.key for each in after.walk() if any(map(marks_itself, each.walk()))}
            assert lit, (scenario.name, at)
            assert new <= lit, (scenario.name, at, new - lit)


@DRAWN
def test_all_words_are_whole(entry: str) -> None:
    """In no step of a scenario has a word an ellipsis: what has no room for all says less."""
    for scenario in entries()[entry].scenarios:
        for drawn in drawn_in(f"{entry}/{scenario.name}"):
            words = {each.text() for each in drawn.walk() if each.tag == "text"}
            assert not {said for said in words if "…" in said and said != BARRIER_SIGNS["asked"]}


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
