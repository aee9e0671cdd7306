"""Declared views: a table is its rows, a key and its columns; a status line is its badges.

All else is derived here: what the step changed is marked, long tables list what stands out and
count the rest, an empty one says so, and the same rows are written in words. A panel of several
tables, notes and drawings is the list of them, from top to bottom.
"""

import json
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import counted
from kit.views.fragment import Frag, Kid, h, row_lines
from kit.views.panel import Panel, Scene, T
from kit.views.parts import heads, moved, scroll, soft

MOST_ROWS = 48
"""Rows that a table lists; of longer ones only those that stand out."""

Row = TypeVar("Row")
Look = TypeVar("Look", bound=Hashable)


class ToldApart(Struct, Generic[Row, Look], frozen=True):
    """The rows to list, in their order, and how many others there are of each look."""

    listed: tuple[Row, ...]
    others: tuple[tuple[Look, int], ...]


def told_apart(
    rows: Sequence[Row], look: Callable[[Row], Look], keep: Callable[[Row], bool]
) -> ToldApart[Row, Look]:
    """All rows, where they are few; else those to ``keep`` and those of an uncommon ``look``.

    Of more than ``MOST_ROWS`` such rows the first are listed, those to keep before all others.
    """
    if len(rows) <= MOST_ROWS:
        return ToldApart(tuple(rows), ())
    looks, kept = [look(row) for row in rows], [keep(row) for row in rows]
    counts = Counter(looks)
    common = max(counts, key=lambda each: counts[each])
    apart = [at for at, each in enumerate(looks) if each != common or kept[at]]
    shown = sorted(sorted(apart, key=lambda at: not kept[at])[:MOST_ROWS])
    counts.subtract(looks[at] for at in shown)
    return ToldApart(
        tuple(rows[at] for at in shown),
        tuple((each, count) for each, count in counts.most_common() if count),
    )


def others_lines(others: Iterable[tuple[tuple[str, ...], int]]) -> list[str]:
    """Write what is not listed, a line for each look: ``950 more: normal, version 3``."""
    return [f"{count:,} more: {', '.join(filter(None, look))}" for look, count in others]


def draw_others(others: Iterable[tuple[tuple[str, ...], int]]) -> list[Frag]:
    """Draw the same as paragraphs."""
    return [h("p", line, class_="soft") for line in others_lines(others)]


NONE = "–"
Words: TypeAlias = str | Callable[[Scene], str]
"""A text, or how a moment gives it."""
Cells: TypeAlias = tuple[Kid, ...]


class Column(Struct, frozen=True):
    """A column: its head, and what it shows of a row.

    ``of`` names a field of the row (``group_id``, ``key.tablet``), or is a function of it. Names
    are joined by commas, True is *yes*, and what is empty shows as ``none``, in grey. ``draws`` is
    for what depends on the moment, such as a button: it is never marked as changed. ``key`` names
    the cell where something travels to it: ``gossip:{0.name}``.
    """

    head: str
    of: str | Callable[[Any], Any] = ""
    none: str = NONE
    key: str = ""
    draws: Callable[[Scene, Any], Kid] | None = None

    def cell(self, row: Any) -> Kid:
        """What the column shows of a row."""
        return shown(self.of(row) if callable(self.of) else attrgetter(self.of)(row), self.none)


class Part(Protocol):
    """A part of a panel, and the same in words, a line each."""

    def draw(self, scene: Scene) -> Kid:
        """Draw the part."""

    def words(self, scene: Scene) -> Iterable[str]:
        """Write it."""


class Alike(Struct, frozen=True):
    """How the rows of a long table are told apart: what they look like, which are always listed.

    A row that the step changed is listed anyway.
    """

    look: Callable[[Any], tuple[str, ...]]
    keep: Callable[[Scene, Any], bool] = lambda scene, row: False


