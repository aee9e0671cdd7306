"""Each row of the documents' tables is noticed: a test fails as soon as one of them is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

import pytest

from kit.protocols.recovery.rules.availability import FAILURES, judged_failure
from tests import fixtures
from tests.protocols.recovery import test_panels as procedures
from tests.protocols.recovery import test_rules as failures
from tests.protocols.recovery.recovery_mode import test_steps as recovery_mode
from tests.protocols.tablets import test_stages as tablets
from tests.protocols.tcm import test_worked_tables as worked
from tests.protocols.topology import test_tables as topology
from tests.protocols.upgrade import test_raft_log as upgrade

COUNTS = {"COL": 33, "EDGE": 87, "FAIL": 8, "LOG": 33, "STAGE": 12, "STEP": 16, "WT": 62}
"""How many rows there are of each kind."""
TRUTH = {
    name: judged_failure(row)
    for name, row in zip(failures.LEVELS_OF_FAILURE, FAILURES, strict=True)
}
letter_by_letter = worked.test_an_operation_has_the_worked_tables_letter_by_letter
edges_of_tablets = tablets.test_the_documents_edition_has_the_edges_of_its_diagrams
COMPARING: Mapping[tuple[str, ...], Callable[[], None]] = {
    ("COL",): topology.test_the_columns_are_those_of_the_documents,
    ("EDGE",): topology.test_edition_documents_has_exactly_the_edges_of_the_documents,
    ("EDGE", "tablet"): partial(edges_of_tablets, "migration"),
    ("EDGE", "tablet_rebuild_v2"): partial(edges_of_tablets, "rebuild_v2"),
    ("EDGE", "tablet_repair"): partial(edges_of_tablets, "repair"),
    ("FAIL",): partial(failures.test_schema_changes_are_as_the_documents_say, TRUTH),
    ("LOG", "recovery"): recovery_mode.test_the_log_of_a_node_says_recovery_mode,
    ("LOG", "stuck"): upgrade.test_a_stuck_node_logs_its_retries_and_that_the_upgrade_takes_long,
    ("LOG", "upgrade"): partial(upgrade.test_each_node_logs_the_documents_lines_in_order, "A"),
    ("STAGE",): tablets.test_each_stage_of_the_documents_has_the_documents_selectors,
    ("STEP", "new"): procedures.test_edition_documents_follows_the_documents_recovery_steps,
    ("STEP", "old"): procedures.test_recovery_mode_follows_the_documents_steps,
    ("WT", "bootstrap"): partial(letter_by_letter, "bootstrap X --tokens 150"),
    ("WT", "decommission"): partial(letter_by_letter, "decommission X"),
    ("WT", "rf3"): worked.test_the_rf3_example_has_the_groups_of_the_text_at_epochs_100_to_103,
}
"""Who compares which rows: those that begin with these cells."""
KNOWN = [row for row in fixtures.ROWS if row[0] in COUNTS]


@pytest.mark.spec("H-021")
def test_all_rows_are_there() -> None:
    """None of them twice."""
    assert Counter(kind for kind, *_ in KNOWN) == COUNTS
    assert len({*KNOWN}) == len(KNOWN)


@pytest.mark.spec("H-021")
@pytest.mark.parametrize("row", KNOWN, ids="|".join)
def test_a_row_that_is_missing_is_noticed(
    row: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever compares it fails without it, and passes with it (as a test of its own)."""
    monkeypatch.setattr(fixtures, "ROWS", [each for each in fixtures.ROWS if each != row])
    monkeypatch.setattr(worked, "WORKED", worked.fixture_rows())
    compare = next(COMPARING[row[:cells]] for cells in (2, 1) if row[:cells] in COMPARING)
    with pytest.raises((AssertionError, LookupError, ValueError)):
        compare()
