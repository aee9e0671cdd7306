"""The registry: models by name, strict parameters, and a student's own model on equal terms."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from typing import Any, Literal

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from kit.engine import registry
from kit.engine.check import check
from kit.engine.family import FileKind, families
from kit.engine.model import Model
from kit.engine.parameters import parameters_of
from kit.engine.registry import (
    MOST_NAMED,
    Entry,
    Scenario,
    as_written,
    build,
    convert,
    entries,
    entry_for,
    entry_of,
    one_of,
    register,
    registered,
    safeguards_off,
    scenario_of,
)
from kit.engine.timeline import Timeline
from kit.engine.trace import dumps, loads
from kit.engine.zoom import finer_run
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


def test_of_a_students_model_nothing_finer_is_known() -> None:
    """No family has it; also at a step that it has taken."""
    register(LIFT)
    timeline = Timeline(build("lift"))
    assert timeline.forward() is not None
    assert registered(timeline.model) is LIFT
    assert finer_run(timeline, timeline.at) is None


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


def test_a_long_list_of_names_is_cut() -> None:
    """Of a thousand names the nearest and the first are shown, and how many more there are."""
    names = [f"n{i}" for i in range(1000)]
    text = one_of("n70o", names)
    assert text.startswith("one of n70, ")
    assert text.endswith(f" and {1000 - MOST_NAMED} more")
    assert one_of("x", []) == "none: there are none"


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


CLUSTER = {
    "by its name alone": {"rf": 1, "nodes": 4},
    "by its path": {"cluster.rf": 1, "cluster.nodes": 4},
    "with its neighbours": {"cluster": {"rf": 1, "nodes": 4}},
    "mixed": {"cluster": {"nodes": 4}, "rf": 1},
}


@pytest.mark.parametrize("form", CLUSTER)
def test_what_lies_within_a_parameter_has_its_own_name(form: str) -> None:
    """However a parameter within another one is given, its neighbours stay as they usually are."""
    entry = entry_of("dataplane")
    made, usual = convert(entry, CLUSTER[form]), convert(entry, {})
    assert (made.cluster.rf, made.cluster.nodes) == (1, 4)
    assert usual.cluster == replace(made.cluster, rf=3, nodes=3)
    assert replace(made, cluster=usual.cluster) == usual


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


class Lists(Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters that are no numbers, in a model of somebody's own."""

    calls: tuple[int, ...] = ()
    stops: tuple[int, ...] = (1, 2)
    label: str = "lift"
    waits: dict[str, int] = msgspec.field(default_factory=dict)


LISTS = replace(LIFT, parameters=Lists)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"calls": 3}, "calls: got 3; allowed: as lift takes it (a list)"),
        ({"stops": 3}, "stops: got 3; allowed: as lift takes it, such as stops=[1,2] (a list)"),
        ({"label": 3}, "label: got 3; allowed: as lift takes it (a string)"),
    ],
)
def test_a_list_is_shown_by_what_it_usually_is(given: dict[str, Any], error: str) -> None:
    """Unless that is empty; of anything else the type is said."""
    with pytest.raises(BadInput) as caught:
        convert(LISTS, given)
    assert str(caught.value) == error


def test_a_parameter_may_be_a_map() -> None:
    """Its keys are no parameters."""
    assert convert(LISTS, {"waits": {"A": 1}}).waits == {"A": 1}


def test_a_number_beyond_its_limits_is_told_them_alone() -> None:
    """Its type is as it should be, so nothing is said of it."""
    with pytest.raises(BadInput) as caught:
        build("twophase", {"rms": 17})
    assert str(caught.value) == "rms: got 17; allowed: a number from 1 to 16"


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


def test_safeguards_are_told_in_one_order() -> None:
    """In whatever order they are given, so that runs without the same ones are alike."""
    entry = entry_of("tcm")
    names = [guard.name for guard in entry.safeguards]
    for given in (names, names[::-1]):
        assert safeguards_off(entry, tuple(given)) == tuple(sorted(names))


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


def test_an_unknown_scenario_is_answered_with_each_name_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bare word gets bare names, full ones only where a bare one means another; as asked for."""
    monkeypatch.setattr(registry, "MOST_NAMED", 1000)  # else the longest lists are cut

    def offered(word: str) -> list[str]:
        with pytest.raises(BadInput) as caught:
            scenario_of(word)
        return caught.value.allowed.removeprefix("one of ").split(", ")

    bare, full = offered("nosuch"), offered("nosuch/nosuch")
    assert len(bare) == len(full) == len({name.rpartition("/")[2] for name in full})
    assert set(bare) == {name.rpartition("/")[2] for name in full}
    register(msgspec.structs.replace(LIFT, scenarios=(Scenario("bootstrap", "Another one"),)))
    assert sorted(offered("nosuch")) == sorted([*bare, "lift/bootstrap"])


def test_a_students_scenario_does_not_hide_the_kits() -> None:
    """A bare name means the kit's own scenario first; the full name always reaches one's own."""
    register(msgspec.structs.replace(LIFT, scenarios=(Scenario("bootstrap", "Another one"),)))
    assert scenario_of("bootstrap")[0].name == "tcm"
    assert scenario_of("lift/bootstrap")[0].name == "lift"


def test_every_scripted_scenario_follows_its_script() -> None:
    """Played from the start, each line of each scenario's script happens, in order."""
    register(LIFT)
    for entry in entries().values():
        for scenario in entry.scenarios:
            model = build(entry.name, scenario.parameters, scenario.off)
            timeline = Timeline(model, scenario.script)
            while timeline.forward() is not None and len(timeline.moments) < 200:
                pass
            steps = iter(pairwise(timeline.moments))
            for line in scenario.script:  # in the words of the model or of an operator
                assert any(
                    option[0] == after.action
                    for before, after in steps
                    if (option := model.find(before.state, line)) is not None
                ), scenario.name


