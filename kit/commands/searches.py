"""``models``, ``show``, ``check`` and ``fuzz``: what models there are, searching them, walking."""

import json
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import cleandoc
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from kit.commands import own_models
from kit.commands.answer import GAP, Answer, Part, Rows, listed, wrap
from kit.commands.parsing import DIGITS, Command, Word, whole
from kit.edge.limits import spoken
from kit.edge.writing import check_place
from kit.errors import BadInput, counted
from kit.model import registry, trace
from kit.model.model import Model, Monitor, Property, Refinement
from kit.model.parameters import budgets_of, edition_in, parameters_of, plainly
from kit.model.scenario import Begun, begun_by
from kit.model.timeline import Timeline
from kit.search.check import Result, check, check_refinement
from kit.search.fuzz import AT_REST, Finding, Fuzzed, fuzz
from kit.search.search import LOST, Violation


def _models(given: Namespace) -> Answer:
    known = [_entry_row(entry) for entry in registry.entries().values()]
    return Answer(known, (), _summaries(known), compact=True)


def _summaries(known: Iterable[Mapping[str, Any]]) -> Iterator[Part]:
    for each in known:
        safeguards = (f"{safeguard['id']} {safeguard['name']}" for safeguard in each["safeguards"])
        yield f"{each['name']}: {each['title']}"
        yield Rows(
            [
                ("scenarios", listed(each["scenarios"], "none")),
                ("safeguards", listed(safeguards, "none")),
                ("properties", listed(each["properties"])),
            ]
        )
        yield ""
    yield "show MODEL says more, play SCENARIO plays a scenario, check MODEL searches all runs"


def _entry_row(entry: registry.Entry) -> dict[str, Any]:
    model = registry.build(entry.name)
    return {
        "name": entry.name,
        "title": entry.title,
        "parameters": plainly(entry.parameters()),
        "scenarios": [scenario.name for scenario in entry.scenarios],
        "safeguards": [
            {"name": safeguard.name, "id": safeguard.id, "protects": list(safeguard.protects)}
            for safeguard in entry.safeguards
        ],
        "properties": [each.name for each in (*model.properties, *model.signs)]
        + [each.name for each in model.monitors],
    }


def named(name: str) -> tuple[registry.Entry, registry.Scenario | None]:
    """A model, also a file's, or a scenario with its model. Raises BadInput for an unknown name."""
    if name in registry.model_names():
        return registry.entry_of(name), None
    if own_models.is_file(name):
        return own_models.entry_in(name), None
    try:
        return registry.scenario_of(name)
    except BadInput:
        known = registry.entries()
        bare = [scenario.name for entry in known.values() for scenario in entry.scenarios]
        allowed = own_models.or_a_file(name, registry.one_of(name, [*known, *bare]))
        raise BadInput("model", name, allowed) from None


def _show(given: Namespace) -> Answer:
    """A model: its diagrams as text, its parameters, safeguards and scenarios.

    A scenario is shown as its model, with the scenario's own parameters and script.
    """
    entry, scenario = named(given.model)
    values = scenario.parameters if scenario else {}
    edition = edition_in(registry.convert(entry, values), ", edition {}")
    return Answer(None, [f"{entry.name}: {entry.title}{edition}"], _parts(entry, scenario))


def _parts(entry: registry.Entry, scenario: registry.Scenario | None) -> Iterator[Part]:
    if scenario is not None:
        yield from wrap(scenario.title, f"scenario {scenario.name}: ", GAP)
        if scenario.off:
            yield from wrap(listed(scenario.off), "switched off: ")
        yield from (f"script{GAP}{verb}" for verb in scenario.script)
    yield from _settings(entry, scenario.parameters if scenario else {})
    yield Rows(_properties(entry, scenario) or [("none",)], title="properties")
    safeguards = [
        (each.id, each.name, f"{each.in_full}; protects {listed(each.protects, 'nothing')}")
        for each in entry.safeguards
    ]
    yield Rows(safeguards or [("none",)], title="safeguards")
    scenarios = [(each.name, each.title) for each in entry.scenarios]
    yield Rows(scenarios or [("none",)], title="scenarios")
    for diagram in entry.diagrams:
        rows = [(state, f"─ {event} →", after) for state, event, after in diagram.transitions]
        yield Rows(rows, title=diagram.title)


