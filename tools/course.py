"""The course as documents show it: minutes, table, list of former names and map are all made.

Minutes follow one formula: 130 words of text a minute, 20 seconds a cell of code, 6 seconds a step
of a run that a Player holds, 4 minutes an exercise. ``tools.reference`` writes all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import nbformat

from kit.catalogue.course import COURSE, TRACKS, Lesson, lesson
from kit.views.diagrams import quote
from kit.views.palette import GRAPHVIZ, SHADES

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
MOST = 45  # minutes of a lesson
TIME = re.compile(r"\*\*Time\.\*\*[^.]*\.")
ALONE = re.compile(r"^## (\d\d) .*\n\n(?:Alone: .*\n\n)?", re.MULTILINE)
PLAYER = re.compile(r"^Player\([\w/-]+: step \d+ of (\d+);")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def minutes(notebook: Any) -> int:
    """How long a reader takes who works alone, exercises included, in whole minutes."""
    text = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = (output.get("data", {}) for cell in code for output in cell.outputs)
    players = (PLAYER.match(data.get("text/plain", "")) for data in shown)
    steps = sum(int(player[1]) for player in players if player)
    exercises = sum(").check(" in cell.source for cell in code)
    words = sum(len(each.split()) for each in text)
    return round(words / 130 + len(code) / 3 + steps / 10 + 4 * exercises)


def minutes_of(one: Lesson) -> int:
    """Those of its committed notebook."""
    return minutes(nbformat.read(FOLDER / one.file, as_version=4))


def timed(text: str) -> str:
    """A notebook as text with its own minutes in its head.

    Raises ValueError when it does not say once how long it takes.
    """
    notebook = nbformat.reads(text, as_version=4)
    heads = [
        cell for cell in notebook.cells if cell.cell_type == "markdown" and TIME.search(cell.source)
    ]
    if len(heads) != 1:
        raise ValueError(f"**Time.** is in {len(heads)} cells")
    number = sum(").check(" in cell.source for cell in notebook.cells if cell.cell_type == "code")
    ending = "exercise" if number == 1 else "exercises"
    # What is said has as many words each time, so one round is enough.
    heads[0].source = TIME.sub("**Time.** 10 minutes, with the two exercises.", heads[0].source)
    said = f"**Time.** {minutes(notebook)} minutes, with the {NUMBERS[number]} {ending}."
    heads[0].source = TIME.sub(said, heads[0].source)
    return str(nbformat.writes(notebook)) + "\n"


def readme_list() -> str:
    """A line for each lesson, in order, by track: its name, its minutes, what a class does."""
    parts = []
    for title in TRACKS.values():
        lines = [
            f"- [{one.name}](notebooks/{one.file}) ({minutes_of(one)}): {one.in_class}"
            for one in COURSE
            if one.track == title
        ]
        parts.append("\n".join([f"{title}:\n", *lines]))
    return "\n\n".join(parts)


def lists() -> str:
    """The page beside the notebooks: each track with what its lessons need, and former names."""
    parts = []
    for title in TRACKS.values():
        rows = [
            f"| [{one.title}]({one.file}) | {minutes_of(one)} | "
            + (
                ", ".join(f"[{lesson(each).title}]({lesson(each).file})" for each in one.needs)
                or "–"
            )
            + " |"
            for one in COURSE
            if one.track == title
        ]
        heads = ["| lesson | minutes | needs |", "| --- | --- | --- |"]
        parts.append("\n".join([f"## {title}\n", *heads, *rows]))
    return "\n\n".join(parts)


def taught(text: str) -> str:
    """TEACHING.md with how long each lesson takes a reader below its heading."""
    by_number = {f"{one.number:02}": one for one in COURSE}

    def told(found: re.Match[str]) -> str:
        one = by_number[found[1]]
        return f"## {one.number:02} {one.title}\n\nAlone: {minutes_of(one)} minutes.\n\n"

    return ALONE.sub(told, text)


def graphs() -> Iterator[tuple[str, str]]:
    """The map of the course: what leads where, in DOT."""
    lines = [
        "digraph course {",
        f"{GRAPHVIZ};",
        # A box is wide enough for how much is solved, beside its minutes.
        "rankdir=LR; ranksep=0.3; nodesep=0.12; node [shape=box, width=1.5];",
        'node [style="rounded,filled"];',
    ]
    for (first, title), fill in zip(TRACKS.items(), SHADES.values(), strict=True):
        of = [one for one in COURSE if one.track == title]
        lines.append(f"subgraph cluster_{first} {{ label={quote(title)};")
        for one in of:
            words = "\\n".join([*wrap(one.title, 18), f"{minutes_of(one)} min"])
            link = f'URL="{one.file}", fillcolor="{fill}"'
            lines.append(f'"{one.slug}" [label="{words}", {link}];')
        lines.append("}")
    # A need that another need has already is not drawn.
    for one in COURSE:
        far = {x for each in one.needs for x in _all_needs(lesson(each))}
        lines += [f'"{each}" -> "{one.slug}";' for each in one.needs if each not in far]
    yield "course", "\n".join([*lines, "}"]) + "\n"


def _all_needs(one: Lesson) -> set[str]:
    return {*one.needs} | {x for each in one.needs for x in _all_needs(lesson(each))}
