"""Published rules of Raft, as tables that were worked out by hand.

Each file of ``published`` says a rule in words, names the functions that answer, and has cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
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
from kit.protocols.raft.state import Candidate, Follower, Leader, Options, Server, Stored
from tests.house.checkout import ROOT
from tests.protocols.raft.driving import UNTIMED, members

FOLDER = Path(__file__).with_name("published")
FILES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.txt"))}
INDEX = (ROOT / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
LEAST = 5
GROUP = Configuration(members("A B C"))


def rows(text: str) -> Iterator[tuple[str, ...]]:
    """The heads and the cases of a table."""
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield tuple(cell.strip() for cell in line.split("|"))


CASES = [
    pytest.param(name, row, id=f"{name}: {' | '.join(row)}")
    for name, text in FILES.items()
    for row in [*rows(text)][1:]
]


def those(names: str) -> tuple[Member, ...]:
    """Members by their letters, with blanks between them or without; small ones do not vote."""
    return members(" ".join(names.replace(" ", "").replace("-", "")))


def shown(members: tuple[Member, ...]) -> str:
    """The same the other way round, those that vote first."""
    letters = (each.id if each.can_vote else each.id.lower() for each in members)
    return " ".join(sorted(letters))


def log_of(terms: str, group: Configuration = GROUP) -> Log:
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
    return Server("B", Stored(9, "", log_of(log), int(known)), Follower("A"), applied=int(known))


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
    stored = Stored(5, "" if role == "follower" else "B", log_of("1"))
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
def test_a_case_of_a_published_rule(name: str, row: tuple[str, ...]) -> None:
    """The rule that stands in the kit gives what was worked out by hand."""
    answer: Any = ANSWERS[name]
    given = answer.__code__.co_argcount
    assert answer(*row[:given]) == "; ".join(row[given:])


@pytest.mark.parametrize("name", FILES)
def test_each_rule_has_cases_and_the_index_names_its_functions(name: str) -> None:
    """Five cases at least; the index of rules leads to what answers them."""
    assert len([*rows(FILES[name])]) > LEAST
    [line] = (line for line in FILES[name].splitlines() if line.startswith("# answered by"))
    for function in line.removeprefix("# answered by ").split(", "):
        assert f"`{function}`" in INDEX