def _settings(entry: registry.Entry, own: Mapping[str, Any]) -> Iterator[Part]:
    """The meaning of the parameters, then their values; ``*`` marks those of the scenario."""
    if not (known := parameters_of(entry.parameters)):
        yield Rows([("none",)], title="parameters")
        return
    meaning = cleandoc(entry.parameters.__doc__ or "").replace("``", "`")
    values = {**plainly(entry.parameters()), **msgspec.to_builtins(dict(own))}
    yield ""
    yield "parameters"
    for paragraph in filter(None, meaning.split("\n\n")):
        yield from wrap(paragraph, GAP, GAP)
    said = ((each.name, "; ".join(filter(None, (each.meaning, each.allowed)))) for each in known)
    yield Rows([(f"  {name}", words) for name, words in said if words])
    signed = (("*" if field in own else " ", field, value) for field, value in values.items())
    rows = [(f"{sign} {field}", json.dumps(value)) for sign, field, value in signed]
    yield Rows(rows, title="defaults" + (" (* set by the scenario)" if own else ""))


def _properties(
    entry: registry.Entry, scenario: registry.Scenario | None
) -> list[tuple[str, str, str]]:
    """The properties, each with its kind; a sign is one that breaks on the way to a harm.

    Some properties are signs only while a safeguard is off: of a model that is told beside them.
    """
    given = (scenario.parameters, scenario.off) if scenario else ({}, ())
    model = registry.build(entry.name, *given)
    turned = [] if scenario else _signs_without(entry)
    own = {each.name for each in (*model.properties, *model.signs)}
    judges: list[tuple[Property | Monitor, str]] = [(p, str(p.kind)) for p in model.properties]
    judges += [(each, "sign") for each in model.signs]
    judges += [(sign, "sign") for sign, _ in turned if sign.name not in own]
    judges += [(each, "monitor") for each in model.monitors]
    only = {sign.name: f"; counts as a sign without {listed(without)}" for sign, without in turned}
    return [
        (each.name, kind, f"{each.title} {each.invariant}".rstrip() + only.get(each.name, ""))
        for each, kind in judges
    ]


def _signs_without(entry: registry.Entry) -> list[tuple[Property, list[str]]]:
    """The properties that are signs only without some safeguards, with the ids of these."""
    signs: dict[str, tuple[Property, list[str]]] = {}
    always = {sign.name for sign in registry.build(entry.name).signs}
    for safeguard in entry.safeguards:
        for sign in registry.build(entry.name, safeguard.smallest, (safeguard.name,)).signs:
            if sign.name not in always:
                signs.setdefault(sign.name, (sign, []))[1].append(safeguard.id)
    return list(signs.values())


OWN = "a file with a model of your own (lock.py)"
MODEL = Word("model", "MODEL", f"a model, one of its scenarios, or {OWN}")
LISTED = "Every model with its scenarios, safeguards and properties."
MODELS = Command("models", _models, about=LISTED)
SHOWN = "A model: its parameters, properties, safeguards, scenarios and diagrams."
SHOW = Command("show", _show, (MODEL,), SHOWN, as_json=False)


CLEAN, VIOLATED, BOUNDED, PARTLY, COSTLY = 0, 1, 2, 3, 4
Actions = tuple[Any, ...]


class SearchPlan(Struct, frozen=True):
    """What a search walks, what it judges (None: all), and the run that it begins after."""

    model: Model[Any, Any]
    properties: tuple[Property, ...] | None = None
    monitors: tuple[Monitor, ...] | None = None
    begun: Begun | None = None


