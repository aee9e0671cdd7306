"""Groups of three and five, run through the library by a seed, with every step kept."""

from __future__ import annotations

import pytest

from benchmarks.raft_groups import GROUP, Simulation
from kit.chunks import CHUNK
from kit.protocols.raft.rules.log import Entry, Log
from kit.protocols.raft.state import Leader

COMMANDS = 150
CASES = [(size, seed) for size in (3, 5) for seed in range(4)]


@pytest.mark.parametrize(("size", "seed"), CASES)
def test_what_is_lost_and_crashes_harms_nothing(size: int, seed: int) -> None:
    """With loss, disorder and crashes every command runs everywhere, in one order; no term has two
    leaders.
    """
    simulation = Simulation(size, seed, faults=True)
    simulation.run(COMMANDS)
    [lines, *others] = (simulation.machines[name].lines[GROUP] for name in simulation.names)
    assert others == [lines] * (size - 1)
    assert set(lines) == {f"set {number}" for number in range(COMMANDS)}
    servers = [step.server for step in simulation.steps]
    leads = {(each.term, each.id) for each in servers if isinstance(each.role, Leader)}
    assert len({term for term, _ in leads}) == len(leads)


def test_the_same_seed_gives_the_same_steps() -> None:
    """A run is its seed: each step of it, with all that servers held, comes again."""
    runs = [Simulation(3, seed, faults=True) for seed in (7, 7, 8)]
    for each in runs:
        each.run(COMMANDS)
    assert runs[0].steps == runs[1].steps
    assert runs[0].steps != runs[2].steps


def test_a_part_of_a_log_is_what_its_entries_are() -> None:
    """Across the chunks that logs share, from any index on, with or without a limit."""
    log = Log()
    for index in range(1, 2 * CHUNK + 10):
        log = log.appended(Entry(1, index, str(index)))
    for first, most in ((1, 0), (CHUNK - 1, 3), (CHUNK, CHUNK + 2), (2 * CHUNK, 0), (999, 5)):
        last = min(log.last_index, first + most - 1) if most else log.last_index
        assert [e.index for e in log.part(first, most)] == [*range(first, last + 1)]
