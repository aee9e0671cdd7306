"""What programs are told of requests on hand-made histories: verdicts, and numbers of answers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit import build
from kit.console.clients import RowAnswer, RowRequest
from kit.console.drill import DrillMoment
from kit.errors import BadInput, Refused
from kit.model.timeline import Timeline
from kit.protocols.dataplane.tools import SERVERS
from kit.protocols.storage.clients import StorageServers
from kit.protocols.storage.rules.history import Edge, RangeHistory
from kit.protocols.storage.rules.requests import (
    ClientRequest,
    parse_request,
    parse_workload,
    timestamp,
    tombstone,
    value,
    written,
)
from kit.protocols.storage.storage import ApplyEpoch, Commit, Crash, Finish, Serve, Start, TimeOut
from tests.protocols.storage.toys import A, X, epoch, epochs, history, toy, versions
from tests.saying import says

TOOLS = StorageServers()
SWAP = history(epoch(1, A, A, Edge("swap", "", 1)), epoch(2, X, X))
"""The range goes from A to X at once, and nobody waits for anything."""


def after(model: Any, *actions: Any) -> DrillMoment:
    """A model after these steps, as a program meets it."""
    timeline = Timeline(model)
    for action in actions:
        timeline.do(action)
    run = tuple(timeline.moments[at] for at in timeline.path())
    return DrillMoment(model, run, model.names[0])


@pytest.mark.parametrize(
    ("moves", "requests", "steps", "told"),
    [
        # Of two quotas the one that is met is not what is lacking.
        (
            versions(),
            ("K1 write QUORUM",),
            [Commit("write both"), Start(0, 2), Serve(0, "A"), TimeOut(0)],
            RowAnswer("timeout", 1, 0, 0),
        ),
        # A's answer counted when it came, and not any more by what the coordinator knows now.
        (
            SWAP,
            ("K1 write QUORUM",),
            [Start(0, 1), Serve(0, "A"), Commit("swap"), ApplyEpoch("K1"), Finish(0)],
            RowAnswer("failure", 1, 0, 1),
        ),
        # All that was asked answered; by now more replicas are needed than were asked.
        (
            epochs(),
            ("K1 write QUORUM",),
            [Start(0, 1), Commit("add"), ApplyEpoch("A"), Serve(0, "A"), Finish(0)],
            RowAnswer("failure", 2, 1, 0),
        ),
        # Who no longer stores it answers with an error.
        (
            SWAP,
            ("K1 write QUORUM",),
            [Start(0, 1), Commit("swap"), ApplyEpoch("A"), Serve(0, "A"), TimeOut(0)],
            RowAnswer("failure", 1, 0, 1),
        ),
        (SWAP, ("K1 write QUORUM",), [Start(0, 1), Serve(0, "A"), Finish(0)], RowAnswer("done")),
    ],
)
def test_a_failed_request_tells_the_needed_received_and_failed_answers(
    moves: RangeHistory, requests: tuple[str, ...], steps: list[Any], told: RowAnswer
) -> None:
    """The reason is the sentence of the last step."""
    now = after(toy(moves, requests, timeouts=True), *steps)
    answer = TOOLS.answer(now, 0)
    assert answer == replace(told, why=now.run[-1].say)


@pytest.mark.parametrize(
    ("requests", "writer"),
    [
        (("K1 write", "K1 write", "K1 read"), 1),
        (("K1 write", "K1 delete", "K1 read"), None),
        (("K1 delete", "K1 write", "K1 read"), 1),
        (("K1 read",), None),
        (("K1 read", "K1 write"), None),
    ],
)
def test_a_read_answer_names_the_last_write_unless_a_delete_followed(
    requests: tuple[str, ...], writer: int | None
) -> None:
    """A write's answer names none."""
    steps = [step for n in range(len(requests)) for step in (Start(n, 1), Serve(n, "A"), Finish(n))]
    answer = TOOLS.answer(after(toy(SWAP, requests), *steps), len(requests) - 1)
    assert answer is not None
    assert (answer.verdict, answer.writer) == ("done", writer)


