"""A right answer to every exercise on the CMS."""

from __future__ import annotations

from typing import Any

from tests.protocols.cms.test_drill import PASSING


def overtaken() -> list[str]:
    """C promises both ballots before it accepts anything; A learns epoch 1 and begins again."""
    first = ["submit r1 A", "submit r2 B", "ballot A", "prepare A C"]
    of_b = ["ballot B", "prepare B C", "propose B", "accept B C", "learn B", "answer B"]
    again = ["ballot A", "prepare A C", "propose A", "accept A C", "learn A", "answer A"]
    return [*first, *of_b, "ask B for A", *again]


def promises(ballots: list[int]) -> list[bool]:
    """A ballot is promised where no higher one was."""
    return [ballot == max(ballots[: place + 1]) for place, ballot in enumerate(ballots)]


def decides(readers: list[str], writers: list[str], up: list[str]) -> bool:
    """More than half of either group answers."""
    return all(2 * len({*group} & {*up}) > len(group) for group in (readers, writers))


RIGHT: dict[str, Any] = {
    "overtaken": overtaken,
    "promises": lambda: promises,
    "typed-loss": lambda: PASSING["cms/cms-lost"],
    "decides": lambda: decides,
}