def test_a_model_of_ones_own_needs_no_registration() -> None:
    """A timeline takes any model; the registry is only needed to find it by name."""
    timeline = Timeline(LiftModel(LiftParameters()))
    assert timeline.do(Up()).state.floor == 1


def test_a_name_alone_where_a_list_is_wanted() -> None:
    """The line shows how it would be given; a text is never taken letter by letter."""
    with pytest.raises(BadInput, match=r"off: got 'S-01'; allowed: .*, such as \['S-01'\]"):
        build("tcm", off="S-01")


def test_a_kind_of_file_is_told_by_its_recogniser() -> None:
    """The function at the declared place looks at the text, and its answer is yes or no."""
    sizes = FileKind("sizes", "operators.importers.system_tables:is_sizes", ("tablets",))
    assert sizes.is_one("last_token,missing_replicas") is True
    assert sizes.is_one("last_token,new_replicas") is False


@pytest.mark.parametrize(
    ("word", "allowed", "told"),
    [
        ("?", "c", "c"),
        ("?", "c b a", "a, b, c"),
        ("?", "d c b a", "a, b, c and 1 more"),
        ("?", "e d c b a", "a, b, c and 2 more"),
        ("D", "d c b a", "d, a, b and 1 more"),
        ("words", "a sword b word c", "word, sword, a and 2 more"),
        ("A" * 9, f"b a {'a' * 9}", f"{'a' * 9}, a, b"),
        (None, "none a", "none, a"),
    ],
)
def test_a_list_that_is_short_enough_is_told_whole(
    word: Any, allowed: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of more names it is said how many are left out; the nearest come first."""
    monkeypatch.setattr(registry, "MOST_NAMED", 3)
    assert one_of(word, allowed.split()) == f"one of {told}"


def test_three_near_words_come_before_the_others() -> None:
    """The nearest first; a fourth one stands where the alphabet has it."""
    near = ["zbcdefghij", "yycdefghij", "xxxdefghij", "wwwwefghij"]
    assert one_of("abcdefghij", [*near, "k"]) == f"one of {', '.join([*near[:3], 'k', near[3]])}"


def test_of_a_long_word_the_beginning_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows does not count."""
    monkeypatch.setattr(registry, "LONGEST_WORD", 4)
    assert one_of("liftslifts", ["lifts", "lift"]) == "one of lift, lifts"


def test_ones_own_model_takes_the_place_of_the_kits() -> None:
    """Under a name of the kit, too, however often it is asked for."""
    own = replace(LIFT, name="twophase")
    register(own)
    assert entry_of("twophase") is entry_of("twophase") is own


class Tower(LiftModel):
    """It goes on from the lift."""


class Crane(Model[Any, Any]):
    """Another model, which somebody calls a lift, too."""

    name = LIFT.name


@pytest.mark.parametrize(
    ("kind", "parameters", "known"),
    [
        (LiftModel, LiftParameters(), True),
        (Tower, LiftParameters(), True),
        (Tower, Strict(3), True),
        (Crane, LiftParameters(), True),
        (Crane, Strict(3), False),
    ],
)
def test_a_model_is_known_by_its_class_or_its_parameters(
    kind: Any, parameters: Any, known: bool
) -> None:
    """One of the same name alone is another one."""
    register(LIFT)
    model = kind.__new__(kind)
    model.parameters = parameters
    assert (registered(model) is LIFT) is (entry_for(model) is LIFT) is known
    assert known or registered(model) is None


def test_a_model_may_be_registered_by_what_makes_it() -> None:
    """Its parameters tell that it is one."""

    def made(parameters: LiftParameters, off: tuple[str, ...] = ()) -> LiftModel:
        return LiftModel(parameters, off)

    register(replace(LIFT, build=made))
    entry = registered(LiftModel(LiftParameters()))
    assert entry is not None
    assert entry.name == "lift"


@pytest.mark.parametrize("own", ["floors", int, None])
def test_parameters_are_declared_by_a_class_of_them(own: Any) -> None:
    """Of any other model nobody knows how it is made."""
    model: Any = type("Own", (LiftModel,), {"name": "own", "Parameters": own})
    assert entry_for(model(LiftParameters())) is None
    model.Parameters = LiftParameters
    assert entry_for(model(LiftParameters())).parameters is LiftParameters  # type: ignore[union-attr]  # it is one


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


@pytest.mark.parametrize("model", OWN)
def test_each_choice_of_each_parameter_can_be_written(model: str) -> None:
    """Whatever a model says that a parameter may be is taken as it stands there, and from JSON."""
    entry = entry_of(model)
    for parameter in parameters_of(entry.parameters):
        for choice in parameter.choices:
            given = as_written(entry, {parameter.name: json.dumps(choice).strip('"')})
            assert parameter.value_in(convert(entry, given)) == choice
            whole = json.dumps({parameter.name: choice})
            assert parameter.value_in(convert(entry, json.loads(whole))) == choice


def test_a_release_is_one_as_a_number_too() -> None:
    """JSON from elsewhere may have 2025.1 without quotes."""
    assert convert(entry_of("group0"), {"release": 2025.1}).release == "2025.1"
    with pytest.raises(BadInput) as caught:
        convert(entry_of("group0"), {"release": 2025.9})
    assert caught.value.field == "release"
