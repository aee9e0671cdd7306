"""Old words: traces, parameters and scenario files of earlier versions still open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest
from msgspec import Struct

from kit.commands.cli import main
from kit.engine import registry, trace
from kit.engine.model import Safeguard, fingerprint
from kit.engine.registry import (
    Entry,
    Former,
    beginning_today,
    build,
    convert,
    entries,
    entry_of,
    safeguards_off,
)
from kit.engine.scenario import parse, run
from kit.engine.timeline import Timeline
from kit.errors import BadInput
from tests.engine.toys import LiftModel, LiftParameters
from tests.house.source import ROOT
from tests.kinds import action_types
from tests.saying import like
from tests.stories import rewritten

FORMER = Former(
    actions={"climb": "up", "hatch": "door"},
    fields={"door.wide": "open"},
    parameters={"storeys": "house.floors", "mood": "music"},
    values={"music": {"muzak": "quiet"}},
    safeguards={"hatch": "door"},
    verbs={"climb": "up", "hatch": "door"},
    shown={"place": "where"},
)
OLD_FILE = """\
# A lift goes up.
model former-lift
storeys 4
mood muzak
off hatch

climb
climb
place
----

hatch True
----
"""


class House(Struct, frozen=True, forbid_unknown_fields=True):
    """How high the house is."""

    floors: int = 3


class HouseParameters(Struct, frozen=True, forbid_unknown_fields=True):
    """The lift's parameters, within those of its house; and what is played in it."""

    house: House = House()
    music: str = "none"


class HouseLift(LiftModel):
    """The lift of a house."""

    name = "former-lift"

    def __init__(self, parameters: HouseParameters, off: tuple[str, ...] = ()) -> None:
        super().__init__(LiftParameters(parameters.house.floors), off)
        self.parameters = parameters  # type: ignore[assignment]  # those of the house


ENTRY = Entry(
    name="former-lift",
    title="A lift with old words",
    parameters=HouseParameters,
    build=HouseLift,
    safeguards=(Safeguard("door", "S-90", "Only a closed lift moves", ("moves-closed",)),),
    scenario_output={"where": lambda model, state, rest: f"floor {state.floor}"},
    former=FORMER,
)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    """The toy is a model for these tests alone."""
    registry.register(ENTRY)
    yield
    del registry._ENTRIES[ENTRY.name]


def test_a_trace_in_old_words_gives_the_history_of_today() -> None:
    """Actions, their fields, parameters, values and safeguards of an old trace become today's."""
    model = build("former-lift", {"house": House(4), "music": "quiet"}, ("door",))
    now = Timeline(model)
    for action in ({"type": "up"}, {"type": "door", "open": True}):
        now.do(msgspec.convert(action, model.Action))
    old = trace.dumps(now.save())
    for word, former in (
        ('"type": "up"', '"type": "climb"'),
        ('"type": "door"', '"type": "hatch"'),
        ('"open"', '"wide"'),
        ('"house"', '"storeys"'),
        ('"quiet"', '"muzak"'),
        ('"music"', '"mood"'),
        ('  "door"', '  "hatch"'),
    ):
        assert word in old
        old = old.replace(word, former)
    plain = msgspec.json.decode(old)
    plain["parameters"]["storeys"] = 4
    loaded = Timeline.load(trace.loads(msgspec.json.encode(plain)))
    assert loaded.save() == now.save()


BEGINNINGS = {"put": "add", "put away": "store", "put away all": "clear"}


@pytest.mark.parametrize(
    ("line", "today"),
    [
        ("put", "add"),
        ("put A", "add A"),
        ("put away", "store"),
        ("put away A", "store A"),
        ("put away all A", "clear A"),
        ("put awa", "add awa"),
        ("putting", "putting"),
        ("A put", "A put"),
    ],
)
@pytest.mark.parametrize("names", [[*BEGINNINGS], [*BEGINNINGS][::-1]])
def test_of_old_names_that_begin_alike_the_longest_is_meant(
    line: str, today: str, names: list[str]
) -> None:
    """In whatever order they are known; only whole words count, at the beginning."""
    assert beginning_today({name: BEGINNINGS[name] for name in names}, line) == today


