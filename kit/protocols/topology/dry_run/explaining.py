"""Journals of a coordinator as observations: does the model of the topology enter these states?

A journal names every state that is entered, and is silent where an operation ends. How many nodes
the cluster has no line says: two stay, and others join or leave as the states require it. Which
operation a stretch of states belongs to no line says either: each one that has them all is tried.
Nor does one say when a node dies: whoever is removed or replaced does so just before.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, product
from string import ascii_uppercase
from typing import Any

from msgspec.structs import replace

from kit.edge.paths import Readable
from kit.errors import BadInput, counted
from kit.operators.explain import Question, Seen, Sight
from kit.operators.importers.topology_journals import OF_COORDINATOR, JournalEntry, read_journals
from kit.protocols.group0.rules.releases import NEWEST, Supported, supported
from kit.protocols.topology.control import MOST_FAULTS
from kit.protocols.topology.dry_run.history import Passage, kinds, passages, said_of, whose_tables
from kit.protocols.topology.rules import machines as tables
from kit.protocols.topology.rules.cluster import Setting
from kit.protocols.topology.rules.decide import pending
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, Edition, Tables
from kit.protocols.topology.topology import Topology

STAY = 2
"""Members that stay: with them there is a majority beside one that is dead."""
MOST_WAYS = 16
"""Rows of operations that are tried for one journal."""
MOST_OPERATIONS = 8
"""Operations of one question; a longer journal is several."""
MOST_STAYS = 32
"""Stays in states that are told apart into operations."""
Steps = frozenset[tuple[str, str]]
OPERATIONS = {
    "bootstrapping": "bootstrap {new}",
    "replacing": "replace {new} {old}",
    "decommissioning": "decommission {old}",
    "removing": "removenode {old}",
    "bootstrapping_zero_token": "join {new} --zero-token",
    "truncate_table": "truncate_table ks.t",
    "new_cdc_generation": "new_cdc_generation",
    "lock": "lock",
}
"""What is asked for, by the machine whose states follow; the tablets' track nobody asks for."""
TRACK, RESIZE = "tablets", "tablet_resize_finalization"
APPLY, ANSWER, REQUEST = (
    each.struct
    for each in (Topology.apply_topology, Topology.answer_barrier, Topology.make_request)
)
CRASH, RESTART = Topology.crash_member.struct, Topology.restart_member.struct


def _dies(m: Topology, s: Any) -> int:
    dead = {"remove": "node", "replace": "replaced"}
    following = m.plan.requests[s.made : s.made + 1]
    return sum(1 << getattr(each, dead[each.kind]) for each in following if each.kind in dead)


def in_one_order(m: Topology, s: Any) -> Iterator[tuple[Any, Any]]:
    """The steps that may happen, in only one of the orders in which nodes apply and answer.

    Who has applied more can do no less, so that comes first. Answers change nothing for each other.
    A node dies only where it is to be removed or replaced next, which is then asked for at once,
    and for good.
    """
    gone = _dies(m, s)
    ready = [
        each
        for each in m.successors(s)
        if type(each[0]) is not RESTART
        and (type(each[0]) is not CRASH or gone >> m.number(each[0].node) & 1)
    ]
    if gone & ~s.up & ~m.start_down:
        requests = [each for each in ready if type(each[0]) is REQUEST]
        ready = requests or ready
    applied = [each for each in ready if type(each[0]) is APPLY]
    answers = [each for each in ready if type(each[0]) is ANSWER]
    others = (each for each in ready if type(each[0]) not in (APPLY, ANSWER))
    yield from applied[:1] or (*answers[:1], *others)


def _one_by_one(m: Topology, s: Any) -> Iterator[tuple[Any, Any]]:
    waits = s.topology.transition or pending(s.topology)
    return (e for e in in_one_order(m, s) if not waits or type(e[0]) not in (REQUEST, CRASH))


