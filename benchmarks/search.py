"""``kit.search.check`` against SPIN, Harmony and a plain loop; random walks against hypothesis.

Only the search is timed, on all sides; what SPIN takes to generate and compile its program is shown
apart. A peer that cannot be had here has a row that says so.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stdout
from functools import partial
from io import StringIO

from benchmarks import harmony_twophase, spin
from benchmarks.figures import Figure, alternating, seconds, show, spoken, unmeasured
from benchmarks.plain_twophase import explore
from benchmarks.spin_twophase import promela
from benchmarks.stateful_twophase import RMS as WALKED_RMS
from benchmarks.stateful_twophase import walked
from kit.commands.cli import main
from kit.model.registry import entries
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseParameters
from kit.search.check import check
from kit.search.fuzz import fuzz

RMS = 7
HARMONY_RMS = 6
"""One fewer: with seven Harmony alone takes longer than all other rows together."""
ROUNDS = 3
AIM = 0.7
WALKS, LONGEST = 200, 50
TIMES_FASTER = 10
PATIENCE = 3  # seconds
SLOW = 4


def figures() -> Iterator[Figure]:
    """The rows: the same states and steps on every side, then walks."""
    model = TwoPhase(TwoPhaseParameters(RMS))
    result = check(model)
    assert result.complete
    assert explore(RMS) == (result.states, result.transitions)
    alike, ours, plain = alternating(
        ROUNDS, lambda: check(model, symmetry=True), lambda: check(model), lambda: explore(RMS)
    )
    yield Figure(
        f"search of twophase, {RMS} managers ({result.states:,} states)",
        spoken(ours),
        f"plain loop {spoken(plain)}",
        plain / ours,
        f"at least {AIM}",
        plain / ours >= AIM,
    )
    yield Figure(
        "unique states a second; memory kept",
        f"{result.states / ours / 1000:.0f} k; {result.memory / 1e6:.0f} MB",
        f"plain loop {result.states / plain / 1000:.0f} k",
    )
    some = check(model, symmetry=True)
    yield _verdict(f"the same verdict by symmetry ({some.states:,} states)", alike, plain, "loop")
    yield from _spin(result.states, ours, alike)
    yield from _harmony()
    yield _walks()
    yield _safeguards()


def _verdict(name: str, ours: float, theirs: float, who: str) -> Figure:
    """Ours with symmetry: faster to the verdict than anybody."""
    return Figure(
        name, spoken(ours), f"{who} {spoken(theirs)}", theirs / ours, "faster", theirs > ours
    )


def _spin(states: int, ours: float, alike: float) -> Iterator[Figure]:
    """SPIN over the same states; its best of as many rounds."""
    reason = spin.why_not()
    if reason is not None:
        yield unmeasured("search of twophase by SPIN", reason)
        return
    best = spin.searched(promela(RMS), ROUNDS)
    assert (best.states, best.errors) == (states, 0)
    who = f"SPIN {best.version}"
    yield Figure("the same search by SPIN", spoken(ours), f"{who} {spoken(best.search)}")
    yield _verdict("the verdict by symmetry, SPIN without", alike, best.search, who)
    yield Figure("before it searches, SPIN generates and compiles", "", spoken(best.making))


def _harmony() -> Iterator[Figure]:
    """Harmony over the same states, once: it takes its time."""
    model = TwoPhase(TwoPhaseParameters(HARMONY_RMS))
    states = check(model).states
    alike, ours = alternating(ROUNDS, lambda: check(model, symmetry=True), lambda: check(model))
    with harmony_twophase.installed() as found:
        if isinstance(found, str):
            yield unmeasured("search of twophase by Harmony", found)
            return
        theirs = found.searched(HARMONY_RMS)
        assert (theirs.states, theirs.clean) == (states + harmony_twophase.OWN_STATES, True)
        who = "Harmony"
        yield Figure(
            f"{HARMONY_RMS} managers ({states:,} states) by Harmony",
            spoken(ours),
            f"{who} {spoken(theirs.search)}",
            theirs.search / ours,
        )
        yield _verdict("the verdict by symmetry, Harmony without", alike, theirs.search, who)
        yield Figure("before it searches, Harmony is compiled", "", spoken(found.making))


def _walk(steps: list[int]) -> None:
    steps.append(walked(WALKS, LONGEST))


def _walks() -> Figure:
    """Steps a second of random walks with the invariant judged after each."""
    model = TwoPhase(TwoPhaseParameters(WALKED_RMS))
    ours, theirs = 0.0, 0.0
    for _ in range(ROUNDS):
        found = fuzz(model, range(10 * WALKS), steps=LONGEST)
        assert found.findings == ()
        ours = max(ours, found.steps / found.seconds)
        steps: list[int] = []
        took = seconds(partial(_walk, steps))
        theirs = max(theirs, steps[0] / took)
    return Figure(
        f"random walks of twophase, {WALKED_RMS} managers, steps a second",
        f"{ours / 1000:.0f} k",
        f"hypothesis {theirs / 1000:.1f} k",
        ours / theirs,
        f"at least {TIMES_FASTER}",
        ours / theirs >= TIMES_FASTER,
    )


def _safeguards() -> Figure:
    """From the shell, start-up included: the slowest of all safeguards that are switched off.

    Only those that take longest in one process, where nothing has to start, are asked there.
    Two worlds side by side have no safeguards of their own: their models are asked.
    """
    own = {name: entry for name, entry in entries().items() if name != "worlds"}
    every = [(name, guard.id) for name, entry in own.items() for guard in entry.safeguards]
    with ProcessPoolExecutor(2) as pool:
        alone = dict(zip(every, pool.map(_checked, *zip(*every, strict=True)), strict=True))
    slow = sorted(alone, key=lambda guard: -alone[guard])[:SLOW]
    took = {
        guard: seconds(partial(subprocess.run, _command(*guard), capture_output=True, check=False))
        for guard in slow
    }
    slowest = max(took, key=lambda guard: took[guard])
    return Figure(
        f"check --off, slowest of {len(every)} safeguards, start-up included",
        spoken(took[slowest]),
        " ".join(slowest),
        None,
        f"at most {PATIENCE} s",
        took[slowest] <= PATIENCE,
    )


def _command(model: str, guard: str) -> list[str]:
    return [sys.executable, "-m", "kit", "check", model, "--off", guard]


def _checked(model: str, guard: str) -> float:
    with redirect_stdout(StringIO()):
        return seconds(lambda: main(["check", model, "--off", guard]))


if __name__ == "__main__":
    show(figures())
