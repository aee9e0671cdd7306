"""The simulators and the hunt draw the same whatever the order of sets in memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.house.source import ROOT

PROGRAM = """
from kit import build
from kit.lessons.hunting import hunt
from kit.protocols.tcm.simulators.placements import simulate
from kit.protocols.dataplane.quorums import quorums

one = simulate(3, nodes=9, rf=2, strategy="network", dcs=2, racks=2)
bad = simulate(3, nodes=9, rf=2, off=("S-09",))
print(one.table(0, 500).text(), bad, [a for a in one.actions[:200]])
small = bad.timeline(small=True)
print([small.model.verb(m.action) for m in small.moments[1:]])
print(quorums(build("tcm", {"rf": 3}, ("S-01",))).table(500).text())
print(hunt(4), hunt(4).search(2), hunt(4).accuse(2, "S-05"))
"""


@pytest.mark.spec("H-013")
def test_two_hash_seeds_print_the_same() -> None:
    """A simulation, a shrunk failure, a table of quorums and a hunt are equal to the last byte."""
    printed = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert len(printed[0]) > 10_000
