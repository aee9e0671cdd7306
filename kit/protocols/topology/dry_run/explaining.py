"""Journals of a coordinator as observations: does the model of the topology enter these states?

A journal names every state that is entered, and is silent where an operation ends. How many nodes
the cluster has no line says: two stay, and others join or leave as the states require it. Which
operation a stretch of states belongs to no line says either: each one that has them all is tried.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from string import ascii_uppercase
from typing import Any

from kit.edge.paths import Readable
from kit.engine.explain import Question, Seen, Sight
from kit.errors import BadInput
from kit.operators.importers.topology_journals import JournalEntry, read_journals
from kit.protocols.topology.control import MOST_FAULTS
from kit.protocols.topology.dry_run.history import Passage, passages
from kit.protocols.topology.rules.decide import pending
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, Edition, transition_state
from kit.protocols.topology.topology import Topology

STAY = 2
"""Members that stay: with them there is a majority beside one that is dead."""
MOST_WAYS = 16
"""Rows of operations that are tried for one journal."""
MOST_OPERATIONS = 8
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


def in_one_order(m: Topology, s: Any) -> Iterator[tuple[Any, Any]]:
    """What may happen, of the orders in which nodes apply and answer only one.

    Who has applied more can do no less, so that comes first. Answers change nothing for each other.
    """
    ready = [*m.successors(s)]
    applied = [each for each in ready if type(each[0]) is APPLY]
    answers = [each for each in ready if type(each[0]) is ANSWER]
    others = (each for each in ready if type(each[0]) not in (APPLY, ANSWER))
    yield from applied[:1] or (*answers[:1], *others)


def _one_by_one(m: Topology, s: Any) -> Iterator[tuple[Any, Any]]:
    """The same, where each request is made once those before it are done: no line shows a queue."""
    waits = s.topology.transition or pending(s.topology)
    return (each for each in in_one_order(m, s) if not waits or type(each[0]) is not REQUEST)


SIGHT = Sight(
    lambda m, s: {"state": s.topology.transition},
    hides=lambda before, after: after["state"] in ("", before["state"]),
    steps=_one_by_one,
)


def of_journals(
    files: Sequence[Readable], edition: Edition, anonymize: bool
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """The question whether the states of journals follow one another, and lines to read first.

    Raises BadInput for a file that is no journal, a state that is not modelled, or too many
    operations.
    """
    if anonymize:
        raise BadInput(
            "anonymize", "journals", "only snapshots; lines of a journal stay as they are"
        )
    entries = read_journals([str(each) for each in files])
    named = (each for each in entries if each.kind == "entered")
    seen = tuple(_seen(each, at == 0, edition) for at, each in enumerate(named))
    if not seen:
        allowed = "journals with lines such as entered `write both read old` transition state"
        raise BadInput("journals", "no line with a state", allowed)
    stays = [stay for stay in passages(entries, edition) if stay.state]
    models = tuple(_models(stays, edition))
    about = (
        f"{len(seen):,} of {len(entries):,} lines name a state",
        f"no journal gives the number of nodes; in the model, {STAY} nodes do not change",
    )
    return (Question("journals", seen, tuple((model, SIGHT) for model in models)),), about


def _states(edition: Edition) -> set[str]:
    """The transition states that an edition has."""
    return {state.name for machine in MACHINES[edition].values() for state in machine.states}


def _seen(entry: JournalEntry, first: bool, edition: Edition) -> Seen:
    where = f"{entry.source} line {entry.line}"
    state = transition_state(entry.words)
    if state is None or not state.played:
        raise BadInput(where, entry.words, "a transition state that is modelled")
    having = [name for name in EDITIONS if state.name in _states(name)]
    if edition not in having:
        allowed = f"a state of edition {edition}; this one is in edition {', '.join(having)}"
        raise BadInput(where, entry.words, allowed)
    return Seen(where, {"state": state.name}, after_gap=first)


def _stretches(stays: Sequence[Passage]) -> Iterator[set[tuple[str, str]]]:
    """The states and edges of one operation after another, those of a state without a source.

    Where a journal begins and ends, no line says whether an operation does.
    """
    stretch: set[tuple[str, str]] = set()
    before = ""
    for stay in stays:
        # What no edge leads to is at best another operation: what was before it is explained.
        if before and stay.edge in ("begins", "unknown"):
            yield stretch | {(before, BOUNDARY)}
            stretch, before = set(), BOUNDARY
        stretch |= {("", stay.state), (before, stay.state)} - {(stay.state, stay.state)}
        before = stay.state
    yield stretch


def _models(stays: Sequence[Passage], edition: Edition) -> Iterator[Topology]:
    """A model for each row of operations that may have the states, the likeliest first."""
    owned = {
        name: {
            step
            for edge in MACHINES[edition][name].edges
            for step in (("", edge.source), ("", edge.target), (edge.source, edge.target))
        }
        for name in (TRACK, *OPERATIONS)
        if name in MACHINES[edition]
    }
    stretches = [*_stretches(stays)]
    if len(stretches) > MOST_OPERATIONS:
        allowed = f"journals of at most {MOST_OPERATIONS} operations"
        raise BadInput("journals", f"{len(stretches)} operations", allowed)
    # Where no machine has all of it, those that have the most are tried.
    fitting = []
    for stretch in stretches:
        most = max(len(stretch & own) for own in owned.values())
        fitting.append([name for name, own in owned.items() if len(stretch & own) == most])
    backs = sum(stay.edge in ("rollback", "rejected") for stay in stays)
    for row in islice(product(*fitting), MOST_WAYS):
        wanted = [OPERATIONS[name] for name in row if name in OPERATIONS]
        leaving = sum("{old}" in each for each in wanted)
        names = iter(ascii_uppercase[STAY + leaving :])
        leavers = iter(ascii_uppercase[STAY:])
        yield Topology(
            edition=edition,
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
        )
