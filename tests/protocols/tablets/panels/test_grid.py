"""The tablet grid: every replica in its cell once, both halves of a move, many as densities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kit.engine.registry import entries
from kit.protocols.tablets.hosts import host_spot, replica_spot
from kit.protocols.tablets.panels.balance import node_loads
from kit.protocols.tablets.panels.grid import (
    BARRIER_SIGNS,
    CHIP,
    GAP,
    HEIGHT,
    LANE,
    LEFT,
    MOST_CHIPS,
    MOST_LISTED,
    MOST_SHARDS,
    NAME_LETTER,
    SMALL,
    WIDTH,
    draw_density,
    draw_grid,
    draws_chips,
    grid_lines,
    grid_text,
    layout,
)
from kit.protocols.tablets.rules.grid import (
    DECIDED,
    GridHost,
    TabletGrid,
    TabletWay,
    grid_of_maps,
)
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import ReplicaSets, TabletReplica
from kit.views.fragment import Frag
from kit.views.labels import LINE, Box, measured
from kit.views.registry import for_model
from kit.views.replicas import DISK_WIDE
from tests.keyed import check_keys
from tests.protocols.tablets.rules.drawn_maps import HOSTS, SHARDS, maps, moved
from tests.views.frames import classed, part, scenes, walk

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


def cell_of(grid: TabletGrid, drawn: Frag, key: str) -> str:
    """The node in whose row a chip lies."""
    chip = part(drawn, replica_spot(key))
    assert chip is not None
    y = _shift(chip)[1]
    middles = {
        host.name: _shift(row)[1]
        for host in grid.hosts
        if (row := part(drawn, host_spot(host.name)))
    }
    return min(middles, key=lambda name: abs(middles[name] - y))


def _shift(drawn: Frag) -> tuple[float, float]:
    words = (drawn.get("transform") or "").removeprefix("translate(").removesuffix(")").split()
    return float(words[0]), float(words[1])


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


def test_a_tablet_in_transition_is_in_both_cells_and_its_chip_travels() -> None:
    """Both halves and an arrow while it moves; afterwards the key that was on A is on D."""
    grids = {
        "before": one(),
        "within": one(new_replicas=moved((A0, B0, C0), A0, D0), stage="streaming",
                      transition="migration"),
        "after": one(replicas=moved((A0, B0, C0), A0, D0)),
    }  # fmt: skip
    drawn = {name: draw_grid(grid) for name, grid in grids.items()}
    for frag in drawn.values():
        check_keys(frag)
    assert {name: cell_of(grids[name], drawn[name], "ks.t:0:0") for name in grids} == {
        "before": "A",
        "within": "A",
        "after": "D",
    }
    assert cell_of(grids["within"], drawn["within"], "ks.t:0:0:to:D:0") == "D"
    assert part(drawn["within"], "way:ks.t:0:0:to:D:0") is not None
    assert grid_lines(grids["within"]) == ["A: −0", "B: 0", "C: 0", "D: +0"]
    assert "tablet 0: migration in streaming A:0 → D:0" in grid_text(grids["within"])
    assert [bool(classed(frag, "pending")) for frag in drawn.values()] == [False, True, False]


@pytest.mark.parametrize("count", [2, 4])
def test_stages_of_tablets_of_one_shard_lie_over_nothing(count: int) -> None:
    """Tablets that come to one shard name their numbers, each beside the others or on a line of
    its own; those of the same stage have one line.
    """

    def coming(*stages: str) -> Frag:
        rows = [
            replace(Tablet(last, (A0, B0, C0)), new_replicas=moved((A0, B0, C0), A0, D0),
                    stage=stage, transition="migration")
            for last, stage in zip(last_tokens(count), stages, strict=True)
        ]  # fmt: skip
        hosts = tuple(GridHost(name) for name in "ABCD")
        return draw_grid(grid_of_maps([TabletMap("ks.t", tuple(rows))], hosts))

    alike = part(coming(*["use_new"] * count), "work:ks.t:0")
    assert alike
    assert alike.text() == f"{', '.join(map(str, range(count)))}: use_new"
    drawn = coming(*["allow_write_both_read_old", "streaming", "use_new", "cleanup"][:count])
    works = [part(drawn, f"work:ks.t:{number}") for number in range(count)]
    boxes = []
    for number, work in enumerate(works):
        assert work
        assert work.text().startswith(f"{number}: ")
        (x, y), wide = _shift(work), measured(work.text())
        boxes.append(Box(x + wide / 2, y, wide, LINE - 1))
        assert x + wide <= WIDTH + 1
    assert not [pair for pair in combinations(boxes, 2) if pair[0].meets(pair[1])]


def test_few_chips_are_large_and_many_are_small() -> None:
    """As large as their cell has room for; a sign that comes or goes changes no size."""
    coming = {"new_replicas": moved((A0, B0, C0), A0, D0), "stage": "streaming"}
    grids = one(), one(**coming, transition="migration"), many(4, 2, 16)
    sizes = []
    for grid in grids:
        drawn = draw_grid(grid)
        chip = next(each for each in drawn.walk() if (each.key or "").startswith("tablet:"))
        sizes.append(
            next(float(each.get("height") or 0) for each in chip.walk() if each.tag == "rect")
        )
    assert sizes[0] == sizes[1] > 1.5 * CHIP
    assert CHIP <= sizes[2] < sizes[0]


def test_what_travels_between_heads_has_a_lane() -> None:
    """Where group 0 is drawn and cells stay wide enough, wires have room between heads and cells;
    data go from disk to disk.
    """
    seen = 0
    for scene in scenes(walk("tablets/one-tablet-moves")):
        drawn = next(p for p in for_model(scene.model).panels if p.name == "grid").draw(scene)
        for flow in scene.flows():
            trail = part(drawn, f"trail:{flow.from_key}>{flow.to_key}")
            ends = {flow.from_key[:4], flow.to_key[:4]}
            if trail is None or host_spot("group0") in (flow.from_key, flow.to_key):
                continue
            [way] = classed(trail, "way")
            xs = [float(each) for each in re.findall(r"-?\d+", way.get("d") or "")[:8:2]]
            assert max(xs) < LEFT + LANE if ends == {"host"} else min(xs) > LEFT + LANE + CHIP
            seen += 1
    assert seen > 6


PLACE = re.compile(r"translate\((\S+) (\S+?)\)")
STEPS = re.compile(r"([MHV])(-?\d+)(?: (-?\d+))?")


def strokes(path: str) -> Iterator[Box]:
    """The straight pieces of a path."""
    x = y = 0.0
    for step, *to in STEPS.findall(path):
        was = x, y
        x = float(to[0]) if step != "V" else x
        y = float(to[-1] or to[0]) if step != "H" else y
        if step != "M":
            yield Box((was[0] + x) / 2, (was[1] + y) / 2, abs(was[0] - x), abs(was[1] - y))


@pytest.mark.parametrize("entry", ["resize", "tablets"])
def test_no_line_of_a_client_runs_behind_a_tablet(entry: str) -> None:
    """In no step: it leads straight to an eye or a pencil, or passes over or under other chips."""
    seen = 0
    for scenario in entries()[entry].scenarios:
        for drawn in drawn_in(f"{entry}/{scenario.name}"):
            chips = []
            for chip in drawn.walk():
                at = PLACE.match(chip.get("transform") or "")
                if at and (chip.key or "").startswith("tablet:"):
                    rects = (k for k in chip.kids if isinstance(k, Frag) and k.tag == "rect")
                    wide, high = (min(map(float, each)) for each in zip(
                        *((r.get("width") or 0, r.get("height") or 0) for r in rects), strict=True
                    ))  # fmt: skip
                    chips.append(Box(float(at[1]), float(at[2]), wide, high))
            for line in classed(drawn, "asks"):
                for stroke in strokes(line.get("d") or ""):
                    assert not any(map(stroke.meets, chips)), (scenario.name, line)
                    seen += 1
    assert seen > 50


def test_what_is_carried_has_one_way() -> None:
    """In the step in which data go to a chip its arrow is their way: there is no second one."""
    for story in ("tablets/one-tablet-moves", "resize/table-merges"):
        steps = scenes(walk(story))
        carried = [scene for scene in steps if any(f.kind == "data" for f in scene.flows())]
        assert carried
        for scene in carried:
            drawn = next(p for p in for_model(scene.model).panels if p.name == "grid").draw(scene)
            assert classed(drawn, "trail")
            keys = {flow.to_key.replace("tablet:", "way:", 1) for flow in scene.flows()}
            assert not [part for part in drawn.walk() if part.key in keys]


def test_areas_stand_to_each_other_as_storage_does() -> None:
    """Of tablets on one shard the one with three times the bytes is three times as wide."""
    rows = tuple(Tablet(last, (A0,)) for last in last_tokens(2))
    sizes = {("ks.t", 0, A0): 1 << 30, ("ks.t", 1, A0): 3 << 30}
    grid = grid_of_maps([TabletMap("ks.t", rows)], (GridHost("A", 2),), sizes)
    labels = {each.key: "0" for each in grid.held[A0]}
    small, large = (layout(grid, labels, by_storage=True).chips[key].width for key in labels)
    assert large == pytest.approx(3 * small)
    small, large = (layout(grid, labels, by_storage=False).chips[key].width for key in labels)
    assert large == small


def test_a_shard_holds_the_bytes_that_are_known() -> None:
    """Added up; a replica of unknown size adds nothing."""
    rows = tuple(Tablet(last, (A0, B0)) for last in last_tokens(2))
    sizes = {("ks.t", 0, A0): 5, ("ks.t", 1, A0): 7, ("ks.t", 1, B0): 3}
    hosts = tuple(GridHost(name) for name in "ABC")
    for known, held in ((sizes, [12, 3, 0]), ({}, [0, 0, 0]), (None, [0, 0, 0])):
        grid = grid_of_maps([TabletMap("ks.t", rows)], hosts, known)
        assert [grid.bytes(place) for place in grid.places] == held
        assert [grid.count(place) for place in grid.places] == [2, 2, 0]


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


def test_of_very_many_shards_nodes_are_a_heat_map() -> None:
    """Every node is there with its load beside the mean; where tablets are on their way is marked,
    and the way is an arc. By storage a cell stays a node.
    """
    grid = many(100, 16, 2_000)
    first = grid.tablets[0]
    sets = ReplicaSets(first.replicas, (*first.replicas[1:], TabletReplica("n99", 0)))
    way = TabletWay("migration", "streaming", sets, sets.old, sets.both)
    moving = replace(grid, tablets=(replace(first, ways=(way,)), *grid.tablets[1:]))
    drawn = draw_grid(moving)
    check_keys(drawn)
    known = {one.key for one in drawn.walk()}
    assert {host_spot(host.name) for host in grid.hosts} <= known
    assert any((key or "").startswith("mover:") for key in known)
    assert "tablets in transition: 1" in drawn.text()
    storage = draw_grid(grid, by_storage=True)
    cells = [one for one in storage.walk() if (one.key or "").startswith("storage:load:")]
    assert len(cells) == len(grid.hosts)


def test_the_chips_end_where_the_density_begins() -> None:
    """Chips are drawn where all are seen at once, or each node needs one line; but of so many
    tablets none. So 224 tablets of six nodes are whole in the smallest board.
    """
    for hosts, shards, count in ((4, 2, 24), (4, 2, 300), (6, 2, 224), (60, 1, 20), (100, 8, 280)):
        grid = many(hosts, shards, count)
        assert draws_chips(grid) is is_seen(grid)
    drawn = draw_grid(many(6, 2, 224))
    assert [one for one in drawn.walk() if (one.key or "").startswith("load:")]
    assert not draws_chips(many(100, 16, MOST_CHIPS + 1))


@pytest.mark.parametrize("by_storage", [False, True])
def test_no_cell_of_a_density_lies_over_a_name(by_storage: bool) -> None:
    """Names such as the beginnings of host ids differ in their last letters."""
    drawn = draw_density(many(6, 2, 224, "3f2a91b{}"), by_storage=by_storage)
    [svg] = [one for one in drawn.walk() if one.tag == "svg"]
    cells = [_shift(one)[0] for one in svg.walk() if "load:" in (one.key or "")]
    names = [one for one in svg.kids if isinstance(one, Frag) and one.tag == "text"]
    assert [one.text() for one in names] == [f"3f2a91b{i}" for i in range(6)]
    assert all(2 + NAME_LETTER * len(one.text()) <= min(cells) for one in names)


def is_seen(grid: TabletGrid) -> bool:
    """What is told of the layout itself, whose shards hold about as many each."""
    labels = {each.key: each.key[-4:] for held in grid.held.values() for each in held}
    lies = layout(grid, labels, by_storage=False)
    return lies.height <= HEIGHT + 2 or lies.row == pytest.approx(CHIP + 2 * GAP)


def test_a_step_does_not_change_chips_into_a_density() -> None:
    """A tablet on its way counts where it was, so that no picture flips within a run."""
    whole = many(4, 2, 16)
    for tablet in whole.tablets:
        sets = ReplicaSets(tablet.replicas, (A0,))
        way = TabletWay("migration", "streaming", sets, sets.old, sets.both)
        moving = replace(tablet, ways=(way,))
        tablets = tuple(moving if each is tablet else each for each in whole.tablets)
        assert draws_chips(replace(whole, tablets=tablets))


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


def test_nodes_have_heads_and_the_legend_explains_what_is_there() -> None:
    """The leader's head has a crown; only marks that are there are explained."""
    grid = one()
    leader, *others = grid.hosts
    quiet = draw_grid(replace(grid, hosts=(replace(leader, leads=True, tag="v3"), *others)))
    assert len(classed(quiet, "head")) == 5, "four nodes and a client"
    assert len(classed(quiet, "crown")) == 1
    said = classed(quiet, "legend")[0].text()
    assert "crown: coordinator; below a node: the version it works with" in said
    assert "comes" not in said
    replicas = moved((A0, B0, C0), A0, D0)
    way = one(new_replicas=replicas, stage="streaming", transition="migration")
    assert "comes" in classed(draw_grid(way), "legend")[0].text()


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


