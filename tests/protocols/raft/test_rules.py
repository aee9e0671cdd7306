"""The published rules one by one: rows worked out by hand from the paper and from the server."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.raft import core
from kit.protocols.raft import messages as say
from kit.protocols.raft.rules import progress as flow
from kit.protocols.raft.rules.configuration import Configuration, reached, tally
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import (
    Candidate,
    Follower,
    Leader,
    Options,
    Output,
    Server,
    Stored,
)
from kit.protocols.raft.symmetry import renaming_alike
from kit.protocols.raft.words import data_text, wish_text
from tests.protocols.raft.driving import UNTIMED, members

DOCUMENTS = Options("documents", timers=False)


def log_of(terms: str, names: str = "A B C") -> Log:
    """A log of a group whose entries have these terms: ``112``."""
    log = core.first_stored(members(names)).log
    for index, term in enumerate(map(int, terms), 1):
        log = log.appended(Entry(term, index, f"x{index}"))
    return log


def server(terms: str = "", term: int = 0, **more: Any) -> Server:
    """B of A, B and C, with such a log; ``term`` is its own if later than that of the log."""
    stored = Stored(
        max(term, int(terms[-1:] or 0)), more.pop("vote", ""), log_of(terms), more.pop("commit", 0)
    )
    return Server("B", stored, **more)


def joint(old: str, new: str) -> Configuration:
    """The joint configuration between two groups; without an old one it is simple."""
    return Configuration(members(new), members(old))


def answer(of: Output) -> Any:
    """The one message that is sent."""
    [sent] = of.messages
    return sent.message


# -- votes -----------------------------------------------------------------------------------------

VOTES = [
    # own log, own term, voted for, leader, request (term, last, last term, trial), granted
    ("", 0, "", "", (1, 0, 0, False), True),
    ("1", 1, "", "", (2, 1, 1, False), True),
    ("1", 2, "A", "", (2, 1, 1, False), True),  # the same vote once more
    ("1", 2, "C", "", (2, 1, 1, False), False),  # the vote is given
    ("1", 2, "", "C", (2, 1, 1, False), False),  # the term has a leader
    ("11", 2, "", "", (2, 1, 1, False), False),  # shorter log, same term
    ("2", 2, "", "", (3, 5, 1, False), False),  # longer log of an older term
    ("111", 2, "", "", (3, 1, 2, False), True),  # shorter log of a newer term
    ("1", 2, "C", "", (3, 1, 1, True), True),  # a pre-vote binds nobody
    ("1", 2, "C", "C", (3, 1, 1, True), True),
    ("11", 2, "C", "", (3, 1, 1, True), False),
]


@pytest.mark.parametrize(("log", "term", "vote", "leader", "asking", "granted"), VOTES)
def test_a_vote(log: str, term: int, vote: str, leader: str, asking: Any, granted: bool) -> None:
    """Edition server: one vote a term, for a log that is at least as up to date."""
    voter = server(log, term, vote=vote, role=Follower(leader))
    result = core.receive(voter, "A", say.VoteRequest(*asking), UNTIMED)
    assert answer(result).granted is granted
    trial = asking[3]
    assert result.server.term == (term if trial else max(term, asking[0]))
    assert result.server.stored.vote == (vote if trial else "A" if granted else vote)


@pytest.mark.parametrize(
    ("options", "leader", "trial", "forced", "answered"),
    [
        (DOCUMENTS, "C", False, False, False),  # it hears its leader: no vote, no newer term
        (DOCUMENTS, "C", True, False, False),
        (DOCUMENTS, "C", False, True, True),  # the leader asked for this election
        (DOCUMENTS, "", False, False, True),
        (UNTIMED, "C", False, False, True),  # the server withholds nothing
    ],
)
def test_who_hears_a_leader_gives_no_vote(
    options: Options, leader: str, trial: bool, forced: bool, answered: bool
) -> None:
    """Leader stickiness is of the documents alone, and a handed over election passes it."""
    voter = server("1", 1, role=Follower(leader))
    result = core.receive(voter, "A", say.VoteRequest(2, 1, 1, trial, forced), options)
    assert bool(result.messages) is answered
    assert result.server.term == (2 if answered and not trial else 1)


@pytest.mark.parametrize(
    ("term", "trial", "answered"), [(1, False, False), (1, True, True), (2, True, True)]
)
def test_a_late_vote_request(term: int, trial: bool, answered: bool) -> None:
    """In term 2 an ordinary request of term 1 is dropped; a pre-vote is refused."""
    result = core.receive(server("1", 2), "A", say.VoteRequest(term, 0, 0, trial), UNTIMED)
    assert [m.message for m in result.messages] == [say.VoteReply(2, False, True)] * answered


@pytest.mark.parametrize(
    ("trial", "reply", "role", "term"),
    [
        (True, say.VoteReply(2, True, True), "candidate", 2),  # the real election begins
        (True, say.VoteReply(1, False, True), "candidate", 1),
        (True, say.VoteReply(5, False, True), "follower", 5),  # a refusal brings its term
        (True, say.VoteReply(2, True, False), "follower", 2),  # a vote of an election of term 2
        (False, say.VoteReply(1, True, True), "candidate", 1),  # a pre-vote is no vote
        (False, say.VoteReply(1, True, False), "leader", 1),
    ],
)
def test_a_reply_to_a_candidate(trial: bool, reply: Any, role: str, term: int) -> None:
    """B of three asks, and has its own vote: one more wins."""
    asking = server("1", 1, vote="B", role=Candidate(trial, ("B",)))
    after = core.receive(asking, "A", reply, UNTIMED).server
    assert (after.role.__struct_config__.tag, after.term) == (role, term)


def test_two_refusals_end_an_election() -> None:
    """Of three, two voters that refuse leave no majority."""
    asking = server("1", 1, vote="B", role=Candidate(False, ("B",)))
    once = core.receive(asking, "A", say.VoteReply(1, False), UNTIMED).server
    assert isinstance(once.role, Candidate)
    assert core.receive(once, "C", say.VoteReply(1, False), UNTIMED).server.role == Follower()


def test_a_newer_term_ends_a_reign() -> None:
    """Any message of a later term but a pre-vote makes a follower, without a vote."""
    leader = server("1", 1, vote="B", role=Leader((Progress("A", 1), Progress("C", 1))))
    after = core.receive(leader, "A", say.Append(3, 0, 0, 0), UNTIMED).server
    assert (after.role, after.term, after.stored.vote) == (Follower("A"), 3, "")
    trial = core.receive(leader, "A", say.VoteRequest(3, 5, 1, True), UNTIMED).server
    assert trial.role == leader.role


# -- tallies ---------------------------------------------------------------------------------------

TALLIES = [
    ("", "A B C", "A", "", "unknown"),
    ("", "A B C", "A B", "", "won"),
    ("", "A B C", "A", "B C", "lost"),
    ("", "A B c", "A C", "", "unknown"),  # C does not vote
    ("", "A B C D", "A B", "C D", "lost"),  # half is no majority
    ("A B C", "B C D", "B C", "", "won"),  # both groups have their majority
    ("A B C", "D E F", "D E F", "", "unknown"),  # the former group is not won
    ("A B C", "D E F", "A B", "D E", "lost"),  # the new one cannot be won any more
    ("A", "B", "A", "", "unknown"),
    ("A B C", "C", "A B", "", "unknown"),
]


@pytest.mark.parametrize(("old", "new", "granted", "refused", "result"), TALLIES)
def test_a_tally(old: str, new: str, granted: str, refused: str, result: str) -> None:
    """A majority of each group, the former one first."""
    assert tally(joint(old, new), granted.split(), refused.split()) == result


# -- the commit index ------------------------------------------------------------------------------

REACHED = [
    ("", "A B C", {"A": 5, "B": 3, "C": 1}, 0, 3),
    ("", "A B C D", {"A": 5, "B": 4, "C": 2, "D": 1}, 0, 2),
    ("", "A B c", {"A": 5, "B": 2, "C": 5}, 0, 2),  # C is counted nowhere
    ("A B C", "D E F", {"A": 5, "B": 5, "D": 1, "E": 2, "F": 3}, 0, 2),
    ("A B C", "C D", {"A": 4, "B": 4, "C": 1, "D": 1}, 0, 1),
    ("", "A B C", {"A": 5, "B": 1, "C": 1}, 3, 3),  # it never goes back
    ("", "A", {"A": 7}, 0, 7),
]


@pytest.mark.parametrize(("old", "new", "stored", "former", "index"), REACHED)
def test_what_a_majority_stores(
    old: str, new: str, stored: dict[str, int], former: int, index: int
) -> None:
    """The median of each group, and of both the less."""
    assert reached(joint(old, new), stored, former) == index


@pytest.mark.parametrize(
    ("terms", "term", "last", "commit"),
    [
        ("112", 2, 3, 3),  # an entry of its own term, and all before with it
        ("112", 2, 2, 0),  # entries of an earlier term alone commit nothing
        ("1122", 2, 3, 3),
        ("1", 1, 1, 1),
        ("112", 3, 3, 0),  # figure 8: on a majority, and still not committed
    ],
)
def test_a_leader_commits(terms: str, term: int, last: int, commit: int) -> None:
    """B leads; A says how far its log agrees."""
    role = Leader((Progress("A", last + 1), Progress("C", 1)))
    leader = server(terms, term, role=role)
    after = core.receive(leader, "A", say.Accepted(term, 0, last), UNTIMED).server
    assert after.commit == commit


@pytest.mark.parametrize(
    ("told", "entries", "commit"),
    [(5, 1, 2), (1, 1, 1), (0, 1, 0), (9, 0, 1), (1, 0, 1), (2, 2, 2)],
)
def test_a_follower_commits_no_further_than_it_knows_to_agree(
    told: int, entries: int, commit: int
) -> None:
    """The lesser of the leader's commit index and the last entry that is known to agree."""
    new = tuple(Entry(1, 2 + i, "y") for i in range(entries))
    after = core.receive(server("1", 1), "A", say.Append(1, 1, 1, told, new), UNTIMED).server
    assert after.commit == commit


