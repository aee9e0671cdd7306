"""What could go wrong without a safeguard: in a clause for each invariant, the worst first."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from kit.errors import BadInput
from kit.model.family import model_places
from kit.model.model import Model, Safeguard
from kit.model.parameters import parameters_of, plainly
from kit.model.registry import build

PLACE = Path("data", "dangers.toml")
"""In the folder of a family: what searches of its stories find."""

CLAUSES = {
    "INV-VISIBLE": "an acknowledged write could be lost",
    "INV-NORES": "deleted data could come back",
    "INV-QI": "a read could miss an acknowledged write",
    "INV-STREAM": "reads could go to a node that does not have the data",
    "INV-CAUSAL": "data could be stored in columns that no node knows",
    "INV-RF": "a range could have too few replicas, or the wrong ones",
    "INV-COVER": "a token could have two owners, or none",
    "INV-LIN": "a change could ignore the one before it",
    "INV-ONCE": "a change could take effect when it should not",
    "INV-ONEGROUP": "the nodes could end up in more than one group, or in none",
    "INV-SCHEMA": "nodes could serve requests with different schemas",
    "INV-SAMESTATE": "nodes could disagree on which node owns what",
    "INV-MEMBER": "the wrong nodes could count as members",
    "INV-OWN": "a node that has lost its place could still have a say",
    "INV-AVAIL": "requests could fail needlessly",
    "INV-CL": "success could be reported with too few replicas",
    "INV-FENCE": "a request from long ago could still take effect",
    "INV-SESSION": "work that was given up could still take effect",
    "INV-COLOC": "data in different places could be merged",
    "INV-MAP": "the map of tablets could be wrong",
    "INV-LOCK": "two operations could get in each other's way",
    "INV-EXCL": "two operations could get in each other's way",
    "INV-VALID": "an event that makes no sense could be committed",
    "INV-CMSQI": "two groups of members could each decide on their own",
    "INV-LOG": "a node could apply later log entries first",
    "INV-CANCEL": "an operation that nobody cancelled could be undone",
    "INV-RESUME": "an operation could stay half done",
    "INV-PROGRESS": "an operation could never finish",
    "INV-FEAT": "a node could get commands that it does not understand",
    "INV-ONESTEP": "the cluster could be a step ahead of most of its nodes",
    "INV-STAGE": "a stage could begin before its preconditions are met",
    "INV-ONESTAGE": "nodes could work in stages that do not fit together",
    "INV-TABL-1": "data could stay on a node that no longer has the replica",
    "INV-TABL-2": "two changes to a tablet could overlap",
    "INV-RAFT": "the same commands could have different effects",
    "INV-DURABLE": "an acknowledged metadata change could be lost",
    "INV-QUICK": "a metadata change could have to wait for data",
    "INV-FITS": "a table definition could be too large to store",
    "INV-LEADER": "a term could have two leaders",
}


class Danger(Struct, frozen=True):
    """What could go wrong without a safeguard, in a clause.

    ``needs`` are the parameters in which a configuration differs where a search finds it; empty: a
    search finds it in this very one.
    """

    safeguard: Safeguard
    clause: str
    needs: str = ""


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
                return Danger(safeguard, CLAUSES[invariant])
    for invariant, clause in CLAUSES.items():
        for safeguard in able:
            if invariant in safeguard.protects:
                return Danger(safeguard, clause, _needs(model, safeguard.breaking(invariant)))
    return None


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
