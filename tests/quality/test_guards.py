"""Each reason for which a rule refuses is cut, and a search says which promise it keeps.

``refusals.txt`` has a row for each: the promise that breaks without it (or without the guard that
it is of), or the complete search that shows it to be harmless. What differs from that, and what is
missing there, fails here. Steps that are merely other ones count for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.model import Model
from kit.model.registry import build, entries
from kit.protocols.topology.join import tables as joining
from tests.model.counting import counting
from tests.model.test_log_model import logging_lift
from tests.quality.refusing import (
    MORE,
    MOST,
    Limited,
    Row,
    is_budget,
    known_harm,
    read_rows,
    refused,
    search,
)

Build = Callable[[], Model[Any, Any]]


def of(name: str, **usual: Any) -> Callable[..., Build]:
    """How a model is made with the usual parameters, and with those that are given."""
    return lambda **parameters: lambda: build(name, {**usual, **parameters})


def two_at_once() -> Model[Any, Any]:
    """Two joiners by gossip where that is no harm by itself: what comes of it is looked at."""
    model = build("gossip_join", {"joiners": 2, "rf": 2, "nodes": 2}, ("one-at-a-time",))
    model.properties = tuple(prop for prop in model.properties if prop.name != "one-joins")
    return model


tcm, group0, topology, join = map(of, ("tcm", "group0", "topology", "join"))
tablets, resize = map(of, ("tablets", "resize"))
dataplane = of("dataplane", rf=1)
schema = of("schema", nodes=2)
removal = of("gossip_join", operation="removenode")
cms = of("cms", nodes=2, changes=0)
commit = of("commit", nodes=2, events=("drop table t at A to A", "drop table t at B to B"))
raft_upgrade, migration = of("raft_upgrade", nodes=2), of("migration", nodes=2)
raft = of(
    "raft",
    nodes=2,
    members="A B",
    begins=("1, commit 1, leads", "1, commit 1, follows A"),
    terms=1,
    most_in_flight=2,
)
paxos = of("paxos", members=2, ballots=1)
recovery = of("recovery", commit_indexes=(1, 2, 2, 2), dead="C D")


def few_under_way(s: Any) -> bool:
    """No more than three messages are under way."""
    return len(s.network.in_flight) < 4


SERVED = {
    "operations": ("alter table ks.t add c at A",),
    "earlier": ("create keyspace ks at A", "create table ks.t at A"),
    "requests": ("write ks.t at A to B",),
    "crashes": 1,
}
# One table each, with the configurations in which its guards have something to refuse.
MODELS: dict[str, tuple[Build, ...]] = {
    "twophase": (lambda: build("twophase", {"rms": 2}),),
    "tcm": (
        tcm(crashes=1),
        tcm(cancels=1),
        tcm(nodes=2, rf=1, window=2),
        tcm(peers=True),
        tcm(nodes=4, rf=3, operations=("decommission D",)),
        tcm(nodes=4, rf=3, operations=("decommission D", "replace D Y")),
        tcm(holds=True),
        tcm(edition="server", relax="QUORUM"),
    ),
    "dataplane": (
        dataplane(),
        dataplane(cancels=1),
        dataplane(mode="gossip"),
        dataplane(crashes=1, repair="blocking"),
        dataplane(cleaning=True, collecting=True, requests=("K1 delete QUORUM",)),
        dataplane(crashes=1, requests=("K1 write QUORUM",)),
    ),
    "coordinator": (lambda: build("coordinator", {}),),
    "replica": (lambda: build("replica", {}),),
    "network": (
        lambda: counting(drops=1, duplicates=1, holds=1),
        lambda: counting(partitions=1, fifo=True),
        lambda: counting(adds=1, partitions=1),
    ),
    "log": (
        Limited(
            lambda: logging_lift(2), lambda s: len(s.log.entries) < 4 and max(s.log.applied) < 6
        ),
    ),
    "schema": (
        schema(),
        schema(race="replication", joins=1, writes=1, cuts=1),
        schema(race="none", joins=1, writes=1, restarts=1),
        lambda: build("schema", {"nodes": 3, "race": "table", "writes": 1}, ("ordered",)),
        schema(race="replication", operations=1, restarts=1),
    ),
    "group0": (
        group0(elections=1, crashes=1, losses=1),
        group0(nodes=2, edition="server", hours=1),
        group0(nodes=7, dcs=2, edition="server", crashes=1),
        group0(**SERVED),
        group0(nodes=2, operations=("create table ks.t at A",), losses=1),
        group0(
            earlier=("create keyspace ks at A", "create keyspace k at A"),
            kept=1,
            newcomers=1,
            operations=("create table ks.t at C",),
            crashes=1,
        ),
        group0(elections=1, crashes=1, operations=("create table ks.t at A",)),
        Limited(
            group0(nodes=2, losses=1, operations=("create table ks.t at A",)),
            lambda s: len(s.in_flight) < 4 and len(s.log) < 4,
        ),
    ),
    "discovery": (
        lambda: build("discovery", {"seeds": ("A", "A"), "restarts": 1, "losses": 1}),
        lambda: build("discovery", {"seeds": ("A", "B", "A")}),
        Limited(lambda: build("discovery", {"seeds": ("A", "A")}), few_under_way),
    ),
    "topology": (
        topology(nodes=1, operations=(), tablets=2),
        topology(nodes=1, late=2),
        topology(nodes=1, failures=2),
        topology(nodes=2, operations=("lock",), changes=1, crashes=1),
        topology(nodes=2, operations=("new_cdc_generation",), publishing=True, crashes=1),
        topology(nodes=2, operations=("leave B",), tablets=1, crashes=1),
        topology(nodes=2, clients=1, cuts=1, lag=False),
        topology(nodes=1, operations=("join D", "cleanup"), crashes=1, lag=False),
        topology(nodes=2, operations=(), cuts=1, addresses=1),
        topology(nodes=2, operations=(), crashes=1, exclusions=1),
        topology(nodes=2, operations=(), crashes=1, configurations=1),
        # A drain fails, and the plain barrier behind its fence.
        topology(nodes=2, operations=("leave B",), failures=2, edition="server"),
        topology(nodes=2, edition="server", failures=1, clients=1),
        topology(nodes=3, operations=("leave C",), tablets=0, on_tablets=("C",)),
    ),
    "vnodes": (
        lambda: build("vnodes", {"nodes": 3, "rf": 1, "timeouts": True, "losses": 1}),
        lambda: build("vnodes", {"nodes": 3, "rf": 1, "crashes": 1}),
    ),
    "join": (
        join(restarts=1, wipes=1, edition="server"),
        join(nodes=1, supports=False, enabled=False),
        join(outages=1),
        join(nodes=1, zombie=True),
        Limited(join(nodes=1, zombie=True), lambda s: len(joining(s).members) < 5),
    ),
    "tablet": (
        lambda: build("tablet", {"rf": 1, "edition": "server", "crashes": 1}),
        lambda: build("tablet", {"rf": 1, "requests": ("K1 write QUORUM",)}),
    ),
    "tablets": (
        tablets(nodes=2, tablets=("A",), crashes=1, exclusions=1),
        tablets(nodes=2, tablets=("A",), edition="documents"),
        tablets(nodes=2, tablets=("A",), crashes=1, full=1),
        tablets(nodes=3, tablets=("A B",), moves=0, operations=("leave B",), undone=1),
        tablets(nodes=2, tablets=("A",), answering=True, late=1),
        tablets(nodes=2, tablets=("A",), answering=True, crashes=1),
        tablets(nodes=3, tablets=("A",), answering=True, crashes=1, edition="server"),
        tablets(nodes=3, tablets=("A",), answering=True, late=1, crashes=1),
    ),
    "resize": (
        resize(tablets=("A",), nodes=2, shrinks=1, moves=1, repairs=1),
        resize(tablets=("A B",), shrinks=1, moves=1),
        resize(tablets=("A",), nodes=2, moves=1),
        resize(tablets=("A B", "A C"), nodes=3, initial=1, grows=0, shrinks=1),
    ),
    "truncate": (lambda: build("truncate", {"nodes": 2, "moves": 1, "changes": 1}),),
    "balance": (lambda: build("balance", {"nodes": 2, "tablets": ("A B",)}),),
    "gossip": (
        lambda: build("gossip", {"nodes": 2, "partitions": 1}),
        lambda: build("gossip", {"nodes": 2, "losses": 1, "at_once": 2}),
        lambda: build("gossip", {"changes": ("create table ks.t at A", "drop table ks.t at B")}),
        Limited(lambda: build("gossip", {}), few_under_way),
    ),
    "commit": (commit(nodes=3), commit(crashes=1), commit(snapshot_every=2, members=1)),
    "gossip_join": (
        lambda: build("gossip_join", {"nodes": 2, "crashes": 1, "cuts": 1}),
        lambda: build("gossip_join", {"nodes": 2, "joiners": 2}),
        two_at_once,
        removal(rf=3, crashes=1),
        removal(rf=2, nodes=2, crashes=2, cuts=1),
    ),
    "raft_upgrade": (
        raft_upgrade(turns=1),
        raft_upgrade(beginning="older version"),
        raft_upgrade(changes=1, crashes=1),
        raft_upgrade(beginning="new cluster", changes=1, crashes=1),
    ),
    "topology_upgrade": (
        lambda: build("topology_upgrade", {"nodes": 1, "crashes": 1}),
        lambda: build("topology_upgrade", {"nodes": 2, "older": 1}),
        lambda: build("topology_upgrade", {"nodes": 2, "crashes": 2}),
    ),
    "recovery": (
        recovery(writes=1),
        recovery(returns=1, changes=1),
        recovery(deaths=1, operation=True),
        recovery(edition="server", crashes=1),
        recovery(edition="server", returns=1, changes=1),
    ),
    "cms": (
        cms(crashes=1),
        cms(edition="server", crashes=1),
        cms(members=2, losses=1, longest=3),
        cms(members=2, corruptions=1, requests=1, longest=3),
        cms(nodes=3, members=2, crashes=1, longest=4),
        cms(newcomers=1, corruptions=1, longest=3),
        cms(members=2, edition="server", addresses=2, orders=0, longest=4),
        cms(nodes=3, newcomers=1, losses=1, crashes=1, orders=0, longest=2),
    ),
    "migration": (
        migration(),
        migration(changes=0, crashes=1),
        migration(edition="server", changes=0, nodes=3, crashes=1),
        migration(spares=1),
        migration(edition="server", spares=1),
        migration(crashes=1),
        migration(deaths=1, spares=1),
    ),
    "failures": (lambda: build("failures", {"datacenters": (3,), "changes": 2}),),
    "raft": (
        Limited(raft(requests=("x at B", "read at A")), few_under_way),
        raft(requests=("members B", "transfer", "snapshot"), terms=2),
        raft(crashes=1, writes_apart=True),
    ),
    "paxos": (
        paxos(),
        paxos(crashes=1, slow_disks=True),
        Limited(paxos(becomes=("B",), values=("x at A",)), few_under_way),
    ),
    "raft_groups": (
        Limited(
            lambda: build("raft_groups", {"nodes": 2, "entries": 1}),
            lambda s: len(s.network.in_flight) < 2,
        ),
    ),
    "commit_log": (
        lambda: build("commit_log", {"shards": 1, "writes": 1, "changes": 1, "crashes": 1}),
    ),
}
ELSEWHERE = {
    "worlds": "its refusals are those of its two models",
    "recovery_mode": "tests/protocols/recovery/test_refusals.py, with longer searches",
}
ROWS = read_rows()
QUICK = 2_500
"""States of a search that is done each time; longer ones are for ``make test-deep``."""


def is_long(row: Row) -> bool:
    """Whether a row's search takes its time."""
    return row.verdict == "harmless" and int(row.end) > QUICK


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id=f"{row.model}-{row.action}-{row.reason}",
            marks=[pytest.mark.deep] * is_long(row),
        )
        for rows in ROWS.values()
        for row in rows
    ],
)
def test_without_a_refusal_it_is_as_the_row_says(row: Row) -> None:
    """A promise breaks; or a complete search of so many states breaks none; or there is no step."""
    make = MODELS[row.model][row.configuration]
    known = known_harm(make)
    if row.verdict == "budget":
        assert is_budget(row.reason)
    elif row.verdict == "undefined":
        with pytest.raises(Exception) as raised:  # noqa: PT011  # whatever the effect runs into
            search(make, row.key, MOST, known)
        assert type(raised.value).__name__ == row.end
    else:
        found = search(make, row.key, MORE, known, wide=row.verdict == "together")
        broke = found.violation and found.violation.property
        if row.verdict == "harmless":
            assert (broke, found.complete, found.states) == (None, True, int(row.end))
        else:
            assert broke == row.end