# -- logs ------------------------------------------------------------------------------------------

APPENDED = [
    # own log, before, its term, entries from there, log after, what is answered
    ("", 0, 0, "1", "1", ("accepted", 1)),
    ("1", 1, 1, "12", "112", ("accepted", 3)),
    ("11", 1, 1, "2", "12", ("accepted", 2)),  # what differs goes, with all behind it
    ("1112", 1, 1, "1", "1112", ("accepted", 2)),  # an old message takes nothing away
    ("1", 3, 1, "1", "1", ("rejected", 3, 1)),  # a gap
    ("11", 2, 2, "2", "11", ("rejected", 2, 2)),  # another entry stands there
    ("11", 1, 1, "", "11", ("accepted", 1)),  # a heartbeat agrees up to where it looked
    ("122", 1, 1, "333", "1333", ("accepted", 4)),
    ("1222", 1, 1, "3", "13", ("accepted", 2)),  # the log is shorter then
]


@pytest.mark.parametrize(("own", "before", "of_term", "terms", "result", "reply"), APPENDED)
def test_entries_of_a_leader(
    own: str, before: int, of_term: int, terms: str, result: str, reply: tuple[Any, ...]
) -> None:
    """Log matching: entries fit only behind one that both logs have."""
    entries = tuple(Entry(int(t), before + i, f"x{before + i}") for i, t in enumerate(terms, 1))
    output = core.receive(server(own, 4), "A", say.Append(4, before, of_term, 0, entries), UNTIMED)
    assert "".join(str(e.term) for e in output.server.log) == result
    said = answer(output)
    rest = (said.last,) if reply[0] == "accepted" else (said.mismatch, said.last)
    assert (said.__struct_config__.tag, *rest) == reply
    kept = (
        len(own)
        if result.startswith(own)
        else next(i for i, (a, b) in enumerate(zip(own, result, strict=False)) if a != b)
    )
    assert output.written.entries == output.server.log.part(kept + 1)
    assert output.written.cut == (kept + 1 if kept < len(own) else 0)


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        (say.Append(1, 0, 0, 0), say.Rejected(2, 0, 0, 1, 1)),
        (say.ReadQuorum(1, 0, 1), say.Rejected(2, 0, 0, 1, 1)),
        (say.Install(1, Snapshot(5, 1)), say.Installed(2, False)),
    ],
)
def test_a_leader_of_an_older_term_is_told(message: Any, reply: Any) -> None:
    """In term 2 whoever still leads in term 1 hears of it."""
    assert answer(core.receive(server("1", 2), "A", message, UNTIMED)) == reply