class Table(Struct, frozen=True):
    """Rows of any values; ``key`` names one for good: ``row:{0.name}``, or a function of it.

    A column that is a plain text shows the cell in its place, of rows that are tuples or structs;
    the column ``named`` heads its row. ``of`` is what a row is about, so that it lights up with it.
    ``line`` writes a row in words, ``lines`` all of them, below the caption if that is ``titled``.
    ``kind`` gives the class of a row that looks otherwise, ``look`` that of the table, which may be
    ``headless``. Where there are more than ``most`` rows the first are listed, with ``alike`` those
    that stand out. One that is not ``marked`` says by its ``kind`` what changed, since something
    else than the moment before.
    """

    rows: Callable[[Scene], Iterable[Any]]
    key: str | Callable[[Any], str]
    columns: Sequence[Column | str] | Callable[[Scene], Sequence[Column | str]]
    caption: Words = ""
    of: str | Callable[[Any], str] = ""
    line: str | Callable[[Any], str] = ""
    lines: Callable[[Scene], Iterable[str]] | None = None
    empty: str = ""
    kind: Callable[[Any], str | None] | None = None
    most: int = 0
    thing: str = "row"
    alike: Alike | None = None
    named: int = 0
    look: str | None = None
    titled: bool = False
    marked: bool = True
    headless: bool = False

    def draw(self, scene: Scene) -> Kid:
        """Draw the table; what the step changed is marked."""
        rows, columns = self._rows(scene), self._columns(scene)
        if not rows and self.empty:
            return h("p", self.empty, class_="soft")
        then = self._former(scene)
        listed, others, rest = self._rows_to_show(scene)
        body = h("tbody", [self._row(scene, row, columns, then) for row in listed])
        table = h("table", *self._above(scene), body, class_=self.look)
        return [table, draw_others(others), soft(self._more(rest))]

    def _above(self, scene: Scene) -> tuple[Frag | None, Frag | None]:
        caption, columns = said(self.caption, scene), self._columns(scene)
        head = None if self.headless else heads(*(column.head for column in columns))
        return h("caption", caption) if caption else None, head

    def words(self, scene: Scene) -> Iterator[str]:
        """Write a line for each row, then how many are not listed; as drawn, without ``line``."""
        if self.lines or not self.line:
            yield from self.lines(scene) if self.lines else self._as_drawn(scene)
            return
        if self.titled:
            yield said(self.caption, scene)
        listed, others, rest = self._rows_to_show(scene)
        if not self._rows(scene) and self.empty:
            yield self.empty
        for row in listed:
            yield filled(self.line, row)
        yield from others_lines(others)
        yield from filter(None, [self._more(rest)])

    def _as_drawn(self, scene: Scene) -> Iterator[str]:
        if not self._rows(scene) and self.empty:
            yield self.empty
            return
        listed, others, rest = self._rows_to_show(scene)
        yield from h("table", *self._above(scene)).lines()
        for row in listed:
            cells = [
                column.draws(scene, row) if column.draws else column.cell(row)
                for column in self._columns(scene)
            ]
            plain = tuple(cell for cell in cells if isinstance(cell, str))
            whole = len(plain) == len(cells)
            yield from row_lines(plain) if whole else h("tr", [h("td", c) for c in cells]).lines()
        yield from h("div", draw_others(others), soft(self._more(rest))).lines()

    def _more(self, rest: int) -> str:
        return f"and {counted(rest, self.thing)} more" if rest else ""

    def _columns(self, scene: Scene) -> list[Column]:
        def columns() -> list[Column]:
            given = self.columns(scene) if callable(self.columns) else self.columns
            return [
                Column(each, partial(_in_place, at)) if isinstance(each, str) else each
                for at, each in enumerate(given)
            ]

        return self._once(scene, "columns", columns)

    def _once(self, scene: Scene, what: str, work: Callable[[], T]) -> T:
        kept: tuple[Table, T] = scene.once((what, id(self)), lambda: (self, work()))
        return kept[1]

    def _rows(self, scene: Scene) -> list[Any]:
        return self._once(scene, "rows", lambda: list(self.rows(scene)))

    def _former(self, scene: Scene) -> Mapping[str, Any] | None:
        before = scene.former()
        if before is None or not self.marked:
            return None
        former = partial(self._rows, before)
        return self._once(scene, "then", lambda: {filled(self.key, row): row for row in former()})

    def _is_new(self, row: Any, columns: list[Column], then: Mapping[str, Any] | None) -> bool:
        former = row if then is None else then.get(filled(self.key, row))
        if former is None or former is row or former == row:
            return former is None
        return _cells(columns, former) != _cells(columns, row)

    def _rows_to_show(
        self, scene: Scene
    ) -> tuple[Sequence[Any], Iterable[tuple[tuple[str, ...], int]], int]:
        rows = self._rows(scene)
        if self.alike is None:
            most = self.most or len(rows)
            return rows[:most], (), max(0, len(rows) - most)
        alike, columns = self.alike, self._columns(scene)
        then = self._former(scene) if len(rows) > MOST_ROWS else None

        def keep(row: Any) -> bool:
            return self._is_new(row, columns, then) or alike.keep(scene, row)

        apart = self._once(scene, "listed", lambda: told_apart(rows, alike.look, keep))
        return apart.listed, apart.others, 0

    def _row(
        self, scene: Scene, row: Any, columns: list[Column], then: Mapping[str, Any] | None
    ) -> Frag:
        key, now = filled(self.key, row), _cells(columns, row)
        former = row if then is None else then.get(key)
        was = None if former is None else now if former == row else _cells(columns, former)
        drawn = []
        for at, column in enumerate(columns):
            cell = column.draws(scene, row) if column.draws else now[at]
            if at == self.named:
                came = "changed" if was is None else None
                name = filled(column.key, row) or None
                drawn.append(h("th", cell, scope="row", k=name, class_=came))
                continue
            changed = was is not None and was[at] != cell and cell != NONE
            kind = "changed" if changed and not column.draws else None
            grey = "soft" if cell == column.none else None
            drawn.append(h("td", cell, k=filled(column.key, row) or None, class_=kind or grey))
        kinds = (self.kind(row) if self.kind else None, moved(now != was))
        return h(
            "tr",
            drawn,
            k=key or None,
            class_=" ".join(filter(None, kinds)) or None,
            data_of=filled(self.of, row) or None,
        )


