"""The lessons as pages: a notebook as it is stored, to be read, with Players that come to life.

A Player that the notebook shows is its stored picture first. Its pack lies beside the page, so it
can be stepped at once, and whoever presses something there starts the engine of the page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import nbformat
from msgspec import Struct
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from kit.catalogue.course import COURSE, Lesson, without_magics
from kit.console.drill import drills
from kit.playing.stored import StoredRun, run_stored
from kit.site.pages import memory_note, page_of
from kit.site.programs import Program, program_of
from kit.views.fragment import escape
from kit.views.shell import shell

LINK = re.compile(r'(?<= )(href|src|xlink:href)="([^"#]*)(#[^"]*)?"')
KEPT = ("data:", "http:", "https:")
SHOWN = ("text/html", "image/svg+xml", "image/png", "text/plain")
"""What is shown of an output: the first of these that it has."""
HUNTS = re.compile(r"\bhunt\([^)]*\)")
BOARD = re.compile(r"(\w+|hunt\(.*\))\s*$")
"""The last line of a cell that shows the board of a hunt."""


class Part(Struct, frozen=True):
    """A part of a page that comes to life: its number there, and what its engine is opened on."""

    number: int
    run: StoredRun | Program


class LessonPage(Struct, frozen=True):
    """A page, its parts, and the pictures that it shows, by their names among the images."""

    html: str
    parts: tuple[Part, ...]
    pictures: frozenset[str]


def lesson_page(lesson: Lesson, folder: Path) -> LessonPage:
    """The page of a lesson's notebook, as it is stored in a folder."""
    parts: list[Part] = []
    code: list[str] = []
    notebook = read_lesson(lesson, folder)
    cells = "".join(_cell(cell, lesson, folder, parts, code) for cell in notebook.cells)
    html, pictures = led(cells, "../")
    place = COURSE.index(lesson)
    back = "".join(_led_to(each, "before") for each in COURSE[max(0, place - 1) : place])
    after = (_led_to(each, "Next") for each in COURSE[place + 1 : place + 2])
    ahead = "".join(f'<p class="ahead">{link}</p>' for link in after)
    resting = "Press anywhere in a picture with buttons to start its engine."
    nav = (
        f'<nav aria-label="lessons">'
        f'<a href="../index.html">all lessons</a>{back}'
        f"<b>{escape(lesson.title)}</b>"
        f'<span id="engine" role="status">{escape(resting if parts else "")}</span>'
        f"{memory_note()}</nav>"
    )
    data = {
        "engine": "../engine/",
        "judge": "The judge is starting.",
        "judging": "The judge is working.",
        "stopped": "Stopped: nothing was judged.",
        "solved": "✓ You have solved it.",
        "starts": "The engine is starting. You can keep reading.",
        "live": "Live: every button works.",
        "failed": "This browser cannot start the engine. The runs can be read, but not changed.",
        "lost": (
            "This browser cannot start the engine, so your run is not shown. Reload the page to "
            "try again."
        ),
    }
    body = (
        f'{nav}<main class="lesson">{html}{ahead}</main>'
        f'<template id="shell">{shell().html()}</template>'
        '<script type="module" src="../lesson.js"></script>'
    )
    return LessonPage(page_of(lesson.title, body, "../", data, styled=True), tuple(parts), pictures)


def _led_to(lesson: Lesson, word: str) -> str:
    return f'<a href="{lesson.name}.html">{escape(f"{word}: {lesson.title}")}</a>'


def glossary_page(text: str) -> LessonPage:
    """The glossary as a page, to which the words of lessons lead."""
    html, pictures = led(_prose(text), "")
    nav = '<nav><a href="index.html">all lessons</a></nav>'
    body = f'{nav}<main class="lesson">{html}</main>'
    return LessonPage(page_of("Glossary", body, "", styled=True), (), pictures)