def _check(given: Namespace) -> Answer:
    """Search a model; 0 complete and clean, 1 a violation was found, 2 bounded, 3 judged in part,
    4 nothing but known costs of the protocol.

    3 where nobody chose what to judge, and something of the model was not judged.
    """
    most = None if given.max_states is None else _count("--max-states", given.max_states)
    _check_trace(given)
    before = 0
    if given.refines:
        if given.breaks is not None:
            why = "only one of the two: --refines compares steps only"
            raise BadInput("--breaks", "--refines", why)
        joins = {"--symmetry": given.symmetry, "--partial-order": given.partial_order}
        for option in filter(joins.get, joins):
            raise BadInput(option, "--refines", "only one of the two: every fine step is compared")
        refinement = _refinement(given)
        model = refinement.fine
        result = check_refinement(refinement, max_states=most, progress=True)
    else:
        search = _search(given)
        model = search.model if search.begun is None else search.begun.run.model
        before = 0 if search.begun is None else len(search.begun.actions)
        result = _searched(search, given.symmetry, given.partial_order, most)
    violation, whole = result.violation, CLEAN if result.complete and not result.bound else BOUNDED
    written = _write(given, model, violation)
    if result.verdict == "judged in part" and not (given.refines or given.breaks):
        whole = PARTLY
    elif result.costs and whole == CLEAN:
        whole = COSTLY
    return Answer(
        {**_result_as_plain(model, result), **({"begins_behind": before} if before else {})},
        parts=chain(_result_parts(model, result, before), written),
        status=whole if violation is None else VIOLATED,
        compact=True,
    )


def _fuzz(given: Namespace) -> Answer:
    """Walk a model at random; 0 clean, 1 a violation was found, 2 interrupted before one was, 4
    nothing but known costs of the protocol.
    """
    seeds, steps = _seeds(given.seeds), _count("--steps", given.steps)
    _check_trace(given)
    entry, _ = named(given.model)
    model = _model(given, entry.fuzzing.parameters)
    result = fuzz(model, seeds, steps=steps, progress=True)
    first = next(iter(_by_seed(result)), None)
    written = _write(given, model, first)
    whole = BOUNDED if result.interrupted else COSTLY if result.costs else CLEAN
    return Answer(
        _fuzzed_as_plain(model, result, seeds),
        parts=chain(_walk_parts(model, result), written),
        status=VIOLATED if first is not None else whole,
        compact=True,
    )


def _check_trace(given: Namespace) -> None:
    if given.trace is not None:
        check_place(given.trace, "--trace")


def _write(given: Namespace, model: Model[Any, Any], met: Violation | Finding | None) -> list[str]:
    if given.trace is None:
        return []
    if met is None:
        return [f"{given.trace}: not written, because no run that breaks anything was found"]
    trace.write(Timeline.along(model, met.actions).save(), given.trace)
    own = f" --model {given.model}" if own_models.is_file(given.model) else ""
    steps = counted(len(met.actions), "step")
    return [f"{given.trace}: a trace of {steps}; see it with: play {given.trace}{own}"]


def _searched(search: SearchPlan, symmetry: bool, partial_order: bool, most: int | None) -> Result:
    result = check(
        search.model,
        search.properties,
        monitors=search.monitors,
        max_states=most,
        symmetry=symmetry,
        partial_order=partial_order,
        progress=True,
    )
    if (violation := result.violation) is None or search.begun is None:
        return result
    actions = (*search.begun.actions, *violation.actions)
    return replace(result, violation=replace(violation, actions=actions))


# -- which model -----------------------------------------------------------------------------------


def _search(given: Namespace) -> SearchPlan:
    """The search that is asked for: of everything, or of one invariant, in the case that shows it.

    The case is that of a safeguard switched off which has one for that invariant; it brings its
    own parameters along.

    Raises BadInput naming the word of the command line that does not serve.
    """
    if (breaks := given.breaks) is None:
        return SearchPlan(_model(given, {}))
    entry, scenario = named(given.model)
    off = registry.safeguards_off(entry, tuple(given.off))
    cases = [
        case
        for safeguard in entry.safeguards
        for case in safeguard.later
        if safeguard.name in off and case.breaks == breaks
    ]
    if scenario is not None or given.parameter or not cases:
        model = _model(given, {}, breaks)
        return SearchPlan(model, *_watching(model, breaks))
    start = begun_by(cases[0], off)
    return SearchPlan(start.model, *_watching(start.model, breaks), start)


