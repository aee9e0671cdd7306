"""The published rules of Raft, as rows that were worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import Refusal
from kit.protocols.raft import core
from kit.protocols.raft import messages as say
from kit.protocols.raft.rules import progress as flow
from kit.protocols.raft.rules.configuration import Configuration, Member, reached, tally
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import Candidate, Follower, Leader, Options, Output, Server, Stored
from tests.protocols.raft.driving import UNTIMED, members
from tests.published import INDEX, LEAST, cases, rows, tables

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
def test_a_vote_is_given_once_a_term_to_a_newer_log(
    log: str, term: int, vote: str, leader: str, asking: Any, granted: bool
) -> None:
    """Edition server: at least as new as the voter's. A pre-vote changes neither term nor vote."""
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
def test_in_edition_documents_a_voter_that_hears_its_leader_stays_silent(
    options: Options, leader: str, trial: bool, forced: bool, answered: bool
) -> None:
    """A handed over election passes that, and the server has no such rule."""
    voter = server("1", 1, role=Follower(leader))
    result = core.receive(voter, "A", say.VoteRequest(2, 1, 1, trial, forced), options)
    assert bool(result.messages) is answered
    assert result.server.term == (2 if answered and not trial else 1)


@pytest.mark.parametrize(
    ("term", "trial", "answered"), [(1, False, False), (1, True, True), (2, True, True)]
)
def test_a_vote_request_of_an_old_term_is_dropped(term: int, trial: bool, answered: bool) -> None:
    """A pre-vote is refused with the newer term."""
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
def test_a_candidate_counts_its_own_votes(trial: bool, reply: Any, role: str, term: int) -> None:
    """A pre-vote is no vote; a reply of a newer term ends the candidacy."""
    asking = server("1", 1, vote="B", role=Candidate(trial, ("B",)))
    after = core.receive(asking, "A", reply, UNTIMED).server
    assert (after.role.__struct_config__.tag, after.term) == (role, term)


def test_refusals_of_a_majority_end_an_election() -> None:
    """Two of three."""
    asking = server("1", 1, vote="B", role=Candidate(False, ("B",)))
    once = core.receive(asking, "A", say.VoteReply(1, False), UNTIMED).server
    assert isinstance(once.role, Candidate)
    assert core.receive(once, "C", say.VoteReply(1, False), UNTIMED).server.role == Follower()


def test_a_leader_that_hears_of_a_newer_term_follows() -> None:
    """Without a vote; a pre-vote does not depose it."""
    leader = server("1", 1, vote="B", role=Leader((Progress("A", 1), Progress("C", 1))))
    after = core.receive(leader, "A", say.Append(3, 0, 0, 0), UNTIMED).server
    assert (after.role, after.term, after.stored.vote) == (Follower("A"), 3, "")
    trial = core.receive(leader, "A", say.VoteRequest(3, 5, 1, True), UNTIMED).server
    assert trial.role == leader.role


# -- the commit index ------------------------------------------------------------------------------


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
def test_a_leader_commits_by_its_own_term(terms: str, term: int, last: int, commit: int) -> None:
    """An entry of its own term, and all before it; A says how far its log agrees."""
    role = Leader((Progress("A", last + 1), Progress("C", 1)))
    leader = server(terms, term, role=role)
    after = core.receive(leader, "A", say.Accepted(term, 0, last), UNTIMED).server
    assert after.commit == commit


@pytest.mark.parametrize(
    ("told", "entries", "commit"),
    [(5, 1, 2), (1, 1, 1), (0, 1, 0), (9, 0, 1), (1, 0, 1), (2, 2, 2)],
)
def test_a_follower_commits_only_what_is_known_to_agree(
    told: int, entries: int, commit: int
) -> None:
    """The lesser of the leader's commit index and the last entry that agrees."""
    new = tuple(Entry(1, 2 + i, "y") for i in range(entries))
    after = core.receive(server("1", 1), "A", say.Append(1, 1, 1, told, new), UNTIMED).server
    assert after.commit == commit


# -- logs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        (say.Append(1, 0, 0, 0), say.Rejected(2, 0, 0, 1, 1)),
        (say.ReadQuorum(1, 0, 1), say.Rejected(2, 0, 0, 1, 1)),
        (say.Install(1, Snapshot(5, 1)), say.Installed(2, False)),
    ],
)
def test_a_leader_of_an_older_term_is_told_the_newer_term(message: Any, reply: Any) -> None:
    """In the answer to its append, barrier or snapshot."""
    assert answer(core.receive(server("1", 2), "A", message, UNTIMED)) == reply


