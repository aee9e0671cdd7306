"""A hand-out of a notebook, and its answer key: one page of paper (A4) each.

The hand-out has what is learned, the words, one picture, the questions with space for an answer and
the exercises. The key has the answers, which the models give while the notebook's cells run again.
"""

import ast
import asyncio
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from msgspec import Struct

from kit.catalogue.course import without_magics
from kit.catalogue.glossary import entry, glossary_anchor, words
from kit.edge.json_text import decoded
from kit.edge.reading import read_text
from kit.edge.writing import check_place, write_all
from kit.errors import BadInput, KitError
from kit.lessons.exercises import Exercise, right_answers
from kit.lessons.predictions import Prediction
from kit.lessons.tasks import Task
from kit.model.source import said_by
from kit.views.fragment import Frag, escape, h
from kit.views.palette import image_colours
from kit.views.static import bundle_of

LARGEST = 1 << 26  # bytes
NOTEBOOK = "a notebook file (.ipynb) of format 4"
EXERCISE_CHECK = ").check("
OWN_WORDS = "**Words.**"
"""How the paragraph begins in which a lesson explains its words; they are in italics there."""
_TERM = re.compile(r"\[[^\]]*\]\([^)#]*glossary\.md#([^)]+)\)|(?<![*\w)])\*([^*[]+)\*(?!\*)")
_FIRST = re.compile(r"(?<=[.!?])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(*])")
_HEADING = re.compile(r"^##+ (.+?)\s*$", re.MULTILINE)
_MARKS = re.compile(r"\*+|`|\[([^\]]*)\]\([^)]*\)")


class NotebookCell(Struct, frozen=True):
    """A cell of a notebook: ``markdown`` or ``code``, and its source."""

    cell_type: str
    source: str | list[str]

    @property
    def text(self) -> str:
        """The source as one text."""
        return self.source if isinstance(self.source, str) else "".join(self.source)


class _Notebook(Struct):
    cells: list[NotebookCell]


class Word(Struct, frozen=True):
    """A word that a lesson explains, and the sentence that does."""

    term: str
    said: str


class LessonText(Struct, frozen=True):
    """The text of a notebook: its title, what is learned, how long it takes, words, its cells."""

    title: str
    goals: str
    time: str
    words: tuple[Word, ...]
    cells: tuple[NotebookCell, ...]


def read_lesson(path: str | Path) -> LessonText:
    """A notebook's words. Raises BadInput for a file that cannot be read, or is no notebook."""
    text = read_text(path, "notebook", LARGEST)
    try:
        cells = tuple(decoded(text, _Notebook, "notebook").cells)
    except BadInput as error:
        raise BadInput("notebook", str(path), f"{NOTEBOOK} ({error})") from None
    prose = [cell.text for cell in cells if cell.cell_type == "markdown"]
    titles = [line[2:] for text in prose for line in text.splitlines() if line.startswith("# ")]
    paragraphs = [" ".join(part.split()) for text in prose for part in re.split(r"\n\s*\n", text)]
    return LessonText(
        titles[0] if titles else Path(path).stem,
        _behind("What you will learn", paragraphs),
        _behind("Time", paragraphs),
        tuple(_words(paragraphs)),
        cells,
    )


def _behind(heading: str, paragraphs: list[str]) -> str:
    for paragraph in paragraphs:
        head = re.search(rf"\*\*{heading}[^*]*\.\*\* (.*?)(?=\*\*[A-Z][^*]*\.\*\*|$)", paragraph)
        if head:
            return plain(head[1].strip())
    return ""


def _words(paragraphs: list[str]) -> Iterator[Word]:
    """The words that a lesson explains, each once: those of its paragraph of words, and those that
    it links to the glossary, in the order in which they come. Each has the first sentence of the
    glossary; what that does not know, the lesson's own.
    """
    known = {glossary_anchor(word): word for word in words()}
    done = set[str]()
    for text in paragraphs:
        own = text.startswith(OWN_WORDS)
        for sentence in _SENTENCE.split(text.removeprefix(OWN_WORDS).strip()):
            unknown = list[str]()
            for anchor, term in _TERM.findall(sentence):
                word = known.get(anchor, "") if anchor else _in_glossary(plain(term)) if own else ""
                if word and word not in done:
                    done.add(word)
                    yield Word(word, plain(_FIRST.split(words()[word].means)[0]))
                elif word is None:
                    unknown.append(plain(term))
            if unknown and not done.issuperset(unknown):
                done.update(unknown)
                yield Word(", ".join(unknown), plain(sentence))


def _in_glossary(term: str) -> str | None:
    try:
        return entry(term)[0]
    except BadInput:
        return None


def plain(text: str) -> str:
    """Markdown without its marks."""
    return _MARKS.sub(lambda mark: mark[1] or "", text)


