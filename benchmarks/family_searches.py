"""``kit.search.check`` on searches that families declare, against a plain loop of the same model.

Both take the same steps through the same states and judge the same promises; the loop remembers no
way back to a run, and judges neither goals nor, of a symmetry, whether it keeps its word.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure, alternating, show
from benchmarks.plain_search import explore
from kit.model.family import TimedSearch, families
from kit.model.registry import build
from kit.search.check import Result, check

ROUNDS = 2


def figures() -> Iterator[Figure]:
    """A row for each search."""
    for family in families():
        for search in family.searches:
            yield _figure(search)


def _figure(search: TimedSearch) -> Figure:
    model = build(search.model, search.parameters)
    results: list[Result] = []
    counts: list[tuple[int, int]] = []
    ours, plain = alternating(
        ROUNDS,
        lambda: results.append(check(model, symmetry=search.symmetry)),
        lambda: counts.append(explore(model, symmetry=search.symmetry)),
    )
    states, steps = counts[0]
    assert results[0].complete
    assert (results[0].states, results[0].transitions) == (states, steps)
    return Figure(
        f"{search.model}: {search.about} ({states:,} states)",
        f"{states / ours / 1000:.1f} k states/s",
        f"plain loop {states / plain / 1000:.1f} k",
        plain / ours,
    )


if __name__ == "__main__":
    show(figures())
