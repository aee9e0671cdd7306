"""The rows of a run of group 0: who has gone how far through the log, commands, answers."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from kit.protocols.group0 import facts
from kit.protocols.group0.group0 import Group0
from kit.spark import schemas

COMMANDS = schemas.of_steps(
    "commands",
    "a command that group 0 committed",
    "state_id bigint: the state id that it created, or null if it had no effect",
    "creator string: the node that made it, or empty if no node did",
    "description string: the change that it makes",
)
MEMBERS = schemas.of_steps(
    "members",
    "a member of group 0 after a step",
    "node string: the node",
    "stored bigint: the last entry of the log that it stores",
    "committed bigint: the last entry that it knows is committed",
    "applied bigint: the last entry that it has applied",
    "votes boolean: whether it is a voter",
    "leads boolean: whether it believes that it leads",
)
ANSWERS = schemas.of_steps(
    "answers",
    "what a client had been told by the end of a step",
    "operation int: its number, from 1",
    "text string: what is requested, and at which node",
    "answer string: waiting, running, success, error, unknown or no answer",
)


def _nodes(m: Group0, s: Any) -> Iterator[tuple[str, int, bool]]:
    return ((row.name, row.applied, row.up) for row in facts.nodes(m, s))


def _commands(run: str, m: Group0, moments: schemas.Moments) -> Iterator[schemas.Row]:
    rows = facts.entries(m, moments[-1].state)
    for step, (before, now) in enumerate(pairwise(moments), start=1):
        for row in rows[len(before.state.log) : len(now.state.log)]:
            yield run, step, row.new if row.effective else None, row.creator, row.text


def _members(m: Group0, s: Any) -> Iterator[schemas.Row]:
    for row in facts.nodes(m, s):
        yield row.name, row.stored, row.commit, row.applied, row.votes, row.leads


def _answers(m: Group0, s: Any) -> Iterator[schemas.Row]:
    for number, (client, answer) in enumerate(zip(m.clients, s.answers, strict=True), start=1):
        yield number, client.text, answer


ROWS: schemas.Makers = {
    schemas.EPOCHS: schemas.epochs_with(_nodes),
    COMMANDS: _commands,
    MEMBERS: schemas.of_states(_members),
    ANSWERS: schemas.of_states(_answers),
}
