"""What a leader knows of its followers, whatever of their answers is late, lost or said twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.raft import core
from kit.protocols.raft import messages as say
from kit.protocols.raft.rules.configuration import Member
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import Leader, Options, Server, Stored
from tests.protocols.raft.driving import UNTIMED, Group, members
from tests.protocols.raft.test_published import ask, known, led, receive, role

FIRST = core.first_stored(members("A B C")).log
CLOCKED = Options("documents", election=3, heartbeat=1)


def log_of(*terms: int) -> Log:
    """A log with entries of these terms."""
    log = FIRST
    for index, term in enumerate(terms, 1):
        log = log.appended(Entry(term, index))
    return log


def waits_for_snapshot(options: Options) -> Group:
    """A leads; its log begins behind a snapshot, which is on its way to C."""
    behind = FIRST.merged([Entry(1, i) for i in range(1, 5)])
    compacted = behind.compacted(Snapshot(4, 1, FIRST.configuration))
    reign = Leader((Progress("B", 5, 4, "pipeline"), Progress("C", 5, 0, "snapshot")))
    group = Group("A B C", options)
    group.servers["A"] = Server("A", Stored(1, "A", compacted, 4), reign, applied=4)
    group.servers["B"] = Server("B", Stored(1, "A", behind, 4), applied=4)
    return group


# -- while a snapshot is on its way ----------------------------------------------------------------


def test_who_waits_for_a_snapshot_hears_its_leader_and_is_heard() -> None:
    """B is down and C takes long over its snapshot: with C a majority is there, and A leads on."""
    group = waits_for_snapshot(CLOCKED)
    for _ in range(4 * CLOCKED.election):
        for name in "AC":
            group.did(core.tick(group.servers[name], CLOCKED))
        group.run(lost="B")
        assert (role(group, "A"), role(group, "C")) == ("leader", "follower")
    assert known(group, "C").mode == "snapshot"
    assert group.servers["C"].log.last_index == 0


def test_the_server_has_no_heartbeats_for_it_either() -> None:
    """Edition ``server``: while the snapshot is on its way, nothing else is."""
    told = ask(waits_for_snapshot(UNTIMED), core.remind, "A").messages
    assert [m.target for m in told if m.target == "C"] == []


def test_a_heartbeat_shows_that_the_answer_to_a_snapshot_was_lost() -> None:
    """C has the snapshot, and its answer is lost: the next heartbeat is accepted, entries flow."""
    group = waits_for_snapshot(CLOCKED)
    held = group.servers["A"].log.snapshot
    receive(group, "C", "A", say.Install(1, held))
    group.remind("A")
    assert (known(group, "C").mode, known(group, "C").match) == ("pipeline", 4)
    ask(group, core.submit, "A", command="x")
    group.run()
    assert [e.data for e in group.servers["C"].log] == ["x"]


@pytest.mark.parametrize(("last", "mode"), [(3, "snapshot"), (4, "pipeline"), (9, "pipeline")])
def test_an_acknowledgement_past_the_snapshot_ends_the_wait(last: int, mode: str) -> None:
    """C has by another way what the snapshot stands for: nobody waits for it any more."""
    group = waits_for_snapshot(UNTIMED)
    receive(group, "A", "C", say.Accepted(1, 0, last))
    assert known(group, "C").mode == mode


@pytest.mark.parametrize(("name", "mode"), [("B", "pipeline"), ("C", "probe")])
def test_only_a_snapshot_that_is_on_its_way_can_fail(name: str, mode: str) -> None:
    """B is sent entries, and late news of a snapshot changes nothing there."""
    group = waits_for_snapshot(UNTIMED)
    ask(group, core.snapshot_failed, "A", follower=name)
    assert known(group, name).mode == mode


# -- logs that differ ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "other", "rejections"),
    [
        ((1, *[4] * 400), (1, *[2] * 400), 1),  # a tail of one term
        ((1, *[4] * 400), (1, *[2] * 200, *[3] * 200), 1),
        ((1, *[4] * 10), (1, *[2] * 400), 1),
        ((1, *[4] * 400), (1, *[2] * 10), 1),
        ((1, *[4] * 400), (1,), 1),  # it only lacks entries
        ((1, 2, 2, 2, 4, 4), (1, 1, 1, 3, 3), 2),  # terms by turns: one each
        ((1, *[4] * 400), (1, *[4] * 400), 0),
    ],
)
def test_a_rejection_skips_a_term(
    own: tuple[int, ...], other: tuple[int, ...], rejections: int
) -> None:
    """A follower's tail costs a rejection a term, and not one an entry."""
    group = Group("A B C", UNTIMED)
    group.servers["A"] = Server("A", Stored(4, "", log_of(*own)))
    group.servers["B"] = Server("B", Stored(4, "", log_of(*other)))
    group.did(core.campaign(group.servers["A"], UNTIMED))
    said = []
    while group.in_flight:
        source, target, message = group.in_flight.pop(0)
        said += [message] if isinstance(message, say.Rejected) and source == "B" else []
        group.did(core.receive(group.servers[target], source, message, UNTIMED))
    assert len(said) == rejections
    assert list(group.servers["B"].log) == list(group.servers["A"].log)


