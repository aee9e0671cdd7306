"""The levels of the progress barrier, and how a barrier without answers falls back.

Source: published ``ProgressBarrier`` (``await``, ``relaxConsistency`` and its kinds of waiting).
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.tcm.commands import plan
from kit.ring.replication import Keyspace, NetworkTopologyStrategy
from kit.ring.topology import Node
from kit.search.check import check
from tests.commands.calling import SIMPLE_3, call
from tests.protocols.tcm.driving import Drive

JOIN = "bootstrap X --tokens 110 --dc dc1"


def datacenters(join: str = JOIN, factors: tuple[int, ...] = (3, 3, 1)) -> dict[str, Any]:
    """Three nodes in each of dc1 (a), dc2 (b) and dc3 (c); the replicas in each."""
    nodes = [(f"{dc}{i}", i * 100 + at * 20, f"dc{at + 1}") for at, dc in enumerate("abc")
             for i in range(1, 4)]  # fmt: skip
    strategy = NetworkTopologyStrategy(tuple((f"dc{i}", n) for i, n in enumerate(factors, 1) if n))
    return {
        "members": tuple(Node(name, (token,), dc) for name, token, dc in nodes),
        "low": 0,
        "high": 1000,
        "keyspaces": (Keyspace("ks", strategy),),
        "operations": (join,),
    }


def started(**given: Any) -> Drive:
    """X's join once its write replicas are added, of which nobody has heard yet."""
    join = given.get("operations", (JOIN,))[0]
    return Drive(**{**datacenters(), **given}).act(join).commit("X")


def rows(drive: Drive) -> list[tuple[str | None, int, int]]:
    """Of the range that X gains: datacenter, how many are needed, of how many."""
    every = drive.operation().barriers
    return [(row.dc, row.needed, len(row.replicas)) for row in every if row.right == 110]


def met(drive: Drive) -> bool:
    """Whether all barriers of that range are met."""
    return all(row.met for row in drive.operation().barriers if row.right == 110)


EACH: list[tuple[str | None, int, int]] = [("dc1", 3, 4), ("dc2", 2, 3), ("dc3", 1, 1)]
# level, whom the range that X gains asks (dc1: X and 3, dc2: 3, dc3: 1), and three sets of answers:
# a majority of dc1, a majority of all 8, a majority in each datacenter
LEVELS: tuple[tuple[str, list[tuple[str | None, int, int]], tuple[bool, bool, bool]], ...] = (
    ("ALL", [(None, 8, 8)], (False, False, False)),
    ("EACH_QUORUM", EACH, (False, False, True)),
    ("QUORUM", [(None, 5, 8)], (False, True, True)),
    ("LOCAL_QUORUM", [("dc1", 3, 4)], (True, True, True)),
    ("ONE", [(None, 1, 8)], (True, True, True)),
    ("NODE_LOCAL", [], (True, True, True)),
)
ANSWERS = (("X", "a1", "a2"), ("a3", "b1"), ("b2", "c1", "c2", "c3"))


@pytest.mark.spec("B-017", "B-020")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(("level", "asked", "enough"), LEVELS)
def test_a_barrier_level_asks_its_replicas_over_all_or_in_each_datacenter(
    edition: str, level: str, asked: list[tuple[str | None, int, int]], enough: tuple[bool, ...]
) -> None:
    """Old and new replicas count together."""
    drive = started(edition=edition, level=level)
    assert rows(drive) == asked
    for names, expected in zip(ANSWERS, enough, strict=True):
        drive.act(*(f"apply {name}" for name in names))
        assert met(drive) is expected, (names, expected)


@pytest.mark.parametrize(
    ("edition", "streams"), [("documents", [False, True, True]), ("server", [False, False, True])]
)
def test_streams_wait_for_a_majority_of_all_or_in_each_datacenter_by_edition(
    edition: str, streams: list[bool]
) -> None:
    """The majority of the joiner's datacenter is not enough for either."""
    drive = started(edition=edition)
    may = []
    for names in ANSWERS:
        drive.act(*(f"apply {name}" for name in names))
        may.append("stream X" in " ".join(drive.verbs()))
    assert may == streams


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_the_second_event_of_a_cancel_waits_at_a_barrier(edition: str) -> None:
    """A majority has to know that reads are back."""
    drive = started(edition=edition, cancels=1).commit("X").act("cancel X")
    assert drive.operation().state == "reads back"
    assert rows(drive)
    assert "waiting at the barrier" in drive.refusal("commit X").reason
    drive.commit("X")
    assert drive.metadata.sequence("X") is None


CHAIN = ("EACH_QUORUM", "QUORUM", "LOCAL_QUORUM", "ONE", "NODE_LOCAL")


@pytest.mark.parametrize("last", CHAIN[1:])
def test_a_barrier_relaxes_level_by_level_down_to_its_limit(last: str) -> None:
    """The next step begins at the first level again."""
    drive = started(edition="server", relax=last)
    for level, weaker in pairwise(CHAIN):
        if level == last:
            break
        label = drive.model.label(drive.state, drive.find("relax X"))
        assert label == f"relax the barrier of X to {weaker}"
        drive.act("relax X")
        assert drive.operation().level == weaker
        assert drive.operation().asks.startswith(f"Barrier at {weaker}: ")
    assert "relax X" not in drive.verbs()
    drive.commit("X")
    assert drive.operation().level == ""
    assert "relax X" in drive.verbs()


