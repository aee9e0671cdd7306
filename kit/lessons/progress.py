"""Which exercises a learner has solved: one small file of theirs, shown beside the course.

The file is ``.kit-solved.json`` in the home folder, or what the variable ``KIT_SOLVED`` names.
"""

import os
from pathlib import Path

import msgspec

from kit.edge.reading import read_text
from kit.edge.words import later, say
from kit.edge.writing import write_whole
from kit.errors import BadInput
from kit.lessons.course import COURSE, TRACKS, Lesson
from kit.views.fragment import escape
from kit.views.static import OPENING

VARIABLE = "KIT_SOLVED"
LARGEST = 1 << 16  # bytes
COUNT = later("{n} of {all} exercises solved")
OF_ONE = later("{n} of {all}")


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
    before = solved()
    if name not in before:
        keep_names(place(), [*before, name], VARIABLE)


def names_in(path: str | os.PathLike[str], field: str) -> list[str]:
    """The names that ``keep_names`` wrote into a file. Raises BadInput for any other file."""
    try:
        return msgspec.json.decode(read_text(path, field, LARGEST), type=list[str])
    except msgspec.MsgspecError:
        raise BadInput(field, str(path), "a file that the kit wrote") from None


def keep_names(path: str | os.PathLike[str], names: list[str], field: str) -> None:
    """Write names into a file, whole. Raises BadInput when it cannot be written."""
    write_whole(path, msgspec.json.encode(names).decode(), field)


class LessonList:
    """The lessons by track, each a link, with how many of its exercises are solved."""

    def __init__(self) -> None:
        """Raises BadInput when there is a file of progress that cannot be read."""
        self._solved = {*solved()}

    def _counts(self, exercises: tuple[str, ...]) -> dict[str, int]:
        return {"n": len(self._solved & {*exercises}), "all": len({*exercises})}

    def _head(self) -> str:
        return say(COUNT, **self._counts(tuple(x for lesson in COURSE for x in lesson.exercises)))

    def _of(self, lesson: Lesson) -> str:
        return say(OF_ONE, **self._counts(lesson.exercises))

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        # A fragment has no links: these are to notebooks beside the reader's own.
        lists = []
        for title in TRACKS.values():
            of = [lesson for lesson in COURSE if lesson.track == title]
            items = "".join(f"<li>{_link(lesson)} {escape(self._of(lesson))}</li>" for lesson in of)
            lists.append(f"<h4>{escape(say(title))}</h4><ul>{items}</ul>")
        html = f"{OPENING}<p>{escape(self._head())}</p>{''.join(lists)}</div>"
        return {"text/plain": repr(self), "text/html": html}

    def __repr__(self) -> str:
        lines = [f"{lesson.name}: {self._of(lesson)}" for lesson in COURSE]
        return "\n".join([self._head(), *lines])


def _link(lesson: Lesson) -> str:
    return f'<a href="{escape(lesson.file)}">{escape(lesson.title)}</a>'


def course() -> LessonList:
    """The course with your own progress: press a lesson to open it.

    Raises BadInput when your file of progress cannot be read.
    """
    return LessonList()
