"""Advice on a recovery in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from kit.commands.layout import GAP, columns, limited, listed, wrap
from kit.errors import are, counted
from kit.protocols.recovery.dry_run.report import (
    KeyspaceLine,
    QuorumLine,
    RecoveryAdvice,
    first_of,
)
from kit.protocols.recovery.rules.availability import LevelStanding
from kit.protocols.recovery.rules.failure_tables import RF, FailureRow, JudgedFailure

OFFERED = {True: "offered", False: "not here"}
LEFT = {
    "available": "every range has a replica left",
    "of some ranges": "some ranges may have lost every replica",
    "unavailable": "every range has lost every replica",
}


def as_text(advice: RecoveryAdvice) -> str:
    """The whole answer."""
    heading = f"{advice.source}: {advice.procedure}: {advice.reason} (edition {advice.edition})"
    lines = wrap(heading, "", GAP)
    lines += [line for text in advice.warnings for line in wrap(text, f"{GAP}warning: ")]
    lines += ["", *wrap(_group0(advice.group0), "group 0: ", GAP)]
    for said, names in (("down", advice.down), ("lost", advice.lost)):
        lines += wrap(_named(names), f"{GAP}{said}: ")
    if advice.restart and advice.procedure == "restart":
        lines += wrap(f"at least {_back(advice.restart)}", GAP)
    lines += ["", "procedures"]
    lines += columns([(OFFERED[each.offered], each.procedure, each.why) for each in advice.choices])
    for keyspace in advice.keyspaces:
        lines += ["", *_keyspace(keyspace)]
    if advice.leader is not None:
        lines += ["", *wrap(advice.leader, "recovery leader: ")]
        lines += wrap(_named(advice.leaders), f"{GAP}may lead: ")
        lines += wrap(_named(advice.order), f"{GAP}order: ")
    if advice.steps:
        rows = [(f"{at}", step.name, step.what) for at, step in enumerate(advice.steps, 1)]
        lines += ["", "steps", *columns(rows)]
    if advice.worst:
        lines += ["", "in the worst case"]
        lines += limited([line for text in advice.worst for line in wrap(text, GAP)], "losses")
    return "\n".join(lines)


def tables_text(rows: Iterable[JudgedFailure]) -> str:
    """The documents' tables of failures: their word, and below it what is computed."""
    lines = [f"schema changes and data in clusters of three nodes a datacenter, RF {RF} in each"]
    for judged in rows:
        row = judged.row
        said = "possible" if row.schema else f"impossible, {_back(row.back)}"
        computed = (
            f"possible: {judged.schema} where all vote; of five voters {judged.at_once} when they "
            f"die at once, {judged.in_turn} one after another"
        )
        back = f", {_back(judged.back)}" if judged.back else ""
        levels = [f"{each.level} {each.datacenter}".rstrip() for each in _unmet(judged)]
        lines += ["", _failure(row)]
        words = f"schema changes {said}; data available; {row.advice}"
        lines += wrap(words, f"{GAP}documents  ")
        lines += wrap(f"schema changes {computed}{back}", f"{GAP}computed   ")
        lines += wrap(f"data not always available at {listed(levels, 'no level')}", GAP * 6 + " ")
    return "\n".join(lines)


def _back(count: int) -> str:
    return f"{count} {'has' if count == 1 else 'have'} to come back"


def _unmet(judged: JudgedFailure) -> list[LevelStanding]:
    return [each for each in judged.data if each.standing != "available"]


def _failure(row: FailureRow) -> str:
    return f"{counted(row.datacenters, 'datacenter')}, {len(row.places)} nodes: {row.words} down"


def _group0(quorum: QuorumLine) -> str:
    has = "a quorum" if quorum.holds else "no quorum"
    needed = f"{quorum.needed} {are(quorum.needed)} needed"
    said = f"{has}: {quorum.live} of {counted(quorum.voters, 'voter')} live, {needed}"
    if quorum.at_once == quorum.in_turn:
        return said
    kept = "one after another" if quorum.in_turn else "at once"
    return f"{said}; it would be kept if they died {kept}, not otherwise"


def _keyspace(line: KeyspaceLine) -> list[str]:
    rows = [(f"{each.level} {each.datacenter}".rstrip(), each.standing) for each in line.levels]
    return [
        f"data of {line.keyspace}: {LEFT[line.replicas_left]}",
        *limited(columns(rows), "levels"),
    ]


def _named(names: Iterable[str]) -> str:
    return first_of(tuple(names)) or listed(())
