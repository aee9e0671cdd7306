"""What published libraries of Raft test, asked of this one: late, doubled and lost messages."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import Refusal
from kit.protocols.raft import core
from kit.protocols.raft import messages as say
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import Candidate, Follower, Leader, Options, Output, Server, Stored
from tests.protocols.raft.driving import UNTIMED, Group, members

DOCUMENTS = Options("documents", timers=False)


def led(names: str = "A B C", options: Options = UNTIMED, more: str = "") -> Group:
    """A group that A leads, with its first entry committed everywhere."""
    group = Group(names, options, more)
    group.elect("A")
    group.remind("A")
    return group


def role(group: Group, name: str) -> str:
    """What a server is."""
    return str(group.servers[name].role.__struct_config__.tag)


def ask(group: Group, function: Any, name: str, **more: Any) -> Output:
    """A server is asked for something; nothing arrives yet."""
    return group.did(function(group.servers[name], options=group.options, **more))


def receive(group: Group, name: str, source: str, message: Any) -> list[Any]:
    """A message arrives by hand; what is answered is returned, and does not travel."""
    output = core.receive(group.servers[name], source, message, group.options)
    group.did(output)
    answers = [sent.message for sent in output.messages]
    del group.in_flight[len(group.in_flight) - len(answers) :]
    return answers


def known(group: Group, follower: str) -> Progress:
    """What A knows of a follower."""
    leader = group.servers["A"].role
    assert isinstance(leader, Leader)
    return next(each for each in leader.progress if each.id == follower)


# -- votes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("begins", [Follower(), Candidate(False, ("B",)), Candidate(True, ("B",))])
@pytest.mark.parametrize(("trial", "term"), [(False, 3), (True, 1)])
def test_a_vote_for_a_newer_term_is_given_in_any_role(begins: Any, trial: bool, term: int) -> None:
    """A pre-vote leaves role and term as they are."""
    stored = Stored(1, "B", core.first_stored(members("A B C")).log)
    output = core.receive(
        Server("B", stored, begins), "A", say.VoteRequest(3, 0, 0, trial), UNTIMED
    )
    [sent] = output.messages
    assert sent.message == say.VoteReply(3, True, trial)
    assert (output.server.term, output.server.role) == (term, begins if trial else Follower())


@pytest.mark.parametrize("order", ["ABCA", "CBAB"])
def test_each_server_can_be_elected_in_a_term_of_its_own(order: str) -> None:
    """Nobody else leads then."""
    group = Group("A B C")
    for term, name in enumerate(order, 1):
        group.elect(name)
        assert [n for n in "ABC" if role(group, n) == "leader"] == [name], f"term {term}"
        assert group.servers[name].term == term


def test_a_candidate_concedes_to_the_leader_of_its_term() -> None:
    """C is a candidate of term 1, too: the first append makes it a follower, with A's log."""
    group = Group("A B C")
    group.elect("A", lost="C")
    stored = Stored(1, "C", core.first_stored(members("A B C")).log)
    group.servers["C"] = Server("C", stored, Candidate(False))
    group.remind("A")
    assert group.servers["C"].role == Follower("A")
    assert (group.servers["C"].term, group.servers["C"].log) == (1, group.servers["A"].log)


@pytest.mark.parametrize(("options", "leads"), [(UNTIMED, "C"), (DOCUMENTS, "A")])
def test_a_pre_vote_after_a_cut_has_no_newer_term(options: Options, leads: str) -> None:
    """The documents' edition keeps A in office; the server, without a detector, elects C."""
    group = led(options=options)
    ask(group, core.campaign, "C")
    group.run(lost=("A", "B"))
    assert group.servers["C"].term == 1
    group.elect("C")
    assert [n for n in "ABC" if role(group, n) == "leader"] == [leads]


def test_a_candidate_stuck_in_a_newer_term_takes_part_in_the_next_election() -> None:
    """C tells A of term 2, A steps down, and B is elected."""
    group = led(options=DOCUMENTS)
    receive(group, "C", "A", say.TimeoutNow(1))
    assert (role(group, "C"), group.servers["C"].term) == ("candidate", 2)
    ask(group, core.submit, "A", command="x")
    group.remind("A")
    assert role(group, "A") == "follower"
    assert group.servers["A"].term == 2
    group.elect("B")
    assert role(group, "B") == "leader"
    assert group.servers["C"].role == Follower("B")


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        (say.Append(1, 0, 0, 0), None),
        (say.ReadQuorum(1, 1, 1), None),
        (say.Install(1, Snapshot(9, 1)), say.Installed(1, False)),
        (say.VoteRequest(1, 9, 9), say.VoteReply(1, False)),
    ],
)
def test_a_leader_ignores_messages_of_another_leader_of_its_term(message: Any, answer: Any) -> None:
    """No entry is taken, snapshot and vote are refused, and the leader leads on."""
    group = led()
    was = group.servers["A"]
    assert receive(group, "A", "B", message) == [answer] * (answer is not None)
    assert group.servers["A"] == was