def led(html: str, root: str) -> tuple[str, frozenset[str]]:
    """HTML whose links lead to pages of the site, below ``root``; and the pictures it shows.

    What leads to no page of the site is no link any more.
    """
    pictures: set[str] = set()

    def lead(link: re.Match[str]) -> str:
        kind, place, mark = link[1], link[2], link[3] or ""
        name = place.rpartition("/")[2]
        known = {each.file: each.name for each in COURSE}
        if not place or place.startswith((*KEPT, f"{root}drills/")):
            return link[0]
        if name in known:
            place = f"{root}lessons/{known[name]}.html"
        elif name == "glossary.md":
            place = f"{root}glossary.html"
        elif place == f"../images/{name}":
            pictures.add(name)
            place = f"{root}images/{name}"
        else:
            return ""
        return f'{kind}="{place}{mark}"'

    return LINK.sub(lead, html), frozenset(pictures)


def read_lesson(lesson: Lesson, folder: Path) -> Any:
    """The stored notebook of a lesson."""
    return nbformat.read(folder / lesson.file, as_version=4)


def _prose(text: str) -> str:
    renderer = IPythonRenderer(escape=False, exclude_anchor_links=True)
    html: str = MarkdownWithMath(renderer=renderer).render(text)
    return html


def _cell(cell: Any, lesson: Lesson, folder: Path, parts: list[Part], before: list[str]) -> str:
    if cell.cell_type == "markdown":
        return _prose(cell.source)
    answer = cell.metadata.get("nbgrader", {}).get("grade_id")
    if answer is not None:
        return _answer(answer, program_of(before, cell.source))
    python = without_magics(cell.source)
    own = program_of(before, python)
    shown = "".join(_output(output, lesson, parts, own, folder) for output in cell.outputs)
    before.append(python)
    hunt = HUNTS.search(python)
    if hunt and BOARD.match(python.rpartition("\n")[2]):
        shown += f"<p>{_hunted(program_of(before, f'bugs = {hunt[0]}'))}</p>"
    code = f"<summary>Code</summary><pre><code>{escape(cell.source)}</code></pre>"
    return f'{shown}<details class="code">{code}</details>'


def _hunted(program: str) -> str:
    words = (
        "On this page the table has no buttons (to play a variant, you need JupyterLab): to search "
        "one, write {search} above the last line in the answer box of an exercise and press Check; "
        "to accuse, add {accuse}."
    )
    lines = [*filter(None, program.splitlines()), "print(bugs.search(1))"]
    code = {"search": "; ".join(lines), "accuse": 'print(bugs.accuse(1, "S-?"))'}
    return words.format(**{name: f"<code>{escape(text)}</code>" for name, text in code.items()})


def _answer(name: str, program: str) -> str:
    rows = max(5, program.count("\n") + 3)
    return (
        f'<div class="answer" data-exercise="{escape(name)}">'
        f'<textarea rows="{rows}" spellcheck="false" autocapitalize="off" aria-label="your answer">'
        f"\n{escape(program)}</textarea>"
        f'<button type="button" data-do="check">Check</button>'
        f'<button type="button" data-do="stop" hidden>Stop</button>'
        '<span class="told" role="status"></span><div class="verdict"></div></div>'
    )


def _output(output: Any, lesson: Lesson, parts: list[Part], program: str, folder: Path) -> str:
    if output.output_type == "stream":
        return f'<pre class="told" tabindex="0">{escape(output.text)}</pre>'
    kind = next((each for each in SHOWN if each in output.data), None)
    if kind is None:
        return ""
    data = output.data[kind]
    if kind == "text/plain":
        return f'<pre class="told" tabindex="0">{escape(data)}</pre>'
    if kind == "image/png":
        words = escape(output.data.get("text/plain", ""))
        return f'<img src="data:image/png;base64,{data.strip()}" alt="{words}">'
    run, drill = run_stored(output.metadata), output.metadata.get("drill")
    if drill in drills():
        data += f'<p><a href="../drills/{drill}.html">Type in this drill</a></p>'
    if run is None:
        return f'<div class="shown">{data}</div>'
    part = Part(len(parts), run if run.trace else Program.reading(program, folder))
    parts.append(part)
    about = escape(msgspec.json.encode(part.run).decode())
    pack = f"../packs/lessons/{lesson.name}/{part.number}.pack"
    edge = run.above or 0
    above = f'<div class="shown">{data[:edge]}</div>' if edge else ""
    return (
        f'{above}<div class="kit-player" data-pack="{pack}" data-about="{about}">'
        f'<div class="kit-drawer"></div><div class="place">{data[edge:]}</div></div>'
    )
