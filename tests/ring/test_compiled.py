"""The sweep, plain and compiled, against the walk that runs without the extra `fast`."""

from __future__ import annotations

import platform
import random
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
from cassandra import metadata as driver
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.ring import compiled, natural
from kit.ring.compiled import Readiness, Sweep, load, sweep
from kit.ring.natural import quotas, replicas, swept
from kit.ring.replication import (
    EverywhereStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
)
from kit.ring.tokens import MURMUR3, TokenSpace, small
from kit.ring.topology import Codes, Node, Ring
from tests.house.source import ROOT
from tests.ring.draws import networks, replications, rings
from tests.ring.test_worked_example import test_tables_letter_by_letter as worked_tables

WHEELS = sys.platform != "darwin" or platform.machine() == "arm64"  # as in pyproject.toml
SWEEPS = [sweep, *filter(None, [load()])]

# Without numba, and with it long due: nothing is said, and all is as before.
HIDDEN = """
import sys
sys.modules["numba"] = None
from kit.ring import compiled, natural
from kit.ring.replication import NetworkTopologyStrategy
from kit.ring.topology import Node, Ring
natural.READINESS = compiled.Readiness(0)
nodes = [Node(f"n{i}", (i, i + 50), "dc1", f"r{i % 3}") for i in range(20)]
found = natural.replicas(Ring.of(nodes), NetworkTopologyStrategy((("dc1", 3),)))
print(compiled.load(), found[:2].tolist())
"""


def walked(ring: Ring, replication: Replication) -> Codes:
    """The rows by the walk in columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(natural, "READINESS", Readiness(sys.maxsize))
        return replicas(ring, replication)


def rows_of(run: Sweep, ring: Ring, replication: Replication, span: int = 1024) -> Codes:
    """The rows by a sweep that begins `span` places beyond the end."""
    walks = quotas(ring, replication)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(natural, "FIRST_SPAN", span)
        return swept(run, ring.owners, ring.row_starts, walks)


def large(nodes: int, tokens: int, racks: int, seed: int) -> Ring:
    """A ring with random tokens, two datacenters and uneven racks."""
    chance = random.Random(seed)
    drawn = iter(chance.sample(range(MURMUR3.low, MURMUR3.low + 2**62), nodes * tokens))
    return Ring.of(
        Node(
            f"n{i}",
            tuple(next(drawn) for _ in range(tokens)),
            f"dc{i % 2 + 1}",
            f"r{chance.choice(range(racks)) * chance.choice((0, 1))}",
        )
        for i in range(nodes)
    )


@pytest.mark.parametrize("run", SWEEPS, ids=["plain", "compiled"][: len(SWEEPS)])
@pytest.mark.spec("A-010", "A-011", "A-012", "A-013")
@settings(max_examples=400)
@given(rings(12), replications(), st.sampled_from((1, 3, 1024)))
def test_sweep_equals_walk(run: Sweep, ring: Ring, replication: Replication, span: int) -> None:
    """Every row of every ring has the same nodes in the same order, wherever the sweep begins."""
    if not quotas(ring, replication):
        return
    got, expected = rows_of(run, ring, replication, span), walked(ring, replication)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    assert got.tolist() == expected.tolist()


@settings(max_examples=60)
@given(st.integers(1, 9), st.integers(0, 10**6), networks(), st.integers(1, 64))
def test_many_nodes_and_racks(
    racks: int, seed: int, network: NetworkTopologyStrategy, factor: int
) -> None:
    """Rings of 60 nodes with many tokens agree too, with more replicas than racks or fewer."""
    ring = large(60, 8, racks, seed)
    for replication in (network, SimpleStrategy(factor)):
        if quotas(ring, replication):
            got = rows_of(SWEEPS[-1], ring, replication, 16)
            assert np.array_equal(got, walked(ring, replication))


def test_extra_is_always_tested() -> None:
    """Wherever the extra has wheels it is installed with the tests, and compiles."""
    assert (load() is not None) == WHEELS
    assert len(SWEEPS) == 1 + WHEELS


@pytest.mark.parametrize("space", [small(400), MURMUR3])
def test_worked_tables_by_sweep(space: TokenSpace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worked tables come out letter by letter when every whole ring is swept."""
    used = []

    def noted(*given: Any) -> bool:
        used.append(given)
        return SWEEPS[-1](*given)

    monkeypatch.setattr(natural, "READINESS", Readiness(0))
    monkeypatch.setattr(compiled, "load", lambda: noted)
    worked_tables(space)
    assert used


