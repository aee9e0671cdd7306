"""The registry: models by name, strict parameters, and a student's own model on equal terms."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model import registry
from kit.model.family import families
from kit.model.parameters import parameters_of
from kit.model.registry import (
    Scenario,
    build,
    entries,
    entry_of,
    register,
    safeguards_off,
    scenario_of,
)
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from kit.search.check import check
from tests.house.source import ROOT
from tests.model.toys import LIFT
from tests.saying import like, says

OWN = [name for family in families() for name in family.models]


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(registry, "_ENTRIES", {})


def test_a_students_model_gets_timeline_search_and_traces_for_free() -> None:
    """A model of some thirty lines, once registered, is built by name, walked, searched, saved and
    loaded, with its scenario and its safeguard.
    """
    register(LIFT)
    assert "lift" in entries()
    entry, scenario = scenario_of("ride")
    timeline = Timeline(build(entry.name, scenario.parameters), scenario.script)
    for _ in range(3):
        timeline.forward()
    assert timeline.state.floor == 3
    again = Timeline.load(loads(dumps(timeline.save())))
    assert again.moments == timeline.moments
    result = check(build("lift", {"floors": 5}))
    assert (result.states, result.violation, result.unreached) == (10, None, ())
    assert build("lift", {}, ("S-90",)).off == ("door",)


def test_a_later_registration_takes_the_place_of_the_former() -> None:
    """Running a notebook's cell again replaces the model, and leaves all others alone."""
    register(LIFT)
    register(msgspec.structs.replace(LIFT, title="A better lift"))
    assert entry_of("lift").title == "A better lift"
    assert list(entries()) == [*OWN, "lift"]


def test_what_is_not_used_is_not_loaded() -> None:
    """Loading the registry and building one family does not load the others."""
    program = (
        "import sys; from kit.model.registry import build; build('twophase');"
        "assert 'kit.protocols.tcm.tcm' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_every_entry_is_what_it_says() -> None:
    """Each model builds with its defaults, under its own name, and each scenario with its own."""
    register(LIFT)
    for name, entry in entries().items():
        model = build(name)
        assert (model.name, entry.name) == (name, name)
        assert entry.title
        assert model.parameters == entry.parameters()
        for scenario in entry.scenarios:
            assert scenario.title
            assert build(name, scenario.parameters, scenario.off).name == name


def test_every_model_has_something_it_must_reach() -> None:
    """No model is vacuous: each says at least once what some state must show."""
    register(LIFT)
    for name in entries():
        kinds = [prop.kind for prop in build(name).properties]
        assert "sometimes" in kinds
        assert {"always", "step"} & set(kinds)


@pytest.mark.parametrize("name", ["tmc", "TCM", "", "twophase ", "../tcm", "x" * 10_000])
def test_an_unknown_model_is_named_with_those_there_are(name: str) -> None:
    """A wrong name is shown, and the known names, the nearest first."""
    with pytest.raises(
        BadInput, match=rf"^model: got '.*; allowed: one of ({'|'.join(OWN)}), "
    ) as bad:
        build(name)
    assert len(str(bad.value)) < 100 + len(", ".join(OWN))


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "below": ("twophase", {"rms": 0}, "rms | 0 | 1 to 16"),
    "above": ("twophase", {"rms": 17}, "rms | 17 | 1 to 16"),
    "huge": ("twophase", {"rms": 10**5000}, "rms | an integer of 16610 bits"),
    "a fraction": ("twophase", {"rms": 3.0}, "rms | 3.0 | a number from 1"),
    "a truth": ("twophase", {"rms": True}, "rms | True"),
    "a word": ("twophase", {"rms": "3"}, "rms | '3'"),
    "nothing": ("twophase", {"rms": None}, "rms | None"),
    "no data": ("twophase", {"rms": object}, "rms | <class 'object'> | plain | data"),
    "not a number": ("twophase", {"rms": float("nan")}, "rms | nan"),
    "unknown": ("twophase", {"managers": 3}, "parameter | 'managers' | rms"),
    "code": ("twophase", {"rms": "__import__('os')"}, "rms | \"__import__('os')\""),
    "inside": (
        "tcm",
        {"members": [{"name": "A", "tokens": [100, "x"]}]},
        "members[0].tokens[1] | 'x' | tcm | a whole number",
    ),
    "missing inside": (
        "tcm",
        {"members": [{"tokens": [100]}]},
        "members[0] | {'tokens': [100]} | tcm | Object | missing",
    ),
    "a nested wrong tag": (
        "tcm",
        {"keyspaces": [{"name": "ks", "replication": {"class": "Nope"}}]},
        "keyspaces[0].replication.class | 'Nope'",
    ),
    "limits of another model": ("tcm", {"nodes": 10**9}, "nodes | 1000000000"),
    "nearly a choice": (
        "tcm",
        {"edition": "servr"},
        "edition | 'servr' | one of server, documents",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_parameter_is_named_with_its_place(name: str) -> None:
    """Each kind of wrong value gives one line: the very field, the value, what is allowed."""
    model, parameters, expected = WRONG[name]
    with pytest.raises(BadInput) as caught:
        build(model, parameters)
    assert says(caught.value, expected)
    assert len(str(caught.value).splitlines()) == 1


def test_deep_data_is_refused() -> None:
    """Data nested without end is bad input, not a crash."""
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(BadInput, match=like("rms | a list that cannot be shown | plain | data")):
        build("twophase", {"rms": deep})


def test_safeguards_go_by_name_or_id() -> None:
    """A safeguard is switched off by its name or its number, once; unknown ones are named."""
    entry = entry_of("tcm")
    by_id = {guard.id: guard.name for guard in entry.safeguards}
    for word, name in by_id.items():
        assert safeguards_off(entry, (word,)) == safeguards_off(entry, (name, word)) == (name,)
    with pytest.raises(BadInput, match=like("safeguard | 'S-99' | S-09")):
        build("tcm", {}, ("S-99",))
    with pytest.raises(BadInput, match=like("safeguard | 'S-05' | none")):
        build("twophase", {}, ("S-05",))


def test_a_scenario_goes_by_its_name_alone_or_with_its_model() -> None:
    """Both names lead to the same scenario; unknown ones are answered with the nearest."""
    assert scenario_of("bootstrap") == scenario_of("tcm/bootstrap")
    with pytest.raises(BadInput, match=like("scenario | 'bootstrp' | bootstrap")):
        scenario_of("bootstrp")


def test_a_students_scenario_does_not_hide_the_kits() -> None:
    """A bare name means the kit's own scenario first; the full name always reaches one's own."""
    register(msgspec.structs.replace(LIFT, scenarios=(Scenario("bootstrap", "Another one"),)))
    assert scenario_of("bootstrap")[0].name == "tcm"
    assert scenario_of("lift/bootstrap")[0].name == "lift"


def _with(given: Any, path: tuple[str, ...], value: int) -> Any:
    """Parameters in which one of them, or of a struct among them, has another value."""
    first, *more = path
    return replace(
        given, **{first: _with(getattr(given, first), (*more,), value) if more else value}
    )


@pytest.mark.parametrize("name", entries())
def test_a_model_keeps_its_limits_whoever_makes_it(name: str) -> None:
    """Also when it is given its parameters as they are, not as words: one beyond each end."""
    entry = entries()[name]
    for each in parameters_of(entry.parameters):
        for end, beyond in ((each.least, -1), (each.most, 1)):
            if end is not None:
                given = _with(entry.parameters(), each.path, end + beyond)
                with pytest.raises(BadInput, match=rf"^{each.name}: "):
                    entry.build(given, ())
