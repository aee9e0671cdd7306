"""``models`` and ``show``: what there is, and what it is made of."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from inspect import cleandoc
from typing import Any

import msgspec

from kit.commands.answer import Answer, Part, Rows
from kit.commands.layout import GAP, listed, wrap
from kit.commands.parsing import Command, Parser
from kit.engine.model import Monitor, Property
from kit.engine.parameters import parameters_of, plainly
from kit.engine.registry import Entry, Scenario, build, entries, entry_of, one_of, scenario_of
from kit.errors import BadInput


def _models(given: Namespace) -> Answer:
    """Every model with its parameters, safeguards and properties."""
    known = [_listed(entry) for entry in entries().values()]
    return Answer(known, (), _summaries(known), compact=True)


def _summaries(known: Iterable[Mapping[str, Any]]) -> Iterator[Part]:
    for each in known:
        scenarios = (scenario.name for scenario in entries()[each["name"]].scenarios)
        safeguards = (f"{safeguard['id']} {safeguard['name']}" for safeguard in each["safeguards"])
        yield f"{each['name']}: {each['title']}"
        yield Rows(
            [
                ("scenarios", listed(scenarios, "none")),
                ("safeguards", listed(safeguards, "none")),
                ("properties", listed(each["properties"])),
            ]
        )
        yield ""
    yield "show MODEL tells more, play SCENARIO runs one, check MODEL searches all that can be"


def _listed(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "parameters": plainly(entry.parameters()),
        "safeguards": [
            {"name": safeguard.name, "id": safeguard.id, "protects": list(safeguard.protects)}
            for safeguard in entry.safeguards
        ],
        "properties": _judged(entry),
    }


def _judged(entry: Entry) -> list[str]:
    """The names of all that a search judges: properties, signs, monitors."""
    model = build(entry.name)
    return [p.name for p in (*model.properties, *model.signs)] + [m.name for m in model.monitors]


def named(name: str) -> tuple[Entry, Scenario | None]:
    """The model of this name; or the scenario, with its model.

    Raises:
        BadInput: for an unknown name, with the nearest ones.
    """
    known = entries()
    if name in known:
        return entry_of(name), None
    bare = [scenario.name for entry in known.values() for scenario in entry.scenarios]
    full = [f"{e.name}/{scenario.name}" for e in known.values() for scenario in e.scenarios]
    if name not in (*bare, *full):
        raise BadInput("model", name, one_of(name, [*known, *bare]))
    return scenario_of(name)


def _show(given: Namespace) -> Answer:
    """A model: its diagrams as text, its parameters, safeguards and scenarios.

    A scenario is shown as its model, with the scenario's own parameters and script.
    """
    entry, scenario = named(given.model)
    return Answer(None, [f"{entry.name}: {entry.title}"], _parts(entry, scenario))


def _parts(entry: Entry, scenario: Scenario | None) -> Iterator[Part]:
    if scenario is not None:
        yield from wrap(scenario.title, f"scenario {scenario.name}: ", GAP)
        if scenario.off:
            yield from wrap(listed(scenario.off), "switched off: ")
        yield from (f"script{GAP}{verb}" for verb in scenario.script)
    yield from _parameters(entry, scenario.parameters if scenario else {})
    yield Rows(_properties(entry, scenario), title="properties")
    yield Rows(_safeguards(entry) or [("none",)], title="safeguards")
    yield Rows([(each.name, each.title) for each in entry.scenarios], title="scenarios")
    for diagram in entry.diagrams:
        rows = [(state, f"─ {event} →", after) for state, event, after in diagram.transitions]
        yield Rows(rows, title=diagram.title)


def _parameters(entry: Entry, own: Mapping[str, Any]) -> Iterator[Part]:
    """What the parameters mean, then their values; ``*`` marks those of the scenario."""
    meaning = cleandoc(entry.parameters.__doc__ or "").replace("``", "`")
    values = {**plainly(entry.parameters()), **msgspec.to_builtins(dict(own))}
    yield ""
    yield "parameters" + (" (* as the scenario sets them)" if own else "")
    for paragraph in filter(None, meaning.split("\n\n")):
        yield from wrap(paragraph, GAP, GAP)
    yield Rows(_meanings(entry))
    yield Rows(
        [
            (f"{'*' if field in own else ' '} {field}", json.dumps(value))
            for field, value in values.items()
        ]
    )


def _meanings(entry: Entry) -> list[tuple[str, str]]:
    """What each parameter means and may be, as far as its field says so."""
    rows = []
    for parameter in parameters_of(entry.parameters):
        said = "; ".join(filter(None, (parameter.meaning, parameter.allowed)))
        rows += [(f"  {parameter.name}", said)] if said else []
    return rows


def _properties(entry: Entry, scenario: Scenario | None) -> list[tuple[str, str, str]]:
    """What is judged, with its kind; a sign is one that breaks on the way to a harm.

    Some properties are signs only while a safeguard is off: of a model that is told beside them.
    """
    given = (scenario.parameters, scenario.off) if scenario else ({}, ())
    model = build(entry.name, *given)
    turned = [] if scenario else _signs_without(entry)
    own = {each.name for each in (*model.properties, *model.signs)}
    judges: list[tuple[Property | Monitor, str]] = [(p, str(p.kind)) for p in model.properties]
    judges += [(each, "sign") for each in model.signs]
    judges += [(sign, "sign") for sign, _ in turned if sign.name not in own]
    judges += [(each, "monitor") for each in model.monitors]
    ids = {sign.name: without for sign, without in turned}
    return [(each.name, kind, _judging(each, ids.get(each.name, []))) for each, kind in judges]


def _judging(judge: Property | Monitor, without: list[str]) -> str:
    """What a judge says, of which invariant; without which safeguards it is a sign."""
    said = f"{judge.title} {judge.invariant}".rstrip()
    return f"{said}; a sign without {listed(without)}" if without else said


def _signs_without(entry: Entry) -> list[tuple[Property, list[str]]]:
    """What is a sign only without some safeguards, with the ids of these."""
    signs: dict[str, tuple[Property, list[str]]] = {}
    always = {sign.name for sign in build(entry.name).signs}
    for safeguard in entry.safeguards:
        for sign in build(entry.name, safeguard.smallest, (safeguard.name,)).signs:
            if sign.name not in always:
                signs.setdefault(sign.name, (sign, []))[1].append(safeguard.id)
    return list(signs.values())


def _safeguards(entry: Entry) -> list[tuple[str, str, str]]:
    return [
        (
            safeguard.id,
            safeguard.name,
            f"{safeguard.title}; protects {listed(safeguard.protects, 'nothing')}",
        )
        for safeguard in entry.safeguards
    ]


def add_model(parser: Parser) -> None:
    """Add the word that says which model."""
    parser.add_argument("model", metavar="MODEL", help="a model, or one of its scenarios")


MODELS = Command("models", _models)
SHOW = Command("show", _show, add_model, as_json=False)
