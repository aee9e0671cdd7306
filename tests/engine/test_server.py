"""What the tools of a server print: rows as cqlsh shows them, columns as nodetool aligns them."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.server import API, Servers, cql_rows, json_rows, log_commands
from kit.errors import Refusal, Refused

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
    assert " {9, 10}" in cql_rows(("key",), [{"key": {10, 9}}])


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
    assert json_rows(("key",), [{"key": {8, 1}}]).__next__() == " [json]"
    assert ' {"key": [1, 8]}' in json_rows(("key",), [{"key": {8, 1}}])


class Lamps(Servers):
    """Each command is one of the model's actions, by its verb."""

    does: Mapping[str, str] = {
        "light": "light {here} *",
        "light {machine}": "light {machine} *",
        "light number {node_id}": "light {machine} *",
        "put out": "put out {here}",
    }

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Only the first node."""
        return at == 0


LAMPS = {
    "light A": None,
    "light A green": "it is broken",
    "light A red at once": None,
    "light A red": None,
    "light B red": "it is taken",
    "light B green": "it is broken",
    "put out": None,
    "put out A now": None,
    "put out A": None,
}


def at(node: int) -> Any:
    """A moment at that node's machine."""
    options = [(each, why and Refusal(why)) for each, why in LAMPS.items()]
    model = SimpleNamespace(names=("A", "B"), options=lambda s: options, verb=str)
    return SimpleNamespace(here=node, place=model.names[node], model=model, state=None)


@pytest.mark.parametrize(
    ("command", "given", "verb"),
    [
        ("light", {}, "light A red at once"),
        ("light {machine}", {"machine": "B"}, "light B red"),
        ("light {machine}", {"machine": "10.0.0.12"}, "light B red"),
        ("light number {node_id}", {"node_id": "1"}, "light A red at once"),
        ("put out", {}, "put out A"),
        ("light {machine}", {"machine": "C"}, "light C"),
    ],
)
def test_a_command_is_the_first_action_like_it(
    command: str, given: dict[str, str], verb: str
) -> None:
    """One that is permitted comes before one that is not; without any, the line is named."""
    if verb in LAMPS:
        assert Lamps().acted(at(0), given, command).actions == (verb,)
    else:
        with pytest.raises(Refused, match=f"^{verb}: nothing like that can be done"):
            Lamps().acted(at(0), given, command)
    with pytest.raises(Refused, match="nodetool on B: connection refused"):
        Lamps().acted(at(1), given, command)


@pytest.mark.parametrize(
    ("method", "forms"),
    [
        ("GET", ["GET /a", "curl -X GET {api}/a", "curl {api}/a"]),
        ("POST", ["POST /a", "curl -X POST {api}/a"]),
    ],
)
def test_a_route_is_asked_as_documents_write_it_and_with_curl(
    method: str, forms: list[str]
) -> None:
    """Curl without a method gets; a button has the first only."""
    made = Servers.route(method, "/a", "says a", lambda now, given: CommandReply(("a",)))
    assert [each.text for each in made] == [each.format(api=API) for each in forms]
    assert [each.offered for each in made] == [True, *[False] * (len(forms) - 1)]
    assert {(each.about, each.answer(None, {}).lines) for each in made} == {("says a", ("a",))}


def test_a_log_is_read_in_several_ways() -> None:
    """Whole, by a pattern, and by options, which are not offered."""
    shown = {each.text: each.offered for each in log_commands("a.log", "journalctl -u a")}
    assert shown == {
        "grep {pattern} a.log": True,
        "grep {options} {pattern} a.log": False,
        "cat a.log": True,
        "cat a.log | grep {pattern}": False,
        "cat a.log | grep {options} {pattern}": False,
        "journalctl -u a": False,
        "journalctl -u a | grep {pattern}": False,
        "journalctl -u a | grep {options} {pattern}": False,
        "journalctl {lines}": False,
        "journalctl {lines} | grep {pattern}": False,
        "journalctl {lines} | grep {options} {pattern}": False,
    }
