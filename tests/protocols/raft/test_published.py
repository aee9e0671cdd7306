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
def test_a_vote_is_given_from_any_role(begins: Any, trial: bool, term: int) -> None:
    """Whatever B is in term 1, a request of term 3 has its vote; a pre-vote leaves B as it is."""
    stored = Stored(1, "B", core.first_stored(members("A B C")).log)
    output = core.receive(
        Server("B", stored, begins), "A", say.VoteRequest(3, 0, 0, trial), UNTIMED
    )
    [sent] = output.messages
    assert sent.message == say.VoteReply(3, True, trial)
    assert (output.server.term, output.server.role) == (term, begins if trial else Follower())


@pytest.mark.parametrize("order", ["ABCA", "CBAB"])
def test_each_server_can_be_elected_in_turn(order: str) -> None:
    """Every election begins a term, whose only leader is the one that asked for it."""
    group = Group("A B C")
    for term, name in enumerate(order, 1):
        group.elect(name)
        assert [n for n in "ABC" if role(group, n) == "leader"] == [name]
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
def test_who_was_cut_off_comes_back_with_a_pre_vote(options: Options, leads: str) -> None:
    """Its term is no newer for that. Of the documents A keeps its reign; the server withholds no
    vote, and whether A is heard is asked before C ever begins.
    """
    group = led(options=options)
    ask(group, core.campaign, "C")
    group.run(lost=("A", "B"))
    assert group.servers["C"].term == 1
    group.elect("C")
    assert role(group, leads) == "leader"
    assert [n for n in "ABC" if role(group, n) == "leader"] == [leads]


def test_a_candidate_that_is_stuck_in_a_newer_term_is_freed() -> None:
    """C asked by force and lost its requests: it tells A of term 2, and a new election has all."""
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
def test_a_leader_hears_a_leader_of_its_own_term(message: Any, answer: Any) -> None:
    """There is none: it takes no entry, refuses a snapshot and a vote, and leads on."""
    group = led()
    was = group.servers["A"]
    assert receive(group, "A", "B", message) == [answer] * (answer is not None)
    assert group.servers["A"] == was


# -- the log and the commit index ------------------------------------------------------------------


@pytest.mark.parametrize("edition", [UNTIMED, DOCUMENTS])
def test_old_messages_of_a_former_leader_take_nothing_away(edition: Options) -> None:
    """B leads in term 2; A's append of term 1 arrives late at C, which keeps what it has."""
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


def test_what_a_minority_took_is_overwritten() -> None:
    """A alone has x; B and C go on without it, and once it is back A has their entries."""
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


def test_a_command_is_committed_without_who_is_removed() -> None:
    """A command waits for B, which is down; once B is removed A alone is a majority."""
    group = led("A B", DOCUMENTS)
    ask(group, core.submit, "A", command="x", request="r")
    group.run(lost="B")
    assert "r" not in group.answers
    ask(group, core.configure, "A", members=members("A"))
    assert group.answers["r"].outcome == "committed"


def test_a_commit_index_never_goes_back() -> None:
    """A heartbeat that knows less changes nothing."""
    group = led()
    for told in (1, 0):
        receive(group, "B", "A", say.Append(1, 1, 1, told))
        receive(group, "B", "A", say.ReadQuorum(1, told, 1))
        assert group.servers["B"].commit == 1


# -- progress --------------------------------------------------------------------------------------


def test_a_second_rejection_of_the_same_probe_does_not_probe_lower() -> None:
    """Two probes were under way and both are refused: the later refusal arrives after an answer
    that already agrees, and is an old one.
    """
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
def test_a_full_window_takes_no_more_until_an_answer(room: int, sent: int) -> None:
    """Of nine commands as many are sent as may be under way; an answer lets the rest go at once."""
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
def test_a_follower_stays_in_its_pipeline_whether_it_votes_or_not(vote: str) -> None:
    """B gets its vote, or loses it; what A knows of its log does not begin again."""
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
def test_answers_of_a_removed_follower_count_for_nothing(late: Any) -> None:
    """B is no member any more: the leader neither commits by it nor answers it."""
    group = led()
    ask(group, core.configure, "A", members=members("A C"))
    group.run()
    was = group.servers["A"]
    assert receive(group, "A", "B", late) == []
    assert group.servers["A"] == was


# -- configurations --------------------------------------------------------------------------------


