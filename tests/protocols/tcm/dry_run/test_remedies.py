"""A node that is down, one that is given up, and data that is lost are three things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.protocols.tcm.dry_run.plan import PlanReport, dry_run
from kit.protocols.tcm.parameters import parse_operation
from tests.protocols.tcm.dry_run.samples import hosts, printed

ROWS = Path(__file__).with_name("nodes_down.txt").read_text(encoding="utf-8").splitlines()
CASES = [
    tuple(cell.strip() for cell in line.split("|")) for line in ROWS if line and line[0].isdigit()
]


def planned(rf: str, operation: str, down: str) -> PlanReport:
    """The dry run of a case."""
    keyspace = f'ks={{"class": "SimpleStrategy", "replication_factor": {rf}}}'
    return dry_run(printed(hosts(4), keyspace), parse_operation(operation), down=down.split())


def parts(cell: str) -> Iterator[str]:
    """What a cell lists."""
    yield from (each.strip() for each in cell.split(";") if cell != "-")


@pytest.mark.parametrize("case", CASES, ids=" | ".join)
def test_a_node_that_is_down_is_not_lost(case: tuple[str, ...]) -> None:
    """What a plan says of it, why it ends, and what an operator can do."""
    rf, operation, down, reason, says, never = case
    report = planned(rf, operation, down)
    assert report.accepted
    assert (report.reason or "-").endswith(reason)
    said = " ".join((report.reason or "", *report.warnings, *report.remedy))
    assert [each for each in parts(says) if each not in said.replace(HOST, "ID")] == []
    assert [each for each in parts(never) if each in said.replace(HOST, "ID")] == []


HOST = printed(hosts(4)).host_ids["n2"]


@pytest.mark.parametrize("case", CASES, ids=" | ".join)
def test_the_documents_know_no_tool(case: tuple[str, ...]) -> None:
    """Their nodetool has other words, so nothing is to be typed; what is lost is the same."""
    rf, operation, down, *_ = case
    keyspace = f'ks={{"class": "SimpleStrategy", "replication_factor": {rf}}}'
    given, parsed = printed(hosts(4), keyspace), parse_operation(operation)
    report = dry_run(given, parsed, down=down.split(), edition="documents")
    assert report.remedy == ()
    of_server = planned(rf, operation, down).warnings
    for word in ("data is lost", "it cannot be copied while"):
        assert any(word in line for line in report.warnings) is any(
            word in line for line in of_server
        )


def test_the_host_id_is_that_of_the_files() -> None:
    """Where status was given, the command can be pasted."""
    assert f"nodetool removenode {HOST}" in planned("3", "removenode n2", "n2").remedy[0]
