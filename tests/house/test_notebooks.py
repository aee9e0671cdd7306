"""The committed notebooks as files: outputs that read well without a kernel and never vary.

That they run, and give these outputs again, is shown by nbval (tools/test.py). Of an image it
compares only the words beside it, which say what is plotted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from kit.catalogue.course import COURSE, Lesson
from tests.house.source import ROOT, offenders
from tools.linking import LINKED, linked
from tools.notebooks import LIVE, strip

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
TIME = re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d|\bCPU times|\bWall time")


def outputs(path: Path) -> list[Any]:
    """Every stored output of a notebook."""
    notebook = nbformat.read(path, as_version=4)
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def texts(output: Any) -> list[str]:
    """What an output shows as text."""
    data = output.get("data", {})
    shown = [value for kind, value in data.items() if kind.startswith("text/")]
    return [*shown, output.get("text", "")]


@pytest.mark.spec("H-014")
def test_no_live_widget_is_stored() -> None:
    """A stored output is a picture and text, never a widget that needs a kernel."""

    def live(path: Path) -> Iterator[str]:
        yield from ("a live output" for output in outputs(path) if LIVE in output.get("data", {}))
        yield from {"widgets"} & set(nbformat.read(path, as_version=4).metadata)

    assert not offenders(NOTEBOOKS, live)


def test_an_image_is_there_in_words_too() -> None:
    """Beside each image, which nbval does not compare, are the numbers that it plots, as text that
    nbval compares; they are its alternative text, too.
    """

    def unsaid(path: Path) -> Iterator[str]:
        for output in outputs(path):
            data, more = output.get("data", {}), output.get("metadata", {})
            for kind in (kind for kind in data if kind.startswith("image/")):
                title, *lines = data.get("text/plain", "").splitlines() or [""]
                if not lines or not any(map(str.isdigit, "".join(lines))):
                    yield f"no numbers in words beside {kind} “{title}”"
                if more.get(kind, {}).get("alt") != data.get("text/plain"):
                    yield f"another alternative text of {kind} “{title}”"

    assert not offenders(NOTEBOOKS, unsaid)


def test_every_cell_was_run_and_none_failed() -> None:
    """Code cells are stored as run once from top to bottom, without an error."""

    def not_run(path: Path) -> Iterator[str]:
        cells = nbformat.read(path, as_version=4).cells
        counts = [cell.execution_count for cell in cells if cell.cell_type == "code"]
        if counts != list(range(1, len(counts) + 1)):
            yield f"run as {counts}"
        yield from (output.ename for output in outputs(path) if output.output_type == "error")

    assert not offenders(NOTEBOOKS, not_run)


@pytest.mark.spec("H-013")
def test_no_output_varies_from_run_to_run() -> None:
    """No stored output holds a memory address or a time."""

    def varying(path: Path) -> Iterator[str]:
        for text in [text for output in outputs(path) for text in texts(output)]:
            yield from (match[0] for kind in (ADDRESS, TIME) for match in kind.finditer(text))

    assert not offenders(NOTEBOOKS, varying)


def test_stripping_keeps_the_picture_and_the_text() -> None:
    """Of a widget's output, the live form goes and its picture and text stay; alone, it goes."""
    notebook = nbformat.v4.new_notebook(metadata={"widgets": {}})
    cell = nbformat.v4.new_code_cell("player", metadata={"execution": {"iopub.execute_input": "t"}})
    both = {LIVE: {"model_id": "1"}, "text/plain": "Player", "image/svg+xml": "<svg/>"}
    cell.outputs = [
        nbformat.v4.new_output("display_data", both),
        nbformat.v4.new_output("display_data", {LIVE: {"model_id": "2"}}),
        nbformat.v4.new_output("stream", name="stdout", text="hello"),
    ]
    notebook.cells = [cell]
    kept = strip(notebook).cells[0]
    assert [sorted(output.get("data", {})) for output in kept.outputs] == [
        ["image/svg+xml", "text/plain"],
        [],
    ]
    assert kept.metadata == {}
    assert "widgets" not in notebook.metadata


@pytest.mark.parametrize("lesson", COURSE, ids=lambda lesson: lesson.name)
def test_nbgrader_knows_every_exercise(lesson: Lesson) -> None:
    """The cell in which an exercise is answered has a point, and no other cell has one."""
    notebook = nbformat.read(ROOT / "notebooks" / lesson.file, as_version=4)
    cells = [cell.metadata["nbgrader"] for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert sorted(cell["grade_id"] for cell in cells) == sorted({*lesson.exercises})
    assert all(cell["points"] == 1 and cell["grade"] and cell["solution"] for cell in cells)
    assert all(not cell["locked"] and cell["schema_version"] == 3 for cell in cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_first_use_of_each_word_leads_to_the_glossary(path: Path) -> None:
    """Its prose has the links that ``python -m tools.linking`` writes; again changes nothing."""
    notebook = nbformat.read(path, as_version=4)
    before = [cell.source for cell in notebook.cells]
    assert [cell.source for cell in linked(notebook, path.name).cells] == before
    assert LINKED.search("\n".join(before))


def test_only_running_text_is_linked() -> None:
    """Not code, tables, headings or links, and each word once; a form of it counts."""
    text = "# Epochs\n\n`epoch`, [an epoch](a.md)\n\n| epoch |\n| --- |\n\nTwo epochs, an epoch."
    cells = [nbformat.v4.new_code_cell('Player("tcm")'), nbformat.v4.new_markdown_cell(text)]
    notebook = linked(nbformat.v4.new_notebook(cells=cells), "00-start-here")
    wanted = text.replace("Two epochs", "Two [epochs](../docs/glossary.md#epoch)")
    assert notebook.cells[1].source == wanted
