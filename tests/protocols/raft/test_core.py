"""One event at one server of Raft: what it becomes at the boundaries of each rule."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import Refusal
from kit.protocols.raft import core
from kit.protocols.raft import messages as say
from kit.protocols.raft.core import HANDING_OVER, IN_PROGRESS
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import (
    Answer,
    Candidate,
    Follower,
    Leader,
    Options,
    Output,
    Read,
    Server,
    Stored,
    Transfer,
    Waiting,
)
from tests.protocols.raft.driving import UNTIMED, members

GROUP = Configuration(members("A B C"))


def a_log(terms: str, names: str = "A B C") -> Log:
    """A log whose entries have these terms."""
    log = core.first_stored(members(names)).log
    for index, term in enumerate(map(int, terms), 1):
        log = log.appended(Entry(term, index, f"x{index}"))
    return log


def a_server(terms: str = "", commit: int = 0, term: int = 0, **more: Any) -> Server:
    """A of A, B and C with such a log, in the term of its last entry or in this one."""
    names = more.pop("names", "A B C")
    return Server(
        "A", Stored(term or int(terms[-1:] or 0), "", a_log(terms, names), commit), **more
    )


def leading(terms: str = "1", commit: int = 1, **more: Any) -> Server:
    """It leads B and C, which have all its entries."""
    reign = {name: more.pop(name) for name in ("transfer", "reads") if name in more}
    known = tuple(Progress(name, len(terms) + 1, len(terms), "pipeline") for name in "BC")
    return a_server(terms, commit, role=Leader(known, **reign), **more)


def did(output: Output | Refusal) -> Output:
    """What came of it, since it was not refused."""
    assert isinstance(output, Output), output
    return output


@pytest.mark.parametrize(("draw", "timeout"), [(0, 10), (1, 1), (17, 17)])
def test_a_server_begins_with_the_timeout_that_is_drawn(draw: int, timeout: int) -> None:
    """Without one it waits as long as an election takes."""
    output = core.restart("A", core.first_stored(members("A B C")), Options(election=10), draw)
    assert output.server.timeout == timeout


@pytest.mark.parametrize(
    ("names", "alive", "elapsed"),
    [("A B C", "B", 0), ("A B C", "C", 4), ("A b C", "B", 4), ("A B C", "", 4)],
)
def test_only_a_leader_that_votes_and_lives_is_waited_for(
    names: str, alive: str, elapsed: int
) -> None:
    """B leads: who goes by a failure detector counts ticks unless it is alive, and a voter."""
    server = a_server("1", names=names, role=Follower("B"), elapsed=3, timeout=9)
    assert core.tick(server, Options(), alive.split()).server.elapsed == elapsed


@pytest.mark.parametrize("role", [Follower("B"), Follower(), Candidate(False, ("A",))])
def test_only_a_leader_steps_down(role: Any) -> None:
    """Nobody else changes; nor does a leader campaign, nor who follows remind anybody."""
    server = a_server("1", role=role)
    assert core.step_down(server, UNTIMED).server == server
    assert core.remind(server, UNTIMED).messages == ()
    assert core.step_down(leading(), UNTIMED).server.role == Follower()
    assert core.campaign(leading(), UNTIMED).server == leading()


@pytest.mark.parametrize(
    ("options", "draw", "elapsed", "timeout"),
    [(UNTIMED, 0, 7, 17), (Options(), 0, 0, 17), (Options(election=7), 5, 0, 5)],
)
def test_who_follows_begins_to_wait(
    options: Options, draw: int, elapsed: int, timeout: int
) -> None:
    """By its clock, as long as is drawn, or as before; without clocks nothing is counted."""
    server = leading(elapsed=7, timeout=17)
    output = core.tick(server, options, (), draw) if draw else core.step_down(server, options)
    assert output.server.role == Follower()
    assert (output.server.elapsed, output.server.timeout) == (elapsed, timeout)


@pytest.mark.parametrize(
    ("edition", "alive", "was", "elapsed", "role"),
    [
        ("server", "B", 3, 0, Leader),
        ("server", "", 3, 4, Leader),
        ("server", "", 9, 0, Follower),
        ("documents", "B", 3, 4, Leader),
        ("documents", "", 9, 0, Follower),
    ],
)
def test_a_leader_counts_ticks(
    edition: Any, alive: str, was: int, elapsed: int, role: type[Any]
) -> None:
    """While a majority is alive there are none; with heartbeats it looks once in a timeout."""
    output = core.tick(leading(elapsed=was), Options(edition), alive.split())
    assert (output.server.elapsed, type(output.server.role)) == (elapsed, role)


def test_a_leader_that_was_heard_goes_on() -> None:
    """B has answered within the timeout: from now on it has to do so again."""
    known = leading(elapsed=9)
    heard = replace(known, role=replace(known.role, heard=("B",)))
    server = core.tick(heard, Options("documents"), ()).server
    assert isinstance(server.role, Leader)
    assert (server.elapsed, server.role.heard) == (0, ())


@pytest.mark.parametrize(("source", "asked"), [("B", []), ("C", ["C"])])
def test_a_voter_is_asked_until_it_has_answered(source: str, asked: list[str]) -> None:
    """B has refused; of C the candidate has heard nothing."""
    server = a_server("1", term=2, role=Candidate(False, ("A",), ("B",)))
    output = core.receive(server, source, say.Rejected(2, 0, 0, 0), UNTIMED)
    assert [sent.target for sent in output.messages] == asked
    assert {sent.message for sent in output.messages} <= {say.VoteRequest(2, 1, 1)}


def test_who_stays_a_member_is_as_far_as_before() -> None:
    """D is new, and begins with the entry that makes it a member."""
    output = did(core.configure(leading(), members("A B D"), UNTIMED))
    assert isinstance(output.server.role, Leader)
    every = {each.id: (each.match, each.next) for each in output.server.role.progress}
    assert every == {"B": (1, 3), "C": (1, 3), "D": (0, 2)}
    written = did(core.submit(output.server, "x", UNTIMED)).server
    assert isinstance(written.role, Leader)
    assert {each.id: each.match for each in written.role.progress} == {"B": 1, "C": 1, "D": 0}


@pytest.mark.parametrize(
    ("edition", "timers", "heard"),
    [
        ("documents", True, ("B", "C", "D", "E", "F")),
        ("documents", False, ()),
        ("server", True, ()),
        ("server", False, ()),
    ],
)
def test_who_was_heard_of_late(edition: Any, timers: bool, heard: tuple[str, ...]) -> None:
    """In the order of names, by a leader that goes by messages and a clock."""
    role = Leader(tuple(Progress(name, 2, 1, "pipeline") for name in "BCDEF"))
    server = a_server("1", 1, names="A B C D E F", role=role)
    for name in "EBFDC":
        said = say.Accepted(1, 1, 1)
        server = core.receive(server, name, said, Options(edition, timers=timers)).server
    assert isinstance(server.role, Leader)
    assert server.role.heard == heard


def test_who_is_no_member_any_more_leads_until_its_heir_has_all() -> None:
    """B has the last entry now: A follows nobody, and there is nothing else for it to do."""
    known = Progress("B", 2), Progress("C", 2)
    server = a_server("1", 1, names="B C", role=Leader(known, transfer=Transfer()))
    output = core.receive(server, "B", say.Accepted(1, 0, 1), UNTIMED)
    assert output.server.role == Follower()
    assert [(sent.target, sent.message) for sent in output.messages] == [("B", say.TimeoutNow(1))]


def test_a_stranger_that_asks_who_leads_has_no_answer() -> None:
    """A member has one; D has been removed, and nobody counts on it."""
    for name, answers in (("B", [say.Append(1, 1, 1, 1)]), ("D", [])):
        output = core.receive(leading(), name, say.Rejected(1, 0, 0, 0), UNTIMED)
        assert [sent.message for sent in output.messages] == answers


@pytest.mark.parametrize(
    ("mode", "success", "after", "sent"),
    [
        ("snapshot", True, "probe", [say.Append(1, 1, 1, 1, (Entry(1, 2, "x2"),))]),
        ("snapshot", False, "probe", []),
        ("pipeline", True, "pipeline", []),  # an old answer
    ],
)
def test_a_snapshot_has_arrived(mode: Any, success: bool, after: str, sent: list[Any]) -> None:
    """It says nothing of what B knows to be committed."""
    known = Progress("B", 2, 1, mode), Progress("C", 3, 2, "pipeline")
    server = replace(leading("11"), role=Leader(known))
    output = core.receive(server, "B", say.Installed(1, success), UNTIMED)
    assert isinstance(output.server.role, Leader)
    now = output.server.role.progress[0]
    assert (now.mode, now.match, now.commit) == (after, 1, 0)
    assert [each.message for each in output.messages] == sent


@pytest.mark.parametrize(
    ("index", "answers", "left"),
    [
        (None, (Answer("q", "refused", 0, "C"),), [("p", 0)]),
        (1, (Answer("q", "read", 1),), [("p", 0)]),
        (2, (), [("p", 0), ("q", 2)]),  # it has to apply that first
    ],
)
def test_what_a_reader_is_told(
    index: int | None, answers: tuple[Answer, ...], left: list[tuple[str, int]]
) -> None:
    """Another reader waits on."""
    waiting = Waiting("p", "read"), Waiting("q", "read")
    server = a_server("11", 1, role=Follower("B"), waiting=waiting, applied=1)
    output = core.receive(server, "B", say.ReadReply("q", index, "C"), UNTIMED)
    assert output.answers == answers
    assert [(each.request, each.index) for each in output.server.waiting] == left


@pytest.mark.parametrize(
    ("index", "answers", "left"),
    [
        (0, (Answer("q", "refused", 0, "C"),), [("p", 0)]),
        (1, (Answer("q", "committed", 1),), [("p", 0)]),
        (2, (), [("p", 0), ("q", 2)]),
    ],
)
def test_what_a_writer_is_told(
    index: int, answers: tuple[Answer, ...], left: list[tuple[str, int]]
) -> None:
    """Who takes nothing names the leader; entry 1 is committed here already."""
    waiting = Waiting("p", "committed"), Waiting("q", "committed")
    server = a_server("11", 1, role=Follower("B"), waiting=waiting)
    output = core.receive(server, "B", say.ForwardReply("q", 1, index, "C"), UNTIMED)
    assert output.answers == answers
    assert [(each.request, each.index) for each in output.server.waiting] == left


@pytest.mark.parametrize(
    ("until", "commit", "applied", "outcome"),
    [
        ("committed", 1, 1, None),
        ("committed", 2, 1, "committed"),
        ("applied", 2, 1, None),
        ("applied", 2, 2, "applied"),
        ("read", 2, 1, None),
        ("read", 2, 2, "read"),
    ],
)
def test_how_long_a_client_waits(
    until: Any, commit: int, applied: int, outcome: str | None
) -> None:
    """For entry 2 to be committed, or to be applied here."""
    waiting = (Waiting("q", until, 1, 2),)
    server = a_server("11", commit, role=Follower("B"), waiting=waiting)
    output = core.apply(server, applied, UNTIMED)
    assert [each.outcome for each in output.answers] == ([outcome] if outcome else [])
    assert output.server.waiting == (() if outcome else waiting)


@pytest.mark.parametrize(
    ("names", "commit", "until", "outcome"),
    [
        ("A B", 2, "committed", None),
        ("B C", 2, "committed", "unknown"),
        ("B C", 1, "committed", None),  # A may stay yet
        ("B C", 2, "read", None),
    ],
)
def test_who_is_no_member_any_more_knows_nothing(
    names: str, commit: int, until: Any, outcome: str | None
) -> None:
    """Once its removal, entry 2, is committed: what comes of entry 4 it may never hear."""
    log = a_log("1").appended(Entry(1, 2, Configuration(members(names))))
    waiting = (Waiting("q", until, 1, 4),)
    server = Server("A", Stored(1, "", log, commit), Follower("B"), waiting=waiting)
    output = core.give_up(server, "another", UNTIMED)
    assert [each.outcome for each in output.answers] == ([outcome] if outcome else [])


def test_nobody_waits_without_a_request() -> None:
    """Who does not say what it asks for is told nothing."""
    for request, waiting in (("", ()), ("q", ("q",))):
        server = did(core.submit(leading(), "x", UNTIMED, request)).server
        assert tuple(each.request for each in server.waiting) == waiting


@pytest.mark.parametrize(("said", "known"), [(0, 1), (1, 1), (2, 2), (3, 3)])
def test_an_answer_says_what_is_known_and_brings_more(said: int, known: int) -> None:
    """B has said before that it knows entry 1 as committed; now it has two of four."""
    begun = Progress("B", 2, 1, in_flight=(2,), commit=1), Progress("C", 5, 4, "pipeline")
    server = replace(leading("1111", 4), role=Leader(begun))
    output = core.receive(server, "B", say.Accepted(1, said, 2), UNTIMED)
    assert isinstance(output.server.role, Leader)
    assert output.server.role.progress[0] == Progress("B", 5, 2, "pipeline", (4,), known)
    more = tuple(Entry(1, index, f"x{index}") for index in (3, 4))
    assert [sent.message for sent in output.messages] == [say.Append(1, 2, 1, 4, more)]


@pytest.mark.parametrize(
    ("role", "term", "asked"),
    [
        (Follower("B"), 2, ["B", "C"]),
        (Candidate(False, ("A",)), 1, []),
        (Candidate(True, ("A",)), 1, []),
    ],
)
def test_only_a_follower_takes_over(role: Any, term: int, asked: list[str]) -> None:
    """It asks for votes at once, in a new term; who asks already goes on with that."""
    output = core.receive(a_server("1", 1, role=role), "B", say.TimeoutNow(1), UNTIMED)
    assert output.server.term == term
    assert [sent.target for sent in output.messages] == asked
    assert {sent.message for sent in output.messages} <= {say.VoteRequest(2, 1, 1, forced=True)}


@pytest.mark.parametrize(("number", "answered"), [(0, 0), (1, 1), (2, 2)])
def test_a_read_is_answered_once(number: int, answered: int) -> None:
    """Once A and B are a majority behind it; the others wait on."""
    reads = tuple(Read(each, 1, "C", f"r{each}") for each in (1, 2))
    server = leading(reads=reads)
    server = replace(server, role=replace(server.role, barrier=2))
    output = core.receive(server, "B", say.ReadQuorumReply(1, 1, number), UNTIMED)
    assert isinstance(output.server.role, Leader)
    assert output.server.role.reads == reads[answered:]
    assert [sent.message for sent in output.messages] == [
        say.ReadReply(each.request, 1, "A") for each in reads[:answered]
    ]


@pytest.mark.parametrize(("names", "heirs"), [("A B C", ["B"]), ("A b C", [])])
def test_only_a_voter_is_an_heir(names: str, heirs: list[str]) -> None:
    """B has all entries, C has none: without a vote B cannot lead."""
    known = Progress("B", 2, 1, "pipeline"), Progress("C", 1)
    server = replace(leading(names=names), role=Leader(known))
    output = did(core.transfer(server, UNTIMED))
    told = [sent.target for sent in output.messages if isinstance(sent.message, say.TimeoutNow)]
    assert told == heirs


@pytest.mark.parametrize(("target", "reason"), [("B", ""), ("C", "C is not a voter")])
def test_who_is_about_to_go_does_not_take_over(target: str, reason: str) -> None:
    """While A and C become A and B, only the new voters may lead next."""
    changing = Configuration(members("A B"), members("A C"))
    server = leading()
    log = server.log.appended(Entry(1, 2, changing))
    server = replace(server, stored=replace(server.stored, log=log))
    result = core.transfer(server, UNTIMED, target)
    assert result == Refusal(reason) if reason else isinstance(result, Output)


@pytest.mark.parametrize("edition", ["server", "documents"])
def test_while_it_hands_over_nothing_new_is_accepted(edition: Any) -> None:
    """Neither members nor commands, its own and forwarded ones."""
    options, server = Options(edition, timers=False), leading(transfer=Transfer("B"))
    assert core.configure(server, members("A B"), options) == HANDING_OVER
    assert core.submit(server, "x", options) == HANDING_OVER
    asked = core.receive(server, "B", say.Forward("r", "x"), options)
    assert [sent.message for sent in asked.messages] == [say.ForwardReply("r", 1, 0, "A")]
    assert asked.server.log == server.log
    did(core.configure(leading(), members("A B"), options))


@pytest.mark.parametrize(
    ("joint", "index", "commit", "refused"),
    [
        (True, 2, 1, True),
        (True, 2, 2, True),  # committed, but not left yet
        (False, 2, 1, True),
        (False, 2, 2, False),
        (False, 0, 2, False),
    ],
)
def test_a_change_waits_for_the_one_before(
    joint: bool, index: int, commit: int, refused: bool
) -> None:
    """Until its entry is committed, and a joint configuration is left."""
    changed = Configuration(members("A B C"), members("A B") if joint else ())
    entries = [Entry(1, n, changed if n == index else "x") for n in (1, 2)]
    log = a_log("").merged(tuple(entries))
    server = Server("A", Stored(1, "A", log, commit), leading("11", 2).role)
    result = core.configure(server, members("A C"), UNTIMED)
    assert result == IN_PROGRESS if refused else isinstance(result, Output)


def test_who_gives_up_is_one_client() -> None:
    """Others go on waiting; a read that nobody waits for is refused, a command is unknown."""
    waiting = tuple(Waiting(name, "read" if name == "q" else "committed") for name in "pqr")
    server = a_server("1", role=Follower("B"), waiting=waiting)
    for name, outcome in (("p", "unknown"), ("q", "refused")):
        output = core.give_up(server, name, UNTIMED)
        assert [(each.request, each.outcome) for each in output.answers] == [(name, outcome)]
        assert [each.request for each in output.server.waiting] == [
            each for each in "pqr" if each != name
        ]
    assert core.give_up(server, "s", UNTIMED).answers == ()


@pytest.mark.parametrize(("leader", "asked"), [("", ["B", "C"]), ("B", [])])
def test_only_who_knows_no_leader_asks_for_it(leader: str, asked: list[str]) -> None:
    """All other voters are asked."""
    output = core.ping(a_server("1", role=Follower(leader)), UNTIMED)
    assert [sent.target for sent in output.messages] == asked
    assert {sent.message for sent in output.messages} <= {say.Rejected(1, 0, 0, 0)}


@pytest.mark.parametrize(
    ("timers", "elapsed", "answered"),
    [(True, 0, False), (True, 4, False), (True, 5, True), (True, 9, True),
     (False, 0, False), (False, 9, False)],
)  # fmt: skip
def test_how_long_a_leader_was_heard_of_late(timers: bool, elapsed: int, answered: bool) -> None:
    """Until the shortest wait for an election has passed; without clocks as long as it follows."""
    options = Options("documents", election=5, timers=timers)
    server = a_server("1", role=Follower("B"), elapsed=elapsed, timeout=20)
    output = core.receive(server, "C", say.VoteRequest(2, 1, 1), options)
    assert bool(output.messages) is answered
    assert output.server.term == (2 if answered else 1)


@pytest.mark.parametrize("left", [None, 1, 2, 3])
def test_a_transfer_has_so_many_ticks(left: int | None) -> None:
    """One without a number is never given up."""
    output = core.tick(leading(transfer=Transfer("B", left=left)), Options(), "BC")
    assert isinstance(output.server.role, Leader)
    kept = output.server.role.transfer
    assert output.aborted is (left == 1)
    assert kept == (None if left == 1 else Transfer("B", left=None if left is None else left - 1))


@pytest.mark.parametrize(("edition", "beats"), [("documents", [1, 1, 1]), ("server", [0, 0, 0])])
def test_a_heartbeat_each_tick(edition: Any, beats: list[int]) -> None:
    """The shortest that there is; the server has none of any length."""
    known = tuple(Progress(name, 2, 1, "pipeline", commit=1) for name in "BC")
    server, counts = replace(leading(), role=Leader(known)), []
    for _ in range(3):
        output = core.tick(server, Options(edition, heartbeat=1), "BC")
        counts.append(sum(sent.target == "B" for sent in output.messages))
        server = output.server
    assert counts == beats


@pytest.mark.parametrize(
    ("server", "source", "read"),
    [
        (leading("1", 1), "B", True),
        (leading("1", 1), "D", False),  # no member
        (leading("12", 1), "B", False),  # nothing of its term is committed yet
        (a_server("1", 1, role=Follower("B")), "C", False),
        (a_server("1", 1, role=Candidate(False, ("A",))), "B", False),
    ],
)
def test_who_may_say_what_can_be_read(server: Server, source: str, read: bool) -> None:
    """A leader that has committed in its own term, to a member; it asks the voters first."""
    output = core.receive(server, source, say.ReadRequest("r"), UNTIMED)
    kinds = [type(sent.message) for sent in output.messages]
    if read:
        assert kinds == [say.ReadQuorum, say.ReadQuorum]
        return
    leader = server.leader
    assert [sent.message for sent in output.messages] == [say.ReadReply("r", None, leader)]


@pytest.mark.parametrize(
    ("waits", "terms", "commit", "outcome"),
    [
        (Waiting("p", "committed", 1, 4), "122", 3, "dropped"),  # one of term 2 is committed
        (Waiting("p", "committed", 1, 4), "122", 1, "unknown"),
        (Waiting("p", "committed", 1, 5), "122", 3, None),  # another index
        (Waiting("p", "committed", 2, 4), "122", 3, None),  # of the same term
        (Waiting("p", "committed", 3, 4), "122", 3, None),  # of a later one
        (Waiting("p", "committed"), "122", 3, None),  # nobody has said yet which
    ],
)
def test_an_index_that_is_given_again(
    waits: Waiting, terms: str, commit: int, outcome: str | None
) -> None:
    """Who waits for the same index of an older term is told what can be told; others wait on."""
    new = Waiting("q", "committed")
    server = a_server(terms, commit, role=Follower("B"), waiting=(waits, new))
    output = core.receive(server, "B", say.ForwardReply("q", 2, 4, "B"), UNTIMED)
    told = [(each.request, each.outcome) for each in output.answers]
    assert told == ([] if outcome is None else [("p", outcome)])
    assert output.server.waiting == (*([waits] * (outcome is None)), replace(new, term=2, index=4))


@pytest.mark.parametrize(
    ("snapshot", "waits", "outcome"),
    [
        (Snapshot(3, 2, GROUP), Waiting("p", "committed", 2, 2), "committed"),
        (Snapshot(3, 2, GROUP), Waiting("p", "committed", 1, 2), "unknown"),
        (Snapshot(3, 2, GROUP), Waiting("p", "committed", 2, 3), "committed"),
        (Snapshot(3, 2, GROUP), Waiting("p", "committed", 1, 3), "dropped"),
        (Snapshot(3, 2, GROUP), Waiting("p", "committed", 2, 4), None),
    ],
)
def test_what_a_snapshot_says_to_who_waits(
    snapshot: Snapshot, waits: Waiting, outcome: str | None
) -> None:
    """An entry of its own term is in it; of another one, only the last is known."""
    server = a_server("1", 1, term=2, role=Follower("B"), waiting=(waits,))
    output = core.receive(server, "B", say.Install(2, snapshot), UNTIMED)
    assert [each.outcome for each in output.answers] == ([] if outcome is None else [outcome])


@pytest.mark.parametrize(
    ("applied", "snapshot", "taken"), [(0, 0, False), (1, 0, True), (2, 2, False), (3, 2, True)]
)
def test_a_snapshot_is_of_what_was_applied_since(applied: int, snapshot: int, taken: bool) -> None:
    """With the term of the last entry that it holds."""
    log = a_log("1223")
    if snapshot:
        log = log.compacted(Snapshot(snapshot, 2, GROUP))
    server = Server("A", Stored(3, "", log, 4), Follower("B"), applied=applied)
    result = core.take_snapshot(server, "state", UNTIMED)
    if not taken:
        assert result == Refusal("A has applied nothing since its last snapshot")
        return
    term = {1: 1, 3: 2}[applied]
    assert did(result).server.log.snapshot == Snapshot(applied, term, GROUP, "state")


@pytest.mark.parametrize(("names", "heirs"), [("B C", 1), ("A B", 0), ("a B C", 1)])
def test_a_leader_that_votes_no_more_hands_over(names: str, heirs: int) -> None:
    """Once the change is committed, and to a voter that has all entries."""
    options = Options("documents", timers=False)
    changed = did(core.configure(leading(), members(names), options)).server
    output = core.receive(changed, "B", say.Accepted(1, 1, 2), options)
    output2 = core.receive(output.server, "C", say.Accepted(1, 1, 2), options)
    sent = [type(each.message) for each in (*output.messages, *output2.messages)]
    assert sent.count(say.TimeoutNow) == heirs