def test_old_parameters_are_converted() -> None:
    """An old name gives today's parameter, within another one, too; both at once are wrong."""
    given = {"storeys": 5, "mood": "muzak"}
    assert convert(ENTRY, given) == HouseParameters(House(5), "quiet")
    assert convert(ENTRY, {"house.floors": 7}) == HouseParameters(House(7))
    with pytest.raises(BadInput, match=r"storeys.*house\.floors"):
        convert(ENTRY, {"storeys": 5, "house.floors": 5})
    with pytest.raises(BadInput, match=like("house | 3")):
        convert(ENTRY, {"storeys": 5, "house": 3})


def test_an_old_parameter_that_said_nothing_is_left_out() -> None:
    """A trace says all parameters: one that was unused does not contradict its new name."""
    entry = entry_of("dataplane")
    for given in ({"behind": -1}, {"behind": -1, "lag": 4}, {"behind": 2}, {"behind": 0}):
        lag = given.get("lag", None if given["behind"] < 0 else given["behind"])
        assert convert(entry, given).lag == lag
    with pytest.raises(BadInput, match=r"behind.*only lag, its name today"):
        convert(entry, {"behind": 2, "lag": 4})


def test_a_recorded_run_opens_without_a_bound_that_it_kept() -> None:
    """A trace of earlier has both bounds. Its requests kept theirs, which today bounds nodes, too:
    so it opens without it, and ends in the state that was written down.
    """
    old = trace.read(ROOT / "tests/fixtures/lagging_coordinators.json")
    assert old.parameters["behind"] == 1
    assert old.parameters["lag"] is None
    older = {name: value for name, value in old.parameters.items() if name != "lag"}
    assert convert(entry_of("dataplane"), older).lag == 1
    for parameters in (old.parameters, older):
        run = Timeline.load(msgspec.structs.replace(old, parameters=parameters))
        assert run.model.parameters.lag is None
        assert fingerprint(run.state) == old.steps[-1].fingerprint


def test_old_safeguards_are_switched_off() -> None:
    """An old name of a safeguard switches off today's."""
    assert safeguards_off(ENTRY, ("hatch", "S-90")) == ("door",)


def test_an_old_scenario_file_is_read_with_notes() -> None:
    """Old verbs, shown words, parameters and safeguards still read; each is noted once."""
    script = parse(OLD_FILE)
    assert script.notes == (
        "line 3: storeys is house.floors today",
        "line 4: mood muzak is music quiet today",
        "line 5: off hatch is off door today",
        "line 7: climb is up today",
        "line 9: place is where today",
        "line 12: hatch is door today",
    )
    timeline, shown = run(script)
    assert timeline.state.floor == 2
    assert timeline.state.door
    assert timeline.model.parameters == HouseParameters(House(4), "quiet")
    assert shown[0][-1] == "floor 2"


def test_a_note_leaves_out_what_both_lines_end_in() -> None:
    """However many words follow the one that changed, they are not repeated."""
    script = parse("# A lift.\nmodel former-lift\n\nplace here and now\n----\n")
    assert script.notes == ("line 4: place is where today",)


