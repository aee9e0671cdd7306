"""``ring`` and ``plan``: somebody's own ring, and rehearsals of operations on it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec import Struct

from kit.errors import BadInput
from kit.importers.ringfile import read_ring
from kit.importers.sizes import read_sizes
from kit.registry import one_of
from kit.rehearsal import Bounds, Line, Rehearsal, as_json, bounds, rehearse
from kit.ring.placements import at_rest
from kit.ring.replication import LocalStrategy
from kit.tcm.rules_operations import Operation, operation_from, parse_operation
from kit.tcm.rules_steps import SHAPES, Shape

ACCEPTED, REFUSED = 0, 1
PLAN_USAGE = (
    "usage: python -m kit plan RINGFILE OPERATION… [--while OPERATION]… [--shape cep|"
    "implementation] [--force] [--sizes FILE] [--json]\n\nOPERATION is one of: join NODE --tokens "
    "T,… [--dc DC] [--rack RACK] | leave NODE |\nmove NODE --tokens T,… | replace OLD NEW | remove "
    "NODE | assassinate NODE"
)


class PlanWords(Struct):
    """What the words of a ``plan`` command say."""

    rest: list[str]
    in_flight: list[str]
    shape: str = "cep"
    sizes: str | None = None
    json: bool = False


def ring(path: str, *, as_text: bool) -> int:
    """Print the placements of a ring at rest: (left, right, replicas in walk order)."""
    given = read_ring(path)
    space = given.ring.space
    found: dict[str, list[Line]] = {}
    for keyspace in given.keyspaces:
        rows: Iterable[Line] = ()
        if not isinstance(keyspace.replication, LocalStrategy):
            table = at_rest(given.ring, keyspace.replication).reads
            rows = (
                (*bounds(space, r.left, r.right), r.replicas) for r in table.rows(given.ring.names)
            )
        found[keyspace.name] = list(rows)
    if not as_text:
        print(json.dumps({"keyspaces": found}))
        return ACCEPTED
    for keyspace in given.keyspaces:
        print(f"{keyspace.name} ({keyspace.replication.label}), epoch {given.epoch}")
        for left, right, replicas in found[keyspace.name]:
            print(f"  {_range((left, right)):<46} {', '.join(replicas)}")
    return ACCEPTED


def plan(argv: list[str]) -> int:
    """Rehearse an operation on a ring file; 0 when it is accepted, 1 when it is refused."""
    if {"-h", "--help"} & set(argv):
        print(PLAN_USAGE)
        return ACCEPTED
    words = plan_words(argv)
    if not words.rest:
        raise BadInput("RINGFILE", None, "a ring file, then an operation")
    if words.shape not in SHAPES:
        raise BadInput("--shape", words.shape, one_of(words.shape, list(SHAPES)))
    shape: Shape = "cep" if words.shape == "cep" else "implementation"
    path, *rest = words.rest
    given = read_ring(path)
    operation = operation_from(rest)
    in_flight: tuple[Operation, ...] = tuple(parse_operation(text) for text in words.in_flight)
    sizes = read_sizes(words.sizes, given) if words.sizes is not None else None
    rehearsal = rehearse(given, operation, in_flight=in_flight, shape=shape, sizes=sizes)
    print(as_json(rehearsal) if words.json else as_text(rehearsal))
    return ACCEPTED if rehearsal.accepted else REFUSED


def plan_words(argv: list[str]) -> PlanWords:
    """Sort the words of a ``plan`` command: its own options, and those of the operation.

    Written by hand because values such as ``-5,7`` begin with a dash.
    """
    found = PlanWords([], [])
    rest = iter(argv)
    for word in rest:
        option, equals, value = word.partition("=")
        if option == "--json" and not equals:
            found.json = True
        elif option in ("--while", "--shape", "--sizes"):
            given = value if equals else next(rest, None)
            if not given:
                raise BadInput(option, given, "a value")
            if option == "--while":
                found.in_flight.append(given)
            elif option == "--shape":
                found.shape = given
            else:
                found.sizes = given
        else:
            found.rest.append(word)
            if option in ("--tokens", "--dc", "--rack") and not equals:
                found.rest += [value for value in (next(rest, None),) if value is not None]
    return found


def as_text(rehearsal: Rehearsal) -> str:
    """A rehearsal in words: what waits for what, what is copied, which groups change."""
    lines = [f"{rehearsal.operation}: {'accepted' if rehearsal.accepted else 'refused'}"]
    if rehearsal.reason is not None:
        lines.append(f"  {rehearsal.reason}")
    lines += [f"  {c.keyspace} {_range(c.range)} is held by {c.operation}" for c in rehearsal.conflicts]
    lines += [f"  warning: {text}" for text in rehearsal.warnings]
    for keyspace, locked in rehearsal.locks.items():
        lines.append(f"  locks in {keyspace}: {', '.join(map(_range, locked)) or 'none'}")
    known: dict[str, dict[Bounds, str]] = {}
    for step in rehearsal.steps:
        lines.append(f"epoch {step.epoch}: {step.name}")
        for wait in step.barriers:
            where = f" in {wait.dc}" if wait.dc else ""
            who = ", ".join(wait.replicas)
            lines.append(
                f"  wait  {wait.keyspace} {_range(wait.range)}{where}: {wait.needed} of {who}"
            )
        for copy in step.streams:
            size = "" if copy.bytes is None else f", {copy.bytes:,} bytes"
            who = ", ".join(copy.sources) or "nobody"
            lines.append(
                f"  copy  {copy.keyspace} {_range(copy.range)}: {who} to {copy.target}{size}"
            )
        for keyspace, tables in step.keyspaces.items():
            now = {
                (left, right): f"read {', '.join(reads)}; write {', '.join(writes)}"
                for (left, right, reads), (_, _, writes) in zip(
                    tables.reads, tables.writes, strict=True
                )
            }
            before = known.get(keyspace, {})
            changed = [row for row, text in now.items() if before.get(row) != text]
            lines += [f"  {keyspace} {_range(row)}: {now[row]}" for row in changed]
            known[keyspace] = now
    return "\n".join(lines)


def _range(range_: Bounds) -> str:
    left, right = range_
    return f"({'min' if left is None else left}, {'max' if right is None else right}]"