class Note(Struct, frozen=True):
    """A sentence over, between or under tables; without words there is none."""

    text: Words
    key: str | None = None
    look: str | None = "soft"

    def draw(self, scene: Scene) -> Kid:
        """Draw it as a paragraph, marked where the step changed it."""
        words, before = said(self.text, scene), scene.former() if self.key else None
        changed = before is not None and said(self.text, before) != words
        return h("p", words, k=self.key, class_=moved(changed) or self.look) if words else None

    def words(self, scene: Scene) -> Iterator[str]:
        """Write it."""
        yield from filter(None, [said(self.text, scene)])


class Drawn(Struct, frozen=True):
    """A part that is drawn by hand, and its words; without those it is written as it is drawn."""

    draw: Callable[[Scene], Kid]
    lines: Callable[[Scene], Iterable[str]] | None = None

    def words(self, scene: Scene) -> Iterable[str]:
        """Write it."""
        return self.lines(scene) if self.lines else h("div", self.draw(scene)).lines()


def unsaid(scene: Scene) -> Iterable[str]:
    """The words of what is only seen: other words say it."""
    return ()


class Several(Struct, frozen=True):
    """As many parts as a moment asks for."""

    parts: Callable[[Scene], Iterable[Part]]

    def draw(self, scene: Scene) -> Kid:
        """Draw them one under the other."""
        return [part.draw(scene) for part in self.parts(scene)]

    def words(self, scene: Scene) -> Iterator[str]:
        """Write them."""
        for part in self.parts(scene):
            yield from part.words(scene)


class Choice(Struct, frozen=True):
    """Parts for each of several things, one of which is chosen from a list; without scripts and in
    words there are all of them. ``name`` is what the browser keeps the choice under.
    """

    name: str
    label: str
    things: Callable[[Scene], Sequence[str]]
    parts: Callable[[Scene, Any], Iterable[Part]]
    words: Callable[[Scene], Iterable[str]]
    key: str = ""

    def draw(self, scene: Scene) -> Kid:
        """Draw the list and the parts of each thing, all but the first hidden."""
        things = self.things(scene)
        options = [h("option", thing, value=thing) for thing in things]
        chooser = h("select", options, data_choose=self.name)
        drawn = [h("label", f"{self.label} ", chooser, class_="choose")]
        for thing in things:
            parts = [part.draw(scene) for part in self.parts(scene, thing)]
            key, choice = f"{self.key or self.name}:{thing}", json.dumps([self.name, thing])
            drawn.append(h("div", parts, k=key, data_choice=choice, hidden=thing != things[0]))
        return drawn


