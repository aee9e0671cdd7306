"""What the lessons on Raft ask, and their exercises."""

import random
from typing import Any

from kit.errors import BadInput, check_among
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, listed, model_of, posed
from kit.lessons.replays import Ground, breaking, ends, run_task, takes
from kit.lessons.stills import still
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.raft import core
from kit.protocols.raft.facts import first_leader
from kit.protocols.raft.messages import VoteReply, VoteRequest
from kit.protocols.raft.raft import Raft, leading
from kit.protocols.raft.rules.configuration import reached, tally
from kit.protocols.raft.rules.log import Log
from kit.protocols.raft.state import Candidate, Options, Server

FIGURE_8 = ("1 2, term 4, leads", *["1 2, term 4", "1, term 4", "1, term 4"], "1 3, term 4")
"""Five servers as in the Raft paper, figure 8 (c): A leads term 4, and E has an entry of term 3."""


def voters(timeline: Timeline, server: str) -> PosedQuestion:
    """Who would vote for a server that begins an election now, if it reached everybody?

    Raises BadInput where the model is not Raft, or for a server that there is not or that does not
    vote: it begins no election.
    """
    model = model_of(timeline, Raft)
    servers = {n.server.id: n.server for n in timeline.state.nodes}
    check_among("server", server, servers)
    me = servers[server]
    if server not in me.configuration.voters:
        voting = [each for each in servers if each in servers[each].configuration.voters]
        raise BadInput("server", server, f"one that votes: {', '.join(voting)}")
    asks = VoteRequest(me.term + 1, me.log.last_index, me.log.last_term)
    able = [name for name in me.configuration.voters if name != server]
    granted = [name for name in able if _grants(servers[name], server, asks, model.raft)]
    won = tally(me.configuration, (server, *granted)) == "won"
    return posed(
        f"{server} starts an election in term {asks.term}, and every server hears of it. Who "
        f"votes for {server}?",
        able,
        granted,
        f"With its own vote, {server} has {len(granted) + 1} of {len(able) + 1} votes: "
        f"it {'wins' if won else 'does not win'}.",
        still(timeline, "log"),
    )


def _grants(voter: Server, server: str, asks: VoteRequest, options: Options) -> bool:
    sent = core.receive(voter, server, asks, options).messages
    return any(isinstance(each.message, VoteReply) and each.message.granted for each in sent)


def electable(timeline: Timeline) -> PosedQuestion:
    """Which servers could be elected, by their logs alone?

    Raises BadInput where the model is not Raft.
    """
    model_of(timeline, Raft)
    servers = [n.server for n in timeline.state.nodes]
    able = [each.id for each in servers if _electable(each, servers)]
    return posed(
        "Each candidate reaches every other server. Which servers have a log good enough to win?",
        [each.id for each in servers],
        able,
        f"A server can win if the logs of a majority are no newer than its own: {listed(able)}.",
        still(timeline, "log"),
    )


def _electable(server: Server, servers: list[Server]) -> bool:
    log = server.log
    behind = [each.id for each in servers if each.log.admits(log.last_index, log.last_term)]
    return tally(log.configuration, behind) == "won"


def known_to_commit(timeline: Timeline) -> PosedQuestion:
    """Up to which index does the leader take the log for committed, once every answer has come?

    Raises BadInput where the model is not Raft, or nobody leads.
    """
    model_of(timeline, Raft)
    servers = [n.server for n in timeline.state.nodes]
    if (leader := first_leader(servers)) is None:
        raise BadInput("moment", timeline.at, "a moment at which a server leads")
    stored = {each.id: _agrees(each.log, leader.log) for each in servers}
    majority = reached(leader.configuration, stored, leader.commit)
    own = leader.log.term(majority) == leader.term
    end = majority if own else leader.commit
    why = f"A majority stores the log of {leader.id} up to index {majority}."
    if not majority:
        why = f"No entry of {leader.id} is stored by a majority yet."
    elif majority == leader.commit:
        why += f" {leader.id} knows already that this is committed."
    elif not own:
        why += f" That entry is from a term older than {leader.term}, so it does not count."
    return posed(
        f"From now on, only answers to {leader.id} are sent. Up to which index is the log "
        "committed?",
        map(str, range(leader.log.last_index + 1)),
        [str(end)],
        why,
        still(timeline, "log"),
    )


def _agrees(log: Log, other: Log) -> int:
    ends = range(min(log.last_index, other.last_index), 0, -1)
    return next((i for i in ends if other.matches(i, log.term(i) or 0)), 0)


# -- exercises -------------------------------------------------------------------------------------


def votes_for(term: int, vote: str, log: list[int], asker: str, wants: list[int]) -> bool:
    """One vote a term, and only for a log that is as new."""
    new, last, last_term = wants
    is_free = new > term or (new == term and vote in ("", asker))
    return is_free and (last_term, last) >= (log[-1] if log else 0, len(log))


def _requests(chance: random.Random) -> Arguments:
    log = sorted(chance.randint(1, 3) for _ in range(chance.randint(0, 3)))
    term = max([*log, chance.randint(1, 4)])
    newer = max(1, term + chance.randint(-1, 1))
    wants = [newer, chance.randint(0, 4), chance.randint(0, newer)]
    return [term, chance.choice(("", "B", "C")), log, chance.choice("BC"), wants]


