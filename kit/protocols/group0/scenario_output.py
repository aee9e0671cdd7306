"""What a scenario file shows of a moment of group 0: a few lines of plain text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.model import Group0


def log(m: Group0, s: Any, _: str) -> str:
    """The entries of the log; what did nothing is marked."""
    return _lines(
        f"{row.index}  {'any' if row.previous is None else row.previous} -> {row.new}  {row.text} "
        f"of {row.creator}{'' if row.effective else ' (no-op)'}"
        for row in facts.entries(m, s)
    )


def history(m: Group0, s: Any, _: str) -> str:
    """The state ids in each node's ``group0_history``, the newest first."""
    return _lines(
        f"{name}: {', '.join(map(str, facts.history(m, s, name))) or 'empty'}"
        for name in m.setup.names
    )


def indexes(m: Group0, s: Any, _: str) -> str:
    """How far each node stores, knows and has applied the log."""
    return _lines(
        f"{row.name}: stored {row.stored}, commit {row.commit}, applied {row.applied}"
        + ("" if row.up else " (down)")
        for row in facts.nodes(m, s)
    )


def guards(m: Group0, s: Any, _: str) -> str:
    """How far each guard is, and what its steps found."""
    return _lines(
        f"{row.node}: {row.change}: "
        + "; ".join(
            f"{step.number} {step.name}: {step.result}" for step in row.steps if step.result
        )
        for row in facts.guards(m, s)
    )


def answers(m: Group0, s: Any, _: str) -> str:
    """What each client was told."""
    return _lines(f"{row.text}: {row.answer}" for row in facts.operations(m, s))


def schema(m: Group0, s: Any, _: str) -> str:
    """Each node's schema version and tables."""
    return _lines(
        f"{name}: group0_schema_version {facts.schema_version(m, s, name) or 'no row'}"
        + "".join(
            f"; {t.keyspace}.{t.name} ({', '.join(t.columns)}) version {t.version}"
            for t in facts.schema_tables(m, s, name)
        )
        for name in m.setup.names
    )


def voters(m: Group0, s: Any, _: str) -> str:
    """Who votes, and how many are needed."""
    up, count, needed = facts.quorum(s)
    names = ", ".join(row.name for row in facts.nodes(m, s) if row.votes)
    return f"{names}: {up} of {count} up, {needed} needed"


OUTPUT: dict[str, Callable[[Any, Any, str], str]] = {
    "log": log,
    "history": history,
    "indexes": indexes,
    "guards": guards,
    "answers": answers,
    "schema": schema,
    "voters": voters,
}


def _lines(lines: Any) -> str:
    return "\n".join(lines) or "nothing"