def panel_of(
    name: str,
    title: str,
    *parts: Part,
    tab: str = "",
    still: bool = False,
    optional: bool = False,
    shown: Callable[[Scene], bool] | None = None,
    own: bool = False,
    marks: str = "",
) -> Panel:
    """Make a panel of its parts, one under the other; one with tables scrolls. ``marks`` is its
    legend, for a seat of a class, which shows its rows without the captions.

    In words a line that begins with a star says what changed: the star stands before the others.
    """
    has_rows = not all(isinstance(part, (Drawn, Note)) for part in parts)

    def draw(scene: Scene) -> Frag:
        drawn = [part.draw(scene) for part in parts]
        return scroll(title, *drawn) if has_rows else h("div", *drawn)

    def wording(scene: Scene) -> str:
        lines = (line for part in parts for line in part.words(scene))
        return "\n".join(line if line.startswith("* ") else f"  {line}" for line in lines)

    legend = (lambda scene: marks) if marks else None
    return Panel(name, title, draw, wording, optional, still, shown, tab, legend=legend, own=own)


Badges: TypeAlias = Iterable[tuple[str, ...]]
LOOKS = {"": "badge", "plain": "plain", "busy": "badge busy", "alarm": "badge alarm"}
"""How a badge looks: the counter is plain."""
MOST_CHIPS = 2
"""Beside the counter."""


def status(
    badges: Callable[[Scene], Badges],
    name: str = "status",
    wording: Callable[[Scene], str] | None = None,
) -> Panel:
    """Make the status line of badges: what each is about, its words, and whether it is *busy*,
    *alarm* or *plain*; and, where there is more to say, a title. One without words is not there.
    Of those that are not plain there are few, alarms first.
    """

    def draw(scene: Scene) -> Frag:
        rows = [row for row in badges(scene) if row[1]]
        chips = [row for row in rows if row[2] != "plain"]
        shown = sorted(chips, key=lambda row: row[2] != "alarm")[:MOST_CHIPS]
        drawn = [
            h(
                "li",
                f"{words[0].upper()}{words[1:]}" if look == "plain" else words,
                k=f"badge:{key}",
                class_=LOOKS[look],
                title=" ".join(title) or None,
            )
            for key, words, look, *title in (r for r in rows if r[2] == "plain" or r in shown)
        ]
        return h("ul", drawn, class_="badges", aria_label="status")

    return Panel(name, "Status", draw, wording, still=True)


def of_state(work: Callable[[Any, Any], Any]) -> Callable[[Scene], Any]:
    """What a function of model and state gives for a moment, worked out once for all panels."""
    return lambda scene: scene.of(work)


def said(words: Words, scene: Scene) -> str:
    """A text as it is at a moment."""
    return words(scene) if callable(words) else words


def filled(pattern: str | Callable[[Any], str], row: Any) -> str:
    """What a pattern makes of a row: ``row:{0.name}``, or what a function gives."""
    return pattern(row) if callable(pattern) else pattern.format(row)


def shown(value: Any, none: str = NONE) -> Kid:
    """A value as a cell shows it."""
    if isinstance(value, (Frag, list)):
        return value
    if type(value) is tuple:  # a struct or a named tuple writes itself
        return ", ".join(map(str, value)) or none
    if value is True:
        return "yes"
    return none if value is None or value is False else str(value) or none


def _in_place(at: int, row: Any) -> Any:
    return getattr(row, row.__struct_fields__[at]) if isinstance(row, Struct) else row[at]


def _cells(columns: Iterable[Column], row: Any) -> Cells:
    return tuple(None if column.draws else column.cell(row) for column in columns)


def renamed(panel: Panel, title: str, tab: str) -> Panel:
    """The same panel under another title."""
    return replace(panel, title=title, tab=tab)
