"""How a request ends: done, or with an error, or not at all."""

from __future__ import annotations

import pytest

from kit.errors import KitError
from kit.lessons.predictions import predict
from kit.model.registry import build
from kit.protocols.tablets.lessons.stories import DONE, FAILS, WAITS, how_it_ends


@pytest.mark.parametrize(
    ("request_made", "answer"),
    [
        ("keyspace_rf_change ks dc1=2", DONE),
        ("keyspace_rf_change ks dc1=1", FAILS),
        ("keyspace_rf_change ks dc1=4", FAILS),
    ],
)
def test_how_a_change_of_replication_ends(request_made: str, answer: str) -> None:
    """One replica more or less is done; more at once, or one without a node, is refused."""
    given = {"operations": (request_made,), "keyspaces": ("ks dc1=3",)}
    question = predict(build("topology", given), how_it_ends)
    assert question.right == (answer,)
    assert WAITS in question.choices


def test_without_a_request_nothing_ends() -> None:
    """A model that has no requests is told so."""
    with pytest.raises(KitError, match="no request is made"):
        predict(build("twophase"), how_it_ends)
