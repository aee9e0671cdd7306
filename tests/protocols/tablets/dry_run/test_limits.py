"""What a rehearsal is made of: its limits, and what it says that it leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kit
from kit.errors import BadInput
from tests.protocols.tablets.dry_run.test_command import FIXTURES
from tests.protocols.tablets.dry_run.test_opening import FILES, edited
from tests.protocols.tablets.dry_run.test_player import everywhere, rehearsed
from tests.protocols.tablets.dry_run.test_rf_change import ITEMS
from tests.protocols.tablets.tablets.test_commanded import reached
from tests.saying import says

WAITS = "5d3cc3c0-1c2d-11f1-8a00-0123456789ab"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, []),
        ({"global_topology_request": "cleanup"}, ["left out: the waiting request cleanup"]),
        ({"global_requests": f"{{{WAITS}}}"}, ["left out: 1 waiting global requests"]),
    ],
)
def test_a_rehearsal_warns_that_waiting_global_requests_are_left_out(
    columns: dict[str, str], said: list[str], tmp_path: Path
) -> None:
    """A line names the request, or says how many there are."""
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
def test_a_rehearsal_refuses_an_operation_that_does_not_fit_its_node(
    operations: tuple[str, ...], said: str | None, tmp_path: Path
) -> None:
    """A node that is down cannot be lost, and no node or keyspace is named twice."""
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


@pytest.mark.parametrize(
    ("crashed", "done"),
    [
        (None, "Done: stream (tablets: 4)."),
        ("00000003", "Done: stream (tablets: 4)."),
        ("00000005", "Done: stream (tablets: 3); tablets that cannot continue: 1."),
        ("00000004", "Done: stream (tablets: 1); tablets that cannot continue: 3."),
    ],
)
def test_work_on_all_tablets_counts_those_done_and_those_that_cannot_continue(
    crashed: str | None, done: str
) -> None:
    """With a crashed source or target some tablets cannot."""
    timeline = rehearsed("balance", "decommission 00000001").timeline
    model: Any = timeline.model
    while len(model.data_pieces(timeline.state)) < 4:
        assert timeline.forward() is not None
    if crashed:
        reached(timeline, f"crash {crashed}")
    reached(timeline, "work on all")
    assert timeline.moments[-1].say == done


def test_the_repr_of_a_tablet_rehearsal_names_file_tablets_and_nodes() -> None:
    """Operations may be lines of one text."""
    made = rehearsed("balance", "decommission 00000004")
    assert repr(made) == "TabletRehearsal(tablets.csv: 6 tablets on 5 nodes)"
    together = kit.rehearse(FIXTURES / "tablets.csv", "balance\ndecommission 00000004\n", **FILES)
    assert together.timeline.model.parameters == made.timeline.model.parameters


@pytest.mark.parametrize(
    ("asks", "word"), [("leave", "decommission"), ("remove", "removenode"), ("", "")]
)
def test_a_request_in_the_files_comes_before_the_operations_of_a_rehearsal(
    asks: str, word: str, tmp_path: Path
) -> None:
    """A second operation of that node is refused."""
    topology = edited(tmp_path, "topology", 4, topology_request=asks)
    first = (f"{word} 00000005",) * bool(word)
    made = rehearsed("decommission 00000004", topology=topology)
    assert made.timeline.model.parameters.operations == (*first, "decommission 00000004")
    assert not any(line.startswith("left out") for line in made.warnings)
    for line in ("decommission 00000005", "lose 00000005") if word else ():
        with pytest.raises(BadInput) as error:
            rehearsed(line, topology=topology)
        assert says(error.value, f"operation | '{line}' | the files already have {word}")
