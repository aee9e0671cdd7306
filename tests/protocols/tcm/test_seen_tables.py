"""Ranges on the screen: majorities, datacenters, racks, arrows, the log with groups, the merge."""

from __future__ import annotations

from itertools import combinations

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.ring import ring_of
from kit.protocols.tcm.panels.tables import logical
from kit.search.check import check
from kit.views.fragment import Frag
from kit.views.ring import bands, marks
from kit.widgets import Player
from tests.protocols.tcm.driving import Drive
from tests.protocols.tcm.seeing import Watched, watched
from tests.saying import says
from tests.views.frames import classed, part, table

JOIN = "bootstrap X --tokens 150"


def majorities(names: tuple[str, ...]) -> list[set[str]]:
    """The smallest majorities of a group."""
    return [set(some) for some in combinations(names, len(names) // 2 + 1)]


@pytest.mark.spec("A-005")
def test_the_counter_of_placement_computations_moves_with_each_epoch_alone() -> None:
    """Text and picture of the log show it in every state."""
    drive = watched("bootstrap")
    drive.complete(JOIN)
    for number, state in enumerate(drive.states):
        seen = Watched(operations=(JOIN,), focus=(0, 200))
        seen.states = drive.states[: number + 1]
        events = len(state.tcm.events)
        words = f"placement computations: {1 + events}, one at the start and one per epoch"
        assert seen.words("log")[1].strip() == words
        assert words in seen.drawn("log").text()
    assert drive.model.tcm.computations == 1 + len(drive.state.tcm.events)


def matrix(drawn: Frag, key: str) -> tuple[list[str], list[list[str]]]:
    """A matrix of majorities: its heads, and its rows of words."""
    found = part(drawn, key)
    assert found is not None
    rows = [one for one in found.walk() if one.tag == "tr"]
    cells = [[one.text() for one in row.walk() if one.tag in ("th", "td")] for row in rows]
    return cells[0][1:], cells[1:]


@pytest.mark.spec("A-009")
@pytest.mark.parametrize("name", ["bootstrap", "decommission", "rf3"])
def test_the_matrix_of_majorities_has_a_shared_node_in_every_cell(name: str) -> None:
    """Every range that is shown has its read and write majorities, at every epoch."""
    drive = watched(name)
    operation = "decommission X" if name == "decommission" else JOIN
    places = [one.name for one in drive.panels()]
    assert places.index("majorities") == places.index("placements") + 1
    drive.complete(operation)
    shown = 0
    for i in range(len(drive.states)):
        seen = watched(name)
        seen.states = drive.states[: i + 1]
        drawn = seen.drawn("majorities")
        for row in facts.rows(seen.model, seen.state):
            key = f"meet:ks:{row.left}:{row.right}"
            if part(drawn, key) is None:
                continue
            shown += 1
            heads, rows = matrix(drawn, key)
            assert [set(head.split(", ")) for head in heads] == majorities(row.writes), i
            assert [set(line[0].split(", ")) for line in rows] == majorities(row.reads), i
            for reading, line in zip(majorities(row.reads), rows, strict=True):
                for writing, cell in zip(majorities(row.writes), line[1:], strict=True):
                    assert set(cell.split(", ")) == reading & writing != set(), i
            assert any(says(line, f"ks {row.label} | meets") for line in seen.words("majorities"))
    assert shown >= 5
    assert drive.dark() == []


@pytest.mark.spec("A-009")
def test_majorities_that_miss_are_shown_as_nobody_in_the_matrix() -> None:
    """The lamp "quorums" is out."""
    drive = watched("bootstrap", rf=1, off=("write-before-read",)).act(JOIN).commit("X")
    assert "nobody" in drive.drawn("majorities").text()
    assert any(says(line, "share no node") for line in drive.words("majorities"))
    assert any(line.startswith("quorums") for line in drive.dark())


@pytest.mark.spec("A-011")
@pytest.mark.parametrize("rf", [1, 2, 3])
def test_the_bands_of_a_range_are_those_of_its_next_nodes_clockwise(rf: int) -> None:
    """The words of the range name the same nodes, in their order."""
    tokens = {"A": 100, "B": 200, "C": 300, "D": 400}
    for left, right in ((0, 100), (100, 200), (200, 300), (300, 400)):
        drive = Watched(nodes=4, rf=rf, focus=(left, right))
        clockwise = sorted(tokens, key=lambda name: (tokens[name] < right, tokens[name]))[:rf]
        drawn = drive.drawn("ring")
        its = f":{left}:{right}:"
        bands = {one.get("data-of") for one in classed(drawn, "read") if its in (one.key or "")}
        assert bands == {*clockwise}, (left, right)
        words = f"({left}, {right}]: read from {', '.join(clockwise)};"
        assert words in drawn.text(), (left, right)


def two_datacenters() -> Watched:
    """Eight nodes in two datacenters with two racks each, two replicas in either."""
    return watched("two-datacenters")


@pytest.mark.spec("A-012")
def test_each_rack_has_its_lane_on_the_ring_of_its_datacenter() -> None:
    """The legend says so. Each datacenter has a range's two replicas on two racks."""
    drive = two_datacenters()
    ring = ring_of(drive.scene)
    rack = {row.name: row.rack for row in facts.nodes(drive.model, drive.state)}
    for dc in ("dc1", "dc2"):
        drawn = [*bands(ring, ring.tables[0], None, dc)]
        assert {(band.lane, rack[band.node]) for band in drawn} == {(0, "r1"), (1, "r2")}
    assert "a lane is a rack" in marks(ring)
    assert len(set(rack.values())) == 2
    for row in facts.rows(drive.model, drive.state):
        for dc in ("dc1", "dc2"):
            there = [name for name in row.reads if drive.dc(name) == dc]
            assert sorted(rack[name] for name in there) == ["r1", "r2"], dc


@pytest.mark.spec("A-013")
def test_each_datacenter_has_a_placement_table_of_its_own() -> None:
    """Together they are the groups."""
    drive = two_datacenters().act(JOIN).commit("X")
    captions = [one.text() for one in drive.drawn("placements").walk() if one.tag == "caption"]
    assert captions == ["Placements in dc1", "Placements in dc2"]
    tables = classed(drive.drawn("placements"), "placement")
    for row in facts.rows(drive.model, drive.state):
        for i, dc in enumerate(("dc1", "dc2")):
            for side, group in (("reads", row.reads), ("writes", row.writes)):
                there = [name for name in group if drive.dc(name) == dc]
                shown = table(tables[i], side)[row.label]
                assert [name.lstrip("+") for name in shown] == there, (dc, side)
                assert len(there) == 2 + (side == "writes" and dc == "dc1" and row.right == 150)
    words = drive.words("placements")
    assert [line for line in words if line.startswith("  in ")] == ["  in dc1", "  in dc2"]


@pytest.mark.spec("A-021")
@pytest.mark.parametrize("name", ["bootstrap", "rf3", "two-datacenters"])
def test_a_split_shows_no_changed_replicas(name: str) -> None:
    """The text says so, and no chip has a sign."""
    drive = watched(name).act(JOIN)
    drawn = drive.drawn("placements")
    for words in (drive.words("placements")[-1], drawn.text()):
        assert says(words, "Token by token | no replicas changed"), words
    assert classed(drawn, "added") == classed(drawn, "removed") == []
    assert len(facts.rows(drive.model, drive.state)) > len(facts.rows(drive.model, drive.states[0]))
    drive.commit("X")
    assert "reads changed in 0 ranges" in drive.words("placements")[-1]


@pytest.mark.spec("A-035")
def test_the_merge_step_lists_equal_neighbours_and_greys_unequal_ones() -> None:
    """The merge then joins just the equal ones."""
    drive = watched("decommission").act("decommission X").commit("X", 2)
    step = next(one for one in drive.drawn("operation").walk() if (one.key or "").endswith("merge"))
    pairs = [one for one in step.walk() if ":pair:" in (one.key or "")]
    apart, equal = pairs
    assert apart.get("aria-disabled") == "true"
    assert says(apart.text(), "(0, 100] and (100, 150] stay separate")
    assert equal.get("aria-disabled") is None
    assert says(equal.text(), "(100, 150] and (150, 200] become one")
    assert [one.get("class") for one in pairs] == ["soft", None]
    assert [line.strip() for line in drive.words("operation") if " and " in line] == [
        one.text() for one in pairs
    ]
    by_bounds = {(row.left, row.right): row for row in facts.rows(drive.model, drive.state)}
    one, other = by_bounds[100, 150], by_bounds[150, 200]
    assert (one.reads, one.writes) == (other.reads, other.writes)
    drive.commit("X")
    assert [row.label for row in facts.rows(drive.model, drive.state)][:2] == [
        *("(0, 100]", "(100, 200]")
    ]


@pytest.mark.spec("A-036")
@pytest.mark.parametrize("operation", ["decommission B", "move B --tokens 450", "removenode B"])
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_an_operation_without_its_merge_gives_each_token_the_same_replicas(
    operation: str, edition: str
) -> None:
    """Only a bound is left over, and no lamp goes out."""
    given = {"nodes": 5, "rf": 3, "operations": (operation,), "edition": edition}
    controls = Player(Timeline(build("tcm", given))).controls
    assert controls is not None
    assert controls.fields["merge"].value is True
    merged, kept = (Drive(merge=merge, **given).complete(operation) for merge in (True, False))
    assert len(kept.table()) == len(merged.table()) + 1
    for token in range(1, 600):
        assert kept.groups(token) == merged.groups(token), token
    assert kept.dark() == merged.dark() == []
    found = check(build("tcm", {**given, "nodes": 4, "rf": 2, "merge": False}))
    assert found.violation is None, found
    assert found.complete, found


@pytest.mark.spec("A-040")
def test_the_log_shows_both_groups_at_epochs_100_to_103() -> None:
    """They are the groups of the range that X gains in the RF 3 example."""
    drive = watched("rf3").complete(JOIN)
    groups = {}
    for entry in classed(drive.drawn("log"), "entry"):
        said, _, sides = entry.text().partition("(100, 150]: ")
        sorts = (side.split(" ", 1)[1].split(", ") for side in sides.split("; "))
        groups[said.split()[0]] = ["".join(sorted(names)) for names in sorts]
    assert groups == {
        "103": ["BCX", "BCX"],
        "102": ["BCX", "ABCX"],
        "101": ["ABC", "ABCX"],
        "100": ["ABC", "ABC"],
    }


@pytest.mark.spec("A-041")
@pytest.mark.parametrize("rf", [1, 2, 3])
def test_the_logical_view_has_rf_writers_whose_nodes_are_the_write_group(rf: int) -> None:
    """A writer on its way stands for two nodes, and the panel says that both must answer."""
    drive = Watched(rf=rf, operations=(JOIN,)).complete(JOIN)
    both = 0
    for i in range(len(drive.states)):
        seen = Watched(rf=rf, operations=(JOIN,))
        seen.states = drive.states[: i + 1]
        rows = logical(seen.model, seen.state, "ks")
        moving = [one for one in rows if any(len(pair) == 2 for pair in one.writes)]
        for one in rows:
            assert len(one.writes) == rf, i
            assert {name for pair in one.writes for name in pair} == set(one.row.writes), i
            both += sum(len(pair) == 2 for pair in one.writes)
            writes = " ".join(" and ".join(pair) for pair in one.writes)
            line = f"  {one.row.label}  {' '.join(one.row.reads)}  {writes}"
            assert (line in seen.words("logical")) is (one in (moving or rows)), i
        assert "both of them must answer a write" in seen.drawn("logical").text(), i
    assert both


@pytest.mark.spec("A-043")
def test_the_arrow_of_a_stream_names_its_sources() -> None:
    """The displaced replica, or for a dead one the other old replicas."""
    drive = watched("bootstrap").act(JOIN).commit("X")
    lines = [line.strip() for line in drive.words("streams")]
    assert "… B → X  ks (0, 100]  –" in lines
    assert "… C → X  ks (100, 150]  –" in lines
    assert "B → X" in drive.drawn("streams").text()
    dead = Watched(nodes=4, rf=3, operations=("replace B Z",)).act("replace B Z").commit("Z", 0)
    old = {row.right: row.reads for row in facts.rows(dead.model, dead.states[0])}
    rows = dead.operation().streams
    assert rows
    for row in rows:
        assert set(row.sources) == set(old[row.right]) - {"B"}
        assert len(row.sources) >= 2
        arrow = f"{', '.join(row.sources)} → Z"
        assert arrow in dead.drawn("streams").text()


def test_without_the_safeguard_the_nearest_other_replica_that_is_up_sends() -> None:
    """Never the displaced one."""
    off = ("stream-from-displaced",)
    drive = Watched(nodes=4, rf=3, crashes=1, operations=(JOIN,), off=off).act(JOIN).commit("X")
    for crash, senders in (((), "AABD"), (("crash A",), "BBBD")):
        rows = drive.act(*crash).operation().streams
        assert [row.right for row in rows] == [100, 500, 150, 400]
        assert "".join(source for row in rows for source in row.sources) == senders
