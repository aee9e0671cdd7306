"""The tablet grid, and the stage diagrams, which are the tables of stages."""

from __future__ import annotations

from functools import cache
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.model.registry import entries
from kit.protocols.tablets.panels.grid import CHIP, LEFT, MOST_SHARDS, draw_grid, layout
from kit.protocols.tablets.panels.tablets import diagram
from kit.protocols.tablets.rules.grid import GridHost, TabletGrid, grid_of_maps
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.topology.rules.machines import BOUNDARY
from kit.views.diagrams import END, START
from kit.views.fragment import Frag
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
    table: TabletMap, by_storage: bool
) -> None:
    """No two chips meet."""
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


def test_the_grid_gives_each_table_a_letter_and_escapes_its_name() -> None:
    """A table named like a tag is no tag."""
    nasty = "<img src=x onerror=alert(1)>"
    tables = [TabletMap(name, (Tablet(last_tokens(1)[0], (A0,)),)) for name in ("ks.t", nasty)]
    drawn = draw_grid(grid_of_maps(tables, (GridHost("A"),)))
    words = [one.text() for one in drawn.walk() if one.tag == "text" and one.get("class") == "on"]
    assert words == ["a0", "b0"]
    assert "<img" not in str(drawn)


@pytest.mark.parametrize(("hosts", "shards"), [(10, 4), (1000, 16)])
def test_the_grid_of_many_tablets_shows_counts_in_place_of_chips(hosts: int, shards: int) -> None:
    """The mean is told, and above a bound of shards there are no cells."""
    grid = many(hosts, shards, 20_000)
    drawn = draw_grid(grid)
    check_keys(drawn)
    cells = [one for one in drawn.walk() if (one.key or "").startswith("load:")]
    places = hosts * shards
    assert len(cells) == (places if places <= MOST_SHARDS else 0)
    assert not [one for one in drawn.walk() if (one.key or "").startswith("tablet:")]
    assert f"mean {60_000 / places:,.1f}" in drawn.text()


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