def test_long_logs_are_compared_across_chunks() -> None:
    """A log of 200 entries is cut, appended to and read at any place."""
    log = log_of("1" * 200)
    assert [e.index for e in log.cut(150).part(60, 10)] == list(range(60, 70))
    assert log.cut(150).last_index == 149
    longer = log.merged((Entry(2, 130, "y"),))
    assert (longer.last_index, longer.last_term, longer.term(129)) == (130, 2, 1)
    kept = log.compacted(Snapshot(150, 1), trailing=5)
    assert (kept.first_index, kept.term(146), kept.term(145)) == (146, 1, None)
    assert kept.matches(100, 9)


# -- progress --------------------------------------------------------------------------------------

P, PIPE, SNAP = "probe", "pipeline", "snapshot"
STRAY = [
    (Progress("A", 5, 3, P), 4, 9, False),
    (Progress("A", 5, 3, P), 3, 9, True),  # agrees there already
    (Progress("A", 6, 3, P), 4, 9, True),  # another probe than the last one
    (Progress("A", 5, 3, P), 4, 2, True),  # its log was shorter then
    (Progress("A", 5, 3, P), 4, 3, False),  # all that it has agrees
    (Progress("A", 9, 3, PIPE), 8, 3, False),
    (Progress("A", 9, 3, PIPE), 8, 2, True),
    (Progress("A", 9, 3, PIPE), 4, 9, False),
    (Progress("A", 9, 3, PIPE), 3, 9, True),
    (Progress("A", 5, 3, SNAP), 4, 9, True),  # any, while a snapshot is on its way
]