def test_sweep_equals_the_driver() -> None:
    """On a ring of 100 nodes x 64 tokens each node list is the published driver's, as a set."""
    ring = large(100, 64, 5, 1)
    hosts = [Host(code, node) for code, node in enumerate(ring.nodes)]
    line = ring.tokens.tolist()
    owner = {t: hosts[code] for t, code in zip(line, ring.owners.tolist(), strict=True)}
    strategy = driver.NetworkTopologyStrategy({"dc1": "3", "dc2": "4"})
    theirs = strategy.make_token_replica_map(owner, line)
    ours = rows_of(SWEEPS[-1], ring, NetworkTopologyStrategy((("dc1", 3), ("dc2", 4))))
    for right, codes in zip(ring.rights.tolist()[:-1], ours.tolist(), strict=False):
        assert set(codes) == {host.code for host in theirs[right]}


class Host:
    """A host as the driver's strategies see it."""

    def __init__(self, code: int, node: Node) -> None:
        self.code, self.datacenter, self.rack = code, node.dc, node.rack


def test_loaded_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded for little work, for few rows of a ring or for wide groups."""
    loaded: list[int] = []
    monkeypatch.setattr(compiled, "load", lambda: loaded.append(1))
    readiness = Readiness(250)
    for _ in range(3):
        assert readiness.sweep(100, 100, 3) is None
    assert not loaded
    readiness.sweep(10, 100, 3)
    readiness.sweep(100, 100, 65)
    assert not loaded
    readiness.sweep(100, 100, 3)
    assert loaded


def test_a_whole_ring_is_swept_when_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """`replicas` sweeps whole rings and goes on walking for a few tokens, or for all nodes."""
    calls: list[int] = []

    def noted(run: Sweep, owners: Codes, *rest: Any) -> Codes:
        calls.append(len(owners))
        return swept(run, owners, *rest)

    ring = large(80, 4, 3, 5)
    expected = walked(ring, SimpleStrategy(3))
    monkeypatch.setattr(natural, "READINESS", Readiness(0))
    monkeypatch.setattr(compiled, "load", lambda: SWEEPS[-1])
    monkeypatch.setattr(natural, "swept", noted)
    assert np.array_equal(replicas(ring, SimpleStrategy(3)), expected)
    assert calls == [320]
    replicas(ring, SimpleStrategy(3), ring.tokens[:4])
    replicas(ring, EverywhereStrategy())
    assert calls == [320]


@pytest.mark.spec("H-003")
def test_nothing_needs_the_extra() -> None:
    """Where numba cannot be imported, placements are the same and no word is lost about it."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", HIDDEN],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (result.stdout, result.stderr) == ("None [[0, 1, 2], [1, 2, 3]]\n", "")


def test_no_place_to_keep_what_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder for it the sweep is compiled for the one process, without a warning."""
    ring = large(20, 4, 3, 7)
    if WHEELS:
        import numba
        from numba.core.caching import CacheImpl

        monkeypatch.setattr(CacheImpl, "_locator_classes", [])
        with pytest.raises(RuntimeError, match="cannot cache"):
            numba.njit(cache=True)(sweep)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = load.__wrapped__() or sweep
    assert np.array_equal(rows_of(run, ring, SimpleStrategy(3)), walked(ring, SimpleStrategy(3)))