def test_who_has_no_configuration_keeps_quiet() -> None:
    """A server that is to join knows nobody: it asks for no vote, and learns all by appends."""
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
def test_the_leader_is_replaced_by_a_change_of_members(old: str, new: str, leads: str) -> None:
    """The leader that goes, or gives up its vote, is a follower; one of the new voters leads."""
    group = led(old, more=" ".join({*new.upper().split()} - {*old.upper().split()}))
    ask(group, core.configure, "A", members=members(new))
    group.run()
    group.remind(leads)
    assert role(group, "A") == "follower"
    assert role(group, leads) == "leader"
    assert group.servers[leads].term == 2
    assert group.servers[leads].configuration == Configuration(members(new))


def test_a_new_leader_finishes_the_joint_change_of_another_one() -> None:
    """A, B, C are to be C, D, E. A is gone before D and E hear of it: C brings it to its end."""
    group = led(more="D E")
    ask(group, core.configure, "A", members=members("C D E"))
    group.run(lost=("D", "E"))
    assert all(group.servers[name].configuration.is_joint for name in "ABC")
    group.elect("C", lost="A")
    group.remind("C", lost="A")
    assert role(group, "C") == "leader"
    for name in "CDE":
        assert group.servers[name].configuration == Configuration(members("C D E"))


def test_a_new_leader_changes_nothing_before_the_change_it_has_found() -> None:
    """B leads with a change in its log that nobody knows to be committed."""
    log = core.first_stored(members("A B C")).log.appended(Entry(1, 1, "x"))
    log = log.appended(Entry(1, 2, Configuration(members("A B C D")))).appended(Entry(2, 3))
    leader = Server("B", Stored(2, "B", log, 1), Leader(tuple(Progress(n, 4) for n in "ACD")))
    assert core.configure(leader, members("A B C"), UNTIMED) == core.IN_PROGRESS
    once = core.receive(leader, "A", say.Accepted(2, 1, 3), UNTIMED).server
    assert core.configure(once, members("A B C"), UNTIMED) == core.IN_PROGRESS
    twice = core.receive(once, "C", say.Accepted(2, 1, 3), UNTIMED).server
    assert isinstance(core.configure(twice, members("A B C"), UNTIMED), Output)


def test_who_is_left_out_may_have_to_lead_once_more() -> None:
    """A alone knows that B decides alone from now on: B's log is shorter, so only A can be elected.

    It brings the change to B, and B leads.
    """
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


def test_who_does_not_know_of_its_vote_gives_it() -> None:
    """C got its vote by a change that it has not heard of: B is elected with it."""
    group = led("A B c")
    ask(group, core.configure, "A", members=members("A B C"))
    group.run(lost="C")
    assert not group.servers["C"].configuration.votes("C")
    group.elect("B", lost="A")
    assert role(group, "B") == "leader"
    assert group.servers["C"].configuration == Configuration(members("A B C"))


def test_a_snapshot_brings_a_vote_or_takes_it() -> None:
    """What C may do once it has taken the snapshot is what the configuration in there says."""
    for names, may in (("A B c", False), ("A B C", True)):
        held = Snapshot(5, 1, Configuration(members(names)))
        begun = Server("C", core.first_stored(members("A B c" if may else "A B C")))
        after = core.receive(begun, "A", say.Install(1, held), UNTIMED).server
        assert after.configuration == held.configuration
        assert isinstance(core.campaign(after, UNTIMED).server.role, Candidate) is may


# -- transfer --------------------------------------------------------------------------------------


def test_a_slow_heir_is_brought_up_to_date_first() -> None:
    """C lacks x, and is asked at once how far it is: it leads once it has x."""
    group = led()
    ask(group, core.submit, "A", command="x")
    group.run(lost="C")
    told = ask(group, core.transfer, "A", target="C")
    assert [(m.target, type(m.message)) for m in told.messages] == [("C", say.Append)]
    group.run()
    assert role(group, "C") == "leader"
    assert [e.data for e in group.servers["C"].log] == [None, "x", None]


def test_a_second_transfer_takes_the_place_of_the_first() -> None:
    """B was told and did not hear of it; C is wanted now, and C leads."""
    group = led()
    ask(group, core.transfer, "A", target="B")
    group.in_flight.clear()
    ask(group, core.transfer, "A", target="C")
    group.run()
    assert [n for n in "ABC" if role(group, n) == "leader"] == ["C"]


