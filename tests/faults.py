"""The fault matrix: each kind of fault at each step of each operation, and whether all heals.

A row of ``MATRIX`` is an operation: a model with what may go wrong in it, and what people ask for.
First it runs as the model suggests. At each step of that run each fault that may happen there does
happen; then the model's suggestions are followed to rest, once with what heals first, once with
what heals last. In the next round a second fault comes at each step of those runs, and so on.

All promises of the model are judged at each step, its goals at rest. Besides, at rest all nodes
that are up know the same, and that is all that was ever committed, unless an operator forced it.

``python -m tests.faults [FAULTS]`` prints the table for runs of so many faults (default: 1); with
``--only`` it does the operations whose names have these words.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator
from copy import copy
from fnmatch import fnmatch
from functools import partial
from typing import Any

from msgspec import Struct

from kit.model.registry import build
from kit.protocols.cms.cms import entries_of, was_forced

LONGEST = 500
"""Steps of a run; whoever needs more runs in circles."""
HEALS = ("restart *", "release *", "start-again *", "check-list *", "reconnect")
"""What ends a fault, as patterns of verbs."""
REMEDIES = ("open-override", "force *", "load-snapshot *")
"""What an operator does where a run rests and a goal is not reached, as far as a model has it."""


class FaultRow(Struct, frozen=True):
    """An operation: a model, what may go wrong (``faults``, first words of verbs), what is wanted.

    ``acts`` of operators come at each step, too, and besides they are suggested. Each line of
    ``wanted`` is a pattern; the first action that it fits is done as soon as it may.
    """

    operation: str
    model: str
    given: dict[str, Any]
    faults: tuple[str, ...]
    wanted: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()


TCM = ("crash", "hold")
CMS = ("crash", "lose", "corrupt")
CMS_ACTS = ("cancel", "assassinate", "choose")
TCM_FAULTS = {"crashes": 2, "holds": True, "cancels": 2}
CMS_FAULTS = {"crashes": 2, "losses": 2, "corruptions": 2, "orders": 3, "longest": 9}
SCHEMA_FAULTS = {"operations": 1, "cancels": 1, "restarts": 2, "injections": 2}


def ring(edition: str) -> Iterator[FaultRow]:
    """Operations on the ring."""
    for operation, nodes in (
        ("bootstrap X --tokens 150", 3),
        ("decommission D", 4),
        ("move B --tokens 250", 3),
        ("replace B Z", 3),
        ("removenode D", 4),
        ("assassinate D", 4),
    ):
        given = {"nodes": nodes, "operations": (operation,), "edition": edition, **TCM_FAULTS}
        kind = operation.split()[0]
        yield FaultRow(f"{kind}, {edition}", "tcm", given, TCM, acts=("cancel",))


MATRIX = (
    *ring("documents"),
    *ring("server"),
    FaultRow(
        "a cancelled bootstrap",
        "tcm",
        {"nodes": 3, **TCM_FAULTS},
        TCM,
        ("bootstrap X *", "commit X", "cancel X"),
    ),
    FaultRow(
        "submission",
        "commit",
        {"crashes": 2, "losses": 2, "replies": 2, "ballots": 2},
        ("crash", "lose-reply", "lose-answer"),
    ),
    FaultRow(
        "snapshot",
        "commit",
        {
            "events": ("drop table t at A", "snapshot at B", "create table t at D"),
            "nodes": 4,
            "crashes": 2,
            "losses": 2,
            "replies": 2,
            "ballots": 3,
            "window": 2,
        },
        ("crash", "lose-reply", "lose-answer"),
        ("submit r1 *", "answer *", "submit r2 *", "answer *", "truncate *"),
    ),
    FaultRow("the CMS grows", "cms", {"nodes": 3, **CMS_FAULTS}, CMS, ("submit *",), CMS_ACTS),
    FaultRow(
        "a member hands over",
        "cms",
        {"nodes": 4, "members": 3, **CMS_FAULTS},
        CMS,
        ("submit *", "decommission ? [!A] *"),
        CMS_ACTS,
    ),
    FaultRow(
        "a node joins, the CMS grows",
        "cms",
        {"nodes": 4, "newcomers": 2, **CMS_FAULTS},
        CMS,
        ("bootstrap *",),
        CMS_ACTS,
    ),
    FaultRow(
        "reconfiguration, server",
        "cms",
        {"nodes": 3, "edition": "server", **CMS_FAULTS, "addresses": 2},
        (*CMS, "new-address"),
        ("submit *", "reconfigure ? 3 *"),
        (*CMS_ACTS, "ignore"),
    ),
    FaultRow(
        "recovery of a lost majority",
        "cms",
        {"nodes": 5, "members": 3, **CMS_FAULTS, "losses": 4},
        CMS,
        ("lose *", "lose *"),
        CMS_ACTS,
    ),
    FaultRow(
        "recovery of a corrupt state",
        "cms",
        {"nodes": 3, "members": 3, **CMS_FAULTS, "corruptions": 4},
        CMS,
        ("corrupt *", "corrupt *"),
        CMS_ACTS,
    ),
    FaultRow(
        "recovery of the only member",
        "cms",
        {"nodes": 3, "edition": "server", **CMS_FAULTS},
        CMS,
        ("submit *", "lose A"),
        (*CMS_ACTS, "ignore"),
    ),
    FaultRow(
        "a schema change, and a join",
        "schema",
        {"joins": 2, "cuts": 2, "cancels": 1, "restarts": 2, "injections": 2},
        ("stop", "cut-off", "inject", "cancel"),
    ),
    *(
        FaultRow(
            f"a schema change, and a {operation}",
            "schema",
            {**SCHEMA_FAULTS, "race": "replication"},
            ("stop", "inject"),
            (*before, f"{operation} B", "alter *"),
            ("cancel",),
        )
        for operation, before in (("decommission", ()), ("move", ()), ("replace", ("stop B",)))
    ),
    *(
        FaultRow(
            f"migration, {edition}",
            "migration",
            {"edition": edition, "changes": 2, "crashes": 2, "deaths": 1},
            ("crash", "die", "change"),
            acts=("initialize", "abort"),
        )
        for edition in ("documents", "server")
    ),
    *(
        FaultRow(
            f"first log of a new cluster, {edition}",
            "migration",
            {"edition": edition, "begins": "fresh", "contact": "B", "changes": 2, "crashes": 2},
            ("crash", "change"),
            acts=("initialize", "abort"),
        )
        for edition in ("documents", "server")
    ),
    FaultRow(
        "migration without a node",
        "migration",
        {"changes": 2, "crashes": 3, "deaths": 1},
        ("crash", "die", "change"),
        ("upgrade A", "crash C", "initialize A C"),
    ),
)


# -- what nodes know -------------------------------------------------------------------------------


def _in_commit(m: Any, s: Any) -> dict[str, Any]:
    nodes = zip(m.names, s.nodes, strict=True)
    return {name: frozenset(node.log.ids) for name, node in nodes if node.up}


def _in_cms(m: Any, s: Any) -> dict[str, Any]:
    forced, up = was_forced(s), (n for n, node in enumerate(s.nodes) if node.health == "up")
    logs = {n: frozenset() if forced else frozenset(entries_of(s.nodes[n].log)) for n in up}
    return {m.names[n]: (log, m.known(s, n), s.nodes[n].corrupt) for n, log in logs.items()}


def _in_schema(m: Any, s: Any) -> dict[str, Any]:
    up = (n for n in s.nodes if n.is_up and n.phase != "out")
    return {n.name: (frozenset(s.log[: n.epoch - m.base]), n.cells, n.members) for n in up}


def _in_migration(m: Any, s: Any) -> dict[str, Any]:
    nodes = ((name, n) for name, n in zip(m.names, s.nodes, strict=True) if n.is_there)
    return {
        name: (frozenset(log.entries[: n.epoch]) if (log := s.log_of(n)) else None, n.facts)
        for name, n in nodes
    }


KNOWN: dict[str, Callable[[Any, Any], dict[str, Any]]] = {
    "tcm": lambda m, s: {
        name: frozenset([*enumerate(s.tcm.events)][: s.log.applied[place]])
        for place, name in enumerate(m.names)
        if name not in s.tcm.down
    },
    "commit": _in_commit,
    "cms": _in_cms,
    "schema": _in_schema,
    "migration": _in_migration,
}
"""All that each node that is up knows: its log first."""
COMMITTED: dict[str, Callable[[Any, Any], frozenset[Any]]] = {
    "tcm": lambda m, s: frozenset(enumerate(s.tcm.events)),
    "commit": lambda m, s: frozenset(each for node in s.nodes for each in node.log.ids),
    "cms": lambda m, s: frozenset(each for node in s.nodes for each in entries_of(node.log)),
    "schema": lambda m, s: frozenset(s.log),
    "migration": lambda m, s: frozenset(each for log in s.logs for each in log.entries),
}
"""All that was ever committed, with its place; None where an operator has forced something."""


# -- runs ------------------------------------------------------------------------------------------

Place = tuple[Any, int]
"""A state, and how many lines of what is wanted are done."""
Way = tuple[str, ...]
"""The verbs that led to a place."""


class Healing:
    """All runs of a row: faults at each step, then the way to rest."""

    def __init__(self, row: FaultRow, off: tuple[str, ...] = ()) -> None:
        """The runs of a row, without the safeguards ``off``."""
        self.row, self.model = row, build(row.model, row.given, off)
        self.calm = copy(self.model)
        vars(self.calm)["actions"] = self.wanting
        self.judged: dict[tuple[Any, int, bool], None] = {}
        self.kinds: Counter[str] = Counter()
        self.cells: set[tuple[int, str]] = set()
        self.failures: list[str] = []

    @property
    def figures(self) -> dict[str, int]:
        """Steps with a kind of fault, faults there, runs to rest, and how many failed."""
        faults = self.kinds.total()
        cells, failed = len(self.cells), len(self.failures)
        return {"cells": cells, "faults": faults, "runs": 2 * faults, "failed": failed}

    def wanting(self, s: Any) -> Iterator[Any]:
        """What may happen that is no fault, and ends none."""
        for action in self.model.actions(s):
            verb = self.model.verb(action)
            if verb.split(" ")[0] not in self.row.faults and not any(
                map(partial(fnmatch, verb), HEALS)
            ):
                yield action

    def fitting(self, s: Any, *patterns: str) -> Any:
        """The first action that fits the first of these patterns that any fits; None."""
        verbs = {self.model.verb(action): action for action in self.model.actions(s)}
        fits = (
            action for each in patterns for verb, action in verbs.items() if fnmatch(verb, each)
        )
        return next(fits, None)

    def next(self, place: Place, late: bool) -> tuple[Any, int]:
        """What is done next, and how many lines of what is wanted are done then."""
        s, done = place
        wanted = self.row.wanted[done : done + 1]
        if (action := self.fitting(s, *wanted)) is not None:
            return action, done + 1
        action = self.calm.suggest(s)
        if action is None or not late:
            action = self.fitting(s, *HEALS) or action
        if action is None and not self.reached(s):
            action = self.fitting(s, *REMEDIES)
        return action, done

    def reached(self, s: Any) -> bool:
        """Whether all goals are reached."""
        return all(each.check(s) for each in self.model.properties if each.kind == "goal")

    def led_on(self, place: Place, way: Way, *, late: bool) -> Iterator[tuple[Place, Way]]:
        """The places on the way to rest, as far as they are new; judged."""
        for _ in range(LONGEST):
            if (*place, late) in self.judged:
                return
            self.judged[*place, late] = None
            yield place, way
            action, done = self.next(place, late)
            if action is None:
                self.judge_rest(place, way)
                return
            after = self.model.apply(place[0], action)
            self.judge_step(place[0], action, after, way)
            place, way = (after, done), (*way, self.model.verb(action))
        self.failures.append(f"runs in circles: {', '.join(way)}")

    def judge_step(self, before: Any, action: Any, after: Any, way: Way) -> None:
        """No promise is broken, and nothing that was committed is gone."""
        said = self.broken(before, action, after)
        if said:
            self.failures.append(f"{said}: {', '.join((*way, self.model.verb(action)))}")

    def broken(self, before: Any, action: Any, after: Any) -> str | None:
        """What a step breaks."""
        for each in self.model.properties:
            says = each.check(after) if each.kind == "always" else None
            if each.kind == "step":
                says = each.of_step(before, action, after)
            if says:
                return str(says)
        forced = self.row.model == "cms" and was_forced(after)
        was, now = (COMMITTED[self.row.model](self.model, s) for s in (before, after))
        return None if was <= now or forced else f"lost: {was - now}"

    def judge_rest(self, place: Place, way: Way) -> None:
        """Goals are reached, and nodes that are up know the same: all that was committed."""
        s, done = place
        known = KNOWN[self.row.model](self.model, s)
        logs = [each[0] if isinstance(each, tuple) else each for each in known.values()]
        forced = self.row.model == "cms" and was_forced(s)
        said = ""
        if not self.reached(s):
            said = "rests without its goals"
        elif len({*known.values()}) > 1:
            said = f"nodes differ: {known}"
        elif not forced and any(log != COMMITTED[self.row.model](self.model, s) for log in logs):
            said = "something committed is known to nobody"
        elif not self.kinds and done < len(self.row.wanted):
            said = f"never done: {self.row.wanted[done]}"
        if said:
            self.failures.append(f"{said}: {', '.join(way)}")

    def run(self, faults: int, every: int = 1) -> None:
        """The run without a fault, and those with up to so many.

        Of the faults of each kind it takes the first, and each ``every``-th after that.
        """
        places = [*self.led_on((self.model.start(), 0), (), late=False)]
        seen = Counter[str]()
        for _ in range(faults):
            later = []
            for step, (place, way) in enumerate(places):
                for action in self.model.actions(place[0]):
                    verb = self.model.verb(action)
                    if (kind := verb.split(" ")[0]) in (*self.row.faults, *self.row.acts):
                        seen[kind] += 1
                        if (seen[kind] - 1) % every:
                            continue
                        after = self.model.apply(place[0], action)
                        self.judge_step(place[0], action, after, way)
                        self.kinds[kind] += 1
                        self.cells.add((step, kind))
                        for late in (False, True):
                            later += self.led_on((after, place[1]), (*way, verb.upper()), late=late)
            places = later


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("faults", nargs="?", type=int, default=1, help="faults of a run")
    parser.add_argument("--only", default="", metavar="WORDS", help="these operations")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    print(f"{'operation':<36}{'cells':>8}{'faults':>8}{'runs':>8}{'failed':>8}")
    for row in (each for each in MATRIX if given.only in each.operation):
        healing = Healing(row)
        healing.run(given.faults)
        numbers = healing.figures
        total.update(numbers)
        print(f"{row.operation:<36}{''.join(f'{n:>8}' for n in numbers.values())}", flush=True)
        for each in healing.failures[:3]:
            print(f"    {each[:1500]}")
    print(f"{'all':<36}{''.join(f'{n:>8}' for n in total.values())}")


if __name__ == "__main__":
    main()
