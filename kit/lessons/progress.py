"""Which exercises a learner has solved: one small file of theirs, shown beside the course.

Many such files become a table that a gradebook reads: a row each, a column a lesson.

The file is ``.kit-solved.json`` in the home folder, or what the variable ``KIT_SOLVED`` names.
"""

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

from kit.catalogue.course import COURSE, TRACKS, Lesson
from kit.catalogue.glossary import drawing_file
from kit.edge.arguments import checked
from kit.edge.json_text import decoded, to_json
from kit.edge.reading import read_text
from kit.edge.writing import held, write_whole
from kit.errors import BadInput
from kit.views.fragment import escape
from kit.views.palette import LIGHT
from kit.views.static import OPENING, file_image

VARIABLE = "KIT_SOLVED"
LARGEST = 1 << 16  # bytes
MAP = "course.svg"
NARROWEST = 1300  # pixels of the map: in fewer its words are too small, so that one scrolls
ABOVE = "position:absolute;display:block;text-decoration:none;"
CORNER = f"position:absolute;right:3px;bottom:2px;font-size:11px;line-height:1;color:{LIGHT['ink']}"
UNSEEN = "position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden"
LINK, SHAPE = "{http://www.w3.org/1999/xlink}href", "{http://www.w3.org/2000/svg}path"


def boxes(drawing: bytes) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    """Each lesson's file with its box on the map: left, top, width, height in percent."""
    root = ElementTree.fromstring(drawing)
    _, _, wide, high = map(float, root.attrib["viewBox"].split())
    # Graphviz draws upwards from a corner that it has moved.
    moved = next(g.attrib["transform"] for g in root if "transform" in g.attrib)
    right, down = map(float, moved.partition("translate(")[2].rstrip(")").split())
    for anchor in root.iter():
        if LINK not in anchor.attrib:
            continue
        line = next(anchor.iter(SHAPE)).attrib["d"].replace("C", " ").removeprefix("M")
        points = [tuple(map(float, point.split(","))) for point in line.split()]
        (left, far), (top, low) = ((min(at), max(at)) for at in zip(*points, strict=True))
        sizes = (left + right) / wide, (top + down) / high, (far - left) / wide, (low - top) / high
        yield anchor.attrib[LINK], sizes


def place() -> Path:
    """The file of this learner."""
    return Path(os.environ.get(VARIABLE) or Path.home() / ".kit-solved.json")


def solved() -> list[str]:
    """The names of the exercises that this learner has solved, in that order.

    Raises BadInput when there is a file that nothing here has written.
    """
    return names_in(place(), VARIABLE) if place().exists() else []


def keep(name: str) -> None:
    """Note that an exercise is solved. Raises BadInput when the file cannot be read or written."""
    if name not in solved():
        keep_names(place(), [name], VARIABLE)


def names_in(path: str | os.PathLike[str], field: str) -> list[str]:
    """The names that ``keep_names`` wrote into a file. Raises BadInput for any other file."""
    text = read_text(path, field, LARGEST)
    try:
        return [*decoded(text, tuple[str, ...], field)]
    except BadInput:
        raise BadInput(field, str(path), "a file that the kit wrote") from None


def keep_names(path: str | os.PathLike[str], names: Iterable[str], field: str) -> list[str]:
    """Add names to those in a file, whoever else does so at the same time; returns all of them.

    Raises BadInput for a file that the kit did not write, or that cannot be written.
    """
    with held(path, b"[]", field) as place:
        before = names_in(place, field)
        if (now := [*dict.fromkeys([*before, *names])]) != before:
            write_whole(place, to_json(now), field)
    return now


