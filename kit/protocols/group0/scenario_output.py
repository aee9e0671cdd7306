"""The scenarios of group 0, and what a scenario file shows of a moment: a few lines of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.engine.declared import entry
from kit.engine.registry import Fuzzing, Scenario
from kit.protocols.group0.facts import moment as facts
from kit.protocols.group0.group0 import Group0


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
        f"{name}: {', '.join(map(str, facts.history(m, s, name))) or 'empty'}" for name in m.names
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
        for name in m.names
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


_RACE = (
    *("create table ks.t at A", "create table ks.t at B", "barrier A", "barrier B"),
    *("read A", "read B", "make-id A", "make-id B", "validate A", "validate B"),
    *("submit A", "submit B", "commit 4 by A B", "commit 2 by A B"),
)
_ONE = ("create table ks.t at A",)
_SENT = (*_ONE, "barrier A", "read A", "make-id A", "validate A", "submit A")
SCENARIOS = (
    Scenario(
        "schema",
        "A keyspace, then a table, each asked of another node",
        {"operations": ("create keyspace ks at A", "create table ks.t at B"), "earlier": ()},
    ),
    Scenario(
        "race", "Two nodes create the same table; the second command is a no-op", script=_RACE
    ),
    Scenario(
        "unknown-outcome",
        "The leader dies after the commit; the history says what became of the command",
        {"operations": ("create table ks.t at B",), "elections": 1, "crashes": 1},
        script=(
            *("create table ks.t at B", "barrier B", "read B", "make-id B", "validate B"),
            *("submit B", "commit 2 by A B", "crash A", "elect B"),
        ),
    ),
    Scenario(
        "deposed",
        "A leader that was deposed cannot make a change: no majority answers it",
        {"operations": _ONE, "elections": 1},
        script=("create table ks.t at A", "elect B"),
    ),
    Scenario(
        "request",
        "A write carries a table version that its replica does not know yet",
        {
            "operations": ("alter table ks.t add c at A",),
            "earlier": ("create keyspace ks at A", "create table ks.t at A"),
            "requests": ("write ks.t at A to B",),
        },
        script=(
            *("alter table ks.t add c at A", "barrier A", "read A", "make-id A", "validate A"),
            *("submit A", "commit 7 by A C", "apply A", "write ks.t at A to B"),
        ),
    ),
    Scenario(
        "voters",
        "Of seven nodes five vote; when one of them crashes another one takes its place",
        {"nodes": 7, "operations": _ONE, "crashes": 1, "edition": "server", "dcs": 2},
        script=("crash B", "reconfigure A C D E F"),
    ),
)
# Something to race for, with every fault there is, faults rare.
FUZZING = Fuzzing(
    {
        "operations": (
            *("create table ks.t at A", "create table ks.t at B", "drop keyspace ks at C"),
            *(
                "create table ks.u at C",
                "alter table ks.u add c at D",
                "alter keyspace ks rf 3 at E",
            ),
        ),
        "requests": ("write ks.t at A to B", "read ks.u at C to D"),
        "nodes": 7,
        "kept": 1,
        "newcomers": 1,
        "elections": 2,
        "crashes": 2,
        "losses": 2,
        "hours": 1,
        "edition": "server",
    },
    {"elect": 0.05, "crash": 0.05, "lose": 0.1, "hour": 0.05},
)
ENTRY = entry(Group0, scenarios=SCENARIOS, scenario_output=OUTPUT, fuzzing=FUZZING)
