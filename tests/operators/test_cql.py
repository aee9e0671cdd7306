"""Sets and maps as CQL writes them, and keyspaces given as text."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.operators.importers.cql import parse_keyspace, parse_map, parse_set
from kit.ring.replication import Keyspace, NetworkTopologyStrategy, SimpleStrategy
from tests.operators.samples import one_line
from tests.saying import says


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ("{'-9', '5'}", ["-9", "5"]),
        (" {'-9','5'} ", ["-9", "5"]),
        ("{-9, 5}", [-9, 5]),
        ("['a']", ["a"]),
        ("{'it''s', '{,}:'}", ["it's", "{,}:"]),
        ("{}", []),
    ],
)
def test_sets(text: str, members: list[str | int]) -> None:
    """Texts in single quotes, doubled inside, and whole numbers; marks in texts are letters."""
    assert parse_set(text, "tokens") == members


def test_maps() -> None:
    """Texts as keys, texts or numbers as values."""
    assert parse_map("{'class': 'X', 'dc1': 3}", "replication") == {"class": "X", "dc1": 3}
    assert parse_map("{}", "replication") == {}


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "}", "{'a'", "'a'", "a", "{a}", "{'a' 'b'}", "{'a',}", "{,}", "{'a':}", "{:}"),
        *("{'a': 'b', 'c'}", "{'a', 'b': 'c'}", "{'a': 'b',}", "{'a': {'b': 'c'}}", "{'a'} x"),
        *("{1.5}", "{1e3}", "{0x10}", "{'a': ['r1']}", "{{'a'}}", '{"a"}', "{'a': 1, 'a': 2}"),
        *("{1: 'a'}", "{'a'; 'b'}", "__import__('os')", "{" * 10_000, "{'" + "x" * 10_000),
    ],
)
def test_what_is_no_map(text: str) -> None:
    """Whatever else is refused in one line, never evaluated."""
    with pytest.raises(BadInput, match="replication: got") as caught:
        parse_map(text, "replication")
    one_line(caught.value)


@given(st.text("{}[]:,'a1 -", max_size=30))
def test_any_text(text: str) -> None:
    """Whatever stands there, the answer is members or bad input."""
    for parse in (parse_set, parse_map):
        with suppress(BadInput):
            parse(text, "tokens")


MEMBERS = st.text() | st.integers(-(10**18), 10**18)


def written(value: str | int) -> str:
    """A value as CQL writes it."""
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


@given(st.lists(MEMBERS), st.dictionaries(st.text(), MEMBERS))
def test_what_is_written_is_read(members: list[str | int], pairs: dict[str, str | int]) -> None:
    """Any members and any pairs are read back from CQL's form."""
    assert parse_set("{" + ", ".join(map(written, members)) + "}", "x") == members
    body = ", ".join(f"{written(key)}: {written(value)}" for key, value in pairs.items())
    assert parse_map("{" + body + "}", "x") == pairs


@pytest.mark.parametrize(
    ("text", "keyspace"),
    [
        (
            'ks={"class": "SimpleStrategy", "replication_factor": 3}',
            Keyspace("ks", SimpleStrategy(3)),
        ),
        (
            "ks = {'class':'SimpleStrategy','replication_factor':'3'}",
            Keyspace("ks", SimpleStrategy(3)),
        ),
        (
            "Ks={'class': 'org.apache.cassandra.locator.NetworkTopologyStrategy', 'dc=1': 2}",
            Keyspace("Ks", NetworkTopologyStrategy((("dc=1", 2),))),
        ),
    ],
)
def test_keyspaces(text: str, keyspace: Keyspace) -> None:
    """A name and its replication, as JSON or as in CQL."""
    assert parse_keyspace(text) == keyspace


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "--keyspace | ''"),
        ("ks", "--keyspace | 'ks'"),
        ("ks=3", "--keyspace | 'ks=3'"),
        ("={'class': 'LocalStrategy'}", "--keyspace | ''"),
        ("a\nb={'class': 'LocalStrategy'}", "--keyspace | 'a"),
        ("ks={}", "--keyspace ks.class | None"),
        ('ks={"class": "SimpleStrategy"', "--keyspace ks: got"),
        ('ks={"class": "Simple", "replication_factor": 3}', "nearest: SimpleStrategy"),
        ("ks={'class': \"SimpleStrategy\"}", "--keyspace ks: got"),
        ("ks={'class': 'SimpleStrategy', 'replication_factor': 'three'}", " | 'three'"),
        ("ks={'class': 'SimpleStrategy', 'class': 'LocalStrategy'}", "each key once"),
        ('ks={"class": "LocalStrategy", "class": "LocalStrategy"}', "each key once"),
        ("ks={'class': 'NetworkTopologyStrategy'}", "at least one datacenter"),
        ("ks={'class': 'NetworkTopologyStrategy', 'dc1': '3/1'}", "--keyspace ks.dc1 | '3/1'"),
    ],
)
def test_bad_keyspaces(text: str, said: str) -> None:
    """What is wrong with a keyspace is named with the keyspace."""
    with pytest.raises(BadInput) as caught:
        parse_keyspace(text)
    assert says(one_line(caught.value), said)
