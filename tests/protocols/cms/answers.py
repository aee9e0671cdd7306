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


def joined_without() -> list[str]:
    """X streams, then B writes to those that it knows, and X joins."""
    news = ["ask-seed X A", "bootstrap X", "learn A X", "stream X A"]
    return [*news, "write B", "joined X"]


def accepted(events: list[str]) -> list[bool]:
    """A table can be created where it is not, and altered or dropped where it is."""
    there: set[str] = set()
    answers = []
    for event in events:
        kind, _, table = event.split()
        answers.append((table in there) != (kind == "create"))
        if answers[-1] and kind != "alter":
            there ^= {table}
    return answers


def mended() -> list[str]:
    """A finds that B has a change, is given it, and begins again."""
    first = ["change B schema", "upgrade A", "upgrade B", "initialize A", "answer A B"]
    again = ["initialize A", "answer A B", "begin-log A", "catch-up B"]
    return [*first, "abort A", "inject B A", *again]


def log_may_begin(nodes: list[tuple[str, bool, list[int]]]) -> bool:
    """Nobody is open to changes, and all have the same."""
    closed = all(version == "new" or switch for version, switch, _ in nodes)
    return closed and all(has == nodes[0][2] for _, _, has in nodes)


def decides(readers: list[str], writers: list[str], up: list[str]) -> bool:
    """More than half of either group answers."""
    return all(2 * len({*group} & {*up}) > len(group) for group in (readers, writers))


RIGHT: dict[str, Any] = {
    "overtaken": overtaken,
    "promises": lambda: promises,
    "joined-without": joined_without,
    "accepted": lambda: accepted,
    "mended": mended,
    "log-may-begin": lambda: log_may_begin,
    "typed-loss": lambda: PASSING["cms/cms-lost"],
    "decides": lambda: decides,
}
