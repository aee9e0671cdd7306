"""What a rehearsal is made of: its limits, who is down in it, what it says that it leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kit
from kit.errors import BadInput
from kit.protocols.tablets.dry_run import player
from kit.protocols.tablets.dump import DumpedTable, DumpedTransition, TabletDump
from tests.protocols.tablets.dry_run.test_command import FIXTURES, host
from tests.protocols.tablets.dry_run.test_opening import FILES, STATUS, edited, opened
from tests.protocols.tablets.dry_run.test_player import everywhere, rehearsed
from tests.protocols.tablets.dry_run.test_rf_change import ITEMS
from tests.protocols.tablets.tablets.test_given_up import reached
from tests.saying import says

LEAVE = tuple(f"decommission {host(number)}" for number in range(1, 4))
LOSE = tuple(f"lose {host(number)}" for number in range(1, 4))


@pytest.mark.parametrize(
    ("limit", "most", "operations", "said"),
    [
        ("MOST_NODES", 5, (), None),
        ("MOST_NODES", 4, (), "nodes | 5 | at most 4 for a Player"),
        ("MOST_FAULTS", 2, LEAVE[:2], None),
        ("MOST_FAULTS", 2, LEAVE, "operations | 3 | at most 2 in one rehearsal"),
        ("MOST_FAULTS", 2, LOSE[:2], None),
        ("MOST_FAULTS", 2, LOSE, "lost nodes | 3 | at most 2 in one rehearsal"),
    ],
)
def test_a_rehearsal_has_its_limits(
    limit: str,
    most: int,
    operations: tuple[str, ...],
    said: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many nodes, requests and losses as a Player can have, and no more."""
    monkeypatch.setattr(player, limit, most)
    if said is None:
        assert rehearsed(*operations).timeline.model is not None
        return
    with pytest.raises(BadInput) as error:
        rehearsed(*operations)
    assert says(error.value, said), error.value