@pytest.mark.parametrize(("known", "mismatch", "last", "stray"), STRAY)
def test_stray_rejections_are_told_apart(
    known: Progress, mismatch: int, last: int, stray: bool
) -> None:
    """An old rejection says nothing of a log that has grown since."""
    assert flow.is_stray(known, mismatch, last) is stray


@pytest.mark.parametrize(
    ("known", "mismatch", "last", "following"),
    [
        (Progress("A", 9, 2, PIPE, (3, 5, 8)), 8, 4, 5),  # its log ends at 4
        (Progress("A", 9, 2, PIPE), 5, 8, 5),
        (Progress("A", 5, 0, P, (5,)), 4, 9, 4),
        (Progress("A", 2, 0, P, (2,)), 1, 0, 1),
        (Progress("A", 9, 3, PIPE), 4, 3, 4),
    ],
)
def test_a_rejection_says_where_to_probe(
    known: Progress, mismatch: int, last: int, following: int
) -> None:
    """Before the mismatch, and not behind the end of the follower's log."""
    after = flow.rejected(known, mismatch, last)
    assert (after.mode, after.next, after.in_flight) == (P, following, ())


@pytest.mark.parametrize(
    ("known", "last", "result"),
    [
        (Progress("A", 2, 0, P, (2,)), 1, Progress("A", 2, 1, PIPE)),
        (Progress("A", 2, 0, P, (2,)), 5, Progress("A", 6, 5, PIPE)),
        (Progress("A", 9, 2, PIPE, (3, 6, 8)), 5, Progress("A", 9, 5, PIPE, (6, 8))),
        (Progress("A", 9, 2, PIPE, (3, 6, 8)), 8, Progress("A", 9, 8, PIPE)),  # two answers lost
        (Progress("A", 9, 2, PIPE, (3, 8)), 2, Progress("A", 9, 2, PIPE, (3, 8))),  # a heartbeat's
        (Progress("A", 9, 6, PIPE), 5, Progress("A", 9, 6, PIPE)),  # an old answer
        (Progress("A", 9, 2, SNAP), 5, Progress("A", 9, 5, SNAP)),
        (Progress("A", 9, 2, SNAP), 8, Progress("A", 9, 8, PIPE)),
        (Progress("A", 9, 2, SNAP), 11, Progress("A", 12, 11, PIPE)),
    ],
)
def test_an_acceptance_lets_entries_flow(known: Progress, last: int, result: Progress) -> None:
    """One frees all that went before it. While a snapshot is on its way, only one of the snapshot's
    last entry, or of a later one, says that it need not be waited for.
    """
    assert flow.accepted(known, last) == result