def committed_up_to(term: int, log: list[int], stored: list[int]) -> int:
    """The index that the middle one of them stores, if it is of this term."""
    end = sorted(stored)[(len(stored) - 1) // 2]
    return end if end and log[end - 1] == term else 0


def _logs(chance: random.Random) -> Arguments:
    log = sorted(chance.randint(1, 4) for _ in range(chance.randint(1, 5)))
    term = max(log[-1], chance.randint(1, 4))
    others = [chance.randint(0, len(log)) for _ in range(chance.choice((2, 4)))]
    return [term, log, [len(log), *others]]


def _all_ask(_model: Any, step: PassedStep) -> bool:
    roles = [n.server.role for n in step.after.nodes]
    terms = {n.server.term for n in step.after.nodes}
    return len(terms) == 1 and all(isinstance(r, Candidate) and not r.trial for r in roles)


def _c_behind(timeline: Timeline) -> str | None:
    nodes = timeline.state.nodes
    done = [a.request for a in timeline.state.answers if a.outcome.startswith("committed")]
    if "x" not in done:
        return "The client of x has no answer yet."
    return None if not nodes[2].server.log.last_index else "C has entries in its log."


TASKS = (
    run_task(
        "three-candidates", "three candidates",
        "There are three servers, and none asks first whether it could win (S-93 is off). Give a "
        "run, as verbs or as a Player, in which all three are candidates in term 1, and in the "
        "end one of them leads term 2.",
        "a candidate has voted for itself. Let all three timeouts run out before anything arrives.",
        Ground("raft", {"terms": 2, "requests": ()}, ("S-93",)),
        takes(_all_ask, "In your run, the three are never candidates in the same term at once."),
        ends(lambda s: any(server.term == 2 for server, _ in leading(s)),
             "In the end, no server leads term 2."),
        known=(
            *(f"tick {name} election" for name in "ABCA"),
            *("deliver A>B vote 2", "deliver B>A voted 2 granted"),
        ),
    ),
    run_task(
        "without-c", "committed without C",
        "Three servers elect a leader, and a client asks for x. Give a run, as verbs or as a "
        "Player, in which the client is told that x is committed, while the log of C is empty.",
        "messages to C can stay on their way for as long as you like.",
        Ground("raft", {"terms": 1}),
        _c_behind,
    ),
    function_task(
        "votes-for", "which server gets the vote",
        "Write votes_for(term, vote, log, asker, wants) for a server that has not heard from a "
        "leader. term is its own term, vote the server it has voted for in that term ('' for "
        "none), and log the terms of its entries. asker asks with wants = [term, last index, "
        "last term]. Return True if it gets the vote.",
        "in a newer term it has not voted yet. Then compare the last terms, and the last indexes "
        "only if the terms are equal.",
        votes_for,
        (
            [1, "B", [1], "C", [1, 1, 1]],
            [1, "B", [1], "C", [2, 1, 1]],
            [2, "", [1, 2], "B", [3, 5, 1]],
            [2, "", [1, 1], "B", [3, 2, 1]],
        ),
        _requests,
    ),
    function_task(
        "committed-up-to", "what a leader considers committed",
        "Write committed_up_to(term, log, stored). term is the leader's term, and log the terms "
        "of its entries. stored gives, for each server including the leader, the index up to "
        "which it stores that log. Return the last index that is committed by now, or 0 if there "
        "is none.",
        "sort stored. The entry that a majority has counts only if it is from the leader's own "
        "term.",
        committed_up_to,
        ([2, [1, 2], [2, 2, 0]], [3, [1, 2], [2, 2, 2]], [1, [1, 1, 1], [3, 1, 2, 0, 1]]),
        _logs,
    ),
    run_task(
        "figure-8", "the entry that was on a majority",
        "Five servers start as in Figure 8 of the Raft paper. A leads term 4, and S-87 is off, "
        "so A counts entries from older terms too. Give a run, as verbs or as a Player, that "
        "breaks a promise.",
        "let A send its entry from term 2 to C and get the answer. Then E can win: who votes for "
        "it?",
        Ground(
            "raft",
            {"nodes": 5, "members": "A B C D E", "edition": "server", "begins": FIGURE_8,
             "terms": 5, "requests": ()},
            ("S-87",),
        ),
        breaking("leader-has-all", "every promise holds."),
        known=(
            *("tick A repeat", "deliver A>B", "deliver B>A", "deliver A>C", "deliver C>A"),
            "tick E election",
            *("deliver E>B", "deliver E>D", "deliver B>E", "deliver D>E"),
            *("deliver E>B vote 5 2 3", "deliver E>D vote 5 2 3"),
            *("deliver B>E voted 5 granted", "deliver D>E voted 5 granted"),
        ),
    ),
    run_task(
        "stale-read", "an old answer",
        "A leads, and S-94 is off: a leader answers a read without asking whether it still leads. "
        "A client of B asks for x, and once it has its answer, a client of A reads. Give a run, as "
        "verbs or as a Player, in which the read does not see x.",
        "partition the network, so that B is elected and A does not hear of it.",
        Ground(
            "raft",
            {"begins": ("1, commit 1, leads", *["1, commit 1, follows A"] * 2), "terms": 2,
             "requests": ("x at B", "read at A"), "partitions": 1},
            ("S-94",),
        ),
        breaking("reads-see-writes",
                 "each read has seen every change that was answered before it."),
        known=(
            *("partition A | B C", "tick C election", "tick B election", "deliver B>C"),
            *("deliver C>B voted", "deliver B>C vote 2 1 1", "deliver C>B voted 2 granted"),
            *("deliver B>C append", "deliver C>B accepted", "request B x"),
            *("deliver B>C append 2 2", "deliver C>B accepted", "request A read"),
        ),
    ),
)  # fmt: skip
