"""What the tools of a server print: rows as cqlsh shows them, columns as nodetool aligns them."""

from __future__ import annotations

from kit.engine.server import aligned, cql_rows, json_rows

ROWS = [{"key": "one", "value": [1, 2]}, {"key": "three", "value": None}]


def test_rows_of_a_table() -> None:
    """A heading, a line below each column, the rows on its right, their count."""
    assert list(cql_rows(("key", "value"), ROWS)) == [
        " key   | value",
        "-------+------------",
        "   one | {'1', '2'}",
        " three |       null",
        "",
        "(2 rows)",
    ]


def test_the_same_as_json() -> None:
    """The line is as long as the longest row and a blank at each end; without rows as the head."""
    assert list(json_rows(("key",), ROWS)) == [
        " [json]",
        "-" * (2 + len('{"key": "three"}')),
        '   {"key": "one"}',
        ' {"key": "three"}',
        "",
        "(2 rows)",
    ]
    assert list(json_rows(("key",), [])) == [" [json]", "--------", "", "(0 rows)"]


def test_columns_end_where_their_longest_cell_does() -> None:
    """No blank is left at the end of a line."""
    assert list(aligned([("a", "bb"), ("ccc", "")])) == ["a   bb", "ccc"]
