"""Values by the CQL types of their columns, from JSON and from CQL literals alike."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.operators.importers.cql import ColumnType, cql_type, from_csv, from_json
from tests.operators.samples import one_line
from tests.operators.topology_printing import literal, timeuuid, uuid
from tests.saying import says

CDC = "set<tuple<timestamp, timeuuid>>"
MOMENT = "2026-01-31 10:00:00.000+0000"


@pytest.mark.parametrize(
    ("type_", "text", "plain", "value"),
    [
        ("text", "a b", "a b", "a b"),
        ("int", "-5", -5, -5),
        ("bigint", str(2**63 - 1), 2**63 - 1, 2**63 - 1),
        ("boolean", "True", True, True),
        ("boolean", "False", False, False),
        ("uuid", uuid(10).upper(), uuid(10), uuid(10)),
        ("timeuuid", timeuuid(7), timeuuid(7), timeuuid(7)),
        ("timestamp", MOMENT, "2026-01-31 12:00:00.000+02:00", "2026-01-31T10:00:00.000Z"),
        ("set<text>", "{'b', 'a'}", ["a", "b"], ("a", "b")),
        ("set<text>", "{'it''s', 'a'}", ["a", "it's"], ("a", "it's")),
        ("set<uuid>", f"{{{uuid(2)}, {uuid(1)}}}", [uuid(1), uuid(2)], (uuid(1), uuid(2))),
        ("frozen<map<text, text>>", "{'dc1': '3'}", {"dc1": "3"}, {"dc1": "3"}),
        ("frozen<map<text, text>>", "{}", {}, {}),
        (
            CDC,
            f"{{('{MOMENT}', {timeuuid(7)})}}",
            [["2026-01-31T10:00:00Z", timeuuid(7)]],
            (("2026-01-31T10:00:00.000Z", timeuuid(7)),),
        ),
    ],
)
def test_values(type_: str, text: str, plain: object, value: object) -> None:
    """A CSV field and a JSON value give the same value."""
    assert from_csv(ColumnType(type_), text, "x") == value
    assert from_json(ColumnType(type_), plain, "x") == value


@pytest.mark.parametrize(
    ("type_", "given", "said"),
    [
        ("text", "a\nb", "x | 'a"),
        ("text", 5, "x | 5 | string"),
        ("text", "x" * 10_001, "x | 10000"),
        ("int", 2**31, "x | 2147483648 | 32-bit"),
        ("int", True, "x | True | 32-bit"),
        ("int", "1.5", "x | '1.5'"),
        ("bigint", 2**63, "x | 9223372036854775808 | 64-bit"),
        ("boolean", "yes", "x | 'yes' | True or False"),
        ("boolean", 1, "x | 1 | True or False"),
        ("uuid", "5", "x | '5' | UUID"),
        ("timeuuid", uuid(1), "x | version 1"),
        ("timestamp", "2026-01-31 10:00:00", "x | zone"),
        ("timestamp", "2026-13-31 10:00:00Z", "x | zone"),
        ("timestamp", "0001-01-01 00:00:00+0100", "x | zone"),
        ("set<text>", "a", "x | 'a' | set<text>"),
        ("set<text>", ["a", None], "x | None | string"),
        ("set<text>", ["a", "a"], "x | 'a' | each member of a set once"),
        (CDC, [[MOMENT]], "x | tuple<timestamp, timeuuid>"),
        (CDC, [[MOMENT, timeuuid(1)], [MOMENT, timeuuid(1)]], "x | each member of a set once"),
        ("map<text, text>", ["a"], "x | ['a'] | map<text, text>"),
        ("map<text, text>", {"a": 5}, "x.a | 5 | string"),
    ],
)
def test_what_does_not_fit(type_: str, given: Any, said: str) -> None:
    """A value of another type is refused in one line with its field."""
    with pytest.raises(BadInput) as caught:
        from_json(ColumnType(type_), given, "x")
    assert says(one_line(caught.value), said)


@given(st.sets(st.tuples(st.datetimes(), st.integers(1, 2**31))))
def test_generations_are_read_back(members: set[tuple[Any, int]]) -> None:
    """Any set of tuples is read back from the form that cqlsh writes."""
    rows = [[f"{when.isoformat(' ', 'milliseconds')}+0000", timeuuid(id_)] for when, id_ in members]
    found = from_csv(ColumnType(CDC), literal(cql_type(CDC), rows), "x") if rows else ()
    assert found == (from_json(ColumnType(CDC), rows, "x") if rows else ())
    assert isinstance(found, tuple)
    assert len(found) == len(rows)


@given(st.text("{}[]():,'a1- ", max_size=30))
def test_any_text(text: str) -> None:
    """Whatever stands there, the answer is a value or bad input."""
    for type_ in ("set<text>", CDC, "map<text, text>"):
        with suppress(BadInput):
            from_csv(ColumnType(type_), text, "x")