def test_a_long_log_is_cut_merged_and_compacted_across_chunks() -> None:
    """200 entries."""
    log = log_of("1" * 200)
    assert [e.index for e in log.cut(150).part(60, 10)] == list(range(60, 70))
    assert log.cut(150).last_index == 149
    longer = log.merged((Entry(2, 130, "y"),))
    assert (longer.last_index, longer.last_term, longer.term(129)) == (130, 2, 1)
    kept = log.compacted(Snapshot(150, 1), trailing=5)
    assert (kept.first_index, kept.term(146), kept.term(145)) == (146, 1, None)
    assert kept.matches(100, 9)


# -- progress --------------------------------------------------------------------------------------


def test_a_probe_carries_a_single_entry_and_its_answer_the_rest() -> None:
    """B leads with three entries, of which A may lack two."""
    leader = server("111", 1, role=Leader((Progress("A", 2), Progress("C", 4, 3, "pipeline"))))
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
def test_two_logs_share_all_before_their_difference(terms: str, other: str, shared: int) -> None:
    """Across chunks as well."""
    first, second = log_of(terms), log_of(other)
    assert (first.shared(second), second.shared(first)) == (shared, shared)


FILES = tables(__file__)


GROUP = Configuration(members("A B C"))


CASES = cases(FILES)


def those(names: str) -> tuple[Member, ...]:
    """Members by their letters, with blanks between them or without; small ones do not vote."""
    return members(" ".join(names.replace(" ", "").replace("-", "")))


def shown(members: tuple[Member, ...]) -> str:
    """The same the other way round, those that vote first."""
    letters = (each.id if each.can_vote else each.id.lower() for each in members)
    return " ".join(sorted(letters))


def as_log(terms: str, group: Configuration = GROUP) -> Log:
    """Entries of these terms, a digit each."""
    log = Log(Snapshot(configuration=group))
    for index, term in enumerate(terms.replace("-", ""), start=1):
        log = log.appended(Entry(int(term), index, "x"))
    return log


def terms(log: Log) -> str:
    """The same the other way round."""
    return "".join(str(each.term) for each in log) or "-"


def follower(log: str, known: str) -> Server:
    """B follows A in term 9."""
    return Server("B", Stored(9, "", as_log(log), int(known)), Follower("A"), applied=int(known))


# -- votes and indexes -----------------------------------------------------------------------------


def votes(former: str, now: str, granted: str, refused: str) -> str:
    """What they come to."""
    of = Configuration(those(now), those(former))
    return tally(of, granted.upper().split(), refused.upper().split())


def commit_index(former: str, now: str, stored: str, known: str) -> str:
    """Up to where all is committed."""
    pairs = (each.split() for each in stored.split(", "))
    numbers = {name: int(index) for name, index in pairs}
    return str(reached(Configuration(those(now), those(former)), numbers, int(known)))


# -- logs ------------------------------------------------------------------------------------------


def entries(log: str, known: str, after: str, of: str, new: str, leader_knows: str) -> str:
    """What a follower answers, its log and its commit index."""
    begins = int(after) + 1
    sent = enumerate(new.replace("-", ""), start=begins)
    message = say.Append(
        9, begins - 1, int(of), int(leader_knows), tuple(Entry(int(t), at, "x") for at, t in sent)
    )
    output = core.receive(follower(log, known), "A", message, UNTIMED)
    [answer] = (each.message for each in output.messages)
    if isinstance(answer, say.Accepted):
        said = f"accepted {answer.last}"
    else:
        assert isinstance(answer, say.Rejected)
        said = f"rejected {answer.mismatch}: {answer.last} {answer.last_term}"
    return f"{said}; {terms(output.server.log)}; {output.server.commit}"


def configurations(log: str, covered: str, kept: str) -> str:
    """Who is a member by a log and a snapshot, and the index that says so."""
    made = Log(Snapshot(configuration=Configuration(those("A"))))
    for index, each in enumerate(log.replace("-", "").split(), start=1):
        made = made.appended(Entry(1, index, "x" if each == "." else Configuration(those(each))))
    if covered != "-":
        at = int(covered)
        made = made.compacted(Snapshot(at, 1, made.configuration_at(at)), int(kept))
    return f"{''.join(made.configuration.members)}; {made.configured_at}"


