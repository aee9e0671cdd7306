"""What is seen of Paxos: a row for each acceptor, at each moment."""

from __future__ import annotations

import pytest

from kit.engine.registry import build
from kit.protocols.paxos.facts import acceptors


@pytest.mark.parametrize("members", [1, 3, 5])
def test_every_acceptor_has_a_row(members: int) -> None:
    """All vote, are up and know nothing; who is down is told, and nobody else."""
    model = build("paxos", {"members": members, "values": ("x at A",), "crashes": 1})
    state = model.start()
    rows = acceptors(model, state)
    assert [row.name for row in rows] == [*"ABCDE"[:members]]
    assert {(row.votes, row.up, row.unsaved, row.promised, row.log) for row in rows} == {
        (True, True, False, "", ())
    }
    last = model.names[-1]
    option = model.find(state, f"crash {last}")
    assert option is not None
    after = acceptors(model, model.act(state, option[0]))
    assert [row.name for row in after if not row.up] == [last]
    assert all(row.votes for row in after)


def test_who_does_not_vote_yet_is_told() -> None:
    """Where the electorate changes, a node votes in the epochs in which it is of it."""
    model = build("paxos", {"members": 3, "becomes": ("A", "B", "D")})
    assert [row.votes for row in acceptors(model, model.start())] == [True, True, True, False]
