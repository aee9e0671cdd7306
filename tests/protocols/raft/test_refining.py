"""Raft refines the one-line log, and a commit of group 0 opens as the run that achieves it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline, played_out
from kit.search.check import check, check_refinement
from kit.search.zoom import finer_run, zoomed

QUIET: dict[str, Any] = {"terms": 1, "most_in_flight": 2}
LED = ("1, commit 1, leads", "1", "1")
COARSE: list[tuple[dict[str, Any], int]] = [
    ({**QUIET, "begins": LED, "requests": ("x", "y")}, 201),
    ({**QUIET, "begins": LED, "requests": ("x", "y"), "terms": 2}, 1653),
    ({**QUIET, "begins": LED, "requests": ("x",), "edition": "server",
      "crashes": 1}, 590),
]  # fmt: skip


def _refinement(given: dict[str, Any], off: tuple[str, ...] = ()) -> Any:
    refines = entry_of("raft").refinement
    assert refines is not None
    return refines(build("raft", given, off).parameters)


@pytest.mark.parametrize(("given", "states"), COARSE)
def test_it_refines_the_log_in_one_step(given: dict[str, Any], states: int) -> None:
    """Two slots at most; each step appends and applies there what it does here, or nothing."""
    result = check_refinement(_refinement(given))
    assert (result.complete, result.violation, result.states) == (True, None, states)


def test_a_commit_of_group_0_opens_as_messages() -> None:
    """The second command, of B: it is asked there, forwarded to A, stored by B, and committed."""
    operations = ("create keyspace ks at A", "create keyspace kt at B")
    timeline = Timeline(build("group0", {"operations": operations}))
    while len(timeline.state.log) < 2:
        timeline.forward()
    run = zoomed(timeline)
    assert run.model.name == "raft"
    assert run.model.requests[1] == "create-keyspace-kt at B"
    first = run.forward()
    assert first is not None
    assert run.model.verb(first.action) == "request B create-keyspace-kt at B"
    timeline.goto(0)
    with pytest.raises(KitError):
        zoomed(timeline)


def test_a_snapshot_behind_a_change_of_members_is_applied_as_the_log_was() -> None:
    """Whoever gets it has applied what the others have: no search finds another machine."""
    given = {"begins": ("1, commit 1, leads", "1"), "members": "A B", "terms": 1}
    wishes = {"requests": ("members A B C", "snapshot at A"), "most_in_flight": 2}
    assert check(build("raft", given | wishes)).violation is None


def test_a_command_does_not_look_like_an_entry() -> None:
    """Two could not be told from one in a snapshot."""
    with pytest.raises(BadInput, match=r"^requests: got 'x 2:y'; allowed: a command without"):
        build("raft", {"requests": ("x 2:y",)})


@pytest.mark.parametrize(("nodes", "opens"), [(1, True), (6, True), (7, True), (8, False)])
def test_a_commit_opens_as_messages_of_up_to_seven_servers(nodes: int, opens: bool) -> None:
    """As many as the finer model has; of more members no finer view is known."""
    given = {"nodes": nodes, "operations": ("create keyspace kt at A",)}
    timeline = played_out(Timeline(build("group0", given)))
    finer = [at for at in timeline.path()[1:] if finer_run(timeline, at)]
    models: list[Any] = [zoomed(timeline, at).model for at in finer]
    assert [model.nodes for model in models] == [nodes] * opens
