"""Journals of a coordinator as observations: does the model of the topology enter these states?

A journal names every state that is entered, and is silent where an operation ends. How many nodes
the cluster has no line says: two stay, and others join or leave as the states require it. Which
operation a stretch of states belongs to no line says either: each one that has them all is tried.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from string import ascii_uppercase

from kit.edge.paths import Readable
from kit.engine.explain import Question, Seen, Sight
from kit.errors import BadInput
from kit.operators.importers.topology_journals import JournalEntry, read_journals
from kit.protocols.topology.dry_run.history import Passage, passages
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import Edition, transition_state
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
    "new_cdc_generation": "new_cdc_generation",
    "lock": "lock",
}
"""What is asked for, by the machine whose states follow; the tablets' track nobody asks for."""
TRACK, RESIZE = "tablets", "tablet_resize_finalization"
SIGHT = Sight(
    lambda m, s: {"state": s.topology.transition},
    hides=lambda before, after: after["state"] in ("", before["state"]),
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
    seen = tuple(_seen(each, at == 0) for at, each in enumerate(named))
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


def _seen(entry: JournalEntry, first: bool) -> Seen:
    where = f"{entry.source} line {entry.line}"
    state = transition_state(entry.words)
    if state is None or not state.played:
        raise BadInput(where, entry.words, "a transition state that is modelled")
    return Seen(where, {"state": state.name}, after_gap=first)


def _stretches(stays: Sequence[Passage]) -> Iterator[set[str]]:
    """The states of one operation after another."""
    stretch: set[str] = set()
    for stay in stays:
        if stretch and stay.edge == "begins":
            yield stretch
            stretch = set()
        stretch.add(stay.state)
    yield stretch


def _models(stays: Sequence[Passage], edition: Edition) -> Iterator[Topology]:
    """A model for each row of operations that may have the states, the likeliest first."""
    states = {
        name: {s for edge in MACHINES[edition][name].edges for s in (edge.source, edge.target)}
        for name in (*OPERATIONS, TRACK)
        if name in MACHINES[edition]
    }
    stretches = [*_stretches(stays)]
    if len(stretches) > MOST_OPERATIONS:
        allowed = f"journals of at most {MOST_OPERATIONS} operations"
        raise BadInput("journals", f"{len(stretches)} operations", allowed)
    # Where no machine has all the states, those that have the most of them are tried.
    fitting = []
    for stretch in stretches:
        most = max(len(stretch & own) for own in states.values())
        fitting.append([name for name, own in states.items() if len(stretch & own) == most])
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
            tablets=row.count(TRACK) and 1,
            resizes=sum(stay.state == RESIZE for stay in stays),
            failures=min(1, backs),
        )
