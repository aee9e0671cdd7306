"""Changes of members, transfer, snapshots and read barriers of Raft, held against the rules."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import Refusal
from kit.protocols.raft import core
from kit.protocols.raft import messages as say
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Entry
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import (
    Candidate,
    Follower,
    Leader,
    Options,
    Output,
    RaftSafeguards,
    Server,
    Stored,
)
from tests.protocols.raft.driving import UNTIMED, Group, members

DOCUMENTS = Options("documents", timers=False)


def leading(options: Options = UNTIMED, names: str = "A B C", more: str = "") -> Group:
    """A group that A leads, whose first entry is committed everywhere."""
    group = Group(names, options, more)
    group.elect("A")
    group.remind("A")
    return group


# -- configurations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "before", "why"),
    [
        ("", None, core.NOBODY),
        ("a b", None, core.NOBODY),  # nobody votes
        ("A B", "A B C D", core.IN_PROGRESS),  # the first is not committed
    ],
)
def test_a_change_is_refused_beside_another(wanted: str, before: str | None, why: Refusal) -> None:
    """Or without a voter; a second change waits until the first is committed."""
    server = leading().servers["A"]
    if before:
        output = core.configure(server, members(before), UNTIMED)
        assert isinstance(output, Output)
        server = output.server
    assert core.configure(server, members(wanted), UNTIMED) == why


def test_a_joint_change_ends_by_itself_in_the_new_configuration() -> None:
    """From A, B, C to A, D, E: a joint configuration is committed, then the new one, without B."""
    group = leading(more="D E")
    group.did(core.configure(group.servers["A"], members("A D E"), UNTIMED))
    group.run()
    group.remind("A")
    for name in "ADE":
        assert group.servers[name].configuration == Configuration(members("A D E"))
    kinds = [e.data.is_joint for e in group.servers["A"].log if isinstance(e.data, Configuration)]
    assert kinds == [True, False]
    assert "B" not in group.servers["A"].configuration.members


def test_a_new_leader_ends_a_joint_change_that_it_has_from_a_snapshot() -> None:
    """A is lost with the only entry that ends the change: B, elected, leaves it again."""
    group = leading(more="D")
    group.did(core.configure(group.servers["A"], members("A B D"), UNTIMED))
    while group.servers["A"].configuration.is_joint:
        source, target, message = group.in_flight.pop(0)
        if "B" not in (source, target):
            group.did(core.receive(group.servers[target], source, message, UNTIMED))
    group.in_flight.clear()
    group.did(core.take_snapshot(group.servers["A"], "x", UNTIMED))
    joint = group.servers["A"].log.snapshot
    group.did(core.receive(group.servers["B"], "A", say.Install(1, joint), UNTIMED))
    assert group.servers["B"].configuration.is_joint
    group.in_flight.clear()
    group.elect("B", lost="A")
    group.remind("B", lost="A")
    for name in "BD":
        assert group.servers[name].configuration == Configuration(members("A B D"))


def test_a_member_without_a_vote_gets_entries_and_is_not_counted() -> None:
    """Of A and c, A is a majority; c still has the entry."""
    group = leading(names="A c")
    group.did(core.submit(group.servers["A"], "x", UNTIMED, "r"))
    assert group.answers["r"].outcome == "committed"
    group.run()
    assert group.servers["C"].log.last_index == 2


# -- transfer --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "target", "why"),
    [
        ("A", "", "there is no other voting member"),
        ("A b", "", "there is no other voting member"),
        ("A B c", "C", "C is not a voter"),
        ("A B", "A", "A is not a voter"),
    ],
)
def test_a_transfer_without_another_voter_is_refused(names: str, target: str, why: str) -> None:
    """Nobody else votes, or the target does not."""
    group = leading(names=names)
    refused = core.transfer(group.servers["A"], UNTIMED, target)
    assert isinstance(refused, Refusal)
    assert refused.reason == why


def test_a_transfer_makes_its_target_the_leader_of_the_next_term() -> None:
    """Edition documents: votes are given although A was heard."""
    group = leading(DOCUMENTS)
    group.did(core.transfer(group.servers["A"], DOCUMENTS, "B"))
    group.run()
    assert isinstance(group.servers["B"].role, Leader)
    assert group.servers["B"].term == 2
    assert group.servers["A"].role == Follower("B")


# -- snapshots -------------------------------------------------------------------------------------

GROUP = Configuration(members("A B C"))


def test_a_follower_that_lacks_dropped_entries_gets_a_snapshot_and_the_rest() -> None:
    """A has dropped what C lacks: C ends with the same machine, and all later entries."""
    group = leading()
    group.did(core.submit(group.servers["A"], "x", UNTIMED))
    group.run(lost="C")
    group.remind("A", lost="C")
    taken = core.take_snapshot(group.servers["A"], "x", UNTIMED)
    group.did(taken)
    group.did(core.submit(group.servers["A"], "y", UNTIMED))
    group.run(lost="C")
    group.remind("A")
    group.remind("A")
    assert group.servers["C"].log.last_index == 3
    assert group.servers["C"].log.snapshot.index == 2
    assert group.servers["C"].commit == 3


@pytest.mark.parametrize(("trailing", "first"), [(0, 3), (1, 2), (2, 1), (9, 1)])
def test_a_snapshot_keeps_the_trailing_entries_of_the_option(trailing: int, first: int) -> None:
    """A second one of the same index is refused."""
    group = leading()
    group.did(core.submit(group.servers["A"], "x", UNTIMED))
    group.run()
    options = Options(timers=False, trailing=trailing)
    output = core.take_snapshot(group.servers["A"], "x", options)
    assert isinstance(output, Output)
    assert output.server.log.first_index == first
    assert output.server.configuration == GROUP
    assert isinstance(core.take_snapshot(output.server, "x", options), Refusal)


# -- read barriers ---------------------------------------------------------------------------------


def test_a_read_is_answered_only_once_its_index_is_applied() -> None:
    """The leader says 2: C, which knows 1 as committed, has to hear of 2 first."""
    group = leading()
    group.did(core.submit(group.servers["A"], "x", UNTIMED))
    group.run(lost="C")
    group.did(core.read_barrier(group.servers["C"], UNTIMED, "r"))
    group.run()
    assert "r" not in group.answers
    group.remind("A")
    assert (group.answers["r"].outcome, group.answers["r"].index) == ("read", 2)
    assert group.servers["C"].applied == 2


@pytest.mark.parametrize(
    ("followers", "outcome"), [("B C", "read"), ("B", "read"), ("C", "read"), ("", None)]
)
def test_a_read_needs_a_majority_that_still_follows(followers: str, outcome: str | None) -> None:
    """Of three, the leader and one more."""
    group = leading()
    group.did(core.read_barrier(group.servers["A"], UNTIMED, "r"))
    group.run(lost={"B", "C"} - {*followers.split()})
    assert (group.answers["r"].outcome if "r" in group.answers else None) == outcome


def test_an_answer_to_a_read_barrier_answers_all_earlier_reads() -> None:
    """An answer to the first says nothing of the second."""
    group = leading()
    leader = group.servers["A"]
    for name in ("r1", "r2"):
        output = core.read_barrier(leader, UNTIMED, name)
        assert isinstance(output, Output)
        leader = output.server
    first = core.receive(leader, "B", say.ReadQuorumReply(1, 1, 1), UNTIMED)
    assert [a.request for a in first.answers] == ["r1"]
    both = core.receive(leader, "B", say.ReadQuorumReply(1, 1, 2), UNTIMED)
    assert [a.request for a in both.answers] == ["r1", "r2"]


def test_without_the_read_quorum_a_leader_answers_reads_at_once() -> None:
    """Even if another leader has been elected."""
    options = Options(timers=False, safeguards=RaftSafeguards(read_quorum=False))
    output = core.read_barrier(leading().servers["A"], options, "r")
    assert isinstance(output, Output)
    assert [a.outcome for a in output.answers] == ["read"]


# -- what becomes of a command ---------------------------------------------------------------------


def test_a_follower_refuses_a_forwarded_command_and_names_the_leader() -> None:
    """A command given up is unknown; without a leader none is taken."""
    group = leading()
    asked = core.receive(group.servers["B"], "C", say.Forward("r", "x"), UNTIMED)
    assert [m.message for m in asked.messages] == [say.ForwardReply("r", 1, 0, "A")]
    group.did(core.submit(group.servers["B"], "x", UNTIMED, "r"))
    group.run(lost="A")
    group.did(core.give_up(group.servers["B"], "r", UNTIMED))
    assert group.answers["r"].outcome == "unknown"
    alone = Server("B", core.first_stored(members("A B C")))
    assert isinstance(core.submit(alone, "x", UNTIMED), Refusal)


# -- clocks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edition", "alive", "ticks", "role"),
    [
        ("documents", "", 5, Candidate),  # heard nothing for the whole timeout
        ("documents", "A", 5, Candidate),  # it goes by messages alone
        ("documents", "", 4, Follower),
        ("server", "A", 20, Follower),  # the detector says that its leader is alive
        ("server", "C", 5, Candidate),
        ("server", "", 4, Follower),
    ],
)
def test_a_follower_waits_for_its_timeout(edition: Any, alive: str, ticks: int, role: type) -> None:
    """Five ticks, unless the server's detector sees its leader; the next wait is the drawn one."""
    options = Options(edition, election=5)
    stored = core.first_stored(members("A B C"))
    server = Server("B", stored, Follower("A"), timeout=5)
    for _ in range(ticks):
        server = core.tick(server, options, alive.split(), draw=7).server
    assert type(server.role) is role
    assert server.timeout == (7 if role is Candidate else 5)


