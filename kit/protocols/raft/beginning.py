"""How the servers of a model begin: with logs, terms and a leader that a text says."""

from collections.abc import Sequence

from kit.errors import BadInput
from kit.model.declared import State
from kit.protocols.raft import words
from kit.protocols.raft.rules.configuration import Configuration, Member, tally
from kit.protocols.raft.rules.log import Entry
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import Follower, Leader, Server, Stored

NAMES = "ABCDEFG"


class RaftNode(State, frozen=True, cache_hash=True):
    """A server, and the entries that its state machine has applied, in order."""

    server: Server
    machine: tuple[str, ...] = ()


def members_of(text: str, names: tuple[str, ...], field: str = "members") -> tuple[Member, ...]:
    """``A B c``: A and B vote, C does not. Raises BadInput for others than ``names``, or twice."""
    ids = text.upper().split()
    if not {*ids} <= {*names} or len({*ids}) < len(ids):
        raise BadInput(field, text, f"some of {' '.join(names)}, each at most once")
    return tuple(Member(each.upper(), can_vote=each.isupper()) for each in text.split())


def impossible(servers: Sequence[Server]) -> str:
    """Why servers cannot have come to where they are, as far as their terms and votes tell."""
    for each in servers:
        held, term = [entry.term for entry in each.log], each.term
        if held != sorted(held) or each.log.last_term > term:
            return f"the terms in {each.id}'s log never fall, and its own is no older"
        if each.commit > each.log.last_index:
            return f"{each.id} has no entry {each.commit} that could be committed"
        if not isinstance(each.role, Leader):
            continue
        votes = [
            other.id
            for other in servers
            if other.term > term or (other.term == term and other.stored.vote == each.id)
        ]
        before = max((entry.index for entry in each.log if entry.term < term), default=0)
        known = (each.configuration, each.log.configuration_at(before))
        if all(tally(configuration, votes) != "won" for configuration in known):
            return f"{each.id} leads term {term} without the votes of a majority"
    return ""


def begun(name: str, stored: Stored, texts: dict[str, str]) -> RaftNode:
    """A server as its text says. It has voted for who leads its term, unless it says for whom."""
    term = _begun(name, stored, texts[name]).server.term
    leads = [(n, _begun(n, stored, text)) for n, text in texts.items() if "leads" in text]
    led = (leader for leader, its in leads if its.server.term == term)
    return _begun(name, stored, texts[name], next(led, ""))


def _begun(name: str, stored: Stored, text: str, votes: str = "") -> RaftNode:
    """A server with a log: ``1 1 2=AB, commit 1, term 3, votes B, follows B, leads``.

    ``2=AB`` is an entry of term 2 with the configuration of A and B. Raises BadInput for another
    word, or a number that is none.
    """
    terms, *more = (part.strip() for part in text.split(","))
    log = stored.log
    try:
        for index, each in enumerate(terms.split(), 1):
            number, _, members = each.partition("=")
            held = f"x{index}" if int(number) == log.last_term else None
            data = (
                Configuration(members_of(" ".join(members), tuple(NAMES), "begins"))
                if members
                else held
            )
            log = log.appended(Entry(int(number), index, data))
        facts = dict((f"{each} {name}".split()[:2]) for each in more)
        commit, term = int(facts.pop("commit", 0)), int(facts.pop("term", log.last_term))
    except BadInput:
        raise
    except ValueError:
        raise BadInput("begins", text, "terms, followed by words such as commit 1, leads") from None
    leads, leader = facts.pop("leads", ""), facts.pop("follows", "")
    stored = Stored(term, facts.pop("votes", leads or votes), log, commit)
    if facts:
        raise BadInput("begins", text, "commit, term, votes, follows, leads")
    others = (each for each in log.configuration.members if each != name)
    reign = Leader(tuple(Progress(each, log.last_index) for each in others))
    role = reign if leads else Follower(leader)
    server = Server(name, stored, role, applied=commit)
    return RaftNode(server, tuple(words.entry_text(e) for e in log if e.index <= commit))