def test_a_newer_term_ends_a_transfer() -> None:
    """B won an election of its own: nothing of the transfer is left."""
    group = led()
    ask(group, core.transfer, "A", target="C")
    group.in_flight.clear()
    group.elect("B")
    assert role(group, "B") == "leader"
    assert group.servers["A"].role == Follower("B")


@pytest.mark.parametrize("name", ["B", "C", "D"])
def test_only_a_follower_that_votes_is_told_to_lead(name: str) -> None:
    """C does not vote and D is no member: the word to lead moves neither."""
    group = led("A B c", more="D")
    answers = receive(group, name, "A", say.TimeoutNow(1))
    assert bool(answers) is (name == "B")
    assert role(group, name) == ("candidate" if name == "B" else "follower")


@pytest.mark.parametrize("lost", [say.TimeoutNow, say.VoteRequest])
def test_a_leader_that_left_is_replaced_though_its_last_word_is_lost(lost: type) -> None:
    """A is no member any more; whether its word or the heir's requests are lost, B is elected."""
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


def test_a_leader_that_leaves_brings_what_came_after_first() -> None:
    """What a client asks for behind that change is in the log of whoever takes over."""
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


def test_an_append_from_before_a_snapshot_is_accepted() -> None:
    """C has made a snapshot of all it has; an append that begins within it still fits."""
    log = Log(Snapshot(3, 1, Configuration(members("A B C"))))
    server = Server("C", Stored(1, "", log, 3), Follower("A"), applied=3)
    entries = tuple(Entry(1, index, "x") for index in (2, 3, 4))
    after = core.receive(server, "A", say.Append(1, 1, 1, 4, entries), UNTIMED)
    assert [m.message for m in after.messages] == [say.Accepted(1, 4, 4)]
    assert [e.index for e in after.server.log] == [4]


@pytest.mark.parametrize(("next_", "kind"), [(3, say.Install), (4, say.Append), (5, say.Append)])
def test_a_snapshot_is_sent_to_who_lacks_what_is_gone(next_: int, kind: type) -> None:
    """The log begins at 4: only who needs an entry before that, or its term, gets the snapshot."""
    log = Log(Snapshot(3, 1, Configuration(members("A B"))))
    log = log.appended(Entry(1, 4, "x")).appended(Entry(1, 5, "y"))
    leader = Server("A", Stored(1, "A", log, 3), Leader((Progress("B", next_, 0),)), applied=3)
    [sent] = core.remind(leader, UNTIMED).messages
    assert type(sent.message) is kind


# -- read barriers ---------------------------------------------------------------------------------


def test_a_read_counts_each_voter_once_and_both_groups_of_a_joint_change() -> None:
    """Of A, B, C, D two more are needed; while E comes and B, C, D go, E is needed, too."""
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


def test_a_single_voter_lets_read_at_once_and_one_without_a_vote_is_not_asked() -> None:
    """A alone is its majority; C may read, and is never counted."""
    group = led("A c")
    alone = ask(group, core.read_barrier, "A", request="r")
    assert group.answers["r"].outcome == "read"
    assert not any(isinstance(m.message, say.ReadQuorum) for m in alone.messages)
    ask(group, core.read_barrier, "C", request="at C")
    group.run()
    assert group.answers["at C"].outcome == "read"


def test_reads_of_a_leader_that_steps_down_are_refused() -> None:
    """A has lost its majority: its own client and C's are told, and may ask whoever leads next."""
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
def test_a_forwarded_command_ends_in_one_outcome(
    hands_over: bool, lost: str, outcomes: list[str]
) -> None:
    """A commits it, never hears of it, or takes nothing new since it hands over."""
    group = led()
    if hands_over:
        ask(group, core.transfer, "A", target="C")
        group.in_flight.clear()
    ask(group, core.submit, "B", command="x", request="r")
    group.run(lost)
    group.remind("A", lost)
    assert [answer.outcome for answer in group.answers.values()] == outcomes


def test_who_knows_no_leader_takes_no_command_and_no_read() -> None:
    """There is nobody to ask."""
    alone = Server("B", core.first_stored(members("A B C")))
    for refused in (
        core.submit(alone, "x", UNTIMED),
        core.read_barrier(alone, UNTIMED),
        core.configure(alone, members("A B"), UNTIMED),
        core.transfer(alone, UNTIMED),
    ):
        assert isinstance(refused, Refusal)