# -- the log and the commit index ------------------------------------------------------------------


@pytest.mark.parametrize("edition", [UNTIMED, DOCUMENTS])
def test_a_late_append_of_a_former_leader_takes_no_entry_away(edition: Options) -> None:
    """C refuses it, and follows B."""
    group = led(options=edition)
    ask(group, core.transfer, "A", target="B")
    group.run()
    group.remind("B")
    kept = group.servers["C"].log
    assert receive(group, "C", "A", say.Append(1, 1, 1, 2, (Entry(1, 2, "late"),))) == [
        say.Rejected(2, group.servers["C"].commit, 0, kept.last_index, kept.last_term)
    ]
    assert group.servers["C"].log == kept
    assert group.servers["C"].role == Follower("B")


def test_an_entry_that_only_a_minority_has_is_overwritten() -> None:
    """A alone has x; once it is back, it has the entries of B and C."""
    group = led()
    ask(group, core.submit, "A", command="x", request="lost")
    group.run(lost=("B", "C"))
    group.elect("B", lost="A")
    ask(group, core.submit, "B", command="y")
    group.run(lost="A")
    group.remind("B")
    group.remind("B")
    assert [e.data for e in group.servers["A"].log] == [None, None, "y"]
    assert {s.commit for s in group.servers.values()} == {3}


def test_a_command_is_committed_once_the_member_that_is_down_is_removed() -> None:
    """Then A alone is a majority."""
    group = led("A B", DOCUMENTS)
    ask(group, core.submit, "A", command="x", request="r")
    group.run(lost="B")
    assert "r" not in group.answers
    ask(group, core.configure, "A", members=members("A"))
    assert group.answers["r"].outcome == "committed"


def test_a_message_with_a_lower_commit_index_changes_nothing() -> None:
    """Neither a heartbeat nor a read barrier."""
    group = led()
    for told in (1, 0):
        receive(group, "B", "A", say.Append(1, 1, 1, told))
        receive(group, "B", "A", say.ReadQuorum(1, told, 1))
        assert group.servers["B"].commit == 1


# -- progress --------------------------------------------------------------------------------------


def test_a_second_rejection_of_the_same_probe_changes_nothing() -> None:
    """The second comes after an answer that agrees already."""
    group = led("A")
    ask(group, core.submit, "A", command="x")
    ask(group, core.configure, "A", members=members("A B"))
    group.in_flight.clear()
    group.servers["B"] = Server("B")
    probes = [ask(group, core.remind, "A").messages[0].message for _ in range(2)]
    group.in_flight.clear()
    [refused], [again] = (receive(group, "B", "A", probe) for probe in probes)
    [lower] = receive(group, "A", "B", refused)
    [accepted] = receive(group, "B", "A", lower)
    receive(group, "A", "B", accepted)
    agreed = known(group, "B")
    receive(group, "A", "B", again)
    assert known(group, "B") == agreed
    assert (agreed.mode, agreed.match) == ("pipeline", accepted.last)


@pytest.mark.parametrize(("room", "sent"), [(1, 1), (2, 2), (5, 5)])
def test_a_leader_sends_no_more_than_the_window_until_an_answer(room: int, sent: int) -> None:
    """An answer lets the rest go at once."""
    group = led(options=Options(timers=False, in_flight=room))
    for each in range(9):
        ask(group, core.submit, "A", command=f"x{each}")
    to_b = [m for _, target, m in group.in_flight if target == "B"]
    assert [len(m.entries) for m in to_b] == [1] * sent
    group.in_flight.clear()
    more = core.receive(group.servers["A"], "B", say.Accepted(1, 1, 2), group.options)
    freed = [sent.message for sent in more.messages if sent.target == "B"]
    assert isinstance(freed[0], say.Append)
    assert len(freed[0].entries) == 9 - sent


@pytest.mark.parametrize("vote", ["A b", "A B"])
def test_a_follower_that_gains_or_loses_its_vote_stays_in_its_pipeline(vote: str) -> None:
    """With the same matching index."""
    group = led("A B" if vote == "A b" else "A b")
    ask(group, core.submit, "A", command="x")
    group.run()
    assert known(group, "B").mode == "pipeline"
    ask(group, core.configure, "A", members=members(vote))
    assert (known(group, "B").mode, known(group, "B").match) == ("pipeline", 2)
    group.run()
    assert group.servers["B"].configuration == Configuration(members(vote))