def test_a_barrier_relaxed_to_local_quorum_lets_the_step_go() -> None:
    """No node of dc2 or dc3 answers, and the text says what is asked."""
    drive = started(edition="server", relax="LOCAL_QUORUM")
    drive.act(*(f"apply {name}" for name in ("X", "a1", "a2", "a3")))
    assert "stream X" not in " ".join(drive.verbs())
    drive.act("relax X", "relax X")
    refused = started(edition="server", level="LOCAL_QUORUM").refusal("commit X")
    [first, *_] = refused.evidence
    assert first.startswith("at LOCAL_QUORUM: a majority of the old and new replicas in the")
    assert "stream X" in " ".join(drive.verbs())
    assert drive.operation().asks == (
        "Barrier at LOCAL_QUORUM: a majority of the old and new replicas in the datacenter of the "
        "node that drives it: its own, or for a dead node the first other one."
    )


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"level": "ONE"}, "one-step"),
        ({"level": "LOCAL_QUORUM"}, None),
        ({"level": "EACH_QUORUM"}, None),
        ({"level": "NODE_LOCAL"}, "one-step"),
        ({"level": "QUORUM", "relax": "ONE"}, "one-step"),
        ({"level": "ALL", "relax": "QUORUM"}, None),
    ],
)
def test_a_barrier_below_a_majority_breaks_one_step(
    given: dict[str, Any], found: str | None
) -> None:
    """In one datacenter LOCAL_QUORUM is a majority."""
    model = build("tcm", {"rf": 3, "nodes": 3, **given})
    violation = check(model, max_states=20_000).broken
    assert (None if violation is None else violation.property) == found


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"relax": "EACH_QUORUM"}, "relax"),
        ({"relax": "QUORUM"}, "relax"),
        ({"relax": "EACH_QUORUM", "edition": "server"}, "relax"),
        ({"level": "ONE", "relax": "LOCAL_QUORUM"}, "relax"),
        ({"level": "TWO"}, "level"),
        ({"relax": "none"}, "relax"),
    ],
)
def test_a_barrier_refuses_to_relax_to_an_equal_or_stronger_level(
    given: dict[str, Any], field: str
) -> None:
    """An unknown level is refused as well."""
    with pytest.raises(BadInput) as error:
        build("tcm", given)
    assert field in error.value.field


RING = {
    "epoch": 0,
    "nodes": [
        {"name": f"{dc}{i}", "tokens": [i * 100 + at * 20], "dc": f"dc{at + 1}", "rack": "r1"}
        for at, dc in enumerate("ab")
        for i in range(1, 4)
    ],
    "keyspaces": [
        {"name": "ks", "replication": {"class": "NetworkTopologyStrategy", "dc1": 3, "dc2": 3}}
    ],
}


@pytest.mark.parametrize(
    ("level", "line"),
    [
        ("ALL", "7 of"),
        ("EACH_QUORUM", "3 of a2, a3, a1, X in dc1"),
        ("QUORUM", "4 of"),
        ("LOCAL_QUORUM", "3 of a2, a3, a1, X in dc1"),
        ("ONE", "1 of"),
    ],
)
def test_plan_with_a_barrier_level_says_how_many_answers_each_step_needs(
    level: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At NODE_LOCAL no step waits."""
    ring = tmp_path / "ring.json"
    ring.write_text(json.dumps(RING))
    words = [str(ring), "bootstrap", "X", "--tokens", "110", "--dc", "dc1", "--rack", "r1"]
    assert plan([*words, "--barrier", level]) == 0
    shown = capsys.readouterr().out
    assert line in shown, shown
    assert plan([*words, "--barrier", "NODE_LOCAL"]) == 0
    assert "wait until" not in capsys.readouterr().out
    with pytest.raises(BadInput, match="--barrier"):
        plan([*words, "--barrier", "SOME"])


ACROSS = {
    "epoch": 0,
    "nodes": [
        {"name": "n0", "tokens": [100], "dc": "dc0", "rack": "r0"},
        {"name": "n1", "tokens": [200], "dc": "dc1", "rack": "r0"},
    ],
    "keyspaces": [{"name": "ks", "replication": {**SIMPLE_3, "replication_factor": 1}}],
}


@pytest.mark.parametrize("edition", ["documents", "server"])
def test_a_plan_at_a_level_without_replicas_is_refused_with_its_range(
    edition: str, tmp_path: Path
) -> None:
    """A removal is driven in the other datacenter, so its plan is accepted."""
    ring = tmp_path / "ring.json"
    ring.write_text(json.dumps(ACROSS), encoding="utf-8")
    level = ("--barrier", "LOCAL_QUORUM", "--edition", edition)
    said = call("plan", str(ring), "decommission", "n1", *level)
    assert (said.status, said.out) == (2, "")
    assert "(200, max] in dc1: needs 1; no replica is there to answer" in said.err
    removal = call("plan", str(ring), "removenode", "n1", *level)
    # With one replica its data is gone: the server never ends the removal.
    assert (removal.status, removal.err) == (int(edition == "server"), "")
