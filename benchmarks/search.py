"""The search of `kit.check`, which keeps properties and runs, against a loop that keeps neither."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import HEAD, Figure, alternating, spoken
from benchmarks.plain_twophase import explore
from kit.check import check
from kit.twophase.model import TwoPhase, TwoPhaseParameters

RMS = 7
ROUNDS = 3
AIM = 0.7


def figures() -> Iterator[Figure]:
    """The speed of both over the same states and steps."""
    model = TwoPhase(TwoPhaseParameters(RMS))
    result = check(model)
    assert explore(RMS) == (result.states, result.transitions)
    ours, plain = alternating(ROUNDS, lambda: check(model), lambda: explore(RMS))
    rate = result.states / ours / 1000
    yield Figure(
        f"search of twophase, {RMS} managers ({result.states:,} states)",
        spoken(ours),
        f"plain loop {spoken(plain)}",
        plain / ours,
        f"at least {AIM}",
        plain / ours >= AIM,
    )
    yield Figure(
        "unique states a second",
        f"{rate:.0f} k",
        f"plain loop {result.states / plain / 1000:.0f} k",
    )


def main() -> None:
    """Print the rows."""
    print(HEAD)
    for figure in figures():
        print(figure.row, flush=True)


if __name__ == "__main__":
    main()