@pytest.mark.parametrize(
    "late", [say.Accepted(1, 9, 9), say.Rejected(1, 1, 3, 1), say.Installed(1, True)]
)
def test_an_answer_of_a_removed_follower_changes_nothing(late: Any) -> None:
    """The leader does not answer it either."""
    group = led()
    ask(group, core.configure, "A", members=members("A C"))
    group.run()
    was = group.servers["A"]
    assert receive(group, "A", "B", late) == []
    assert group.servers["A"] == was


# -- configurations --------------------------------------------------------------------------------


def test_a_server_without_a_configuration_asks_for_no_vote() -> None:
    """B gets its configuration by appends."""
    group = led("A", more="B")
    quiet = core.campaign(group.servers["B"], UNTIMED)
    assert (quiet.messages, quiet.server.term) == ((), 0)
    ask(group, core.configure, "A", members=members("A B"))
    group.run()
    assert group.servers["B"].configuration == Configuration(members("A B"))


@pytest.mark.parametrize(
    ("old", "new", "leads"),
    [("A", "B", "B"), ("A B", "C D", "C"), ("A b", "a B", "B"), ("A B C", "B C", "B")],
)
def test_a_leader_that_leaves_or_loses_its_vote_is_replaced(old: str, new: str, leads: str) -> None:
    """By one of the new voters, in the next term."""
    group = led(old, more=" ".join({*new.upper().split()} - {*old.upper().split()}))
    ask(group, core.configure, "A", members=members(new))
    group.run()
    group.remind(leads)
    assert role(group, "A") == "follower"
    assert role(group, leads) == "leader"
    assert group.servers[leads].term == 2
    assert group.servers[leads].configuration == Configuration(members(new))


def test_a_new_leader_finishes_the_joint_change_of_the_former() -> None:
    """A, B, C are to be C, D, E, and A is gone before D and E hear of it."""
    group = led(more="D E")
    ask(group, core.configure, "A", members=members("C D E"))
    group.run(lost=("D", "E"))
    assert all(group.servers[name].configuration.is_joint for name in "ABC")
    group.elect("C", lost="A")
    group.remind("C", lost="A")
    assert role(group, "C") == "leader"
    for name in "CDE":
        assert group.servers[name].configuration == Configuration(members("C D E"))


def test_a_new_leader_refuses_a_change_until_the_change_in_its_log_is_committed() -> None:
    """B found that change in its log."""
    log = core.first_stored(members("A B C")).log.appended(Entry(1, 1, "x"))
    log = log.appended(Entry(1, 2, Configuration(members("A B C D")))).appended(Entry(2, 3))
    leader = Server("B", Stored(2, "B", log, 1), Leader(tuple(Progress(n, 4) for n in "ACD")))
    assert core.configure(leader, members("A B C"), UNTIMED) == core.IN_PROGRESS
    once = core.receive(leader, "A", say.Accepted(2, 1, 3), UNTIMED).server
    assert core.configure(once, members("A B C"), UNTIMED) == core.IN_PROGRESS
    twice = core.receive(once, "C", say.Accepted(2, 1, 3), UNTIMED).server
    assert isinstance(core.configure(twice, members("A B C"), UNTIMED), Output)


def test_a_removed_server_with_the_longer_log_leads_once_more() -> None:
    """A alone knows that B decides alone from now on: A brings the change to B, and B leads."""
    group = led("A B")
    ask(group, core.configure, "A", members=members("B"))
    group.run()
    joint = group.servers["A"].log.configured_at - 1
    short = group.servers["A"].log.cut(joint + 1)
    left = Stored(1, "A", group.servers["A"].log.cut(joint + 2), joint)
    group.servers["B"] = Server("B", Stored(1, "A", short, 1))
    group.servers["A"] = Server("A", left)
    group.elect("B")
    assert role(group, "B") != "leader"
    group.elect("A")
    group.remind("A")
    assert role(group, "B") == "leader"
    assert role(group, "A") == "follower"
    assert group.servers["B"].configuration == Configuration(members("B"))


def test_a_server_that_does_not_know_of_its_vote_still_gives_it() -> None:
    """C got its vote by a change that it has not heard of, and elects B."""
    group = led("A B c")
    ask(group, core.configure, "A", members=members("A B C"))
    group.run(lost="C")
    assert not group.servers["C"].configuration.votes("C")
    group.elect("B", lost="A")
    assert role(group, "B") == "leader"
    assert group.servers["C"].configuration == Configuration(members("A B C"))


