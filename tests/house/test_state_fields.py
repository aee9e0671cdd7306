"""mypy knows the fields that a changed state may name."""

from __future__ import annotations

from pathlib import Path

from mypy import api

from tests.house.source import ROOT

TRIED = """
from kit.model.declared import State
from kit.protocols.twophase.twophase import TwoPhaseState

class Node(State, frozen=True):
    epoch: int = 0

class Cluster(State, frozen=True):
    nodes: tuple[Node, ...] = ()

def right(s: TwoPhaseState, c: Cluster) -> None:
    s.but(prepared=1, tm=2)
    c.at(0, epoch=3)

def wrong(s: TwoPhaseState, c: Cluster) -> None:
    s.but(prepard=1)
    s.but(prepared="one")
    c.at(0, epochs=3)
"""


def test_a_misspelt_field_is_found(tmp_path: Path) -> None:
    """A field that a state does not have, or a value of another type, is an error of mypy's."""
    tried = tmp_path / "tried.py"
    tried.write_text(TRIED, encoding="utf-8")
    said, failed, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), str(tried)])
    wrong = [line for line in said.splitlines() if ": error:" in line]
    assert len(wrong) == 3, said + failed
    for line, word in zip(wrong, ('"prepard"', 'expected "int"', '"epochs"'), strict=True):
        assert word in line