def test_each_mark_of_a_replica_or_a_node_is_marked_by_itself() -> None:
    """Whom requests use, what has arrived, a command in hand, an answer, who acts: nothing else."""
    moves = {"new_replicas": moved((A0, B0, C0), A0, D0), "transition": "migration"}
    grid = one(**moves, stage="write_both_read_old")
    [tablet], (host, *hosts) = grid.tablets, grid.hosts
    host = replace(host, barrier="asked")
    before = replace(grid, hosts=(host, *hosts))

    def lit(after: TabletGrid, *acting: str) -> set[str]:
        drawn = draw_grid(after, was=before, lit={*acting})
        return {str(k.key) for k in drawn.walk() if k.key and any(map(marks_itself, k.walk()))}

    [way] = tablet.ways
    reads_new = replace(tablet, ways=(replace(way, reads=way.sets.new),))
    chips = {f"tablet:ks.t:0:{tail}" for tail in ("0", "0:to:D:0")}
    assert lit(replace(before, tablets=(reads_new,))) == chips
    streamed = replace(tablet, some=(D0,))
    assert lit(replace(before, tablets=(streamed,))) == {"tablet:ks.t:0:0:to:D:0"}
    assert not lit(before)
    for change in ({"hand": DECIDED}, {"barrier": "answered"}, {"note": "leaves"}):
        assert lit(replace(before, hosts=(replace(host, **change), *hosts))) == {"host:A"}, change
    asked = tuple(replace(each, barrier="asked") for each in hosts)
    assert not lit(replace(before, hosts=(host, *asked)))
    assert lit(before, "host:B") == {"host:B"}


