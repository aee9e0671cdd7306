"""Group 0 in the registry."""

from __future__ import annotations

from kit.engine.registry import Entry, Fuzzing, Scenario
from kit.protocols.group0.model import Group0
from kit.protocols.group0.parameters import Group0Parameters
from kit.protocols.group0.safeguards import SAFEGUARDS
from kit.protocols.group0.scenario_output import OUTPUT

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
ENTRY = Entry(
    name="group0",
    title=Group0.title,
    parameters=Group0Parameters,
    build=Group0,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    scenario_output=OUTPUT,
    fuzzing=FUZZING,
)