def test_a_snapshot_gives_or_takes_a_vote_by_its_configuration() -> None:
    """C may campaign if and only if the configuration in the snapshot gives C a vote."""
    for names, may in (("A B c", False), ("A B C", True)):
        held = Snapshot(5, 1, Configuration(members(names)))
        begun = Server("C", core.first_stored(members("A B c" if may else "A B C")))
        after = core.receive(begun, "A", say.Install(1, held), UNTIMED).server
        assert after.configuration == held.configuration, names
        assert isinstance(core.campaign(after, UNTIMED).server.role, Candidate) is may


# -- transfer --------------------------------------------------------------------------------------


def test_a_transfer_waits_until_its_target_has_the_whole_log() -> None:
    """C lacks x, gets it, and leads."""
    group = led()
    ask(group, core.submit, "A", command="x")
    group.run(lost="C")
    told = ask(group, core.transfer, "A", target="C")
    assert [(m.target, type(m.message)) for m in told.messages] == [("C", say.Append)]
    group.run()
    assert role(group, "C") == "leader"
    assert [e.data for e in group.servers["C"].log] == [None, "x", None]


def test_a_second_transfer_replaces_the_first() -> None:
    """B was told and did not hear of it; C is wanted now, and leads."""
    group = led()
    ask(group, core.transfer, "A", target="B")
    group.in_flight.clear()
    ask(group, core.transfer, "A", target="C")
    group.run()
    assert [n for n in "ABC" if role(group, n) == "leader"] == ["C"]


def test_a_newer_term_ends_a_transfer() -> None:
    """B won an election of its own, and A follows B."""
    group = led()
    ask(group, core.transfer, "A", target="C")
    group.in_flight.clear()
    group.elect("B")
    assert role(group, "B") == "leader"
    assert group.servers["A"].role == Follower("B")


@pytest.mark.parametrize("name", ["B", "C", "D"])
def test_only_a_voter_can_be_told_to_lead(name: str) -> None:
    """C does not vote and D is no member."""
    group = led("A B c", more="D")
    answers = receive(group, name, "A", say.TimeoutNow(1))
    assert bool(answers) is (name == "B")
    assert role(group, name) == ("candidate" if name == "B" else "follower")


@pytest.mark.parametrize("lost", [say.TimeoutNow, say.VoteRequest])
def test_a_leader_that_left_is_replaced_even_if_its_last_message_is_lost(lost: type) -> None:
    """Or the vote requests of its heir."""
    group = led()
    ask(group, core.configure, "A", members=members("B C"))
    while role(group, "A") == "leader":
        source, target, message = group.in_flight.pop(0)
        group.did(core.receive(group.servers[target], source, message, UNTIMED))
    while group.in_flight:
        source, target, message = group.in_flight.pop(0)
        if not isinstance(message, lost):
            group.did(core.receive(group.servers[target], source, message, UNTIMED))
    assert "leader" not in [role(group, name) for name in "ABC"]
    group.elect("B")
    assert role(group, "B") == "leader"


def test_a_leader_that_leaves_first_replicates_later_commands() -> None:
    """A command behind the change is in the log of the next leader."""
    group = led()
    ask(group, core.configure, "A", members=members("B C"))
    while group.servers["A"].configuration.is_joint:
        source, target, message = group.in_flight.pop(0)
        group.did(core.receive(group.servers[target], source, message, UNTIMED))
    ask(group, core.submit, "A", command="x", request="r")
    group.run()
    [heir] = [n for n in "BC" if role(group, n) == "leader"]
    assert "x" in [e.data for e in group.servers[heir].log]
    assert role(group, "A") == "follower"
    assert group.answers["r"].outcome in ("committed", "unknown")


# -- snapshots -------------------------------------------------------------------------------------


def test_an_append_that_begins_within_a_snapshot_is_accepted() -> None:
    """Only what is above the snapshot is appended."""
    log = Log(Snapshot(3, 1, Configuration(members("A B C"))))
    server = Server("C", Stored(1, "", log, 3), Follower("A"), applied=3)
    entries = tuple(Entry(1, index, "x") for index in (2, 3, 4))
    after = core.receive(server, "A", say.Append(1, 1, 1, 4, entries), UNTIMED)
    assert [m.message for m in after.messages] == [say.Accepted(1, 4, 4)]
    assert [e.index for e in after.server.log] == [4]