def test_a_program_waits_for_a_held_replica_and_times_out_when_only_down_ones_are_left() -> None:
    """After the time-out nothing else happens to its request by itself."""
    model = toy(versions(), ("K1 write ALL",), timeouts=True, crashes=1, losses=1)
    steps = [Commit("write both"), Start(0, 2)]
    now = after(model, *steps)
    assert TOOLS.next_step(now, 0, {}, begins=True) == Serve(0, "A")
    assert TOOLS.next_step(now, 0, {"A": 0}, begins=True) == Serve(0, "X")
    assert TOOLS.next_step(now, 0, {"A": 0, "X": 0}, begins=True) is None
    now = after(model, *steps, Serve(0, "A"), Crash("X"))
    assert TOOLS.next_step(now, 0, {}, begins=True) == TimeOut(0)
    assert TOOLS.next_step(now, 0, {"X": 0}, begins=True) == TimeOut(0)
    assert [TOOLS.is_up(now, at) for at in range(3)] == [True, False, True]
    given_up = after(model, *steps, Serve(0, "A"), TimeOut(0), Crash("X"))
    assert TOOLS.next_step(given_up, 0, {}, begins=True) is None  # nor is its message lost


@pytest.mark.parametrize(
    ("held", "planned"), [({}, 2), ({"K1": 1}, 1), ({"K1": 2}, 2), ({"A": 1}, 2), ({"K1": 3}, None)]
)
def test_a_request_is_planned_at_the_newest_epoch_or_where_its_coordinator_is_held(
    held: dict[str, int], planned: int | None
) -> None:
    """A coordinator held at an unknown epoch has no plan, and refuses nothing."""
    now = after(toy(epochs(), ("K1 write ALL",)), Commit("add"))
    wanted = None if planned is None else Start(0, planned)
    assert TOOLS.next_step(now, 0, held, begins=True) == wanted
    assert TOOLS.next_step(now, 0, held, begins=False) is None
    assert TOOLS.refusal(now, 0, held) is None


def test_a_request_with_too_few_live_replicas_is_refused_as_unavailable() -> None:
    """The refusal tells of the quota that cannot be met, before anything is sent."""
    model = toy(versions(), ("K1 write QUORUM", "K2 read QUORUM"), crashes=1, together=True)
    now = after(model, Commit("write both"), Crash("X"))
    assert TOOLS.refusal(now, 0, {}) == RowAnswer(
        "unavailable", 1, 0, why="write 1 needs 1 of X; live: 0"
    )
    assert TOOLS.refusal(now, 1, {}) is None


@pytest.mark.parametrize(
    ("steps", "first", "second"),
    [
        ([], Start(0, 1), Start(1, 1)),
        ([Start(0, 1)], Serve(0, "A"), Start(1, 1)),
        ([Start(0, 1), Start(1, 1)], Serve(0, "A"), Serve(1, "A")),
        ([Start(0, 1), Start(1, 1), Serve(0, "A")], Finish(0), Serve(1, "A")),
        ([Start(0, 1), Start(1, 1), Serve(1, "A")], Serve(0, "A"), Finish(1)),
    ],
)
def test_the_next_step_of_a_request_ignores_other_requests(
    steps: list[Any], first: Any, second: Any
) -> None:
    """A request begins, its messages arrive, its client is answered."""
    now = after(toy(SWAP, ("K1 write ONE", "K2 write ONE"), together=True), *steps)
    assert [TOOLS.next_step(now, n, {}, begins=True) for n in (0, 1)] == [first, second]


def test_an_answer_appears_when_its_request_ends_and_stays_the_same() -> None:
    """Later steps of the run do not change it."""
    steps = [Start(0, 1), Serve(0, "A"), Finish(0), Commit("swap")]
    moments = [after(toy(SWAP, ("K1 write ONE",)), *steps[:many]) for many in (0, 1, 2, 3, 4)]
    told = RowAnswer("done", why=moments[3].run[-1].say)
    assert [TOOLS.answer(now, 0) for now in moments] == [None, None, None, told, told]


K1 = RowRequest("K1", "write", "QUORUM")


