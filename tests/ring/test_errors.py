"""Errors as one clear line."""

from __future__ import annotations

import pickle

import pytest

from kit.errors import BadInput, KitError, Refused
from kit.ring.reference import replicas_reference
from kit.ring.replication import SimpleStrategy
from kit.ring.tokens import small
from kit.ring.topology import Node, Ring


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
