"""Questions on joiners and on the queue: the model answers, by either edition."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.predictions import predict
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology.lessons.joining import (
    BANNED,
    BY,
    IN,
    checks_table,
    who_decides,
)
from kit.protocols.topology.lessons.queueing import NOBODY_NEXT, next_request
from tests.protocols.topology.joins import do
from tests.saying import like


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({}, IN),
        ({"cluster": "test"}, BY["receiver"]),
        ({"removed": True}, BY["placing"]),
        ({"supports": False}, BY["coordinator"]),
        ({"removed": True, "edition": "server"}, BANNED),
    ],
)
def test_who_turns_a_joiner_away(given: dict[str, Any], answer: str) -> None:
    """It is let in, or one place says no: the first that can see what is wrong."""
    assert predict(build("join", given), who_decides).right == (answer,)


def test_the_server_checks_all_that_the_documents_check() -> None:
    """Its table has their rows, and more; another edition is refused."""
    own, server = ({row[0] for row in checks_table(e).rows} for e in ("documents", "server"))
    assert own < server
    with pytest.raises(BadInput, match=like("edition | documents or server")):
        checks_table("neither")  # type: ignore[arg-type]  # what is refused


@pytest.mark.parametrize(("edition", "answer"), [("documents", "rebuild A"), ("server", "join D")])
def test_which_request_is_next(edition: str, answer: str) -> None:
    """By age in the documents, by kind in the server."""
    requests = ("rebuild A", "leave C", "join D")
    timeline = Timeline(build("topology", {"edition": edition, "operations": requests}))
    do(timeline, *requests)
    assert predict(timeline, next_request).right == (answer,)


def test_behind_a_lock_all_requests_wait() -> None:
    """None is next; before the first request there is nothing to ask."""
    timeline = Timeline(build("topology", {"operations": ("lock", "join D")}))
    with pytest.raises(KitError, match="no request waits"):
        predict(timeline, next_request)
    do(timeline, "lock", "join D")
    assert predict(timeline, next_request).right == (NOBODY_NEXT,)
