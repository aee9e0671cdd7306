"""The standing sweep: legal configurations with every safeguard on, in which no promise may break.

Each model is searched in configurations drawn from a seed: any of its declared parameters, small
sizes, both editions, the requests that its scenarios, walks and safeguards ask for, at any node.
A search sees a bounded number of states; where it is not complete, walks go on beyond it, and from
their ends fair schedules must come to the goals. A known cost of the protocol is no break, and a
configuration that is refused with a reason is none. What breaks is made small, and told as the
command that repeats it.

``make sweep SEED="3 4" MANY=40`` draws so many for each model from each seed; without a seed it is
the commit's own.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import traceback
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from subprocess import run
from typing import Any

from msgspec import Struct
from msgspec import inspect as schema
from msgspec import json as plain

from kit.errors import BadInput
from kit.model.parameters import Parameter, parameters_of
from kit.model.registry import build, entries, entry_of
from kit.search.check import check
from kit.search.fuzz import fuzz

Given = dict[str, Any]
STATES, WALKS, STEPS = 4_000, 12, 80
FEW = {"states": 700, "walks": 2}
"""How far a search and its walks go where many configurations are to be seen in a minute."""
MOST_ITEMS, MOST_CHANGED, TRIES = 3, 5, 30


class Break(Struct, frozen=True):
    """A configuration in which something breaks, and the command that shows it."""

    model: str
    given: Given
    what: str
    command: str

    def __str__(self) -> str:
        return f"{self.what}\n    {self.command}"


# -- what there is to draw -------------------------------------------------------------------------


@cache
def known_values(name: str) -> dict[str, list[Any]]:
    """For each parameter of a model what its scenarios, walks and safeguards give it."""
    entry = entry_of(name)
    told = [entry.fuzzing.parameters, entry.compared]
    told += [scenario.parameters for scenario in entry.scenarios]
    told += [given for each in entry.safeguards for given in (each.smallest, *each.wider.values())]
    values: dict[str, list[Any]] = {}
    for given in told:
        for field, value in plain.decode(plain.encode(dict(given))).items():
            inner = value if isinstance(value, dict) else {field: value}
            for one, each in inner.items():
                if each not in values.setdefault(one, []):
                    values[one].append(each)
    for field, usual in usual_of(name).items():
        if usual not in values.setdefault(field, []):
            values[field].append(usual)
    return values


def is_budget(parameter: Parameter) -> bool:
    """Whether a parameter says how often something may happen."""
    return bool(parameter.flags.get("budget"))


@cache
def items_of(name: str, field: str) -> list[str]:
    """The texts that a list of texts may hold, each once: those known, and those in its words."""
    lists = (value for value in known_values(name)[field] if isinstance(value, list))
    known = dict.fromkeys(item for value in lists for item in value if isinstance(item, str))
    words = meaning_of(name, field)
    for other in entries():  # such as those that have a cluster of the same kind
        if other != name and words == meaning_of(other, field):
            lists = (value for value in known_values(other)[field] if isinstance(value, list))
            near = dict.fromkeys(item for value in lists for item in value)
            known |= {each: None for each in near if refusal(name, {field: [each]}) is None}
    words = re.sub(r" *\([^)]*\)", "", words)
    named = [*re.findall(r"`([^`]+)`", words), *words.partition(": ")[2].split(", ")]
    legal = (each for each in named if each and refusal(name, {field: [each]}) is None)
    return [*known, *(each for each in legal if each not in known)]


def meaning_of(name: str, field: str) -> str:
    """What a model says of a parameter; empty where it has none of that name."""
    parameters = parameters_of(entry_of(name).parameters)
    return next((each.meaning for each in parameters if each.name == field), "")


def holds_texts(parameter: Parameter) -> bool:
    """Whether a parameter is a list of texts (or none)."""
    kind = parameter.type
    kinds = kind.types if isinstance(kind, schema.UnionType) else (kind,)
    lists = (schema.VarTupleType, schema.ListType)
    return any(isinstance(k, lists) and isinstance(k.item_type, schema.StrType) for k in kinds)


def _renamed(chance: Random, item: str, nodes: int) -> str:
    """The same at other nodes: single capital letters are names."""
    letters = "ABCDEFGH"[: nodes + 1]
    words = (chance.choice(letters) if len(w) == 1 and w.isupper() else w for w in item.split(" "))
    return " ".join(words)


def drawn_value(chance: Random, name: str, parameter: Parameter, nodes: int) -> Any:
    """A small legal value of a parameter."""
    known = known_values(name)[parameter.name]
    if parameter.choices:
        return chance.choice(parameter.choices)
    if isinstance(parameter.type, schema.BoolType):
        return chance.random() < 0.5
    if holds_texts(parameter):
        items = items_of(name, parameter.name) or list("ABC"[:nodes])
        if chance.random() < 0.3:
            return chance.choice(known)
        several = range(chance.randint(1, MOST_ITEMS))
        return [_renamed(chance, chance.choice(items), nodes) for _ in several]
    if is_budget(parameter):
        return chance.randint(1, 2 if parameter.most is None else min(2, parameter.most))
    usual = next((value for value in known if isinstance(value, int)), None)
    if usual is None or isinstance(usual, bool):
        return chance.choice(known)
    least = max(usual - 2, parameter.least if parameter.least is not None else usual - 2)
    most = usual + 2 if parameter.most is None else min(usual + 2, parameter.most)
    return chance.randint(least, most)


def drawn(chance: Random, name: str) -> Given | None:
    """A legal configuration of a model; None where so many draws gave none."""
    parameters = [*parameters_of(entry_of(name).parameters)]
    by_name = {each.name: each for each in parameters}
    # What may go wrong, and what is asked for, make most of the difference.
    often = {"operations": len(parameters), "edition": len(parameters) / 2}
    weights = [often.get(each.name, 1 + 2 * is_budget(each)) for each in parameters]
    usual = usual_of(name)
    for _ in range(TRIES if parameters else 0):
        given: Given = {}
        wanted = chance.choices(parameters, weights, k=chance.randint(1, MOST_CHANGED))
        chosen = dict.fromkeys(each.name for each in wanted)
        # What requests ask for may depend on how many nodes there are.
        for each in (by_name[one] for one in sorted(chosen, key=lambda one: one != "nodes")):
            nodes = given.get("nodes", getattr(entry_of(name).parameters(), "nodes", 3))
            given[each.name] = drawn_value(chance, name, each, nodes)
        given = {each: value for each, value in given.items() if value != usual[each]}
        if given and refusal(name, given) is None:
            return given
    return None


def usual_of(name: str) -> Given:
    """The parameters of a model unless somebody says otherwise, as plain data."""
    kind = entry_of(name).parameters
    values = {each.name: each.value_in(kind()) for each in parameters_of(kind)}
    return dict(plain.decode(plain.encode(values)))


def refusal(name: str, given: Given) -> str | None:
    """Why a configuration is refused; None: it is legal."""
    try:
        build(name, given).start()
    except BadInput as error:
        return str(error)
    return None


def drawn_all(name: str, seed: int, count: int) -> Iterator[Given]:
    """So many configurations of a model, each once."""
    chance, seen = Random(f"{seed} {name}"), list[Given]()
    for _ in range(count):
        given = drawn(chance, name)
        if given is not None and given not in seen:
            seen.append(given)
            yield given


# -- what is seen of a configuration ---------------------------------------------------------------


def command(name: str, given: Mapping[str, Any], how: str = "check", *more: str) -> str:
    """What a person types to see a configuration."""
    words = [f"{field}={json.dumps(value)}" for field, value in given.items()]
    told = [shlex.quote(word) for word in words]
    return " ".join(["python -m kit", how, name, *(f"-p {word}" for word in told), *more])


def broken(
    name: str, given: Given, *, states: int = STATES, walks: int = WALKS, off: tuple[str, ...] = ()
) -> Break | None:
    """What breaks in a configuration; None: nothing that a search and walks see."""
    without = [f"--off {each}" for each in off]
    try:
        model = build(name, given, off)
        found = check(model, max_states=states)
        if found.violation is not None:
            steps = len(found.violation.actions)
            what = f"{found.violation.property} in {steps} steps: {found.violation.witness}"
            return Break(name, given, what, command(name, given, "check", *without))
        if found.complete or not walks:
            return None
        walked = fuzz(model, range(walks), steps=STEPS)
    except Exception:  # whatever it is, nobody may meet it
        last = traceback.format_exc().strip().splitlines()[-1]
        return Break(name, given, f"traceback: {last}", command(name, given, "check", *without))
    for each in walked.findings:
        seeds = f"--steps {STEPS} --seeds {each.seed}:{each.seed + 1}"
        told = command(name, given, "fuzz", seeds, *without)
        return Break(name, given, f"{each.property}: {each.witness}", told)
    return None


def smaller(name: str, given: Given) -> Iterator[Given]:
    """The same with one parameter less, or with less of one."""
    usual = {each.name: each for each in parameters_of(entry_of(name).parameters)}
    for field in given:
        yield {other: value for other, value in given.items() if other != field}
    for field, value in given.items():
        if isinstance(value, list):
            for at in range(len(value)):
                yield {**given, field: [*value[:at], *value[at + 1 :]]}
        elif isinstance(value, int) and not isinstance(value, bool):
            least = usual[field].least
            if least is not None and value > least:
                yield {**given, field: value - 1}


def shrunk(first: Break, **bounds: Any) -> Break:
    """A smallest configuration near this one in which the same breaks."""
    name, sign = first.model, first.what.split(" ")[0]
    again = True
    while again:
        again = False
        for given in smaller(name, first.given):
            if refusal(name, given) is not None:
                continue
            found = broken(name, given, **bounds)
            if found is not None and found.what.split(" ")[0] == sign:
                first, again = found, True
                break
    return first


# -- the fixed part: each budget alone, each operation beside a dead node --------------------------


def budgets_alone(name: str) -> Iterator[Given]:
    """The default with each budget alone at 1 and at 2."""
    for each in filter(is_budget, parameters_of(entry_of(name).parameters)):
        for count in (1, 2):
            if each.most is None or count <= each.most:
                yield {each.name: count}


def beside_the_dead(name: str) -> Iterator[Given]:
    """Each operation that a model knows beside a node that is dead, in every edition.

    Nobody is told to remove the dead node, or somebody is, behind the operation. Where a model has
    no way to say who is dead at first, a node may crash.
    """
    parameters = {each.name: each for each in parameters_of(entry_of(name).parameters)}
    if "operations" not in parameters:
        return
    editions: tuple[Any, ...] = (None,)
    if "edition" in parameters:
        editions = parameters["edition"].choices
    quick = {"lag": False} if isinstance(getattr(parameters.get("lag"), "type", None),
                                         schema.BoolType) else {}  # fmt: skip
    for edition in editions:
        given = {**quick, **({} if edition is None else {"edition": edition})}
        items = items_of(name, "operations")
        removal = next((item.split()[0] for item in items if item.startswith("remove")), None)
        for item in items:
            if "down" in parameters:
                for dead in "AC":
                    yield {**given, "operations": [item], "down": [dead]}
                    yield {**given, "operations": [item, f"{removal} {dead}"]}
            elif "crashes" in parameters:
                yield {**given, "operations": [item], "crashes": 1}


def all_broken(name: str, several: Iterator[Given], **bounds: Any) -> list[Break]:
    """What breaks in several configurations, each as small as it gets."""
    legal = (given for given in several if refusal(name, given) is None)
    first: dict[str, Break] = {}
    for given in legal:
        found = broken(name, given, **bounds)
        if found is not None:
            first.setdefault(found.what.split(" ")[0], found)
    return [shrunk(each, **bounds) for each in first.values()]


def fresh_seed() -> int:
    """A seed that every commit has anew: it is made of the commit's name."""
    asked = ["git", "rev-parse", "HEAD"]
    said = run(asked, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return int(said.stdout[:8] or "1", 16)


# -- the command -----------------------------------------------------------------------------------


def _sweep(task: tuple[str, int, int]) -> tuple[str, int, list[Break]]:
    name, seed, many = task
    several = [*drawn_all(name, seed, many)]
    return name, len(several), all_broken(name, iter(several))


def main(words: list[str] | None = None) -> int:
    """Run the command; exit code 0 when nothing breaks, 1 when something does."""
    parser = argparse.ArgumentParser(prog="make sweep", description=__doc__)
    parser.add_argument("seeds", nargs="*", type=int, default=[fresh_seed()])
    parser.add_argument("--many", type=int, default=40, help="configurations of each model")
    parser.add_argument("--model", action="append", choices=[*entries()], help="only these")
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args(words)
    names = chosen.model or [*entries()]
    tasks = [(name, seed, chosen.many) for seed in chosen.seeds for name in names]
    wrong = 0
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for (name, seed, _), (_, seen, found) in zip(tasks, pool.map(_sweep, tasks), strict=True):
            print(f"{name}, seed {seed}: {seen} configurations, {len(found)} broken", flush=True)
            for each in found:
                print(f"  {each}", flush=True)
            wrong += len(found)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
