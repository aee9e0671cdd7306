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


def joined_without() -> list[str]:
    """X streams, then B writes to those that it knows, and X joins."""
    news = ["ask-seed X A", "bootstrap X", "learn A X", "stream X A"]
    return [*news, "write B", "joined X"]


def mended() -> list[str]:
    """A finds that B has a change, is given it, and begins again."""
    first = ["change B schema", "upgrade A", "upgrade B", "initialize A", "answer A B"]
    again = ["initialize A", "answer A B", "begin-log A", "catch-up B"]
    return [*first, "abort A", "inject B A", *again]


RIGHT: dict[str, Any] = {
    "overtaken": overtaken,
    "joined-without": joined_without,
    "mended": mended,
    "typed-loss": lambda: PASSING["cms/cms-lost"],
}