@pytest.mark.parametrize(
    ("former", "today", "line", "noted"),
    [
        ("all doors", "doors", "all doors", "all doors is doors"),
        ("all doors", "doors", "all doors now", "all doors is doors"),
        ("doors", "all doors", "doors", "doors is all doors"),
        ("doors", "all doors", "doors now", "doors is all doors"),
        ("doors of all", "list of all", "doors of all", "doors is list"),
    ],
)
def test_a_note_leaves_a_word_on_each_side(
    former: str, today: str, line: str, noted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one of the two is what the other ends in."""
    monkeypatch.setattr("kit.engine.scenario.FORMER_COMMANDS", {former: today})
    script = parse(f"# A lift.\nmodel former-lift\n\n{line}\n----\n")
    assert script.notes == (f"line 4: {noted} today",)


def test_each_item_of_a_list_is_told_in_todays_words() -> None:
    """A parameter that takes several values: those with an old word change, the others stay."""
    assert FORMER.value_today("music", ("muzak", "loud")) == ("quiet", "loud")
    assert FORMER.value_today("music", ["muzak"]) == ["quiet"]
    assert FORMER.value_today("floors", [1, 2]) == [1, 2]


def test_an_action_within_others_is_told_in_todays_words() -> None:
    """Also in a list of them."""
    plain = {"type": "both", "first": {"type": "hatch", "wide": True}, "then": [{"type": "climb"}]}
    assert FORMER.action_today(plain) == {
        "type": "both",
        "first": {"type": "door", "open": True},
        "then": [{"type": "up"}],
    }


def test_play_shows_the_notes_and_rewriting_says_it_in_todays_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What ``play`` prints begins with the notes; a file that is rewritten needs none."""
    path = tmp_path / "old.txt"
    path.write_text(OLD_FILE, encoding="utf-8")
    assert main(["play", str(path)]) == 0
    assert capsys.readouterr().out.startswith("line 3: storeys is house.floors today\nline 4:")
    assert parse(rewritten(path)).notes == ()


def test_a_file_without_old_words_has_no_notes() -> None:
    """A word that only begins like an old one is left alone, and so is a comment."""
    script = parse("# climb\nmodel former-lift\n\n# climb\nclimbing\n----\n")
    assert script.notes == ()
    assert script.steps[0].commands[0].text == "climbing"


@pytest.mark.parametrize("name", entries())
def test_no_word_of_today_is_an_old_one(name: str) -> None:
    """An old word is never also today's, so that what it means does not depend on the version.

    Models of one family may share their old words: today's are words of one of them.
    """
    former = entries()[name].former
    sharing = [entry for entry in entries().values() if entry.former == former]
    fields = {field for entry in sharing for field in entry.parameters.__struct_fields__}
    guards = {guard.name for entry in sharing for guard in entry.safeguards}
    tags = set().union(*(_tags(build(entry.name)) for entry in sharing))
    shown = {word for entry in sharing for word in entry.scenario_output}
    for words, renamed in (
        (guards, former.safeguards),
        (tags, former.actions),
        (shown, former.shown),
    ):
        assert not words & set(renamed)
        assert words >= set(renamed.values())
    assert not fields & set(former.parameters)


def _tags(model: Any) -> set[str]:
    """The tags of a model's actions, those within a product's wrappers among them."""
    wrappers = (get_origin(given) or given for given in get_args(model.Action) or (model.Action,))
    kinds = {*wrappers, *action_types(model)}
    return {str(kind.__struct_config__.tag) for kind in kinds}


@pytest.mark.parametrize(
    ("model", "old", "new"),
    [
        ("topology", {"edition": "seed"}, {"edition": "documents"}),
        ("topology", {"edition": "code"}, {"edition": "server"}),
        ("tcm", {"variant": "cep"}, {"edition": "documents"}),
        ("tcm", {"shape": "implementation"}, {"edition": "server"}),
        ("dataplane", {"variant": "implementation"}, {"edition": "server"}),
        ("dataplane", {"cluster.variant": "cep"}, {"cluster.edition": "documents"}),
        ("dataplane", {"cluster": {"variant": "cep"}}, {"cluster": {"edition": "documents"}}),
    ],
)
def test_former_words_of_an_edition_are_understood(
    model: str, old: dict[str, Any], new: dict[str, Any]
) -> None:
    """Whatever the model, and wherever the parameter lies, old words give the edition of today."""
    assert build(model, old).parameters == build(model, new).parameters


def test_a_model_of_ones_own_may_use_those_words() -> None:
    """A student's parameter ``variant``, or an edition called *code*, is left as it is."""
    assert Former().parameters_today({"variant": "cep"}) == {"variant": "cep"}
    assert Former().value_today("edition", "code") == "code"


@pytest.mark.parametrize("line", ["edition code", 'edition "code"'])
def test_an_old_edition_in_a_scenario_file(line: str) -> None:
    """With or without quotes it is read as today's, and a note says so."""
    script = parse(f"# A join.\nmodel topology\n{line}\n\nnext\n----\n")
    assert script.header[-1].text == line.replace("code", "server")
    assert script.notes == (f"line 3: {line} is {script.header[-1].text} today",)
    assert run(script)[0].model.parameters.edition == "server"


def test_an_old_edition_as_an_option(capsys: pytest.CaptureFixture[str]) -> None:
    """``--edition seed`` gives the answer of ``--edition documents``."""
    words = ["tablets", "--table", "count=8,size=1G,rf=3", "resize", "--edition"]
    outputs = []
    for edition in ("seed", "documents"):
        main([*words, edition])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert outputs[0]


def test_two_former_names_of_a_parameter_are_not_given_at_once() -> None:
    """Nor one of them beside its name today."""
    former = Former(parameters={"storeys": "floors", "levels": "floors"})
    assert former.parameters_today({"levels": 3}) == {"floors": 3}
    for given in (("storeys", "levels"), ("floors", "levels"), ("levels", "floors")):
        with pytest.raises(BadInput, match=r"^parameter: got '.*'; allowed: only floors"):
            former.parameters_today(dict.fromkeys(given, 3))
