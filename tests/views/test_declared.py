"""Declared tables and status lines: what is derived from rows, a key and columns."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.protocols.twophase.twophase import TwoPhase
from kit.views.declared import MOST_ROWS, Alike, Column, Note, Table, of_state, panel_of, status
from kit.views.fragment import Frag, h, row_lines
from kit.views.panel import Scene
from tests.views.frames import part

Pair = tuple[str, int]


class Lender(Struct, frozen=True):
    """A row: a name, and what it lent to whom."""

    name: str
    lent: int
    to: tuple[str, ...] = ()


def lenders(model: object, state: tuple[Pair, ...]) -> tuple[Lender, ...]:
    """A row for each pair of the state; who lent two gave them to A and B."""
    return tuple(Lender(name, lent, ("A", "B")[:lent]) for name, lent in state)


COLUMNS = (
    Column("who", "name"),
    Column("lent", "lent", key="lent:{0.name}"),
    Column("to", "to", none="nobody"),
    Column("press", draws=lambda scene, row: h("button", f"take {row.name} of {len(scene.state)}")),
)
TABLE = Table(
    of_state(lenders),
    "row:{0.name}",
    COLUMNS,
    caption=lambda scene: f"{len(scene.state)} rows",
    of="{0.name}",
    line="{0.name} lent {0.lent}",
    empty="Nobody lends.",
)


def drawn(table: Table, now: tuple[Any, ...], before: tuple[Any, ...] | None = None) -> Frag:
    """A table of a state, after another one."""
    return h("div", table.draw(Scene(None, now, before)))


def row(table: Frag, name: str) -> Frag:
    """The row of a name."""
    found = part(table, f"row:{name}")
    assert found is not None
    return found


def looks(of: Frag) -> list[str | None]:
    """The classes of the cells behind a row's name."""
    return [one.get("class") for one in of.walk() if one.tag == "td"]


def test_cells_show_fields_names_and_what_is_empty() -> None:
    """Names are joined, an empty cell is grey and says what is not there, a button has its row."""
    table = drawn(TABLE, (("X", 2), ("Y", 0)))
    assert table.lines() == ["2 rows", "who  lent  to  press", "X  2  A, B  take X of 2",
                             "Y  0  nobody  take Y of 2"]  # fmt: skip
    assert looks(row(table, "Y")) == [None, "soft", None]
    assert row(table, "X").get("data-of") == "X"
    assert part(table, "lent:X")


def test_what_the_step_changed_is_marked() -> None:
    """Changed cells with their row, the name of a row that came; at the start nothing is."""
    table = drawn(TABLE, (("X", 2), ("Y", 0), ("Z", 1)), (("X", 1), ("Y", 0)))
    assert [row(table, name).get("class") for name in "XYZ"] == ["moved", None, "moved"]
    assert looks(row(table, "X")) == ["changed", "changed", None]
    assert looks(row(table, "Z")) == [None, None, None]
    assert [one.get("class") for one in table.walk() if one.get("scope") == "row"] == [
        None,
        None,
        "changed",
    ]
    assert row(drawn(TABLE, (("X", 2),)), "X").get("class") is None


def test_a_cell_in_which_nothing_is_said_is_not_marked() -> None:
    """The row is: its name says that something changed. A word for nothing says something."""
    for none, look in (("–", "soft"), ("nobody", "changed")):
        columns = (COLUMNS[0], Column("to", "to", none=none))
        table = drawn(replace(TABLE, columns=columns), (("X", 0),), (("X", 1),))
        assert looks(row(table, "X")) == [look]
        assert row(table, "X").get("class") == "moved"


def test_a_table_without_rows_says_so() -> None:
    """In the picture and in words."""
    assert drawn(TABLE, ()).lines() == ["Nobody lends."]
    assert list(TABLE.words(Scene(None, ()))) == ["Nobody lends."]


