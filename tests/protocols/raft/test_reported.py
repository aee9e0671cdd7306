"""Each promise of Raft, of groups and of the commit log breaks where it is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.machines import Turn
from kit.model.model import Model
from kit.model.registry import build, entry_of
from kit.protocols.raft.commit_log import CommitLog
from kit.protocols.raft.groups import RaftGroups
from kit.protocols.raft.raft import QUIET, Raft, RaftNode
from kit.protocols.raft.rules.log import Log
from kit.protocols.raft.state import Leader, Stored
from tests.quality.breaking import broken, never
from tests.quality.reporting import assert_reported, judges

SMALL = {"shards": 2, "writes": 2, "changes": 1, "crashes": 0}


def without(name: str, model: str = "commit_log") -> Callable[[], Model[Any, Any]]:
    """A model without a safeguard, in its smallest configuration."""
    [guard] = [each for each in entry_of(model).safeguards if each.name == name]
    return lambda: build(model, guard.smallest, (name,))


def forgetful_leader() -> Model[Any, Any]:
    """A leader that drops its second entry when its timer runs out."""
    model = build("raft", {"begins": ("1 1, leads", "1 1", "1 1"), **QUIET})

    def fires(node: str, state: RaftNode, timer: str) -> Turn:
        stored = state.server.stored
        cut = replace(stored, log=stored.log.cut(2))
        return state.but(server=replace(state.server, stored=cut)), ()

    model.fires = fires  # type: ignore[attr-defined]  # for this one
    return model


def stopped(**parameters: Any) -> Model[Any, Any]:
    """No timer ever runs out."""
    return broken(build("raft", {**QUIET, **parameters}), Raft.tick.struct, never)


def other_logs() -> Model[Any, Any]:
    """Two servers with one entry of one term, but not what is before it."""
    model = build("raft", {"begins": ("1 2", "1 2", ""), **QUIET})
    start = model.start()
    first = start.nodes[0].server
    entries = [replace(entry, term=1) for entry in first.log]
    log = Log().appended(replace(entries[0], data="y")).appended(first.log.entry(2))
    other = start.at(1, server=replace(first, id="B", stored=replace(first.stored, log=log)))
    model.start = lambda: other  # type: ignore[method-assign]  # for this one
    return model


def nobody_campaigns() -> Model[Any, Any]:
    """Nodes that never ask for votes, in a term that is not the last."""
    model = broken(build("raft_groups", {"nodes": 2, "terms": 2}), RaftGroups.happen.struct, never)
    model.horizon = lambda s: iter(())  # type: ignore[method-assign]  # for this one
    return model


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
    "led-again": nobody_campaigns,
    "own-leaders": lambda: broken(
        build("raft_groups", {"nodes": 2}), RaftGroups.happen.struct, never
    ),
}
RAFT = {
    "one-leader-a-term": without("stored-vote", "raft"),
    "leader-only-appends": forgetful_leader,
    "logs-match": other_logs,
    "leader-has-all": without("newest-log", "raft"),
    "machines-agree": without("one-change", "raft"),
    "committed-is-kept": without("majority", "raft"),
    "reads-see-writes": without("read-quorum", "raft"),
    "terms-need-others": without("pre-vote", "raft"),
    "led-again": without("old-terms", "raft"),
    "nobody-waits-for-the-deaf": without("step-down", "raft"),
    "majorities-meet": without("joint", "raft"),
    "leads": stopped,
    "answered": lambda: stopped(requests=("x",)),
}


@pytest.mark.parametrize("name", RAFT)
def test_a_search_of_raft_reports_it(name: str) -> None:
    """Judged alone, it is broken by what was broken for it."""
    assert_reported(RAFT[name](), name)


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