def changes(before: str, wanted: str) -> str:
    """What the leader's log says of the members, in each edition."""
    held = Configuration(those(before))
    log = Log().appended(Entry(1, 1, held)).appended(Entry(1, 2, "x"))
    leads = Leader(tuple(Progress(each, 3, 2) for each in held.members))
    leader = Server("A", Stored(1, "A", log, 2), leads, applied=2)
    said = []
    for edition in ("documents", "server"):
        output = core.configure(leader, those(wanted), Options(edition, timers=False))
        if isinstance(output, Refusal):
            said.append("refused")
            continue
        made = next(e.data for e in output.server.log if e.index == 3)
        assert isinstance(made, Configuration)
        sides = (made.previous, made.current) if made.is_joint else (made.current,)
        said.append(" & ".join(shown(each) for each in sides))
    return "; ".join(said)


def snapshots(log: str, known: str, index: str, term: str) -> str:
    """Whether a follower takes a snapshot, its log and its commit index."""
    message = say.Install(9, Snapshot(int(index), int(term), GROUP))
    output = core.receive(follower(log, known), "A", message, UNTIMED)
    [answer] = (each.message for each in output.messages)
    assert isinstance(answer, say.Installed)
    said = "yes" if answer.success else "no"
    return f"{said}; {terms(output.server.log)}; {output.server.commit}"


# -- a leader and its followers --------------------------------------------------------------------

WINDOW = 2


HAPPENS: dict[str, Callable[..., Progress]] = {
    "sent": flow.sent,
    "accepted": flow.accepted,
    "rejected": lambda p, *at: p if flow.is_stray(p, *at) else flow.rejected(p, *at),
    "snapshot": flow.sending_snapshot,
    "ended": flow.snapshot_done,
    "tick": lambda p: flow.ticked(p, WINDOW),
}


def flow_of(before: str, happens: str) -> str:
    """What a leader knows then, and whether it may send."""
    mode: Any = before.split(maxsplit=1)[0]
    match, following, flying = map(int, before.split()[1:])
    under_way = (following,) if mode == "probe" else range(following - flying, following)
    known = Progress("B", following, match, mode, tuple(under_way)[:flying])
    what, *given = happens.split()
    now = HAPPENS[what](known, *map(int, given))
    may = "yes" if flow.may_send(now, WINDOW) else "no"
    return f"{now.mode} {now.match} {now.next} {len(now.in_flight)}; {may}"


ROLES = {
    "follower": Follower("C"),
    "candidate": Candidate(False, ("B",)),
    "leader": Leader((Progress("A", 2), Progress("C", 2))),
}


MESSAGES: dict[str, Callable[[int], Any]] = {
    "append": lambda term: say.Append(term, 0, 0, 0),
    "barrier": lambda term: say.ReadQuorum(term, 0, 1),
    "snapshot": lambda term: say.Install(term, Snapshot(1, 1, GROUP)),
    "vote": lambda term: say.VoteRequest(term, 9, 9),
    "pre-vote": lambda term: say.VoteRequest(term, 9, 9, True),
    "accepted": lambda term: say.Accepted(term, 0, 0),
    "rejected": lambda term: say.Rejected(term, 0, 0, 0),
    "voted": lambda term: say.VoteReply(term, True),
}


def other_terms(role: str, message: str) -> str:
    """What B answers, what it is then, and in which term."""
    kind, _, term = message.split()
    stored = Stored(5, "" if role == "follower" else "B", as_log("1"))
    server = replace(Server("B", stored), role=ROLES[role])
    output = core.receive(server, "A", MESSAGES[kind](int(term)), Options(timers=False))
    answers = [each.message for each in output.messages]
    said = [f"{each.__struct_config__.tag} {getattr(each, 'term', '')}" for each in answers]
    now = output.server
    return f"{' '.join(said) or '-'}; {now.role.__struct_config__.tag}; {now.term}"


ANSWERS: dict[str, Callable[..., str]] = {
    "votes": votes,
    "commit_index": commit_index,
    "entries": entries,
    "configurations": configurations,
    "changes": changes,
    "snapshots": snapshots,
    "flow": flow_of,
    "other_terms": other_terms,
}


"""What answers the first cells of each table."""


@pytest.mark.parametrize(("name", "row"), CASES)
def test_a_rule_gives_the_answer_worked_out_by_hand(name: str, row: tuple[str, ...]) -> None:
    """Each row is a published case."""
    answer: Any = ANSWERS[name]
    given = answer.__code__.co_argcount
    assert answer(*row[:given]) == "; ".join(row[given:])


@pytest.mark.parametrize("name", FILES)
def test_each_published_rule_has_cases_and_is_in_the_index(name: str) -> None:
    """Five cases at least."""
    assert len([*rows(FILES[name])]) > LEAST
    [line] = (line for line in FILES[name].splitlines() if line.startswith("# answered by"))
    for function in line.removeprefix("# answered by ").split(", "):
        assert f"`{function}`" in INDEX