@pytest.mark.parametrize(("next_", "kind"), [(3, say.Install), (4, say.Append), (5, say.Append)])
def test_only_a_follower_that_lacks_dropped_entries_gets_a_snapshot(next_: int, kind: type) -> None:
    """The log begins at 4; the term of entry 3 is in the snapshot."""
    log = Log(Snapshot(3, 1, Configuration(members("A B"))))
    log = log.appended(Entry(1, 4, "x")).appended(Entry(1, 5, "y"))
    leader = Server("A", Stored(1, "A", log, 3), Leader((Progress("B", next_, 0),)), applied=3)
    [sent] = core.remind(leader, UNTIMED).messages
    assert type(sent.message) is kind


# -- read barriers ---------------------------------------------------------------------------------


def test_a_read_counts_each_voter_once_in_each_group_of_a_joint_change() -> None:
    """Two others of A, B, C, D; while B, C, D go and E comes, E as well."""
    group = led("A B C D", more="E")
    asked = ask(group, core.read_barrier, "A", request="r").messages
    assert {m.target for m in asked} == {"B", "C", "D"}
    for _ in range(2):
        receive(group, "A", "B", say.ReadQuorumReply(1, 1, 1))
        assert "r" not in group.answers
    receive(group, "A", "C", say.ReadQuorumReply(1, 1, 1))
    assert group.answers["r"].outcome == "read"
    ask(group, core.configure, "A", members=members("A E"))
    ask(group, core.read_barrier, "A", request="joint")
    for name in "BCD":
        receive(group, "A", name, say.ReadQuorumReply(1, 1, 2))
        assert "joint" not in group.answers
    receive(group, "A", "E", say.ReadQuorumReply(1, 1, 2))
    assert group.answers["joint"].outcome == "read"


def test_a_single_voter_answers_a_read_without_asking_members_without_a_vote() -> None:
    """C, without a vote, may read."""
    group = led("A c")
    alone = ask(group, core.read_barrier, "A", request="r")
    assert group.answers["r"].outcome == "read"
    assert not any(isinstance(m.message, say.ReadQuorum) for m in alone.messages)
    ask(group, core.read_barrier, "C", request="at C")
    group.run()
    assert group.answers["at C"].outcome == "read"


def test_a_leader_that_steps_down_refuses_its_pending_reads() -> None:
    """Its client's, and a read of C."""
    group = led()
    ask(group, core.read_barrier, "A", request="here")
    answers = receive(group, "A", "C", say.ReadRequest("there"))
    assert not any(isinstance(each, say.ReadReply) for each in answers)
    output = ask(group, core.step_down, "A")
    assert group.answers["here"].outcome == "refused"
    assert [m.message for m in output.messages] == [say.ReadReply("there", None)]


# -- what becomes of a command ---------------------------------------------------------------------


def test_a_forwarded_command_that_a_new_leader_replaces_is_dropped() -> None:
    """B knows that x is at index 2 of A's log; nobody else has it, and C is elected."""
    group = led()
    ask(group, core.submit, "B", command="x", request="r")
    _, _, forward = group.in_flight.pop()
    taken = receive(group, "A", "B", forward)[0]
    assert taken == say.ForwardReply("r", 1, 2, "A")
    receive(group, "B", "A", taken)
    group.elect("C", lost="A")
    group.remind("C", lost="A")
    assert group.answers["r"].outcome == "dropped"


@pytest.mark.parametrize(
    ("hands_over", "lost", "outcomes"),
    [(False, "", ["committed"]), (False, "A", []), (True, "", ["refused"])],
)
def test_a_forwarded_command_has_at_most_a_single_outcome(
    hands_over: bool, lost: str, outcomes: list[str]
) -> None:
    """A commits it, never hears of it, or refuses it during a transfer."""
    group = led()
    if hands_over:
        ask(group, core.transfer, "A", target="C")
        group.in_flight.clear()
    ask(group, core.submit, "B", command="x", request="r")
    group.run(lost)
    group.remind("A", lost)
    assert [answer.outcome for answer in group.answers.values()] == outcomes


def test_a_server_without_a_leader_refuses_every_request() -> None:
    """Commands, reads, changes of members and transfers."""
    alone = Server("B", core.first_stored(members("A B C")))
    asked = {
        "command": core.submit(alone, "x", UNTIMED),
        "read": core.read_barrier(alone, UNTIMED),
        "change": core.configure(alone, members("A B"), UNTIMED),
        "transfer": core.transfer(alone, UNTIMED),
    }
    assert [what for what, answer in asked.items() if not isinstance(answer, Refusal)] == []
