"""Each promise of the commit log and of several groups breaks where it was broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.model import Model
from kit.engine.registry import build, entry_of
from kit.protocols.raft.commit_log import CommitLog
from kit.protocols.raft.groups import RaftGroups
from kit.protocols.raft.state import Leader, Stored
from tests.quality.breaking import broken, never
from tests.quality.reporting import assert_reported, judges

SMALL = {"shards": 2, "writes": 2, "changes": 1, "crashes": 0}


def without(name: str) -> Callable[[], Model[Any, Any]]:
    """The commit log without a safeguard, in its smallest configuration."""
    [guard] = [each for each in entry_of("commit_log").safeguards if each.name == name]
    return lambda: build("commit_log", guard.smallest, (name,))


def two_leaders() -> Model[Any, Any]:
    """Two nodes that both lead a group in term 1 from the start."""
    model = build("raft_groups", {"nodes": 2})
    start = model.start()
    led = (replace(of[0], stored=Stored(term=1), role=Leader()) for of in start.nodes)
    nodes = tuple((one, of[1]) for one, of in zip(led, start.nodes, strict=True))
    model.start = lambda: start.but(nodes=nodes)  # type: ignore[method-assign]  # for this one
    return model


COMMIT_LOG = {
    "durable": without("sync-each"),
    "quick": without("own-priority"),
    "fits": without("own-log"),
    "overtakes": lambda: broken(build("commit_log", SMALL), CommitLog.answer.struct, never),
    "at-rest": lambda: broken(build("commit_log", SMALL), CommitLog.answer.struct, never),
}
GROUPS = {
    "one-leader": two_leaders,
    "own-leaders": lambda: broken(
        build("raft_groups", {"nodes": 2}), RaftGroups.happen.struct, never
    ),
}


@pytest.mark.parametrize("name", COMMIT_LOG)
def test_a_search_of_the_commit_log_reports_it(name: str) -> None:
    """Judged alone, it is broken by what was broken for it."""
    assert_reported(COMMIT_LOG[name](), name)


@pytest.mark.parametrize("name", GROUPS)
def test_a_search_of_the_groups_reports_it(name: str) -> None:
    """Judged alone, it is broken by what was broken for it."""
    assert_reported(GROUPS[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The tables name all that the two models judge."""
    assert set(COMMIT_LOG) == set(judges(build("commit_log")))
    assert set(GROUPS) == set(judges(build("raft_groups")))
