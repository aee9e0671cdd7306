"""What could go wrong without a safeguard: in a clause for each invariant, the worst first."""

import json
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit.errors import BadInput
from kit.model.family import model_places
from kit.model.model import Model, Safeguard
from kit.model.parameters import parameters_of, plainly
from kit.model.registry import build, made_again, registered
from kit.model.scenario import files, model_for, parse, read

INVARIANTS = Path(__file__).parents[1] / "catalogue" / "data" / "invariants.toml"
PLACE = Path("data", "dangers.toml")
"""In the folder of a family: what searches of its stories find."""


class Danger(Struct, frozen=True):
    """What could go wrong without a safeguard, in a clause.

    ``needs`` are the parameters in which a configuration differs where a search finds it; empty: a
    search finds it in this very one.
    """

    safeguard: Safeguard
    clause: str
    needs: str = ""


@cache
def dangers() -> Mapping[str, str]:
    """A clause for each invariant of the requirements by its name, the worst first.

    One table, since properties of several families watch over the same one.
    """
    return msgspec.toml.decode(INVARIANTS.read_text(encoding="utf-8"), type=dict[str, str])


def worst(model: Model[Any, Any]) -> Danger | None:
    """The worst that could happen, and the safeguard without which it could: one that is off, if
    any is. None where nobody says.

    Of a story it is the worst that a search of its configuration finds.
    """
    gone = [each for each in model.safeguards if each.name in model.off]
    able, known = gone or model.safeguards, searched(model.name)
    for off in (model.off, ()) if known else ():
        id_, _, invariant = known.get(configuration(model.parameters, off), "").partition(" ")
        for safeguard in able:
            if safeguard.id == id_:
                return Danger(safeguard, dangers()[invariant])
    for invariant, clause in dangers().items():
        for safeguard in able:
            if invariant in safeguard.protects:
                return Danger(safeguard, clause, _needs(model, safeguard.breaking(invariant)))
    return None


@lru_cache(512)
def without(model: Model[Any, Any], name: str) -> Model[Any, Any]:
    """The same model without one more safeguard."""
    return made_again(model, plainly(model.parameters), (*model.off, name))


@lru_cache(512)
def needed(model: Model[Any, Any]) -> tuple[Safeguard, ...]:
    """The safeguards that are on, and without which a story or a search breaks a promise here."""
    family, _ = model_places().get(model.name, (None, ""))
    folder = family.name if family and registered(model) else ""
    known = searched(model.name).get(configuration(model.parameters, ()), "")
    worst_id, without_it = known.partition(" ")[0], []
    for each in model.safeguards:
        file = files().get(f"{folder}/off-{each.name}")
        if file is not None and each.name not in model.off:
            story = model_for(parse(read(file)))
            is_own = (story.name, story.off) == (model.name, (each.name,))
            if worst_id == each.id or (is_own and not _needs(model, plainly(story.parameters))):
                without_it.append(each)
    return tuple(without_it)


@cache
def searched(name: str) -> Mapping[str, str]:
    """The worst that a search finds in configurations of a model: a safeguard, an invariant."""
    family, _ = model_places().get(name, (None, ""))
    file = family.folder / PLACE if family else PLACE
    if not file.exists():
        return {}
    read = msgspec.toml.decode(file.read_text(encoding="utf-8"), type=dict[str, dict[str, str]])
    return read.get(name, {})


def configuration(parameters: Struct, off: Iterable[str]) -> str:
    """What is not as usual in a configuration, on one line."""
    usual = plainly(type(parameters)())
    given = {name: v for name, v in plainly(parameters).items() if v != usual[name]}
    return json.dumps(given | ({"off": [*off]} if off else {}), sort_keys=True)


def _needs(model: Model[Any, Any], smallest: Mapping[str, Any]) -> str:
    """What a configuration lacks of another one. A budget may be larger: no run is lost by that."""
    try:
        here = plainly(model.parameters)
        there = plainly(build(model.name, smallest).parameters)
        budgets = {e.name for e in parameters_of(type(model.parameters)) if e.flags.get("budget")}
    except (TypeError, NameError, BadInput):  # a model that nobody registered
        return ""
    return written(
        {
            name: value
            for name, value in there.items()
            if here[name] != value and not (name in budgets and here[name] > value)
        }
    )


def written(values: Mapping[str, Any]) -> str:
    """Parameters as one would set them: ``nodes 4; operations bootstrap X --tokens 150``."""
    words = []
    for name, value in values.items():
        several = value if isinstance(value, list | tuple) else [value]
        said = ", ".join(str(x).lower() if isinstance(x, bool) else str(x) for x in several)
        words.append(f"{name} {said}" if said else f"no {name}")
    return "; ".join(words)
