"""One moment of group 0 as rows: the log, its nodes, the guards that are held; and what scenario
files show of it.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from kit.masks import majority
from kit.model.timeline import PassedStep
from kit.protocols.group0.group0 import Group0
from kit.protocols.group0.rules.commands import STEPS
from kit.protocols.group0.state import SUBMITTED, Group0State, tables_after
from kit.search.zoom import FinerRun


class EntryRow(Struct, frozen=True):
    """An entry of the log: ``index`` counts from 1, ``effective`` says that it is no no-op."""

    index: int
    text: str
    creator: str
    previous: int | None
    new: int
    effective: bool


SERVER_SHARD = 0
"""The shard of each node on which group 0's Raft server runs, as long as the node is up (Raft in
Scylla, "The group 0").
"""


class MemberRow(Struct, frozen=True):
    """A node: its three indexes, and what it is in the group.

    ``leads`` is what it takes itself for; ``deposed`` that it is wrong. It has so many ``shards``.
    """

    name: str
    up: bool
    votes: bool
    leads: bool
    deposed: bool
    stored: int
    commit: int
    applied: int
    shards: int


class GuardRow(Struct, frozen=True):
    """A guard that a node holds: for which change, and what the steps that are done found.

    ``silent``: no answer to its command is on its way. Leader or network failed, or a new leader
    never had it from this node: what became of it cannot be known before the node applies it.
    """

    node: str
    change: str
    results: tuple[str, ...]
    silent: bool


def entries(m: Group0, s: Group0State) -> tuple[EntryRow, ...]:
    """The log, the oldest first."""
    effective = tables_after(s.log, m.switches).effective
    return tuple(
        EntryRow(i, command.change.text, command.creator, command.previous, command.new, counts)
        for i, (command, counts) in enumerate(zip(s.log, effective, strict=True), start=1)
    )


def nodes(m: Group0, s: Group0State) -> tuple[MemberRow, ...]:
    """The members of the group."""
    rows = []
    for i, (name, at) in enumerate(zip(m.names, s.indexes, strict=True)):
        up, votes, deposed = (bool(mask >> i & 1) for mask in (s.up, s.voters, s.deposed))
        leads = up and (s.leader == i or deposed)
        own = up, votes, leads, deposed, at.stored, at.commit, at.applied
        rows.append(MemberRow(name, *own, m.shards))
    return tuple(rows)


def guards(m: Group0, s: Group0State) -> tuple[GuardRow, ...]:
    """The guards that are held."""
    rows = []
    for name, held in zip(m.names, s.guards, strict=True):
        if held is not None:
            results = (
                "held",
                "done" if m.read_barrier else "left out",
                str(held.observed),
                str(held.new),
                "makes sense",
                f"{held.observed} → {held.new}",
                "applied",
            )
            change = m.clients[held.operation].statement.text
            known = any(command.new == held.new for command in (*s.in_flight, *s.log))
            leads_on = held.term == s.term and s.up >> s.leader & 1
            silent = held.step == SUBMITTED and not (known and leads_on)
            rows.append(GuardRow(name, change, results[: held.step], silent))
    return tuple(rows)


def quorum(s: Group0State) -> tuple[int, int, int]:
    """How many voters are up, how many there are, how many a majority is."""
    count = s.voters.bit_count()
    return (s.up & s.voters).bit_count(), count, majority(count)


# -- what scenario files show ----------------------------------------------------------------------


def _log(m: Group0, s: Group0State) -> Iterable[str]:
    for row in entries(m, s):
        states = f"{'any' if row.previous is None else row.previous} -> {row.new}"
        effect = "" if row.effective else " (no-op)"
        yield f"{row.index}  {states}  {row.text} by {row.creator}{effect}"


def _history(m: Group0, s: Group0State) -> Iterable[str]:
    for node, name in enumerate(m.names):
        yield f"{name}: {', '.join(map(str, m.tables(s, node).history.rows[::-1])) or 'empty'}"


def _indexes(m: Group0, s: Group0State) -> Iterable[str]:
    for row in nodes(m, s):
        down = "" if row.up else " (down)"
        yield f"{row.name}: stored {row.stored}, commit {row.commit}, applied {row.applied}{down}"


def _guards(m: Group0, s: Group0State) -> Iterable[str]:
    for row in guards(m, s):
        done = enumerate(zip(STEPS, row.results, strict=False), start=1)
        steps = (f"{number} {step}: {result}" for number, (step, result) in done)
        yield f"{row.node}: {row.change}: {'; '.join(steps)}"


def _answers(m: Group0, s: Group0State) -> Iterable[str]:
    for client, answer in zip(m.clients, s.answers, strict=True):
        yield f"{client.text}: {answer}"


def _schema(m: Group0, s: Group0State) -> Iterable[str]:
    for node, name in enumerate(m.names):
        schema = m.tables(s, node).schema
        tables = (
            f"; {t.keyspace}.{t.name} ({', '.join(t.columns)}) version {t.version}"
            for t in schema.tables
        )
        yield f"{name}: group0_schema_version {schema.version or 'no row'}{''.join(tables)}"


def _voters(m: Group0, s: Group0State) -> Iterable[str]:
    up, count, needed = quorum(s)
    yield f"{', '.join(m.named(s.voters))}: {up} of {count} up, {needed} needed"


def _joined(lines: Callable[[Group0, Any], Iterable[str]], m: Group0, s: Any, _: str) -> str:
    return "\n".join(lines(m, s)) or "nothing"


OUTPUT = {
    "log": partial(_joined, _log),
    "history": partial(_joined, _history),
    "indexes": partial(_joined, _indexes),
    "guards": partial(_joined, _guards),
    "answers": partial(_joined, _answers),
    "schema": partial(_joined, _schema),
    "voters": partial(_joined, _voters),
}


MOST_SERVERS = 7
"""As many can be in the finer model."""


def brought_by_raft(m: Any, way: Sequence[PassedStep]) -> FinerRun | None:
    """The run of model ``raft`` that brings a command into the log, if the last step commits it.

    The same node leads from the start, and all nodes are up.
    """
    step = way[-1]
    count = len(step.after.log)
    if count == len(step.before.log) or len(m.names) > MOST_SERVERS:
        return None
    leader, voters = m.names[step.before.leader], m.named(step.before.voters)
    follower = f"1, commit 1, follows {leader}"
    requests = [
        f"{each.change.text.replace(' ', '-')} at {each.creator}" for each in step.after.log
    ]
    parameters = {
        "nodes": len(m.names),
        "members": " ".join(n if n in voters else n.lower() for n in m.names),
        "edition": "server",
        "begins": tuple("1, commit 1, leads" if n == leader else follower for n in m.names),
        "requests": tuple(requests),
    }
    begins = f"request {step.after.log[count - 1].creator} {requests[-1]}"
    story = f"How command {count} gets into the log: the messages of Raft"
    return FinerRun("raft", parameters, "append", count, begins, story)
