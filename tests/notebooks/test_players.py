"""*Run all* leaves every Player that a notebook shows where its stored picture and text show it."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from kit.catalogue.course import without_magics
from kit.spark.driver import variables
from tests.house.source import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
QUICK = ("00", "91")
MOVING = frozenset(
    "step back milestone act run goto reset fork branch search load show put".split()
)
COPYING = frozenset(("to_epoch", "before", "after"))
# IPython keeps what each cell showed, by its number.
AT_THE_END = """
import json
from kit import Player
json.dumps({number: repr(shown) for number, shown in Out.items() if isinstance(shown, Player)})
"""
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path.name[:2] in QUICK else pytest.mark.deep, id=path.stem)
        for path in NOTEBOOKS
    ],
)
def test_run_all_leaves_every_player_where_its_output_shows_it(path: Path) -> None:
    """At the end each Player stands at the step that its cell has stored."""
    notebook = nbformat.read(path, as_version=4)
    stored = {str(cell.execution_count): text for cell in notebook.cells if (text := _shown(cell))}
    notebook.cells.append(nbformat.v4.new_code_cell(AT_THE_END))
    with variables({"PYTHONPATH": str(ROOT)}):
        NotebookClient(
            notebook,
            timeout=240,
            kernel_name="python3",
            store_widget_state=False,
            resources={"metadata": {"path": str(path.parent)}},
        ).execute()
    [told] = notebook.cells[-1].outputs
    assert json.loads(ast.literal_eval(told.data["text/plain"])) == stored


@each
def test_no_cell_moves_a_player_that_another_one_shows(path: Path) -> None:
    """Whoever goes on with a Player that is shown does so with a copy."""
    code = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert list(moved_later([(cell.source, _shown(cell)) for cell in code])) == []


def test_a_moved_player_is_found() -> None:
    """A Player moved by a method, or a copy that nobody keeps, is an offender; a copy moves."""
    shown = ("player = Player('bootstrap')\nplayer", "Player(tcm: step 0 of 0)")
    for later, moved in (
        ("player.act('apply B')", ["player.act"]),
        ("player.timeline.goto(0)", ["player.goto"]),
        ("to_epoch(player, 2)", ["to_epoch"]),
        ("attempt(player, 'apply B')", ["player.attempt"]),
        ("player = player.copy()\nplayer.step()", []),
        ("player = to_epoch(player, 2)\nplayer.step()", []),
    ):
        assert list(moved_later([shown, (later, "")])) == moved


def _shown(cell: Any) -> str:
    """The stored text of the Player that a cell shows; empty where it shows none."""
    texts = [output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ())]
    return next((text for text in texts if text.startswith("Player(")), "")


def moved_later(cells: list[tuple[str, str]]) -> Iterator[str]:
    """What moves a Player that an earlier cell shows, and copies that nobody keeps.

    A cell is its source with the text of the Player that it shows.
    """
    shown: set[str] = set()
    for source, player in cells:
        body = ast.parse(without_magics(source)).body
        for statement in body:
            yield from _wasted(statement)
            yield from (f"{name}.{verb}" for name, verb in _calls(statement) if name in shown)
            shown -= {
                target.id
                for node in ast.walk(statement)
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name)
            }
        last = body[-1] if player else None
        if isinstance(last, ast.Expr) and isinstance(last.value, ast.Name):
            shown.add(last.value.id)


def _wasted(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            yield from [call.func.id] if call.func.id in COPYING else []


def _calls(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """The methods that move what they belong to, with the name before the dot; and attempts."""
    for node in ast.walk(statement):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in MOVING:
            root = called.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name):
                yield root.id, called.attr
        elif isinstance(node, ast.Call) and isinstance(called, ast.Name):
            moved = node.args[0] if called.id == "attempt" and node.args else None
            if isinstance(moved, ast.Name):
                yield moved.id, called.id
