"""What each model declares: what a parameter may be, and is unless somebody says otherwise; where a
safeguard is seen to matter; how a scenario is set up; what random walks start from; what a state
has; and whether a run may only end at a goal.

A trace leaves out what is usual, so a default that changes would change what old traces mean. A
walk from a seed is told by its seed alone, so what it starts from is part of it. Whoever is told
of a scenario, or of the harm without a safeguard, is told of this one configuration.
KIT_REWRITE=1 writes the table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

import pytest
from msgspec import NODEFAULT, Struct, to_builtins
from msgspec.inspect import Metadata, type_info
from msgspec.structs import fields

from kit.model.parameters import parameters_of
from kit.model.registry import Entry, build, entries

TABLE = Path(__file__).with_name("parameters.txt")


def lines_of(entry: Entry) -> Iterator[str]:
    """The model, a line for each of its parameters, and one for each that its walks give.

    Then one for each safeguard and each scenario.
    """
    usual = entry.parameters()
    yield entry.name
    for parameter in parameters_of(entry.parameters):
        value = to_builtins(parameter.value_in(usual))
        told = "".join(f"; {flag}" for flag, is_so in parameter.flags.items() if is_so is True)
        told += "".join(_lengths(entry.parameters, parameter.name))
        yield f"  {parameter.name} = {value!r}; {parameter.allowed or 'what its type says'}{told}"
    for name, given in to_builtins(entry.fuzzing.parameters).items():
        yield f"  walks have {name} = {given!r}"
    for name, given in to_builtins(entry.compared).items():
        yield f"  --refines has {name} = {given!r}"
    for kind, weight in entry.fuzzing.weights.items():
        yield f"  walks weigh {kind} by {weight}"
    for guard in entry.safeguards:
        held = _set(guard, "smallest", "wider", "later", "kept")
        yield f"  {guard.id} {guard.name}{held}"
    for scenario in entry.scenarios:
        yield f"  scenario {scenario.name}{_set(scenario, 'parameters', 'off')}"
    model = build(entry.name)
    yield f"  a state has {', '.join(_fields(model.start()))}"
    if model.rests_at_goals:
        yield "  a run that ends anywhere but at a goal is a deadlock"


def _fields(state: Any) -> Iterator[str]:
    """The fields of a state, with what they are unless somebody says otherwise."""
    for field in fields(type(state)):
        value = field.default_factory() if callable(field.default_factory) else field.default
        yield field.name if value is NODEFAULT else f"{field.name} = {value!r}"


def _lengths(kind: type[Struct], name: str) -> Iterator[str]:
    """How long a text, or a list, of that name has to be, and may be."""
    fields: Any = type_info(kind)
    given: Any = {field.encode_name: field.type for field in fields.fields}.get(name)
    while isinstance(given, Metadata):
        given = given.type
    for limit in ("min_length", "max_length"):
        if (number := getattr(given, limit, None)) is not None:
            yield f"; {limit} {number}"


def _set(owner: Any, *names: str) -> str:
    """Those of its fields that have something, each behind a semicolon."""
    plain = {name: to_builtins(getattr(owner, name)) for name in names}
    return "".join(f"; {name} {value!r}" for name, value in plain.items() if value)


@pytest.mark.parametrize("model", entries())
def test_parameters_and_defaults_of_a_model_are_those_of_the_table(model: str) -> None:
    """Walks can begin with theirs."""
    told = {name: [*lines_of(entry)] for name, entry in entries().items()}
    if os.environ.get("KIT_REWRITE") == "1":
        TABLE.write_text("\n".join(chain(*told.values())) + "\n", encoding="utf-8")
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [*told]
    of_model = takewhile(lambda line: line.startswith(" "), lines[lines.index(model) + 1 :])
    assert [model, *of_model] == told[model]
    assert build(model, entries()[model].fuzzing.parameters).start()


def test_every_safeguard_is_on_by_default() -> None:
    """In each struct of safeguards."""
    assert entries()  # loads every model
    kinds = [kind for kind in Struct.__subclasses__() if kind.__name__.endswith("Safeguards")]
    assert len(kinds) > 3
    for kind in kinds:
        usual = to_builtins(kind())
        assert False not in usual.values(), (kind, usual)