@pytest.mark.parametrize("name", MODELS)
def test_a_row_has_its_reason(name: str) -> None:
    """What is harmless says why, and stands in the file once."""
    rows = ROWS.get(name, [])
    assert len({row.key for row in rows}) == len(rows)
    assert {row.verdict for row in rows} <= {
        "breaks",
        "together",
        "harmless",
        "undefined",
        "budget",
    }
    for row in rows:
        assert bool(row.why) is (row.verdict == "harmless"), row.line


def test_every_model_is_tried() -> None:
    """None of the registry is left out."""
    assert {*entries()} <= {*MODELS, *ELSEWHERE}


@pytest.mark.deep
@pytest.mark.parametrize("name", MODELS)
def test_no_refusal_is_left_out(name: str) -> None:
    """Whatever a model refuses in one of its configurations has a row, and nothing else has."""
    keys = {key for make in MODELS[name] for key in refused(make(), MOST)}
    rows = {row.key for row in ROWS[name]}
    assert rows == keys


@pytest.mark.parametrize("name", MODELS)
def test_no_early_refusal_is_left_out(name: str) -> None:
    """The same of what a short search meets."""
    keys = {key for make in MODELS[name] for key in refused(make(), 100)}
    assert keys <= {row.key for row in ROWS.get(name, [])}
