"""Mistakes of one line that real implementations of Raft have had, or easily have.

Each is planted into the core: one text of one function is exchanged. It is found within a stated
number of states of a search, or of seeds of random walks, and shrunk to a stated number of steps.
The same search, or the same walks, of the right code find nothing. The table is ``MISTAKES``.
``HARMLESS`` are those that break no promise of safety, which a search shows as well, and
``UNSEEN`` is one that is not found in a reasonable budget. Neither counts.

Named in the table: the Raft paper, Ongaro's thesis and his message of 2015 on changes of one
server, and the Students' Guide to Raft (2016), which lists what it saw in many first versions.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import dedent
from typing import Any

import pytest
from msgspec import Struct

from kit.model.registry import build
from kit.protocols.raft import core, raft
from kit.protocols.raft.rules import configuration, progress
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Entry, Log
from kit.protocols.raft.state import Server, Stored
from kit.search.check import check
from kit.search.fuzz import CLEAN, Walker, shrink
from tests.protocols.raft.driving import members

Turn = core._Turn
WALK = 60
"""Steps of a random walk."""
QUIET: dict[str, Any] = {"requests": (), "terms": 1, "most_in_flight": 2}
LED = ("1, leads", ", term 1, votes A", "")
THREE = ("1, commit 1, leads", "1", "1")
BEHIND = ("1 1, term 2, leads", "1 1 1, term 2", "1 1, term 2")
STORED = {"A": "1", "B": "1 2", "C": "1", "D": "1", "E": "1"}
PREVOTE = ("pre-vote",)


class Mistake(Struct, frozen=True):
    """What is exchanged where, how little is needed to see it, and which promise it breaks.

    ``where`` is a function or a property. ``why`` says where such a mistake was seen, or why it is
    easily made. ``setup`` are parameters of the model, besides ``QUIET``; ``off`` are safeguards
    that only make the way longer. It is found within ``states`` states, or within ``seeds`` random
    walks (where that is not 0), and shrunk to ``steps`` steps at most.
    """

    name: str
    why: str
    where: Any
    right: str
    wrong: str
    setup: dict[str, Any]
    promise: str = ""
    states: int = 0
    seeds: int = 0
    steps: int = 0
    off: tuple[str, ...] = ()

    def model(self) -> Any:
        """The configuration, of the core as it is now."""
        return build("raft", {**QUIET, **self.setup}, self.off)

    def found(self) -> tuple[str, tuple[Any, ...]]:
        """What breaks within the budget, and the run that breaks it."""
        if not self.seeds:
            violation = check(self.model(), max_states=self.states).violation
            return (violation.property, violation.actions) if violation else (CLEAN, ())
        # Timeouts as often as deliveries: harm of elections needs many of them at once.
        walker = Walker(self.model(), steps=WALK, weights={})
        walks = (walker.walk(seed) for seed in range(self.seeds))
        return next(((w.verdict, w.actions) for w in walks if w.verdict != CLEAN), (CLEAN, ()))


MISTAKES = (
    Mistake(
        "a change of one member before an entry of the own term is committed",
        "So it stood in the thesis; Ongaro's message of 2015 corrects it.",
        core.configure, "and log.term(server.commit) != server.term", "and False",
        {"nodes": 4, "members": "A B C D", "requests": ("members B C D",), "terms": 3,
         "begins": ("1 1=ABC, term 2", "1 2, commit 1, leads", "1, term 2", "1, term 2"),
         "most_in_flight": 3},
        "leader-has-all", states=2_000, steps=12,
    ),
    Mistake(
        "a change of members while another one is not committed",
        "Whoever knows joint configurations forgets that simple ones have to wait as well.",
        core.configure, "(held.is_joint or log.configured_at > server.commit)", "held.is_joint",
        {"begins": THREE, "requests": ("members A B", "members A"), "terms": 2},
        "leader-has-all", states=1_000, steps=11,
    ),
    Mistake(
        "commit counted by index, whatever the term",
        "Figure 8 of the paper: a majority is not enough for an entry of an older term.",
        Turn.commit_more, "self.server.log.term(index) != self.server.term", "not index",
        {"begins": ("1 2 4, leads", "1, term 4", "1 3, term 4"), "terms": 5,
         "most_in_flight": 3, "drops": 1},
        "leader-has-all", states=25_000, steps=17,
    ),
    Mistake(
        "half of the votes are enough",
        "One >= instead of >, which no group of three or five shows.",
        Turn.counted, "result = tally(self.server.configuration, for_, against)",
        'result = "won" if 2 * len(for_) >= len(self.server.configuration.voters) else ""',
        {"nodes": 2, "members": "A B", "most_in_flight": 6},
        "one-leader-a-term", states=100, steps=2,
    ),
    Mistake(
        "the middle of what voters store, also in even groups",
        "The median is a majority in odd groups only.",
        configuration.reached, "sure[needed - 1]", "sure[(len(sure) - 1) // 2]",
        {"nodes": 4, "members": "A B C D", "most_in_flight": 3,
         "begins": ("1, leads", ", term 1, votes A", ", term 1, votes A")},
        "committed-is-kept", states=100, steps=3,
    ),
    Mistake(
        "a vote granted twice in a term",
        "A follower that knows no leader looks free, and has given its vote away.",
        Turn.vote_asked, "(not vote and not self.server.leader)", "not self.server.leader",
        {"begins": LED},
        "one-leader-a-term", states=100, steps=7,
    ),
    Mistake(
        "a candidate does not note its vote for itself",
        "It counts its own vote, so nobody misses the note until another candidate asks.",
        Turn.campaign, "vote=me)", 'vote="")',
        {"most_in_flight": 4},
        "one-leader-a-term", states=1_500, steps=9, off=PREVOTE,
    ),
    Mistake(
        "the term after a crash is read off the log",
        "The paper lists the term as stored; a log seems to tell it, and knows no votes.",
        core.durable, "vote=vote", "term=stored.log.last_term, vote=vote",
        {"begins": LED, "crashes": 1},
        "one-leader-a-term", states=500, steps=9,
    ),
    Mistake(
        "votes of a former term counted",
        "Students' Guide: whoever compares the term only when it asks counts old answers.",
        Turn.takes, "if term < self.server.term:",
        "if term < self.server.term and not isinstance(message, say.VoteReply):",
        {"terms": 2, "most_in_flight": 0},
        "one-leader-a-term", seeds=100, steps=9, off=PREVOTE,
    ),
    Mistake(
        "an answer to a pre-vote counted as a vote",
        "Both answers are alike but for one flag, and of the same term.",
        Turn.voted, "and self.role.trial == m.trial", "",
        {"most_in_flight": 0},
        "one-leader-a-term", seeds=50, steps=11,
    ),
    Mistake(
        "a server that is removed still counts its own vote",
        "Votes are counted, and nobody asks whose they are.",
        Turn.counted, "result = tally(self.server.configuration, for_, against)",
        'result = "won" if 2 * len(for_) > len(self.server.configuration.voters) else ""',
        {"nodes": 4, "members": "A B C D", "begins": ("1", "1 1=ABC", "1", "1 1=ABC"),
         "terms": 2, "most_in_flight": 5},
        "one-leader-a-term", states=10_000, steps=11, off=PREVOTE,
    ),
    Mistake(
        "the term of an answer is taken, and the reign goes on",
        "Stepping down is written for requests, and forgotten where answers arrive.",
        Turn.takes, 'self.follow(source if of_leader else "")',
        'isinstance(message, say.Rejected) or self.follow(source if of_leader else "")',
        {"begins": ("1, leads", "1 2, leads", "1, term 2"), "terms": 2},
        "one-leader-a-term", states=100, steps=3,
    ),
    Mistake(
        "logs compared by length only",
        "Students' Guide: the longer log is not the newer one.",
        Log.admits, "(term, index) >= (self.last_term, self.last_index)",
        "index >= self.last_index",
        {"begins": ("1 2, commit 2, term 2", "1 2", "1 1, term 2"), "terms": 3,
         "most_in_flight": 3},
        "leader-has-all", states=200, steps=7,
    ),
    Mistake(
        "logs compared by the last term only",
        "With equal terms the length decides; the second half of the sentence is overlooked.",
        Log.admits, "(term, index) >= (self.last_term, self.last_index)",
        "term >= self.last_term",
        {"begins": ("1 1, commit 2, leads", "1 1", "1"), "terms": 2},
        "leader-has-all", states=100, steps=7,
    ),
    Mistake(
        "every append truncates the log, also without a conflict",
        "Students' Guide: an old message then takes away what was acknowledged since.",
        Log.merged, " or log.term(entry.index) == entry.term", "",
        {"nodes": 2, "members": "A B", "begins": ("1, commit 1, leads", "1, follows A"),
         "requests": ("x", "y"), "most_in_flight": 4},
        "committed-is-kept", states=500, steps=7,
    ),
    Mistake(
        "a heartbeat does not look at the entry before",
        "Students' Guide: a heartbeat without entries looks as if there were nothing to check.",
        Turn.append_asked, "if not log.matches", "if m.entries and not log.matches",
        {"begins": ("1, leads", "1", ""), "requests": ("x",), "most_in_flight": 5},
        "committed-is-kept", states=1_000, steps=6,
    ),
    Mistake(
        "the entry before has to exist, whatever its term",
        "That the index is there seems to be enough.",
        Turn.append_asked, "if not log.matches(m.before, m.before_term):",
        "if log.last_index < m.before:",
        {"begins": ("1 2 2, leads", "1 1, term 2", ""), "most_in_flight": 3},
        "logs-match", states=100, steps=2,
    ),
    Mistake(
        "a follower answers with the length of its log",
        "What lies behind the entries of the message may be of a former leader.",
        Turn.append_asked, "self.server.commit, last))",
        "self.server.commit, self.server.log.last_index))",
        {"begins": BEHIND, "requests": ("x",), "terms": 2},
        "committed-is-kept", states=100, steps=3,
    ),
    Mistake(
        "the leader's commit index taken without a bound",
        "Students' Guide: the least of it and the last new entry, not of the whole log.",
        Turn.append_asked, "min(m.commit, last)", "min(m.commit, self.server.log.last_index)",
        {"begins": BEHIND, "requests": ("x",), "most_in_flight": 5},
        "leader-has-all", states=1_000, steps=7,
    ),
    Mistake(
        "what agrees is taken from what is sent next, on a success",
        "Students' Guide: matchIndex is not nextIndex − 1, for more may have been sent since.",
        progress.accepted, "max(p.match, last), max", "max(p.match, p.next - 1), max",
        {"begins": THREE, "requests": ("x", "y"), "most_in_flight": 3},
        "committed-is-kept", states=200, steps=6,
    ),
    Mistake(
        "what agrees is taken from what is sent next, on a rejection",
        "One function for both answers is shorter, and this line is in it.",
        progress.rejected, "in_flight=(),", "in_flight=(), match=max(p.match, p.next - 1),",
        {"begins": ("1 2 2, leads", "1 1, term 2", "1, term 2"), "terms": 2,
         "requests": ("x",), "most_in_flight": 3},
        "committed-is-kept", states=100, steps=4,
    ),
    Mistake(
        "a joint configuration needs a majority of all",
        "The union looks like one larger group, and most of it may be of one side.",
        configuration.reached, "for group in of.groups", "for group in (of.voters,)",
        {"nodes": 5, "begins": THREE, "requests": ("members A D E",), "most_in_flight": 4},
        "committed-is-kept", states=1_000, steps=9,
    ),
    Mistake(
        "a candidate needs a majority of all in a joint configuration",
        "The same for votes: servers that know no change yet elect another leader.",
        Turn.counted, "tally(self.server.configuration,",
        "tally(Configuration((*{*self.server.configuration.current, "
        "*self.server.configuration.previous},)),",
        {"nodes": 5, "begins": THREE, "requests": ("members A D E",), "terms": 2,
         "most_in_flight": 0},
        "one-leader-a-term", seeds=500, steps=17, off=PREVOTE,
    ),
    Mistake(
        "a server that does not vote is counted",
        "It has all entries and answers like any other member.",
        configuration.reached, "for group in of.groups",
        "for group in (tuple(m.id for m in of.current),)",
        {"begins": ("1, leads", ", term 1", "1"), "members": "A B c"},
        "committed-is-kept", states=100, steps=3,
    ),
    Mistake(
        "the snapshot's configuration, though the log has a newer one",
        "A snapshot brings a configuration with it, and seems to be the last word.",
        Server.configuration, "return self.log.configuration",
        "return (self.log.snapshot if self.log.snapshot.index else self.log).configuration",
        {"nodes": 4, "begins": THREE, "most_in_flight": 3,
         "requests": ("snapshot", "members A B C D", "x")},
        "committed-is-kept", states=500, steps=6,
    ),
    Mistake(
        "the newest configuration goes into a snapshot, committed or not",
        "The server knows one configuration, the one that holds now.",
        core.take_snapshot, "log.configuration_at(index)", "log.configuration",
        {"begins": THREE, "requests": ("members A B", "snapshot"), "terms": 2},
        "committed-is-kept", states=2_000, steps=11,
    ),
    Mistake(
        "a snapshot up to the end of the log",
        "The last entry is nearer at hand than the last one that was applied.",
        core.take_snapshot, "server.applied, server.log", "server.log.last_index, server.log",
        {"begins": ("1, commit 1, leads", "1, follows A", "1, follows A"),
         "requests": ("x", "snapshot", "y"), "terms": 2},
        "machines-agree", states=500, steps=9,
    ),
    Mistake(
        "an old snapshot replaces a newer log",
        "A snapshot seems to be always ahead of its receiver; one that came late is not.",
        Turn.install, "taken = m.snapshot.index > self.server.commit", "taken = True",
        {"begins": ("1, commit 1, leads", "", "1"), "most_in_flight": 3, "edition": "server",
         "requests": ("snapshot", "x", "snapshot at B"), "duplicates": 1},
        "committed-is-kept", states=6_000, steps=11,
    ),
    Mistake(
        "a read before the leader has committed an entry of its own term",
        "Thesis, section 6.4: till then a new leader does not know what is committed.",
        Turn.read_asked, "or self.server.log.term(commit) != self.server.term", "",
        {"nodes": 2, "members": "A B", "begins": ("1, commit 1, leads", "1, commit 1"),
         "requests": ("x", "read at B"), "terms": 2},
        "reads-see-writes", states=2_000, steps=14, off=PREVOTE,
    ),
    Mistake(
        "a majority that has answered an older read barrier lets newer reads pass",
        "Who has followed seems to follow still; the number of the barrier tells that apart.",
        Turn.resolve_reads, "number = reached(self.server.configuration, answered)",
        "number = role.barrier * bool(reached(self.server.configuration, answered))",
        {"begins": THREE, "requests": ("read at A", "x at B", "read at A"), "terms": 2,
         "most_in_flight": 4},
        "reads-see-writes", states=40_000, steps=13, off=("pre-vote", "step-down"),
    ),
)  # fmt: skip

HARMLESS = (
    Mistake(
        "a vote is kept in a new term",
        "Nobody votes twice, but once all have voted nobody is elected any more: never leads.",
        Turn.takes, 'vote=""', "vote=self.server.stored.vote",
        {"begins": tuple(f", term 1, votes {each}" for each in "ABC"), "terms": 2,
         "most_in_flight": 4},
        "leads", states=10_000,
    ),
    Mistake(
        "a message of the same term ends a reign like one of a newer term",
        "It is >= instead of >: a vote could be given twice, but each answer ends the election.",
        Turn.takes, "if term > self.server.term:", "if term >= self.server.term:",
        {"most_in_flight": 4},
        "leads", states=10_000, off=PREVOTE,
    ),
    Mistake(
        "leadership is handed to a server that lags",
        "Its election fails, since voters still compare logs: time is lost, and no entry.",
        Turn.is_heir, "p.match == self.server.log.last_index and ", "",
        {"begins": ("1 1, commit 1, leads", "1", "1"), "requests": ("transfer B",), "terms": 2},
        states=50_000,
    ),
    Mistake(
        "a snapshot keeps entries behind another entry than its own",
        "They are older than the snapshot, so nobody votes for such a log, and the leader's "
        "next entry takes them away.",
        Log.compacted, "if self.term(snapshot.index) != snapshot.term:",
        "if self.last_index < snapshot.index:",
        {"begins": ("1 2, commit 2, leads", "1 1 1, term 2", "1 2"), "terms": 3,
         "requests": ("snapshot",)},
        states=60_000, off=PREVOTE,
    ),
)  # fmt: skip

UNSEEN = Mistake(
    "an answer to an append of a former term is counted",
    "Students' Guide. Five servers are needed, and a leader whose log was cut before it leads "
    "again; so many walks do not come to it.",
    Turn.takes, "if term < self.server.term:",
    "if term < self.server.term and not isinstance(message, say.Accepted):",
    {"nodes": 5, "members": "A B C D E", "terms": 3, "most_in_flight": 0,
     "begins": ("1 1 1, leads", "1 1", "1 2, leads", "1, term 2", "1, term 2")},
    CLEAN, seeds=8_000, off=PREVOTE,
)  # fmt: skip


@contextmanager
def planted(mistake: Mistake) -> Iterator[None]:
    """Make a mistake for as long as this lasts.

    The function stays the same object and gets other code, so that all who hold it meet the
    mistake. What was remembered of logs and configurations is forgotten before and after; what a
    model remembers of its turns goes with the model.
    """
    where = mistake.where
    function: Any = where.fget if isinstance(where, property) else where
    source = dedent(inspect.getsource(function)).removeprefix("@property\n")
    assert source.count(mistake.right) == 1, "the text to exchange stands there once"
    made: dict[str, Any] = {}
    exec(source.replace(mistake.right, mistake.wrong), function.__globals__, made)
    kept = function.__code__
    forget()
    function.__code__ = made[function.__name__].__code__
    try:
        yield
    finally:
        function.__code__ = kept
        forget()


def forget() -> None:
    """Empty the memories that outlive a model."""
    for module in (raft, configuration):
        for each in vars(module).values():
            if hasattr(each, "cache_clear"):
                each.cache_clear()


def name_of(mistake: Mistake) -> str:
    """How a test of it is called."""
    return mistake.name


def test_at_least_twenty_different_mistakes_are_planted() -> None:
    """By name, and by what is exchanged where."""
    assert len({each.name for each in MISTAKES}) == len(MISTAKES) >= 20
    assert len({(each.where, each.wrong) for each in MISTAKES}) == len(MISTAKES)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("mistake", MISTAKES, ids=name_of)
def test_a_planted_mistake_is_found_and_shrunk(mistake: Mistake) -> None:
    """By the promise that it breaks, within its budget, and in few steps."""
    with planted(mistake):
        promise, actions = mistake.found()
        assert promise == mistake.promise
        short, witness = shrink(mistake.model(), actions, promise)
    assert witness
    assert len(short) <= mistake.steps


@pytest.mark.sweep(3)
@pytest.mark.parametrize("mistake", MISTAKES, ids=name_of)
def test_the_right_code_passes_the_search_that_finds_the_mistake(mistake: Mistake) -> None:
    """Within the same budget."""
    assert mistake.found() == (CLEAN, ())


@pytest.mark.sweep(3)
@pytest.mark.parametrize("mistake", HARMLESS, ids=name_of)
def test_a_harmless_mistake_breaks_no_promise(mistake: Mistake) -> None:
    """The search is complete; where the mistake costs an election, no leader is seen."""
    with planted(mistake):
        result = check(mistake.model(), max_states=mistake.states)
    assert result.violation is None, result
    assert result.complete, result
    assert ("leads" in result.unreached) == bool(mistake.promise)
    if mistake.promise:
        right = check(mistake.model(), max_states=mistake.states)
        assert "leads" not in right.unreached


@pytest.mark.deep
def test_the_unseen_mistake_is_still_not_found() -> None:
    """Should it be found, move it into MISTAKES."""
    with planted(UNSEEN):
        assert UNSEEN.found() == (CLEAN, ())


@pytest.mark.parametrize(("of_c", "kept"), [("1 2", True), ("1", False)])
def test_an_entry_that_most_old_members_store_is_kept(of_c: str, kept: bool) -> None:
    """D joins A, B and C by a joint configuration: B and C together are a majority."""
    joint = Configuration(members("A D E"), members("A B C"))
    logs = {each: raft.begun(each, Stored(), STORED).server.log for each in STORED}
    logs["C"] = raft.begun("C", Stored(), {"C": of_c}).server.log
    logs["D"] = logs["B"] = logs["B"].appended(Entry(2, 3, joint))
    assert raft._is_kept(logs["D"], 2, tuple(logs), tuple(logs.values())) is kept