@pytest.mark.parametrize(
    ("request_", "taken", "number", "line"),
    [
        (K1, (), 0, "K1 write QUORUM"),
        (replace(K1, kind="read", level="LOCAL_ONE"), (), 0, "K1 read ONE"),
        (K1, (0,), 2, "K1 write QUORUM"),
        (K1, (0, 2), 3, "K1 write QUORUM"),
        (replace(K1, coordinator="K2"), (), 1, "K2 write QUORUM"),
    ],
)
def test_a_new_request_takes_the_first_waiting_place_of_its_coordinator(
    request_: RowRequest, taken: tuple[int, ...], number: int, line: str
) -> None:
    """Places of other programs are not taken: then the request is added at the end."""
    lines = ("K1 read ALL", "K2 read ALL", "K1 read ALL")
    model, at = SERVERS.with_request(
        after(build("dataplane", {"requests": lines})), request_, taken
    )
    given: Any = model
    assert (at, given.parameters.requests[at]) == (number, line)
    assert (given.parameters.together, given.parameters.timeouts) == (True, True)
    others = [(n, each) for n, each in enumerate(lines) if n != at]
    assert [(n, given.parameters.requests[n]) for n, _ in others] == others


def test_a_new_request_does_not_replace_one_that_has_begun() -> None:
    """The new request is added at the end, as K2's waiting one is not K1's."""
    model: Any = build("dataplane", {"requests": ("K1 read ONE", "K2 read ONE")})
    begun = after(model, Start(0, model.epoch(model.start(), 0)))
    assert SERVERS.with_request(begun, K1, ())[1] == 2


def test_a_history_refuses_a_sixty_first_request() -> None:
    """A consistency level that the model lacks is refused by name."""
    full = after(build("dataplane", {"requests": ("K1 read ONE",) * 60}))
    assert SERVERS.with_request(full, K1, range(59))[1] == 59
    with pytest.raises(Refused, match="at most 60 requests fit in one history"):
        SERVERS.with_request(full, K1, range(60))
    room = after(build("dataplane", {"requests": ("K1 read ONE",) * 59}))
    assert SERVERS.with_request(room, K1, range(59))[1] == 59
    with pytest.raises(BadInput) as raised:
        SERVERS.with_request(room, replace(K1, level="SERIAL"), ())
    assert says(raised.value, "consistency level | 'SERIAL' | one of ONE, TWO")


def test_a_request_line_has_coordinator_kind_level_and_datacenter() -> None:
    """The level is QUORUM when none is given."""
    assert parse_request("K1 write ALL") == ClientRequest("K1", "write", "ALL")
    assert parse_request("K1 read") == ClientRequest("K1", "read", "QUORUM")
    assert parse_request("K2@dc2 delete LOCAL_QUORUM") == ClientRequest(
        "K2", "delete", "LOCAL_QUORUM", "dc2"
    )


def test_a_request_line_takes_names_up_to_their_length_limits() -> None:
    """Twenty letters of a coordinator, forty of a datacenter."""
    request = parse_request(f"{'K' * 20}@{'d' * 40}   read  ONE")
    assert request == ClientRequest("K" * 20, "read", "ONE", "d" * 40)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("write",), "requests | 'write' | COORDINATOR"),
        (("K" * 21 + " read",), "requests | COORDINATOR"),
        (("K1@" + "d" * 41 + " read",), "requests | COORDINATOR"),
        (("K1 update QUORUM",), "requests | 'update' | write, delete, read"),
        (("K1 read MOST",), "requests | 'MOST' | ONE, TWO"),
        (("K1 read quorum",), "requests | 'quorum'"),
        ((), "requests | 0 | 1 | 6 | lines"),
        (("K1 read",) * 61, "requests | 61 | 1 | 60 | lines"),
        (("K1@a read", "K1@b read"), "requests | 'K1' | datacenter | coordinator"),
    ],
)
def test_a_malformed_request_line_is_refused_with_field_and_value(
    lines: tuple[str, ...], said: str
) -> None:
    """The error names the field, the value and what is allowed."""
    with pytest.raises(BadInput) as error:
        parse_workload(lines)
    assert says(error.value, said)


def test_a_workload_of_one_to_sixty_lines_keeps_their_order() -> None:
    """Several coordinators may be of several datacenters."""
    for count in (1, 2, 59, 60):
        assert parse_workload(("K1 read",) * count) == (parse_request("K1 read"),) * count, count
    lines = ("K1@a read", "K2@b write", "K1@a delete")
    assert parse_workload(lines) == tuple(map(parse_request, lines))


def test_the_cell_with_the_later_timestamp_wins_tombstones_included() -> None:
    """The value of a tombstone is nothing."""
    assert max(written(1), tombstone(2)) == tombstone(2)
    assert max(written(3), tombstone(2)) == written(3)
    assert (timestamp(tombstone(2)), value(tombstone(2)), value(written(2))) == (2, 0, 2)