@pytest.mark.parametrize(
    ("known", "may"),
    [
        (Progress("A", 1, 0, P), True),
        (Progress("A", 1, 0, P, (1,)), False),  # one probe at a time
        (Progress("A", 1, 0, PIPE, (1,)), True),
        (Progress("A", 1, 0, PIPE, (1, 2)), False),  # the window is full
        (Progress("A", 1, 0, SNAP), False),
    ],
)
def test_the_flow_to_a_follower(known: Progress, may: bool) -> None:
    """With room for two messages."""
    assert flow.may_send(known, 2) is may
    again = flow.ticked(known, 2)
    assert flow.may_send(again, 2) is (known.mode != SNAP)


def test_a_probe_has_one_entry_and_a_pipeline_the_rest() -> None:
    """B leads with three entries: A gets the one that it may lack, then all others at once."""
    leader = server("111", 1, role=Leader((Progress("A", 2), Progress("C", 4, 3, PIPE))))
    probe = core.remind(leader, UNTIMED)
    probes: list[Any] = [m.message for m in probe.messages if m.target == "A"]
    assert [len(each.entries) for each in probes] == [1]
    more = core.receive(probe.server, "A", say.Accepted(1, 0, 2), UNTIMED)
    assert [m.message for m in more.messages if m.target == "A"] == [
        say.Append(1, 2, 1, 3, (Entry(1, 3, "x3"),))
    ]


@pytest.mark.parametrize(
    ("terms", "other", "shared"),
    [
        ("112", "112", 3), ("112", "11", 2), ("112", "122", 1), ("2", "11", 0), ("", "1", 0),
        ("1" * 300 + "2", "1" * 300 + "3", 300), ("1" * 300, "1" * 256, 256),
    ],
)  # fmt: skip
def test_logs_share_what_they_begin_with(terms: str, other: str, shared: int) -> None:
    """Up to the first difference, whichever log is longer; across chunks, too."""
    first, second = log_of(terms), log_of(other)
    assert (first.shared(second), second.shared(first)) == (shared, shared)


def test_a_configuration_is_that_of_an_index() -> None:
    """Of the newest one up to there, the snapshot's before all of them."""
    begun, joined = Configuration(members("A B")), Configuration(members("A B C"))
    log = Log(Snapshot(configuration=begun))
    for index, data in enumerate(("x", joined, "y"), 1):
        log = log.appended(Entry(1, index, data))
    assert [log.configuration_at(at) for at in (0, 1, 2, 3)] == [begun, begun, joined, joined]
    assert log.configuration == joined
    later = log.appended(Entry(1, 4, begun)).compacted(Snapshot(4, 1, begun), 3)
    assert [later.configuration_at(at) for at in (2, 3, 4)] == [joined, joined, begun]
    bare = later.compacted(Snapshot(4, 1, begun))
    assert (list(bare), bare.configuration_at(4), bare.configuration) == ([], begun, begun)


@pytest.mark.parametrize(
    ("request_", "wish"),
    [
        ("x", "to add x"),
        ("x at B", "to add x"),
        ("snapshot at A", "to take a snapshot"),
        ("read at B after 0", "to read"),
        ("read at A after 3", "to read all up to index 3"),
        ("members A B d", "to make A B (D) the members"),
        ("transfer", "to hand over to another server"),
        ("transfer B", "to hand over to B"),
    ],
)
def test_a_wish_is_the_rest_of_a_sentence(request_: str, wish: str) -> None:
    """The server is named in the sentence itself, and nothing is said as the script writes it."""
    assert wish_text(request_) == wish