def _watching(
    model: Model[Any, Any], invariant: str
) -> tuple[tuple[Property, ...], tuple[Monitor, ...]]:
    judges = (*model.properties, *model.signs)
    properties = tuple(each for each in judges if invariant in (each.invariant, each.name))
    monitors = tuple(m for m in model.monitors if invariant in (m.invariant, m.name))
    if not invariant or not (properties or monitors):
        known = {name for each in judges for name in (each.invariant, each.name)}
        known |= {name for each in model.monitors for name in (each.invariant, each.name)}
        raise BadInput("--breaks", invariant, registry.one_of(invariant, sorted(known - {""})))
    return properties, monitors


def _model(given: Namespace, otherwise: Mapping[str, Any], breaks: str = "") -> Model[Any, Any]:
    """A model or scenario by name, with parameters ``key=value`` and safeguards switched off.

    A safeguard brings the configuration along in which ``breaks`` does (without: its smallest one),
    unless parameters are given; ``otherwise`` holds where nothing else does.
    """
    entry, scenario = named(given.model)
    parameters: dict[str, Any] = dict(scenario.parameters) if scenario else {}
    switched = (*(scenario.off if scenario else ()), *given.off)
    if not given.parameter and not parameters:
        off = registry.safeguards_off(entry, tuple(given.off))
        needed = [each.breaking(breaks) for each in entry.safeguards if each.name in off]
        for case in needed or [dict(otherwise)]:
            parameters |= case
    parameters.update(parameters_given(entry, given.parameter, given.release))
    registry.convert(entry, parameters)
    return registry.build(entry.name, parameters, switched)


def _refinement(given: Namespace) -> Refinement:
    entry, scenario = named(given.model)
    if entry.refinement is None:
        able = (other.name for other in registry.entries().values() if other.refinement)
        allowed = f"a model that refines another one: {listed(able, 'none')}"
        raise BadInput("--refines", entry.name, allowed)
    if given.off:
        raise BadInput("--off", given.off[0], "no safeguard switched off when --refines is given")
    parameters: dict[str, Any] = dict(scenario.parameters) if scenario else {}
    parameters.update(parameters_given(entry, given.parameter, given.release))
    if not parameters and scenario is None:
        parameters.update(entry.compared)
    return entry.refinement(registry.convert(entry, parameters))


def parameters_given(
    entry: registry.Entry, words: Sequence[str], release: str | None = None
) -> dict[str, Any]:
    """The parameters of ``-p name=value`` words, and of the server of a ``release``.

    Raises BadInput for a word that has no such form, a release of a model that has none.
    """
    given: dict[str, str] = {}
    if release is not None:
        if "release" not in {each.name for each in parameters_of(entry.parameters)}:
            raise BadInput("--release", release, f"nothing: {entry.name} has no parameter release")
        given = {"edition": "server", "release": release}
    for text in words:
        field, equals, value = text.partition("=")
        # Bytes of the command line that were no valid text become surrogates.
        if not equals or any("\ud800" <= character <= "\udfff" for character in text):
            raise BadInput("-p", text, "parameter=value")
        if field in given:
            said = "each parameter once" + " (--release sets edition and release)" * bool(release)
            raise BadInput("-p", text, said)
        given[field] = value
    return registry.as_written(entry, given)


# -- what was found, as data -----------------------------------------------------------------------


def _result_as_plain(model: Model[Any, Any], result: Result) -> dict[str, Any]:
    """The result as data; ``unreached`` and ``interrupted`` only where there is such a thing."""
    violation = result.violation
    costs = [{**_broken_as_plain(model, met), "remark": met.remark} for met in result.costs]
    some = {
        "partial_order": None if result.ordered is None else {"compared": result.ordered},
        "costs": costs,
        "unjudged": [*result.unjudged, *result.endless],
        "live_within": 0 if violation else result.within,
        "unreached": [] if violation else [*result.unreached],
        "interrupted": result.interrupted,
    }
    return {
        "model": result.model,
        "states": result.states,
        "transitions": result.transitions,
        "depth": result.depth,
        "complete": result.complete and not result.bound,
        "violation": None if violation is None else _broken_as_plain(model, violation),
        "seconds": round(result.seconds, 3),
        "verdict": result.verdict,
        "budgets": _budgets(model),
        **result.scope.as_plain(),
        "symmetry": {"compared": result.compared} if result.symmetry else None,
        **{name: value for name, value in some.items() if value},
    }