@pytest.mark.parametrize(
    ("edition", "alive", "leads"),
    [("documents", "", False), ("server", "", False), ("server", "B", True), ("server", "C", True)],
)
def test_a_leader_without_a_majority_steps_down(edition: Any, alive: str, leads: bool) -> None:
    """After as many ticks as an election waits; without the safeguard it leads on."""
    role = Leader((Progress("B", 1), Progress("C", 1)))
    options = Options(edition, election=5)
    off = Options(edition, election=5, safeguards=RaftSafeguards(step_down=False))
    for each, result in ((options, leads), (off, True)):
        server = Server("A", core.first_stored(members("A B C")), role)
        for _ in range(6):
            server = core.tick(server, each, alive.split()).server
        assert isinstance(server.role, Leader) is result, each.safeguards


def test_only_edition_documents_sends_heartbeats() -> None:
    """Every second tick an empty append to each follower."""
    log = core.first_stored(members("A B C")).log.appended(Entry(1, 1))
    known = tuple(Progress(name, 2, 1, "pipeline", (), 1) for name in "BC")
    server = Server("A", Stored(1, "A", log, 1), Leader(known), applied=1)
    rows: list[tuple[Any, list[int]]] = [("documents", [0, 2, 0, 2]), ("server", [0, 0, 0, 0])]
    for edition, sent in rows:
        options, now, counts = Options(edition, heartbeat=2), server, []
        for _ in range(4):
            output = core.tick(now, options, "BC")
            now = output.server
            counts.append(len(output.messages))
        assert counts == sent, edition


