"""What is seen of Paxos: a row for each acceptor, at each moment."""

from __future__ import annotations

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.paxos.facts import acceptors, proposers


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


@pytest.mark.parametrize(
    ("off", "groups", "enough"),
    [((), (("A",), ("B", "C", "D")), None), (("majority",), (("A", "B", "C", "D"),), 1)],
)
def test_what_a_round_waits_for(
    off: tuple[str, ...], groups: tuple[tuple[str, ...], ...], enough: int | None
) -> None:
    """A majority of the former and one of the new members; without the safeguard any one of all, so
    that the proposer's own promise is enough for it.
    """
    given = {"members": 1, "becomes": ("B", "C", "D"), "values": ("x at A",)}
    timeline = Timeline(build("paxos", given, off))
    for verb in ("begin-change", "repair A"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
    [row] = proposers(timeline.model, timeline.state)
    assert (row.name, row.promises, row.groups, row.enough) == ("A", ("A",), groups, enough)
    assert (row.value, row.why) == ("", "")  # a repair has no value of its own
