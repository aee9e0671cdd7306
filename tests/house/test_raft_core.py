"""What the core of Raft knows: nothing of the clusters that it serves, and of no screen."""

from __future__ import annotations

import re

import nbformat
import pytest

from kit.protocols.raft.panels.raft import CORE, core_imports, graphs
from kit.views.diagrams import digest, digest_in
from tests.house.source import ROOT

DRAWING = "raft-core-imports"
ALLOWED = ("kit.protocols.raft", "kit.errors", "kit.masks", "kit.chunks", "kit.edge.", "kit.ring")


@pytest.mark.spec("C-002")
def test_the_core_imports_nothing_of_clusters_and_screens() -> None:
    """Whatever it needs, at any depth, is Raft's own or lies below the engine."""
    imports = core_imports()
    assert imports[CORE]
    assert {f"{CORE.rpartition('.')[0]}.rules.log", "kit.errors"} <= set(imports)
    assert [name for name in imports if not name.startswith(ALLOWED)] == []
    assert [name for name in imports if "panels" in name or "topology" in name] == []


@pytest.mark.spec("C-002")
def test_the_lesson_shows_what_the_core_imports() -> None:
    """The drawing has an arrow for each import and no other, is up to date, and is in a cell."""
    source = dict(graphs())[DRAWING]
    arrows = {tuple(edge) for edge in re.findall(r'"(.+)" -> "(.+)";', source)}
    assert arrows == {(a[4:], b[4:]) for a, below in core_imports().items() for b in below}
    assert digest_in((ROOT / f"images/{DRAWING}.svg").read_text("utf-8")) == digest(source)
    lesson = nbformat.read(ROOT / "notebooks/32-raft-by-hand.ipynb", as_version=4)
    assert [cell for cell in lesson.cells if f"](../images/{DRAWING}.svg)" in cell.source]


def test_what_it_would_import_is_seen() -> None:
    """The same function sees the engine and other families behind a model that needs them."""
    imports = core_imports("kit.protocols.tablets.tablets")
    assert {"kit.model.declared", "kit.protocols.group0.rules"} & set(imports)