def test_a_command_of_any_member_is_committed_everywhere() -> None:
    """B forwards it to A, which leads."""
    group = Group("A B C")
    group.elect("A")
    group.did(core.submit(group.servers["B"], "x", group.options, "r1", "applied"))
    group.run()
    group.remind("A")
    assert group.answers["r1"].outcome == "applied"
    assert {s.commit for s in group.servers.values()} == {2}
    assert [e.data for e in group.servers["C"].log] == [None, "x"]


def test_a_leader_that_leaves_hands_over_to_a_new_member() -> None:
    """From A, B, C to B, C, D, E: all four have the new configuration, which is not joint."""
    group = Group("A B C", more="D E")
    group.elect("A")
    group.did(core.configure(group.servers["A"], members("B C D E"), group.options, "change"))
    group.run()
    assert group.answers["change"].outcome == "committed"
    leaders = [n for n, s in group.servers.items() if isinstance(s.role, Leader)]
    assert leaders
    assert "A" not in leaders
    for name in "BCDE":
        assert group.servers[name].configuration.members == ("B", "C", "D", "E")
        assert not group.servers[name].configuration.is_joint


def test_a_read_barrier_ends_only_with_a_majority() -> None:
    """C may read index 1; A, cut off from B and C, may not."""
    group = Group("A B C")
    group.elect("A")
    group.did(core.read_barrier(group.servers["C"], group.options, "r"))
    group.run()
    group.remind("A")
    assert (group.answers["r"].outcome, group.answers["r"].index) == ("read", 1)
    group.did(core.read_barrier(group.servers["A"], group.options, "alone"))
    group.run(lost=("B", "C"))
    assert "alone" not in group.answers