def test_without_a_line_a_table_is_written_as_it_is_drawn() -> None:
    """Captions, heads and cells of all kinds, what is not listed, and no rows at all."""
    table = replace(TABLE, line="", most=2, thing="loan")
    for state in ((), (("X", 2), ("Y  .", 0)), (("X", 1), ("", 0), ("Z\n", 1))):
        scene = Scene(None, state, (("X", 1),))
        assert list(table.words(scene)) == h("div", table.draw(scene)).lines()


def test_a_row_of_texts_is_put_into_words_once() -> None:
    """While its cells say the same, whatever else the step has changed."""
    table = replace(TABLE, line="", columns=COLUMNS[:3])
    before = tuple((f"n{at}", 0) for at in range(40))
    list(table.words(Scene(None, before)))
    known = row_lines.cache_info().misses
    list(table.words(Scene(None, (*before[:-1], ("n39", 1)))))
    assert row_lines.cache_info().misses == known + 1


def test_of_a_long_table_the_first_rows_are_listed() -> None:
    """The others are counted, in the picture and in words."""
    table = Table(of_state(lenders), "row:{0.name}", COLUMNS, line="{0.name}", most=2, thing="loan")
    state = tuple((name, 0) for name in "ABCDE")
    assert drawn(table, state).lines()[-1] == "and 3 loans more"
    assert list(table.words(Scene(None, state))) == ["A", "B", "and 3 loans more"]


def test_of_very_many_rows_those_that_stand_out_are_listed() -> None:
    """A row that is unlike the others, that the step changed, or that is always kept."""
    kept = Alike(lambda row: (f"lent {row.lent}",), lambda scene, row: row.name == "n5")
    table = Table(of_state(lenders), "row:{0.name}", COLUMNS, line="{0.name}", alike=kept)
    before = {f"n{at}": 0 for at in range(MOST_ROWS + 2)}
    now = {**before, "n7": 1}
    scene = Scene(None, tuple(now.items()), tuple({**before, "n9": 1}.items()))
    assert list(table.words(scene)) == ["n5", "n7", "n9", f"{MOST_ROWS - 1} more: lent 0"]
    assert h("div", table.draw(scene)).lines()[-1] == f"{MOST_ROWS - 1} more: lent 0"


def test_columns_may_be_cells_of_tuples() -> None:
    """A plain text heads the cell in its place; another column than the first may name the row."""
    table = Table(lambda scene: scene.state, "row:{0[1]}", ("same", "what"), named=1)
    made = row(drawn(table, (("=", "ks.t"),)), "ks.t")
    assert [(one.tag, one.text()) for one in made.walk()][1:] == [("td", "="), ("th", "ks.t")]


def test_a_panel_is_its_parts() -> None:
    """One under the other, and a line each; a note without words is not there."""
    panel = panel_of("loans", "Loans", TABLE, Note(lambda scene: "few" * (len(scene.state) < 2)))
    assert panel.draw(Scene(None, (("X", 1),))).lines()[-1] == "few"
    assert panel.text(Scene(None, (("X", 1),))) == "  X lent 1\n  few"
    assert panel.text(Scene(None, (("X", 1), ("Y", 0)))) == "  X lent 1\n  Y lent 0"


def test_a_note_with_a_key_is_marked_when_it_changes() -> None:
    """Otherwise it is grey."""
    note = Note(lambda scene: f"{len(scene.state)} rows", key="count")
    states = ((), (("X", 1),))
    classes = [h("div", note.draw(Scene(None, states[1], each))).kids for each in states]
    assert [one.get("class") for [one] in classes if isinstance(one, Frag)] == ["moved", "soft"]


def test_a_badge_without_words_is_not_there() -> None:
    """The others have a key and a look each."""
    panel = status(lambda scene: [("epoch", "epoch 5", "plain"), ("late", "", "busy"),
                                  ("broken", "! lost", "alarm")])  # fmt: skip
    badges = [one for one in panel.draw(Scene(TwoPhase(), ())).walk() if one.tag == "li"]
    assert [(one.key, one.get("class")) for one in badges] == [
        ("badge:epoch", "plain"),
        ("badge:broken", "badge alarm"),
    ]