def shown_by(lesson: LessonText, folder: str | Path) -> Iterator[tuple[int, Any]]:
    """The outputs of the code cells, in order, each with its cell's number from 1 on; cells that
    check exercises are passed over.

    The cells run in this process and in ``folder``; what they print goes nowhere.

    Raises KitError naming the first cell that fails.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    sources = [cell.text for cell in lesson.cells if cell.cell_type == "code"]
    for number, source in enumerate(sources, start=1):
        if EXERCISE_CHECK in source:
            continue
        nowhere, place = io.StringIO(), chdir(os.fspath(folder))
        with (
            _naming_cell(number),
            place,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
            _staying(),
        ):
            value = _run(source, names)
        if value is not None:
            yield number, value


@contextmanager
def _staying() -> Iterator[None]:
    """Nobody ends this process in silence: ``os._exit`` is an exit as others are. Processes that it
    forks end as they are used to.
    """
    ends, here = os._exit, os.getpid()

    def leave(status: int) -> NoReturn:
        if os.getpid() == here:
            sys.exit(status)
        ends(status)

    os._exit = leave
    try:
        yield
    finally:
        os._exit = ends


@contextmanager
def _naming_cell(number: int) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:  # of whoever waits
        raise
    except BaseException as error:
        colon = "" if isinstance(error, SystemExit) else ":"
        said = f"{type(error).__name__}{colon} {said_by(error)}"
        raise KitError(f"code cell {number} fails: {said}") from error


def _run(source: str, names: dict[str, Any]) -> Any:
    tree = ast.parse(without_magics(source))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    parts: list[Any] = [tree, *([ast.Expression(last.value)] if isinstance(last, ast.Expr) else [])]
    for part in parts:
        mode = "exec" if part is tree else "eval"
        flags: int = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(part, "<cell>", mode, flags)
        value = eval(code, names)
        if code.co_flags & inspect.CO_COROUTINE:
            value = asyncio.run(value)
    return value


PAGE, IMAGE, ITEM = 4_400, 1_400, 20
"""Letters that fill a page in the largest type; for how many a picture counts, and an item."""
TYPE = (5.6, 9.6)
"""The smallest and the largest type, in points."""
STYLE = """
@page{size:A4;margin:11mm}
*{box-sizing:border-box}
body>div+div{break-before:page}
body{margin:0 auto;max-width:188mm;font-family:sans-serif;line-height:1.28;color:var(--ink)}
h2{font-size:1.5em;margin:0}
h3{font-size:1.1em;margin:.6em 0 .15em;border-bottom:1px solid var(--edge)}
p,ul,ol{margin:.15em 0}ul,ol{padding-left:1.5em}
.name{float:right}.columns{columns:2;column-gap:7mm}
li{break-inside:avoid;margin-bottom:.25em}
img{display:block;max-width:100%;max-height:58mm;margin:.3em auto}
.space{border-bottom:1px dotted var(--edge);height:1.35em}
.choices span{display:inline-block;margin-right:1em}
"""
_IMAGE = re.compile(r'<img src="(data:image/(?:svg\+xml|png);base64,[A-Za-z0-9+/=]+)" alt="([^"]*)')


Picture: TypeAlias = tuple[str, str]
"""A drawing as data, and its words."""


class Handout(Struct, frozen=True):
    """The content of the two pages: a notebook's words, questions, exercises and one picture.

    ``sections`` gives the text of a question the heading under which its state is shown.
    """

    lesson: LessonText
    questions: tuple[Prediction, ...]
    sections: Mapping[str, str]
    exercises: tuple[Task, ...]
    picture: Picture | None


def handout_of(notebook: str | Path) -> Handout:
    """Read a notebook and run its cells for the questions, the answers and the picture.

    Raises BadInput for what is no notebook, or one that asks nothing.
    Raises KitError naming the first cell that fails.
    """
    path = Path(notebook)
    lesson = read_lesson(path)
    questions: dict[str, Prediction] = {}
    sections: dict[str, str] = {}
    headings = [*_headings(lesson)]
    exercises: dict[str, Task] = {}
    first: tuple[Picture, ...] = ()
    last: tuple[Picture, ...] = ()
    for number, value in shown_by(lesson, path.resolve().parent):
        if isinstance(value, Prediction):
            questions.setdefault(value.text, value)
            sections.setdefault(value.text, headings[number - 1])
        elif isinstance(value, Exercise):
            exercises.setdefault(value.task.name, value.task)
        else:
            last = tuple(_pictures(number, value)) or last
            first = first or (() if questions else last)
    if not questions and not exercises:
        raise BadInput("notebook", str(notebook), "a notebook with predictions or exercises")
    return Handout(
        lesson,
        tuple(questions.values()),
        sections,
        tuple(exercises.values()),
        # One that comes behind a question may be its answer; the last one is of another moment.
        max(first or last, key=lambda picture: len(picture[0]), default=None),
    )


def _headings(lesson: LessonText) -> Iterator[str]:
    heading = ""
    for cell in lesson.cells:
        if cell.cell_type == "code":
            yield heading
        for title in _HEADING.findall(cell.text) if cell.cell_type == "markdown" else ():
            heading = plain(title)


def _pictures(number: int, value: Any) -> Iterator[Picture]:
    if isinstance(value, type):
        return
    with _naming_cell(number):
        images = _IMAGE.findall(bundle_of(value).get("text/html", ""))
    yield from images


def pages_of(notebook: str | Path, folder: str | Path) -> list[tuple[Path, str]]:
    """Both pages, ``NAME-handout.html`` and ``NAME-key.html``: where they go, and what is on them.

    Raises BadInput as ``handout_of``, or when the folder cannot be written to.
    """
    places = [_place(folder, f"{Path(notebook).stem}-{which}.html") for which in ("handout", "key")]
    handout = handout_of(notebook)
    sheets = sheet_of(handout), key_of(handout)
    return [(at, _page(each.title, [each])) for at, each in zip(places, sheets, strict=True)]


def _place(folder: str | Path, name: str) -> Path:
    if not Path(folder).is_dir():
        raise BadInput("--out", str(folder), "a folder that is there")
    return check_place(Path(folder) / name, "--out")


def write_reader(
    notebooks: Sequence[Path], folder: str | Path, progress: Callable[[int, int], None]
) -> tuple[Path, Path]:
    """Write the sheets of many notebooks bound as one: ``reader.html`` and ``reader-key.html``.

    ``progress`` hears how many were read, of how many. Raises BadInput and KitError as
    ``handout_of``, and BadInput when the folder cannot be written to.
    """
    place, key_place = (_place(folder, name) for name in ("reader.html", "reader-key.html"))
    sheets, keys = list[Sheet](), list[Sheet]()
    for number, path in enumerate(notebooks, start=1):
        handout = handout_of(path)
        sheets.append(sheet_of(handout))
        keys.append(key_of(handout))
        progress(number, len(notebooks))
    page = _page("Course reader", sheets)
    key = _page("Course reader: answers", keys)
    written, written_key = write_all([(place, page), (key_place, key)], "--out")
    return written, written_key


class Sheet(Struct, frozen=True):
    """A sheet of paper: its title, and what is on it."""

    title: str
    content: Frag


def sheet_of(handout: Handout) -> Sheet:
    """The sheet for learners."""
    lesson, picture = handout.lesson, handout.picture
    questions = (_question(each, handout.sections[each.text]) for each in handout.questions)
    terms = (h("li", h("b", word.term), f": {word.said}") for word in lesson.words)
    tasks = (h("li", h("b", task.title), f": {plain(task.text)}") for task in handout.exercises)
    content = h(
        "section",
        h("p", f"name: {'_' * 20}", class_="name"),
        h("h2", lesson.title),
        h("p", lesson.goals),
        h("p", lesson.time, class_="soft") if lesson.time else None,
        _section("Words", [*terms]),
        h("img", src=picture[0], alt=picture[1]) if picture else None,
        _section("What do you expect?", [*questions]),
        _section("Exercises", [*tasks]),
    )
    return Sheet(lesson.title, content)


def key_of(handout: Handout) -> Sheet:
    """The sheet for teachers."""
    title = f"{handout.lesson.title}: answers"
    content = h(
        "section",
        h("h2", title),
        h("p", "These answers were worked out from the models when this page was made."),
        _section("What do you expect?", [_answered(each) for each in handout.questions]),
        _section("Exercises", [_solved(task) for task in handout.exercises]),
    )
    return Sheet(title, content)


def _solved(task: Task) -> Frag:
    return h("li", h("b", task.title), [h("p", line) for line in right_answers(task)])


def _page(title: str, sheets: Iterable[Sheet]) -> str:
    body = "".join(map(_set, sheets))
    style = f"<style>{image_colours()}{STYLE}</style>"
    head = f'<meta charset="utf-8"><title>{escape(title)}</title>{style}'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def _set(sheet: Sheet) -> str:
    html = sheet.content.html()
    letters = len(re.sub(r"<[^>]*>", "", html))
    letters += IMAGE * html.count("<img") + ITEM * html.count("<li") + ITEM * html.count("☐")
    points = max(TYPE[0], min(TYPE[1], TYPE[1] * (PAGE / max(letters, 1)) ** 0.5))
    return f'<div style="font-size:{points:.2f}pt">{html}</div>'


def _section(title: str, items: list[Frag]) -> list[Frag]:
    return [h("h3", title), h("ol", items, class_="columns")] if items else []


def _question(question: Prediction, section: str) -> Frag:
    choices = [h("span", f"☐ {choice}") for choice in question.choices]
    where = h("small", " ", f"(The state is in “{section}”.)")
    return h(
        "li",
        question.text,
        where if section else None,
        h("p", choices, class_="choices"),
        h("div", class_="space"),
    )


def _answered(question: Prediction) -> Frag:
    facts = " ".join((question.posed.question.because, *question.posed.question.reasons))
    return h("li", question.text, h("p", h("b", ", ".join(question.right)), f" – {facts}"))