def _budgets(model: Model[Any, Any]) -> dict[str, int]:
    given = model.parameters
    return {each.name: each.value_in(given) for each in budgets_of(given)}


def _fuzzed_as_plain(model: Model[Any, Any], result: Fuzzed, seeds: range) -> dict[str, Any]:
    """The walks as data: ``violation`` is that of the lowest seed, ``also`` what else broke."""
    findings = [_finding_as_plain(model, finding) for finding in _by_seed(result)]
    some = {"also": findings[1:], "costs": {**result.costs}, "interrupted": result.interrupted}
    return {
        "model": result.model,
        "seeds": f"{seeds.start}:{seeds.stop}",
        "walks": result.walks,
        "steps": result.steps,
        "violation": findings[0] if findings else None,
        "untaken": list(result.untaken),
        "unreached": list(result.unreached),
        "seconds": round(result.seconds, 3),
        "budgets": _budgets(model),
        **result.scope.as_plain(),
        "within": result.within,
        **{name: value for name, value in some.items() if value},
    }


def _by_seed(result: Fuzzed) -> list[Finding]:
    return sorted(result.findings, key=lambda finding: finding.seed)


def _finding_as_plain(model: Model[Any, Any], finding: Finding) -> dict[str, Any]:
    plain = _broken_as_plain(model, finding)
    trace = plain.pop("trace")
    return {**plain, "seed": finding.seed, "trace": trace}


def _broken_as_plain(model: Model[Any, Any], broken: Violation | Finding) -> dict[str, Any]:
    return {
        "property": broken.property,
        "witness": broken.witness,
        "trace": [model.verb(action) for action in broken.actions],
        **({"loop": loop} if (loop := getattr(broken, "loop", None)) is not None else {}),
    }


# -- and in words ----------------------------------------------------------------------------------


def _result_parts(model: Model[Any, Any], result: Result, before: int) -> Iterator[Part]:
    counts = f"{counted(result.states, 'state')}, {counted(result.transitions, 'step')}"
    memory = spoken(result.memory)
    counts = f"{counts}, depth {result.depth}, {result.seconds:.2f} s, {memory}"
    yield f"{result.model}: {counts}{result.scope.budgets}"
    for line in result.lines()[1:]:
        yield from wrap(line, "", GAP)
    if result.violation is not None:
        yield from _violation_parts(model, result.violation)
    for met in result.costs:
        yield from wrap(met.witness, f"{met.property} breaks first so: ", GAP)
        yield _run(model, met.actions)
    if before:
        yield f"it begins after a run of {before} steps"


def _violation_parts(model: Model[Any, Any], violation: Violation) -> Iterator[Part]:
    rows, loop = _run(model, violation.actions), violation.loop
    if loop is None or loop == len(violation.actions):
        yield rows
        return
    if loop:
        yield replace(rows, rows=rows.rows[:loop])
    yield f"… and from here it goes on for ever, {counted(len(rows.rows) - loop, 'step')} a round:"
    yield replace(rows, rows=rows.rows[loop:])


def _walk_parts(model: Model[Any, Any], result: Fuzzed) -> Iterator[Part]:
    counts = f"{counted(result.walks, 'walk')}, {counted(result.steps, 'step')}"
    yield f"{result.model}: {counts}, {result.seconds:.2f} s{result.scope.budgets}"
    for line in result.scope.lines():
        yield from wrap(line, "", GAP)
    if result.scope.judged["goal"]:
        yield f"after each walk comes a fair schedule of up to {result.within:,} steps"
    for finding in _by_seed(result):
        yield from wrap(finding.witness, f"violated: {finding.property}: ", GAP)
        steps = counted(finding.unshrunk, "step")
        of_goal = finding.property in result.scope.judged["goal"]
        whole = of_goal and finding.witness not in (LOST, AT_REST)
        shrunk = f"shrunk from {steps} to {len(finding.actions):,}"
        if whole:
            shrunk = f"{steps}, not shrunk"
        yield f"first found by seed {finding.seed}, in {finding.times} of the walks; {shrunk}"
        yield _run(model, finding.actions, "steps" if whole else "")
    if not result.findings:
        yield result.sentence
    for name, remark in result.costs.items():
        yield from wrap(remark, f"{name}: ", GAP)
    if result.untaken:
        yield from wrap(listed(result.untaken), "never taken: ", GAP)
    else:
        yield f"all {len(result.rows)} transitions in the tables were taken"
    yield from (f"never reached: {name}" for name in result.unreached)


