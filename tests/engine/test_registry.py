"""The registry: models by name, strict parameters, and a student's own model on equal terms."""

from __future__ import annotations

import subprocess
import sys
from typing import Any, Literal

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.engine import registry
from kit.engine.check import check
from kit.engine.family import families
from kit.engine.registry import (
    Entry,
    Scenario,
    as_written,
    build,
    convert,
    entries,
    entry_of,
    one_of,
    register,
    safeguards_off,
    scenario_of,
)
from kit.engine.timeline import Timeline
from kit.engine.trace import dumps, loads
from kit.errors import BadInput
from kit.ring.topology import Node
from tests.engine.toys import LIFT, LiftModel, LiftParameters, Up
from tests.house.source import ROOT
from tests.saying import like, says

LIKE_JSON = ("true", "null", "1e5")
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


def test_the_order_does_not_depend_on_what_was_used_first() -> None:
    """The kit's own models come first, in one order, whatever was loaded or registered before."""
    register(LIFT)
    build("tcm")
    assert list(entries()) == [*OWN, "lift"]


def test_what_is_not_used_is_not_loaded() -> None:
    """Loading the registry and building one family does not load the others."""
    program = (
        "import sys; from kit.engine.registry import build; build('twophase');"
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


def test_the_nearest_name_comes_first() -> None:
    """A slip of the finger is answered with the likely word first."""
    assert one_of("tcn", ["twophase", "tcm"]) == "one of tcm, twophase"
    assert one_of("write-before-reed", ["range-locks", "write-before-read"]).startswith(
        "one of write-before-read"
    )


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


def test_nested_structs_are_as_good_as_plain_data() -> None:
    """Parameters may be given as the structs they describe, as plain data, or as both mixed."""
    plain = {"name": "B", "tokens": [200], "dc": "dc1", "rack": "r1"}
    members = [Node("A", (100,)), plain]
    given = {"members": members, "low": 0, "high": 400, "focus": (0, 200)}
    model = build("tcm", given)
    saved = msgspec.to_builtins(model.parameters)
    assert build("tcm", saved).parameters == model.parameters
    assert saved["members"][0]["name"] == "A"
    assert convert(entry_of("tcm"), saved) == model.parameters


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"rf": 0}, "rf: got 0; allowed: a number from 1 to"),
        ({"cluster.rf": 0}, "cluster.rf: got 0; allowed: a number from 1 to"),
        ({"cluster": {"rf": 0}}, "cluster.rf: got 0; allowed: a number from 1 to"),
        ({"rf": 1, "cluster.rf": 2}, "parameter: got 'cluster.rf'; allowed: cluster.rf once"),
        ({"cluster": 3, "rf": 1}, "cluster: got 3; allowed: its fields by name, for cluster.rf"),
        ({"rff": 1}, "parameter: got 'rff'; allowed: one of rf,"),
        ({"cluster.rff": 1}, "parameters.cluster: got {"),
        ({"cluster": {"lag": "none"}}, "parameters.cluster: got {"),
    ],
)
def test_a_wrong_parameter_within_another_is_named_as_it_was_given(
    given: dict[str, Any], error: str
) -> None:
    """The error says the name that was typed, and what is allowed."""
    with pytest.raises(BadInput) as caught:
        convert(entry_of("dataplane"), given)
    assert str(caught.value).startswith(error)


class Strict(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of which one has no default."""

    floors: int
    name: str = "lift"


def test_a_missing_parameter_is_named() -> None:
    """A model without a default for a parameter says which one is missing."""
    register(
        Entry(
            name="strict",
            title="Strict",
            parameters=Strict,
            build=lambda p, off: LiftModel(LiftParameters(p.floors)),
        )
    )
    with pytest.raises(BadInput, match="missing required field `floors`"):
        build("strict", {"name": "x"})
    assert build("strict", {"floors": 2}).start() == LiftModel(LiftParameters()).start()


def test_a_students_limits_speak_for_themselves() -> None:
    """What the model's own limits refuse comes through as they say it."""
    register(LIFT)
    with pytest.raises(BadInput, match=like("floors | 51 | 1 to 50")):
        build("lift", {"floors": 51})


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


def test_every_safeguard_has_a_smallest_configuration_that_builds() -> None:
    """The configuration that shows what a safeguard is for is one the model takes."""
    for name, entry in entries().items():
        for guard in entry.safeguards:
            assert build(name, guard.smallest, (guard.name,)).off == (guard.name,)
            assert {*guard.wider} <= {*guard.protects}


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


def test_a_model_of_ones_own_needs_no_registration() -> None:
    """A timeline takes any model; the registry is only needed to find it by name."""
    timeline = Timeline(LiftModel(LiftParameters()))
    assert timeline.do(Up()).state.floor == 1


def test_a_name_alone_where_a_list_is_wanted() -> None:
    """The line shows how it would be given; a text is never taken letter by letter."""
    with pytest.raises(BadInput, match=r"off: got 'S-01'; allowed: .*, such as \['S-01'\]"):
        build("tcm", off="S-01")


def test_ones_own_model_takes_the_place_of_the_kits() -> None:
    """Under a name of the kit, too, however often it is asked for."""
    own = replace(LIFT, name="twophase")
    register(own)
    assert entry_of("twophase") is entry_of("twophase") is own


class NamedParameters(Struct, frozen=True):
    """Names that look like something else in JSON."""

    release: Literal["2025.1", "true", "null", "1e5", "newest"] = "newest"
    host: str = "A"
    hosts: tuple[str, ...] = ()
    pair: tuple[str, int] = ("A", 1)
    leader: str | None = None
    rounds: int = 1
    fast: bool = False


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *[("release", each, each) for each in ("2025.1", "true", "null", "1e5")],
        *[("host", each, each) for each in ("2025.10", "true", "null", "1e5", "[1]", "{}", "-0")],
        ("host", '"2025.10"', "2025.10"),
        ("host", "", ""),
        ("hosts", '[2025.10, "B", true, null, 1e5, [1]]', ("2025.10", "B", *LIKE_JSON, "[1]")),
        ("pair", "[7, 7]", ("7", 7)),
        ("leader", "null", None),
        ("leader", "2025.10", "2025.10"),
        ("rounds", "7", 7),
        ("fast", "true", True),
    ],
)
def test_what_is_written_is_read_as_its_parameter_says(name: str, text: str, value: Any) -> None:
    """Where a name is wanted it stays as it was written, alone and in a list; else it is JSON."""
    named = Entry(name="named", title="Names", parameters=NamedParameters, build=LiftModel)
    assert getattr(convert(named, as_written(named, {name: text})), name) == value
