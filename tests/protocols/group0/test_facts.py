"""What scenario files show of group 0, and the finer run of a step of it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.engine.timeline import PassedStep
from kit.engine.zoom import FinerRun
from kit.protocols.group0.facts import OUTPUT, brought_by_raft
from kit.protocols.group0.rules.commands import Command

AT_FIRST = {
    "log": "1  0 -> 1  create keyspace ks by A",
    "history": "A: 1\nB: 1",
    "indexes": "A: stored 1, commit 1, applied 1\nB: stored 1, commit 1, applied 1",
    "guards": "nothing",
    "answers": "create table ks.t at B: waiting",
    "schema": "A: group0_schema_version 1\nB: group0_schema_version 1",
    "voters": "A, B: 2 of 2 up, 2 needed",
}


@pytest.mark.parametrize("part", OUTPUT)
def test_what_scenario_files_show_at_first(part: str) -> None:
    """Two members with a keyspace, and a client that has to wait."""
    model: Any = build("group0", {"nodes": 2, "operations": ("create table ks.t at B",)})
    assert OUTPUT[part](model, model.start(), "") == AT_FIRST[part]


def test_a_commit_is_a_run_of_raft() -> None:
    """B leads, C does not vote; A asks for the second command. No other step brings one."""
    model: Any = build("group0", {"operations": ("create table ks.t at A",)})
    before = model.start().but(leader=1, voters=0b011)
    command = Command(model.clients[0].statement, 1, 2, "A")
    after = before.but(log=before.log.append(command))
    follows = "1, commit 1, follows B"
    assert brought_by_raft(model, [PassedStep(before, None, before)]) is None
    assert brought_by_raft(model, [PassedStep(before, None, after)]) == FinerRun(
        "raft",
        {
            "nodes": 3,
            "members": "A B c",
            "edition": "server",
            "begins": (follows, "1, commit 1, leads", follows),
            "requests": ("create-keyspace-ks at A", "create-table-ks.t at A"),
        },
        "append",
        2,
        "request A create-table-ks.t at A",
        "How command 2 gets into the log: the messages of Raft",
    )
