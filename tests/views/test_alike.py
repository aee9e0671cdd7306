"""Long tables: what stands out is listed, what is alike is counted, and nothing is lost."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from kit.views.declared import MOST_ROWS, draw_others, others_lines, told_apart

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=3 * MOST_ROWS)


@given(ROWS)
def test_every_row_is_listed_or_counted(rows: list[tuple[str, bool]]) -> None:
    """What is listed and what is counted are all rows, each once; few are listed, in order."""
    numbered = list(enumerate(rows))
    apart = told_apart(numbered, lambda row: (row[1][0],), lambda row: row[1][1])
    assert list(apart.listed) == sorted(apart.listed)
    assert len(apart.listed) <= MOST_ROWS
    counts = Counter(dict(apart.others))
    assert counts + Counter((row[1][0],) for row in apart.listed) == Counter((r[0],) for r in rows)


@given(ROWS)
def test_rows_to_keep_come_before_others(rows: list[tuple[str, bool]]) -> None:
    """Of a long table no row is left out that is to be kept while another one is listed."""
    numbered = list(enumerate(rows))
    apart = told_apart(numbered, lambda row: row[1][0], lambda row: row[1][1])
    kept = [row for row in numbered if row[1][1]]
    if len(rows) > MOST_ROWS and len(kept) > MOST_ROWS:
        assert list(apart.listed) == kept[:MOST_ROWS]
    else:
        assert set(kept) <= set(apart.listed)


def test_a_short_table_is_whole() -> None:
    """Few rows are all listed, and nothing is said of others."""
    apart = told_apart(range(MOST_ROWS), lambda _: "same", lambda _: False)
    assert (apart.listed, apart.others) == (tuple(range(MOST_ROWS)), ())


def test_the_others_in_words() -> None:
    """A line says how many more rows look so; empty words are left out."""
    others = ((("normal", "version 3", ""), 1950), (("left",), 2))
    assert others_lines(others) == ["1,950 more: normal, version 3", "2 more: left"]
    assert [part.text() for part in draw_others(others)] == others_lines(others)