def test_what_is_cut_configures_nothing() -> None:
    """Neither what is behind the cut, nor what a snapshot stands for by now."""
    joined = Configuration(members("A B C"))
    log = Log()
    for index, data in enumerate((joined, "x", joined, "y", joined), 1):
        log = log.appended(Entry(1, index, data))
    assert log.configured == (1, 3, 5)
    assert [log.cut(at).configured for at in (6, 5, 4, 3, 2, 1)] == [
        (1, 3, 5), (1, 3), (1, 3), (1,), (1,), (),
    ]  # fmt: skip
    snapshot = Snapshot(4, 1, joined)
    kept = [log.compacted(snapshot, trailing).configured for trailing in (0, 1, 2, 3, 4)]
    assert kept == [(5,), (5,), (3, 5), (3, 5), (1, 3, 5)]


@pytest.mark.parametrize(
    ("mode", "most", "left"),
    [
        ("pipeline", 1, ()),
        ("pipeline", 2, (9,)),
        ("pipeline", 3, (8, 9)),
        ("pipeline", 4, (7, 8, 9)),
        ("pipeline", 5, (7, 8, 9)),
        ("pipeline", 6, (7, 8, 9)),
        ("probe", 6, ()),
        ("snapshot", 6, ()),
    ],
)
def test_a_tick_makes_room_in_a_full_pipeline(mode: Any, most: int, left: tuple[int, ...]) -> None:
    """The oldest message counts as lost where no other one might go."""
    p = Progress("B", 10, 6, mode, (7, 8, 9))
    assert flow.ticked(p, most) == Progress("B", 10, 6, mode, left)


@pytest.mark.parametrize(
    ("now", "before", "numbers", "former", "number", "by_one"),
    [
        ("A B C", "", {}, 0, 0, 0),
        ("A B C", "", {"A": 5}, 0, 0, 5),
        ("A B C", "", {"A": 5, "B": 3}, 0, 3, 5),
        ("A B C", "", {"A": 5, "B": 3}, 4, 4, 5),
        ("A B c", "", {"A": 5, "C": 5}, 0, 0, 5),
        ("A B", "C", {"A": 5, "B": 4}, 0, 0, 0),
        ("A B", "C", {"A": 5, "B": 4, "C": 2}, 0, 2, 2),
        ("a", "", {"A": 5}, 2, 2, 2),
    ],
)
def test_how_far_a_majority_is(
    now: str, before: str, numbers: dict[str, int], former: int, number: int, by_one: int
) -> None:
    """Who has said nothing is at 0; nobody counts who does not vote; each group must get there."""
    of = Configuration(members(now), members(before))
    assert reached(of, numbers, former) == number
    assert reached(of, numbers, former, by_majority=False) == by_one


def test_what_an_entry_holds_in_words() -> None:
    """A command is its own words; the first entry of a leader has none."""
    joint = Configuration(members("A b"), members("A"))
    assert [data_text(data) for data in (None, "x", joint)] == ["", "x", "{A}→{A (B)}"]


def test_servers_begin_with_the_vote_for_who_leads() -> None:
    """In the leader's term, unless their text names another; a leader has voted for itself."""
    m = build("raft", {"requests": (), "terms": 3, "begins": ("1 1, leads", "1", "2")})
    assert [node.server.stored.vote for node in m.start().nodes] == ["A", "A", ""]
    m = build("raft", {"requests": (), "terms": 3, "begins": ("1, leads", "1, votes C", "1")})
    assert [node.server.stored.vote for node in m.start().nodes] == ["A", "C", "A"]


@pytest.mark.parametrize(
    ("nodes", "requests", "begins", "alike"),
    [
        (1, (), (), False),
        (2, (), (), True),
        (2, ("x at A",), (), False),
        (3, ("x at A",), (), True),
        (3, (), ("1", "1", "1 1"), True),
        (3, (), ("1", "1 1", "1 1 1"), False),
    ],
)
def test_which_servers_begin_alike(nodes: int, requests: Any, begins: Any, alike: bool) -> None:
    """Two at least that no request names and whose logs are the same."""
    given = {"nodes": nodes, "members": "A B C"[: 2 * nodes - 1]}
    m = build("raft", {**given, "requests": requests, "begins": begins})
    assert (renaming_alike(m) is not None) is alike
