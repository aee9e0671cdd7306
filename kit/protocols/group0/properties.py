"""What must hold of group 0: a command counts once, answers are true, nodes agree on tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kit.engine.log import Log
from kit.engine.model import Monitor, Property, always, goal, sometimes, step
from kit.protocols.group0.actions import CommitCommand, ServeTableRequest
from kit.protocols.group0.linearizable import linearizability
from kit.protocols.group0.rules.history import takes_effect
from kit.protocols.group0.rules.versions import version_of
from kit.protocols.group0.rules.voters import is_majority
from kit.protocols.group0.setup import Setup
from kit.protocols.group0.state import ANSWERED, Group0State, prefix, tables_after


def properties(setup: Setup, earlier: int) -> tuple[Property, ...]:
    """The promises, and what some state must show; ``earlier`` commands are in the log at first."""
    title = "A change takes effect once, as its client is told"
    return (
        step(
            "built-on",
            "A command changes only the state that it was built on",
            built_on(setup),
            "INV-ONCE",
            (CommitCommand,),
        ),
        always("once", title, once(setup, earlier), "INV-ONCE"),
        always(
            "versions",
            "Equal table versions mean equal tables",
            lambda s: _versions(prefix(s.log, max(each.applied for each in s.indexes)), setup),
            "INV-SCHEMA",
        ),
        step(
            "new-enough",
            "A request is served with a table at least as new as its coordinator's",
            new_enough(setup),
            "INV-SCHEMA",
            (ServeTableRequest,),
        ),
        always("majority", "What is committed is stored by a majority", stored(setup)),
        sometimes("no-op", "A command comes too late and does nothing", no_op(setup)),
        sometimes("success", "A client is told of success", lambda s: "success" in s.answers),
        goal("answered", "Every client gets an answer", _all_answered),
    )


def monitors(setup: Setup) -> tuple[Monitor, ...]:
    """What only a whole history can tell."""
    return (linearizability(setup),)


def built_on(setup: Setup) -> Callable[[Group0State, CommitCommand, Group0State], str | None]:
    """A command that takes effect finds the state id that its creator read in step 3."""

    def judge(before: Group0State, action: CommitCommand, after: Group0State) -> str | None:
        command = after.log[len(after.log) - 1]
        newest = tables_after(before.log, setup.safeguards).history.newest
        guard = before.guards[setup.number(command.creator)]
        held = guard is not None and guard.new == command.new
        observed = guard.observed if guard is not None and held else command.previous
        if observed in (None, newest) or not takes_effect(newest, command, setup.safeguards):
            return None
        return (
            f"{command.change.text} of {command.creator}, built on state {observed}, "
            f"changes state {newest}"
        )

    return judge


def once(setup: Setup, earlier: int) -> Callable[[Group0State], str | None]:
    """An operation takes effect at most once; once if its client was told of success, and never if
    it was told of an error. The first ``earlier`` commands of the log are nobody's.
    """

    def judge(s: Group0State) -> str | None:
        effective = tables_after(s.log, setup.safeguards).effective
        commands = tuple(zip(s.log, effective, strict=True))[earlier:]
        for operation, answer in zip(setup.operations, s.answers, strict=True):
            name = setup.names[operation.node]
            times = sum(
                counts and command.creator == name and command.change == operation.statement
                for command, counts in commands
            )
            allowed = {"success": (1,), "error": (0,)}.get(answer, (0, 1))
            if times not in allowed:
                ending = f"; its client was told: {answer}" if answer in ANSWERED else ""
                return f"{operation.text} took effect {_times(times)}{ending}"
        return None

    return judge


def _times(count: int) -> str:
    return ("never", "once", "twice")[count] if count < 3 else f"{count} times"


@lru_cache(1 << 14)
def _versions(log: Log, setup: Setup) -> str | None:
    """Nodes that went through a part of this log each: no two have a version with other columns."""
    known: dict[tuple[str, int], tuple[int, tuple[str, ...]]] = {}
    for index in range(len(log) + 1):
        for table in tables_after(prefix(log, index), setup.safeguards).schema.tables:
            name, definition = f"{table.keyspace}.{table.name}", (table.id, table.columns)
            if known.setdefault((name, table.version), definition) != definition:
                columns = known[name, table.version][1]
                return (
                    f"version {table.version} of {name} has columns {', '.join(columns)} "
                    f"and columns {', '.join(table.columns)}"
                )
    return None


def new_enough(setup: Setup) -> Callable[[Group0State, ServeTableRequest, Group0State], str | None]:
    """The replica's version of the table is not older than that of the request."""

    def judge(before: Group0State, action: ServeTableRequest, after: Group0State) -> str | None:
        request, version = setup.requests[action.request], before.requests[action.request].version
        applied = before.indexes[request.replica].applied
        schema = tables_after(prefix(before.log, applied), setup.safeguards).schema
        own = version_of(schema, request.keyspace, request.table)
        if own >= version:
            return None
        name = setup.names[request.replica]
        return (
            f"{name} serves {request.text} with version {own} of the table, the request has "
            f"{version}"
        )

    return judge


def stored(setup: Setup) -> Callable[[Group0State], str | None]:
    """More than half of the voters store the whole of what is committed."""

    def judge(s: Group0State) -> str | None:
        length = len(s.log)
        nodes = sum(1 << i for i, each in enumerate(s.indexes) if each.stored >= length)
        if is_majority(nodes, s.voters):
            return None
        return f"index {length} is stored by {', '.join(setup.named(nodes)) or 'nobody'} only"

    return judge


def no_op(setup: Setup) -> Callable[[Group0State], bool]:
    """Some committed command did nothing."""
    return lambda s: False in tables_after(s.log, setup.safeguards).effective


def _all_answered(s: Group0State) -> bool:
    served = all(request.stage != "sent" for request in s.requests)
    return served and all(answer in ANSWERED for answer in s.answers)