# -- a window, votes, a transfer -------------------------------------------------------------------


def test_lost_answers_do_not_fill_the_window() -> None:
    """Four appends are on their way to B, whose last answer alone arrives: all four are done."""
    options = Options(timers=False, in_flight=4)
    group = led(options=options)
    for number in range(4):
        ask(group, core.submit, "A", command=f"x{number}")
    assert known(group, "B").in_flight == (2, 3, 4, 5)
    receive(group, "A", "B", say.Accepted(1, 1, 5))
    assert known(group, "B").in_flight == ()


# -- what nobody may say ---------------------------------------------------------------------------


def test_committed_entries_are_never_cut() -> None:
    """An append that differs from what B knows to be committed is refused, and B stays."""
    group = led()
    for command in "xyz":
        ask(group, core.submit, "A", command=command)
    group.run()
    group.remind("A")
    forged = say.Append(1, 0, 0, 4, (Entry(9, 1, "other"),))
    with pytest.raises(BadInput, match=r"^entries: got .*the committed ones up to index 4"):
        core.receive(group.servers["B"], "A", forged, UNTIMED)


def test_nothing_is_applied_before_it_is_committed() -> None:
    """The state machine says that it has applied index 100, of which nobody has heard."""
    with pytest.raises(BadInput, match=r"^index: got 100; allowed: an index up to 1, the last"):
        core.apply(led().servers["B"], 100, UNTIMED)


TWICE = (Member("A"), Member("A", can_vote=False), Member("B"))


@pytest.mark.parametrize(
    "asked",
    [
        lambda: core.first_stored(TWICE),
        lambda: core.configure(led().servers["A"], TWICE, UNTIMED),
        lambda: build("raft", {"members": "A a B"}),
    ],
)
def test_no_server_is_a_member_twice(asked: Callable[[], Any]) -> None:
    """It would count twice: with A A A B C, A alone were a majority."""
    said = r"^members: got '?A [Aa] B'?; allowed: .*(each server once|each at most once)"
    with pytest.raises(BadInput, match=said):
        asked()


@pytest.mark.parametrize("what", ["members A A B", "members A Z", "members a A at B"])
def test_a_request_for_members_is_read_at_once(what: str) -> None:
    """And not in the middle of a run."""
    with pytest.raises(
        BadInput, match=r"^requests: got .*; allowed: some of A B C, each at most once"
    ):
        build("raft", {"requests": ("x", what)})


def test_an_entry_with_members_names_each_once() -> None:
    """So does the log with which a server begins."""
    with pytest.raises(BadInput, match=r"^begins: got 'A A'; allowed: .*each at most once"):
        build("raft", {"begins": ("1 1=AA",)}).start()