@pytest.mark.parametrize(
    ("most", "operations", "crashes"),
    [(5, (), 3), (4, (), 0), (5, LOSE[:1], 4), (4, LOSE[:1], 1)],
)
def test_of_many_nodes_only_those_that_are_named_can_be_lost(
    most: int, operations: tuple[str, ...], crashes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three more by the way, where there are few enough to choose from."""
    monkeypatch.setattr(player, "MOST_TO_CHOOSE", most)
    assert rehearsed(*operations).timeline.model.parameters.crashes == crashes


def status_of(folder: Path, **marks: str) -> Path:
    """The status with addresses in the opposite order of hosts, and some nodes not up."""
    lines = []
    for line in STATUS.splitlines():
        number = next((each for each in range(1, 6) if host(each) in line), 0)
        health = marks.get(f"n{number}", line[:1] if number == 0 else "U")
        lines.append(health + line[1:].replace(f"10.0.0.{number}", f"10.0.0.{6 - number}"))
    path = folder / "status.txt"
    path.write_text("\n".join([*lines, ""]), "utf-8")
    return path


@pytest.mark.parametrize(
    ("marks", "down", "ignored"),
    [
        ({}, (), ()),
        ({"n1": "D", "n2": "D"}, ("10.0.0.4", "10.0.0.5"), ()),
        ({"n1": "X", "n2": "X"}, ("10.0.0.4", "10.0.0.5"), ("10.0.0.4", "10.0.0.5")),
        ({"n1": "D", "n2": "X"}, ("10.0.0.4", "10.0.0.5"), ("10.0.0.4",)),
    ],
)
def test_who_is_down_and_who_is_ignored(
    marks: dict[str, str], down: tuple[str, ...], ignored: tuple[str, ...], tmp_path: Path
) -> None:
    """By the names that the picture has, ascending."""
    given = rehearsed(status=status_of(tmp_path, **marks)).timeline.model.parameters
    assert (given.down, given.ignored) == (down, ignored)


@pytest.mark.parametrize(
    ("columns", "down"),
    [
        ({}, ()),
        ({"tokens": ""}, ("00000001",)),  # it has tablets, but may take none
        ({"ignore_nodes": f"{{{host(1)}}}"}, ("00000001",)),
    ],
)
def test_who_takes_no_tablets_takes_no_part(
    columns: dict[str, str], down: tuple[str, ...], tmp_path: Path
) -> None:
    """It is there with its replicas, as if it were down."""
    files = {"topology": edited(tmp_path, "topology", 0, **columns)} if columns else {}
    assert rehearsed(**files).timeline.model.parameters.down == down


WAITS = "5d3cc3c0-1c2d-11f1-8a00-0123456789ab"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, []),
        ({"global_topology_request": "cleanup"}, ["left out: the waiting request cleanup"]),
        ({"global_requests": f"{{{WAITS}}}"}, ["left out: 1 waiting global requests"]),
    ],
)
def test_what_the_cluster_waits_for_is_left_out(
    columns: dict[str, str], said: list[str], tmp_path: Path
) -> None:
    """A line names it, or says how many there are."""
    files = {"topology": everywhere(tmp_path, **columns)} if columns else {}
    found = rehearsed(**files).warnings
    assert [line for line in found if "waiting" in line] == said


@pytest.mark.parametrize(
    ("operations", "said"),
    [
        (("decommission 00000001 00000002",), "operation | decommission HOST"),
        (("lose 00000005",), "operation | 'lose 00000005' | a node that is up"),
        (("removenode 00000005",), None),
        (("lose 00000004",), None),
        (("rf shop dc1=4", "rf shop dc1=4"), "operation | each node and each keyspace once"),
        (("lose 00000004", "lose 00000004"), "operation | each node and each keyspace once"),
    ],
)
def test_an_operation_fits_its_node(
    operations: tuple[str, ...], said: str | None, tmp_path: Path
) -> None:
    """Who is down cannot be lost; a second RF change is refused while one is pending."""
    dump, sizes = tmp_path / "tablets.csv", tmp_path / "sizes.csv"
    for path in (dump, sizes):  # all tablets of which have three replicas
        lines = (FIXTURES / path.name).read_text("utf-8").splitlines()
        path.write_text("".join(f"{each}\n" for each in lines if ITEMS not in each), "utf-8")
    files: dict[str, Any] = {"dump": dump, "sizes": sizes, "status": FIXTURES / "status.txt"}
    if said is None:
        made = rehearsed(*operations, **files).timeline.model.parameters
        assert len(made.operations) == sum("lose" not in each for each in operations)
        return
    with pytest.raises(BadInput) as error:
        rehearsed(*operations, **files)
    assert says(error.value, said), error.value


def test_work_that_cannot_be_done_fails_by_its_tablets_name() -> None:
    """Tablets are counted through all tables, but called by their own."""
    timeline = rehearsed("lose 00000004").timeline
    model: Any = timeline.model
    reached(timeline, "exclude 00000004")
    labels = [model.label(timeline.state, each) for each in model.actions(timeline.state)]
    assert "fail work on tablet 0 of shop.orders: stream" in labels


@pytest.mark.parametrize(
    ("crashed", "done"),
    [
        (None, "Done: stream (tablets: 4)."),
        ("00000003", "Done: stream (tablets: 4)."),
        ("00000005", "Done: stream (tablets: 3); tablets that cannot continue: 1."),
        ("00000004", "Done: stream (tablets: 1); tablets that cannot continue: 3."),
    ],
)
def test_work_on_all_tablets_is_done_where_it_can_be(crashed: str | None, done: str) -> None:
    """Host 1 is emptied: one tablet goes to host 5, three go to host 4."""
    timeline = rehearsed("balance", "decommission 00000001").timeline
    model: Any = timeline.model
    while len(model.data_pieces(timeline.state)) < 4:
        assert timeline.forward() is not None
    if crashed:
        reached(timeline, f"crash {crashed}")
    reached(timeline, "work on all")
    assert timeline.moments[-1].say == done


NUMBERS = ("00000001", "00000002", "00000003", "00000004", "00000005")
RACKS = ("dc1/r1", "dc1/r2", "dc1/r3", "dc1/r1", "dc1/r2")
OLD_SIZES = ((2**28,) * 2,) * 2
DUMPED = TabletDump(
    shards=(2,) * 5,
    tables=(
        DumpedTable("shop.items", 2, resize_type="merge"),
        DumpedTable("shop.orders", 4, ("shop.orders_by_day",)),
    ),
    capacities=(2**40,) * 4 + (2**41,),
    sizes=(*OLD_SIZES, *((number * 2**31,) * 3 for number in range(1, 5))),
    weights=(*OLD_SIZES, *((number * 2**31,) * 3 for number in range(1, 5))),
    transitions=(
        DumpedTransition(
            2, "migration", "streaming", "00000004:1 00000002:1 00000003:0", session=1
        ),
    ),
    version=14,
    fence_version=13,
)


@pytest.mark.parametrize(
    ("operations", "moves", "crashes", "asked", "done"),
    [
        ((), 0, 3, (), []),
        (("balance",), 1, 3, (), []),
        (("lose 00000003",), 0, 4, (), ["crash 00000003"]),
        (
            ("decommission 00000004", "balance", "lose 00000003", "lose 00000002"),
            *(1, 5, ("decommission 00000004",)),
            ["crash 00000003", "crash 00000002", "leave 00000004"],
        ),
        (("rf shop dc1=4",), 0, 3, ("keyspace_rf_change shop dc1=4",), None),
    ],
)
def test_a_rehearsal_is_built_of_the_files_and_the_lines(
    operations: tuple[str, ...],
    moves: int,
    crashes: int,
    asked: tuple[str, ...],
    done: list[str] | None,
    tmp_path: Path,
) -> None:
    """All that the files say, three more losses and exclusions than the lines ask for, and as many
    failures as requests. Who is lost goes first, then the requests are made.
    """
    files: dict[str, Any] = {}
    if done is None:  # an RF change is one of tablets that all have three replicas
        for name in ("dump", "sizes"):
            lines = (FIXTURES / f"{name.replace('dump', 'tablets')}.csv").read_text().splitlines()
            files[name] = tmp_path / f"{name}.csv"
            files[name].write_text("".join(f"{each}\n" for each in lines if ITEMS not in each))
    made = rehearsed(*operations, **files)
    given = made.timeline.model.parameters
    assert (given.nodes, given.names, given.racks) == (5, NUMBERS, RACKS)
    assert (given.moves, given.crashes, given.exclusions) == (moves, crashes, 3)
    assert (given.operations, given.undone) == (asked, len(asked))
    assert given.kinds == ("migration", "intranode_migration")
    if done is not None:
        assert given.dump == DUMPED
        verbs = [made.timeline.model.verb(each.action) for each in made.timeline.moments[1:]]
        assert verbs == done


def test_a_rehearsal_says_what_it_is_of() -> None:
    """In one line: the file, its tablets and nodes. Its operations may be lines of one text."""
    made = rehearsed("balance", "decommission 00000004")
    assert repr(made) == "TabletRehearsal(tablets.csv: 6 tablets on 5 nodes)"
    together = kit.rehearse(FIXTURES / "tablets.csv", "balance\ndecommission 00000004\n", **FILES)
    assert together.timeline.model.parameters == made.timeline.model.parameters


@pytest.mark.parametrize(
    ("asks", "word"), [("leave", "decommission"), ("remove", "removenode"), ("", "")]
)
def test_what_the_files_ask_for_comes_first(asks: str, word: str, tmp_path: Path) -> None:
    """Before the lines; a line of the same node is refused, with the operation that goes on."""
    topology = edited(tmp_path, "topology", 4, topology_request=asks)
    first = (f"{word} 00000005",) * bool(word)
    made = rehearsed("decommission 00000004", topology=topology)
    assert made.timeline.model.parameters.operations == (*first, "decommission 00000004")
    assert not any(line.startswith("left out") for line in made.warnings)
    for line in ("decommission 00000005", "lose 00000005") if word else ():
        with pytest.raises(BadInput) as error:
            rehearsed(line, topology=topology)
        assert says(error.value, f"operation | '{line}' | the files already have {word}")


def test_a_rehearsal_of_a_dump_alone_knows_no_more_than_it() -> None:
    """Neither sizes nor capacities, and the versions of a cluster that has just begun."""
    dump = kit.rehearse(FIXTURES / "tablets.csv").timeline.model.parameters.dump
    assert (dump.sizes, dump.capacities) == ((), ())
    assert (dump.version, dump.fence_version) == (1, 1)


def test_hosts_are_called_by_their_addresses_where_all_are_known() -> None:
    """One without an address: then by the beginnings of their ids."""
    cluster = opened(status=FIXTURES / "status.txt")
    known = [host(1), host(2)]
    assert [*player.short_names(cluster, known).values()] == ["10.0.0.1", "10.0.0.2"]
    names = player.short_names(cluster, [*known, host(6)])
    assert [*names.values()] == ["00000001", "00000002", "00000006"]