class LessonList:
    """The map of the course, and its lessons by track: each a link, with how much is solved."""

    def __init__(self) -> None:
        """Raises BadInput when there is a file of progress that cannot be read."""
        self._solved = {*solved()}

    def _counts(self, exercises: tuple[str, ...]) -> tuple[int, int]:
        return len(self._solved & {*exercises}), len({*exercises})

    def _head(self) -> str:
        done, of = self._counts(tuple(x for lesson in COURSE for x in lesson.exercises))
        return f"{done} of {of} exercises solved"

    def _of(self, lesson: Lesson) -> str:
        return "{} of {}".format(*self._counts(lesson.exercises))

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        # A fragment has no links: these are to notebooks beside the reader's own.
        lists = []
        for title in TRACKS.values():
            rows = (
                (f'<a href="{escape(each.file)}">{escape(each.title)}</a>', escape(self._of(each)))
                for each in COURSE
                if each.track == title
            )
            items = "".join(f"<li>{link} {of}</li>" for link, of in rows)
            lists.append(f"<h4>{escape(title)}</h4><ul>{items}</ul>")
        html = f"{OPENING}<p>{escape(self._head())}</p>{self._map()}{''.join(lists)}</div>"
        return {"text/plain": repr(self), "text/html": html}

    def _map(self) -> str:
        """The drawing with a link on each box. Where a page strips styles, links in a row follow.

        They are out of the way of keyboards and screen readers, which have the list.
        """
        if (file := drawing_file(MAP)) is None:
            return ""
        alt = "A map of the course. Each arrow shows what you need first. "
        alt += "The lessons are listed below."
        by_file = {lesson.file: lesson for lesson in COURSE}
        links = []
        for name, sizes in boxes(file.read_bytes()):
            lesson = by_file[name]
            names = ("left", "top", "width", "height")
            at = ";".join(f"{what}:{size:.2%}" for what, size in zip(names, sizes, strict=True))
            solved, of = self._counts(lesson.exercises)
            done = "✓" if solved == of else f"{solved}/{of}"
            title = escape(lesson.title)
            links.append(
                f'<a href="{escape(name)}" title="{title}" tabindex="-1" aria-hidden="true" '
                f'style="{ABOVE}{at}"><span style="{UNSEEN}">{title}: </span>'
                f'<b style="{CORNER}">{done}</b></a>'
            )
        drawn = file_image(file, alt).html().replace("<img ", '<img style="width:100%" ', 1)
        place = f'<div style="position:relative;min-width:{NARROWEST}px">'
        return f'<div style="overflow-x:auto">{place}{drawn}{" ".join(links)}</div></div>'

    def __repr__(self) -> str:
        lines = [f"{lesson.name}: {self._of(lesson)}" for lesson in COURSE]
        return "\n".join([self._head(), *lines])


def course() -> LessonList:
    """The course with your own progress: press a lesson to open it.

    Raises BadInput when your file of progress cannot be read.
    """
    return LessonList()


POSSIBLE = "Points Possible"
"""The row, by the name that gradebooks know, with how many exercises a lesson has."""
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
"""How a student may be called: no spreadsheet takes it for a formula."""


@checked
def export_grades(
    path: str | os.PathLike[str] = "grades.csv",
    *,
    student: str = "student",
    folder: str | os.PathLike[str] | None = None,
) -> Path:
    """Write a table of points as CSV: a row for each student, a column for each lesson.

    Each solved exercise is one point. Without ``folder``, the table has one student: you, under the
    name ``student``. A ``folder`` holds what students handed in: each one's file of progress
    (``.kit-solved.json``), renamed to ``NAME.json``.

    The files say only what each student's own kit noted. For proof, run the student's notebook
    again.

    Raises BadInput for a folder without such files, a file that the kit did not write, a name with
    other signs than letters, digits and ``_ . @ -``, or a place that cannot be written.
    """
    graded = [lesson for lesson in COURSE if lesson.exercises]
    rows = [["Student", *(f"{lesson.number:02} {lesson.title}" for lesson in graded)]]
    rows.append([POSSIBLE, *(str(len(lesson.exercises)) for lesson in graded)])
    for name, done in _handed_in(student, folder).items():
        rows.append([name, *(str(len(done & {*lesson.exercises})) for lesson in graded)])
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)  # as RFC 4180 has it
    return write_whole(path, text.getvalue(), "path")


def _handed_in(student: str, folder: str | os.PathLike[str] | None) -> dict[str, set[str]]:
    if folder is None:
        return {_checked_id(student, "student"): {*solved()}}
    try:
        files = sorted(Path(folder).glob("*.json"))
    except OSError:  # no folder can have such a name
        files = []
    if not files:
        raise BadInput("folder", str(folder), f"a folder with files NAME.json ({VARIABLE})")
    return {_checked_id(file.stem, "folder"): {*names_in(file, "folder")} for file in files}


def _checked_id(name: str, field: str) -> str:
    if not _ID.fullmatch(name):
        raise BadInput(field, name, "1 to 64 letters, digits and _ . @ -, a letter or digit first")
    return name