def test_a_node_that_is_given_up_looks_so() -> None:
    """E is hollow and banned, as it is in any cast; F, which leaves, is neither."""
    [first, *_] = scenes(walk("balance/no-room-in-the-rack"))
    drawn = next(p for p in for_model(first.model).panels if p.name == "grid").draw(first)
    rows = {name: part(drawn, f"host:{name}") for name in "AEF"}
    looks = {name: row.get("class") for name, row in rows.items() if row}
    assert looks == {"A": "character up", "E": "character down", "F": "character up"}
    signs = {name: [s.get("class") for s in row.walk() if "sign" in (s.get("class") or "")]
             for name, row in rows.items() if row}  # fmt: skip
    assert signs == {"A": [], "E": ["sign ban"], "F": []}


def test_what_a_step_changed_is_marked() -> None:
    """A replica that moved, the loads of both its nodes; a stage that begins, and the end of its
    work; nothing at first.
    """

    def marked_in(scenario: str) -> list[set[str]]:
        """What is marked in each step of a scenario, by the key of its part."""
        keyed = ((each for each in drawn.walk() if each.key) for drawn in drawn_in(scenario))
        return [{str(each.key) for each in parts if marks_itself(each)} for parts in keyed]

    first, second, *_ = marked_in("balance/empty-a-node")
    assert (first, second) == (set(), {"tablet:ks.t:1:1", "host:C", "host:D"})
    stages = [each for each in marked_in("tablets/one-tablet-moves") if "work:ks.t:0" in each]
    assert len(stages) == 2 * 7


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


def test_who_has_left_is_not_only_down() -> None:
    """At the end of a decommission C has left, which its note says as its sign does."""
    row = part(drawn_in("tablets/decommission-drains-first")[-1], "host:C")
    assert row
    assert words_by_part(row) == {"host:C": {"left"}}


def test_the_disk_of_a_load_stands_free() -> None:
    """Between a node's head and its cells, and a bar of a node changes only as its load does."""
    for scenario in entries()["balance"].scenarios:
        for drawn in drawn_in(f"balance/{scenario.name}"):
            for row in (each for each in drawn.walk() if (each.key or "").startswith("host:")):
                places = [PLACE.match(each.get("transform") or "") for each in row.kids
                          if isinstance(each, Frag) and classed(each, "drum")]  # fmt: skip
                assert all(at and float(at[1]) + SMALL * DISK_WIDE / 2 < 0 for at in places)
        lines = [
            {row[0]: (row[2], row[3]) for row in node_loads(scene.model, scene.state)}
            for scene in scenes(walk(f"balance/{scenario.name}"))
        ]
        for before, after in pairwise(lines):
            assert all(after[n][1] == before[n][1] for n in after if after[n][0] == before[n][0])