def _run(model: Model[Any, Any], actions: Actions, what: str = "") -> Rows:
    state = model.start()
    rows = []
    for number, action in enumerate(actions, start=1):
        after = model.apply(state, action)
        rows.append((f"{number:4}", model.verb(action), model.describe(state, action, after)))
        state = after
    return Rows(rows, what, indent="")


# -- the words of the command line -----------------------------------------------------------------


SET = "set a parameter, such as nodes=4 (repeatable)"
SWITCH = "switch a safeguard off, by name or id; without -p, in a small configuration that needs it"
PARAMETER = Word("-p --parameter", "NAME=VALUE", SET, several=True)
CONFIGURATION = (
    MODEL,
    PARAMETER,
    Word("--off", "SAFEGUARD", SWITCH, several=True),
    Word("--release", "R", "play the server of this release, such as 2026.1 (edition=server)"),
)
TRACE = Word("--trace", "FILE", "write the failing run as a trace")
ORDER = "delay a step until another step depends on it, or take commuting steps together"
OF_CHECK = (
    Word("--symmetry", "", "visit only one of several equivalent states"),
    Word("--partial-order", "", ORDER),
    Word("--max-states", "N", "stop after N states (the search is then bounded, and exits with 2)"),
    Word(
        "--breaks",
        "INVARIANT",
        "check only the promises of this invariant, such as INV-NORES, or one promise by its "
        "name; with --off and without -p, use the case that shows the break (it can begin after "
        "a run)",
    ),
    Word("--refines", "", "compare each step with one of the coarser model"),
)
SEEDS = "the seeds from FIRST up to but not including END (default: 0:50)"
OF_FUZZ = (
    Word("--seeds", "FIRST:END", SEEDS, "0:50"),
    Word("--steps", "N", "at most this many steps per walk (default: 100)", "100"),
)


def _count(option: str, text: str) -> int:
    try:
        number = whole(text)
    except ValueError:
        number = 0
    if number < 1:
        raise BadInput(option, text, f"a whole number from 1 up, of at most {DIGITS} digits")
    return number


def _seeds(text: str) -> range:
    first, _, end = text.partition(":")
    try:
        seeds = range(whole(first), whole(end))
    except ValueError:
        seeds = range(0)
    if not seeds or seeds.start < 0:
        allowed = f"FIRST:END, whole numbers of at most {DIGITS} digits, FIRST below END, as 0:1000"
        raise BadInput("--seeds", text, allowed)
    return seeds


SEARCHED = "Search every state that a model can reach, for a run that breaks a promise."
AFTER_CHECK = """\
Exits with 0 if the search saw everything and nothing broke, 1 if something broke, 2 if it was
bounded, or on bad input, 3 if nothing broke but something of the model was not judged, and 4 if
nothing broke but what the protocol itself is known not to keep (docs/editions.md lists it).
"""
WALKED = "Walk a model at random, once for each seed; a run that breaks a promise is made shorter."
AFTER_FUZZ = """\
Exits with 0 if nothing broke, 1 if something did, 2 if it was interrupted before, or on bad input,
and 4 if nothing broke but what the protocol itself is known not to keep.
"""
CHECK = Command("check", _check, (*CONFIGURATION, *OF_CHECK, TRACE), SEARCHED, AFTER_CHECK)
FUZZ = Command("fuzz", _fuzz, (*CONFIGURATION, *OF_FUZZ, TRACE), WALKED, AFTER_FUZZ)
