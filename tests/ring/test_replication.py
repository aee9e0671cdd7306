"""Replication maps as CQL writes them."""

from __future__ import annotations

import pickle

import pytest

from kit.errors import BadInput, KitError, Refused
from kit.ring.reference import replicas_reference
from kit.ring.replication import (
    EverywhereStrategy,
    Keyspace,
    LocalStrategy,
    NetworkTopologyStrategy,
    Replication,
    SimpleStrategy,
    by_datacenter,
    parse_replication,
    total,
)
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring
from tests.saying import says

PACKAGE = "org.apache.cassandra.locator."


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"class": "SimpleStrategy", "replication_factor": 3}, SimpleStrategy(3)),
        ({"class": PACKAGE + "SimpleStrategy", "replication_factor": "2"}, SimpleStrategy(2)),
        (
            {"class": "NetworkTopologyStrategy", "b": "0", "a": 3},
            NetworkTopologyStrategy((("a", 3), ("b", 0))),
        ),
        ({"class": "SimpleStrategy", "replication_factor": 2147483647}, SimpleStrategy(2147483647)),
        ({"class": PACKAGE + "EverywhereStrategy"}, EverywhereStrategy()),
        ({"class": "LocalStrategy"}, LocalStrategy()),
    ],
)
def test_maps_that_are_read(options: object, expected: Replication) -> None:
    """Short and full class names, integers and decimal texts are read."""
    assert parse_replication(options) == expected
    assert hash(parse_replication(options)) == hash(expected)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (None, "replication | None"),
        ({}, "replication.class"),
        ({"class": "SimpelStrategy"}, "nearest: SimpleStrategy"),
        ({"class": "Oracle"}, "replication.class | 'Oracle' | SimpleStrategy"),
        ({"class": 3}, "replication.class | 3"),
        ({1: 2}, "option names"),
        ({"class": "SimpleStrategy"}, "replication.replication_factor"),
        ({"class": "SimpleStrategy", "replication_factor": 0}, "an integer from 1"),
        ({"class": "SimpleStrategy", "replication_factor": True}, " | True"),
        ({"class": "SimpleStrategy", "replication_factor": 1.0}, " | 1.0"),
        ({"class": "SimpleStrategy", "replication_factor": "3/1"}, " | '3/1'"),
        ({"class": "SimpleStrategy", "replication_factor": "-1"}, " | '-1'"),
        ({"class": "SimpleStrategy", "replication_factor": "\u0663"}, "u0663"),
        ({"class": "SimpleStrategy", "replication_factor": 10**400}, "an integer of"),
        ({"class": "SimpleStrategy", "replication_factor": 2**31}, "to 2147483647"),
        ({"class": "SimpleStrategy", "replication_facto": 1}, "nearest: replication_factor"),
        ({"class": "NetworkTopologyStrategy"}, "at least one datacenter"),
        ({"class": "NetworkTopologyStrategy", "replication_factor": 3}, "by name"),
        ({"class": "NetworkTopologyStrategy", "dc1": -1}, "replication.dc1 | -1"),
        ({"class": "NetworkTopologyStrategy", "": 1}, "non-empty"),
        ({"class": "LocalStrategy", "replication_factor": 1}, "replication option"),
    ],
)
def test_maps_that_are_refused(options: object, said: str) -> None:
    """Everything else is refused in one line that names field, value and what is allowed."""
    with pytest.raises(BadInput) as caught:
        parse_replication(options)
    assert says(caught.value, said)
    assert "\n" not in str(caught.value)


def test_labels_and_totals() -> None:
    """A label says what is asked for; the total is not limited by the nodes there are."""
    ring = Ring.of([Node("A", (1,)), Node("B", (2,)), Node("C", ())])
    some: tuple[Replication, ...] = (
        SimpleStrategy(5),
        NetworkTopologyStrategy((("dc2", 3), ("dc1", 2))),
        EverywhereStrategy(),
        LocalStrategy(),
    )
    assert [one.label for one in some] == [
        "SimpleStrategy RF 5",
        "NetworkTopologyStrategy dc1 2, dc2 3",
        "EverywhereStrategy",
        "LocalStrategy",
    ]
    assert [total(one, ring) for one in some] == [5, 5, 2, 0]
    assert [by_datacenter(one, ring) for one in some] == [
        {"": 5},
        {"dc1": 2, "dc2": 3},
        {"": 2},
        {},
    ]


def test_factors_are_sorted_and_unique() -> None:
    """Equal factors in another order are the same value; a datacenter named twice is refused."""
    one = Keyspace("ks", NetworkTopologyStrategy((("b", 1), ("a", 2))))
    assert one == Keyspace("ks", NetworkTopologyStrategy((("a", 2), ("b", 1))))
    with pytest.raises(BadInput, match="each datacenter once"):
        NetworkTopologyStrategy((("a", 1), ("a", 2)))


def test_bad_input_names_field_value_and_allowed() -> None:
    """The three parts are in the text and can be asked for."""
    error = BadInput("nodes[2].tokens[0]", "x" * 500, "an integer")
    assert str(error).startswith("nodes[2].tokens[0]: got 'xxx")
    assert str(error).endswith("...; allowed: an integer")
    assert (error.field, error.allowed) == ("nodes[2].tokens[0]", "an integer")
    assert isinstance(error, KitError)


def test_a_token_of_another_space_has_no_replicas() -> None:
    """A token beyond the ends of the line is named, with where they are."""
    ring = Ring.of((Node("a", (5,)),), small(10))
    for token in (-1, 11, True, None):
        with pytest.raises(BadInput, match="allowed: an integer from 0 to 10"):
            replicas_reference(ring.nodes, SimpleStrategy(1), token, ring.space)  # type: ignore[arg-type]  # on purpose


def test_errors_survive_a_process() -> None:
    """An error raised in a worker arrives as the same error."""
    for error in (BadInput("a", 1, "2"), Refused("range is locked")):
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error)
        assert str(back) == str(error)


def test_huge_numbers_are_not_printed() -> None:
    """A number of many thousand digits is described, not printed."""
    assert "40001 bits" in str(BadInput("a", 1 << 40000, "less"))
