"""The harnesses: hostile cases by seed. A quick share each time, all of them in the deep run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile import (
    actions,
    calls,
    clusters,
    commands,
    files,
    meaning,
    pages,
    published,
    slots,
    students,
)
from tests.hostile.judging import Harness, violations

HARNESSES = (
    Harness("command lines", commands.command_line, 40, 12_000),
    Harness("ring files", files.ring_file, 200, 14_000),
    Harness("outputs of tools", files.tool_output, 200, 14_000),
    Harness("dumps of the topology", files.topology_dump, 200, 10_000),
    Harness("metadata logs", files.metadata_log, 150, 8_000),
    Harness("dumps of tablets", files.tablet_dump, 150, 8_000),
    Harness("keyspaces", files.keyspace, 300, 6_000),
    Harness("sizes files", files.sizes_file, 200, 6_000),
    Harness("traces", files.trace_file, 100, 8_000),
    Harness("scenario files", files.scenario_file, 40, 4_000),
    Harness("names of files", files.file_name, 100, 2_000),
    Harness("calls", calls.any_call, 60, 14_000),
    Harness("public functions", published.any_published, 60, 6_000),
    Harness("methods", calls.any_method, 20, 3_000),
    Harness("actions", actions.random_action, 60, 10_000),
    Harness("plain actions", actions.plain_action, 100, 4_000),
    Harness("schemas", clusters.schema, 200, 10_000),
    Harness("asked of tablets", clusters.asked_of_tablets, 40, 4_000),
    Harness("descriptions of clusters", clusters.cluster, 150, 6_000),
    Harness("sets of the dead", clusters.sets_of_the_dead, 40, 2_000),
    Harness("typed drills", clusters.typed, 30, 3_000),
    Harness("parameters", clusters.parameter, 150, 8_000),
    Harness("students' models", students.student_model, 40, 3_000),
    Harness("slots of students' models", slots.slotted_model, 10, 300),
    Harness("the same in another form", meaning.same_meaning, 60, 8_000),
    Harness("one sign more", meaning.one_sign_more, 150, 12_000),
    Harness("rows of JSON", meaning.row_of_json, 20, 1_000),
    Harness("pages with hostile names", pages.page, 3, 150),
)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.name)
def test_some_hostile_cases(harness: Harness, tmp_path: Path) -> None:
    """Whatever comes, the answer is success or one line; the seeds are in the message."""
    print(f"{harness.name}: seeds 0 to {harness.quick - 1}")
    assert not list(violations(harness, harness.quick, tmp_path))


@pytest.mark.deep
@pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.name)
def test_all_hostile_cases(harness: Harness, tmp_path: Path) -> None:
    """The same with 160,000 cases over all harnesses."""
    print(f"{harness.name}: seeds 0 to {harness.deep - 1}")
    assert not list(violations(harness, harness.deep, tmp_path))