SIGHT = Sight(
    lambda m, s: {"state": s.topology.transition},
    hides=lambda before, after: after["state"] in ("", before["state"]),
    steps=_one_by_one,
)


def of_journals(
    files: Sequence[Readable], edition: Edition, anonymize: bool, release: str = ""
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """The questions whether the states of journals follow one another, and lines to read first.

    Raises BadInput for a file that is no journal, or a state that is not modelled.
    """
    if anonymize:
        raise BadInput(
            "anonymize", "journals", "only snapshots; lines of a journal stay as they are"
        )
    left_out = Counter[str]()
    entries = read_journals([str(each) for each in files], left_out)
    line, whose = supported(release or NEWEST), whose_tables(entries, edition)
    if release:
        whose = Setting(edition, release=line).tables
    elif whose == "server-2025":
        line = "2025.4"
    seen = [_sighting(each, edition, whose) for each in entries if each.kind == "entered"]
    if not seen:
        of = ", ".join(f"{n:,} {name}" for name, n in kinds(entries).items())
        allowed = "journals with lines such as entered `write both read old` transition state; "
        allowed += f"what others mean ({of or 'here none'}), python -m kit topology says"
        raise BadInput("journals", "no line with a state", allowed)
    history = passages(entries, edition)
    stays = [stay for stay in history if stay.state]
    operations = [*_operations(stays, [*_machines(whose).values()])]
    named = sum(each.kind in OF_COORDINATOR for each in entries)
    about = [
        f"{len(seen):,} of {named:,} lines of the coordinator name a state",
        f"no journal gives the number of nodes; in the model, {STAY} nodes do not change",
        "assumed: no node dies except those that others remove or replace",
    ]
    about += [f"not read: {said_of(left_out)}"] * bool(left_out)
    last = len(operations) - 1
    edges = [_steps(stays, at > 0, at < last) for at, stays in enumerate(operations)]
    seen[0] = replace(seen[0], after_gap=True)
    questions = list[Question]()
    for first in range(0, len(operations), MOST_OPERATIONS):
        part = operations[first : first + MOST_OPERATIONS]
        count = sum(map(len, part))
        those, seen = seen[:count], seen[count:]
        if seen:  # all of them have come to an end before the next one begins
            those.append(replace(seen[0], values={"state": ""}))
        last = first + len(part)
        name = f"operation {last}" if len(part) == 1 else f"operations {first + 1} to {last}"
        name = "journals" if len(part) == len(operations) else name
        models = _models(part, edges[first:last], whose, line)
        ways = tuple((model, SIGHT) for model in models)
        failed = "" if seen else _last_failure(history)
        questions.append(Question(name, tuple(those), ways, failed))
    if len(questions) > 1:
        about.append(
            f"{len(operations)} operations are explained in parts of {MOST_OPERATIONS}, each in a "
            "new cluster"
        )
    return tuple(questions), tuple(about)


def _last_failure(history: Sequence[Passage]) -> str:
    ways = [*(stay.edge for stay in history if stay.state), ""]
    left = list[JournalEntry]()
    entered = 0
    for stay in history:
        entered += bool(stay.state)
        back = stay.state and ways[entered] in ("rollback", "rejected")
        left += () if back else stay.failed
    if not left:
        return ""
    more = f" (and {counted(len(left) - 1, 'more failure')})" if left[1:] else ""
    return f"{left[0].source} line {left[0].line}: {left[0].words}{more}"


def _states(whose: Tables) -> set[str]:
    return {state.name for machine in MACHINES[whose].values() for state in machine.states}


def _sighting(entry: JournalEntry, edition: Edition, whose: Tables) -> Seen:
    where = f"{entry.source} line {entry.line}"
    if (state := tables.transition_state(entry.words)) is None or not state.played:
        raise BadInput(where, entry.words, "a transition state that is modelled")
    having = [name for name in EDITIONS if state.name in _states(name)]
    if state.name not in _states(whose):
        allowed = f"a state of edition {edition}; this one is in edition {', '.join(having)}"
        raise BadInput(where, entry.words, allowed)
    return Seen(where, {"state": state.name})


def _operations(stays: Sequence[Passage], machines: Sequence[Steps]) -> Iterator[list[Passage]]:
    firsts = [at for at, stay in enumerate(stays) if stay.edge in ("begins", "unknown")]
    for first, last in pairwise([0, *firsts, len(stays)]):
        yield from _apart(stays[first:last], machines, first > 0, last < len(stays))


def _apart(
    stays: Sequence[Passage], machines: Sequence[Steps], begins: bool, ends: bool
) -> Iterator[list[Passage]]:
    """The fewest operations that stays can be, each with a machine of all its steps, or one.

    An edge may lead to where another operation begins: a generation of CDC streams is committed in
    a join, or by itself before a node leaves.
    """
    count = len(stays)

    def fits(first: int, last: int) -> bool:
        steps = _steps(stays[first:last], begins or first > 0, ends or last < count)
        return any(steps <= own for own in machines)

    fewest = {0: [0]}  # where an operation can end: where those up to there begin
    if count <= MOST_STAYS:
        for last in range(1, count + 1):
            ways = [[*fewest[first], last] for first in fewest if fits(first, last)]
            if ways:
                fewest[last] = min(ways, key=len)
    for first, last in pairwise(fewest.get(count, [0, count])):
        yield [*stays[first:last]]


def _steps(stays: Sequence[Passage], begins: bool, ends: bool) -> Steps:
    states = [stay.state for stay in stays]
    path = [BOUNDARY] * begins + states + [BOUNDARY] * ends
    return frozenset({("", s) for s in states} | {e for e in pairwise(path) if e[0] != e[1]})


def _machines(whose: Tables) -> dict[str, Steps]:
    owned = {
        name: frozenset(
            step
            for edge in MACHINES[whose][name].edges
            for step in (("", edge.source), ("", edge.target), (edge.source, edge.target))
        )
        for name in (TRACK, *OPERATIONS)
    }
    alike = {own: name for name, own in reversed(owned.items())}
    return {name: own for own, name in reversed(alike.items())}


def _models(
    operations: Sequence[list[Passage]], edges: Sequence[Steps], whose: Tables, release: Supported
) -> Iterator[Topology]:
    machines = _machines(whose)
    fitting = []
    for stretch in edges:  # where no machine has all of it, those that have the most are tried
        most = max(len(stretch & own) for own in machines.values())
        fitting.append([name for name, own in machines.items() if len(stretch & own) == most])
    stays = [stay for each in operations for stay in each]
    backs = sum(stay.edge in ("rollback", "rejected") for stay in stays)
    rows = [*islice(product(*fitting), MOST_WAYS)]
    deaths = max(row.count("replacing") + row.count("removing") for row in rows)
    drains = any(stay.state == "tablet_draining" for stay in stays)
    for row in rows:
        wanted = [OPERATIONS[name] for name in row if name in OPERATIONS]
        leaving = sum("{old}" in each for each in wanted)
        names = iter(ascii_uppercase[STAY + leaving :])
        leavers = iter(ascii_uppercase[STAY:])
        yield Topology(
            edition="documents" if whose == "documents" else "server",
            release=release,
            nodes=STAY + leaving,
            operations=tuple(
                each.format(
                    new=next(names) if "{new}" in each else "",
                    old=next(leavers) if "{old}" in each else "",
                )
                for each in wanted
            ),
            tablets=row.count(TRACK),
            resizes=min(MOST_FAULTS, sum(stay.state == RESIZE for stay in stays)),
            failures=min(MOST_FAULTS, backs),
            on_tablets=tuple(ascii_uppercase[STAY : STAY + leaving]) if drains else (),
            down=(),
            crashes=deaths,
        )
