"""Damaged traces: what is wrong is named with its place, and nothing is ever executed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import __version__
from kit.errors import BadInput
from kit.model.model import fingerprint
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.model.trace import dumps, loads
from tests.examples import examples
from tests.formats.recorded import load, outcome, plain
from tests.model.toys import LiftModel, LiftParameters
from tests.saying import like

TEXTS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "trace | 'the end of the text' | trace | JSON"),
    "not JSON": ("hello", "trace | 'hello' | trace | JSON"),
    "not text": (b"\xff\xfe\x00", "text in UTF-8 (this is UTF-16"),
    "a lone surrogate": ("\ud800", "| trace | JSON"),
    "a list": ("[1]", "an object with its fields"),
    "null": ("null", "an object with its fields"),
    "no format": ("{}", "format | None | 2 | format"),
    "a ring file": ('{"nodes": [], "keyspaces": []}', "reads (this is a ring file: use ring"),
    "half a ring file": ('{"nodes": []}', "format | None | the format this kit reads"),
    "a later format": ('{"format": 3}', "format | 3 | 2, the format"),
    "a format in words": ('{"format": "1"}', "format | '1' | 2"),
    "a true format": ('{"format": true}', "format | True | 2"),
    "a broken format": ('{"format": 1.0}', "format | 1.0 | 2"),
    "a huge format": ('{"format": 1' + "0" * 400 + "}", "format | an integer of 1329 bits"),
    "an endless number": ('{"format": ' + "9" * 5000 + "}", "at most 1000 digits at line 1"),
    "a number past all floats": ('{"format": 1e999}', "format | inf | 2"),
    "deep nesting": ("[" * 100_000, "nested deeply: at most 64"),
    "deep objects": ('{"a":' * 100_000, "nested deeply: at most 64"),
    "only a format": ('{"format": 2}', "missing required field `kit`"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_no_trace_is_named(name: str) -> None:
    """Malformed, truncated, foreign or hostile text gives one line that says what is expected."""
    text, expected = TEXTS[name]
    with pytest.raises(BadInput, match=like(expected)) as caught:
        loads(text)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 300


def test_every_truncation_is_refused() -> None:
    """A trace cut short anywhere is refused; the whole one is not."""
    text = json.dumps(plain())
    for length in range(len(text)):
        with pytest.raises(BadInput):
            loads(text[:length])
    assert load(json.loads(text)).branches() == [4, 6]


Damage = Callable[[dict[str, Any]], object]


def _set(*path: Any) -> Damage:
    """Damage that puts the last value of ``path`` where the others lead."""
    *way, last, value = path

    def damage(data: dict[str, Any]) -> None:
        place: Any = data
        for key in way:
            place = place[key]
        place[last] = value

    return damage


HUGE = 10**30


AGAIN = {
    "parent": 0,
    "verb": "prepare RM0",
    "action": {"type": "prepare", "rm": 0},
    "fingerprint": "",
}


DAMAGES: dict[str, tuple[Damage, str]] = {
    "an unknown field": (_set("extra", 1), "unknown field `extra`"),
    "a missing field": (lambda data: data.pop("steps"), "missing required field `steps`"),
    "an unknown model": (
        _set("model", "twofase"),
        "model of the trace | 'twofase' | a model that is known here (did you mean twophase?)",
    ),
    "a model's number": (_set("model", 3), "trace.model | 3"),
    "an unknown parameter": (_set("parameters", {"rm": 2}), "parameter | 'rm' | rms"),
    "a parameter's type": (_set("parameters", "rms", "2"), "rms | '2'"),
    "a parameter's limits": (_set("parameters", "rms", 17), "rms | 17 | from 1"),
    "a huge parameter": (_set("parameters", "rms", 10**90), "rms | an integer of 299 bits"),
    "an unknown safeguard": (_set("off", ["S-05"]), "safeguard | 'S-05' | none"),
    "no list of steps": (_set("steps", {}), "trace.steps | {}"),
    "a step without parent": (lambda d: d["steps"][2].pop("parent"), "trace.steps[2]: got"),
    "a step's unknown field": (_set("steps", 0, "x", 1), "unknown field `x`"),
    "a parent in words": (_set("steps", 3, "parent", "3"), "trace.steps[3].parent | '3'"),
    "a parent to come": (_set("steps", 1, "parent", 2), "steps[1].parent | 2 | 0 to 1"),
    "a negative parent": (_set("steps", 1, "parent", -1), "steps[1].parent | -1"),
    "a huge parent": (_set("steps", 1, "parent", HUGE), f"steps[1].parent | {HUGE}"),
    "a huge fold": (_set("steps", 1, "fold", HUGE), f"steps[1].fold | {HUGE}"),
    "a negative fold": (_set("steps", 1, "fold", -1), "steps[1].fold | -1"),
    "no action": (_set("steps", 1, "action", None), "steps[1].action | None"),
    "an unknown action": (
        _set("steps", 1, "action", "type", "boom"),
        "steps[1].action.type | 'boom'",
    ),
    "an action's field": (_set("steps", 1, "action", "rm", "1"), "steps[1].action.rm | '1'"),
    "an action not enabled": (
        _set("steps", 1, "action", "rm", 0),
        "steps[1] | 'prepare RM1' | enabled | action",
    ),
    "nobody's action": (
        _set("steps", 1, "action", "rm", HUGE),
        "steps[1] | 'prepare RM1' | enabled | action",
    ),
    "a step told twice": (
        _set("steps", 4, AGAIN),
        "steps[4] | 'prepare RM0' | step | its | parent",
    ),
    "a tip that is not there": (_set("tip", 7), "tip | 7 | 0 to 6"),
    "a place that is not there": (_set("at", -1), "at | -1 | 0 to 6"),
    "a huge place": (_set("at", HUGE), f"at | {HUGE}"),
    "a place off the branch": (_set("at", 4), "at | 4 | moment | way | tip"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named_with_its_place(name: str) -> None:
    """Each kind of damage gives one line with the field, the value and what is allowed."""
    damage, expected = DAMAGES[name]
    data = plain()
    damage(data)
    with pytest.raises(BadInput, match=like(expected)) as caught:
        load(data)
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("step", range(6))
def test_a_tampered_fingerprint_names_the_first_step_that_differs(step: int) -> None:
    """With all fingerprints wrong from one step on, that very step is named, with both digests."""
    data = plain()
    right = data["steps"][step]["fingerprint"]
    for recorded in data["steps"][step:]:
        recorded["fingerprint"] = "0123456789abcdef"
    expected = f"steps[{step}].fingerprint | '0123456789abcdef' | {right}"
    with pytest.raises(BadInput, match=like(expected)):
        load(data)


def test_a_trace_of_another_version_says_so_when_it_does_not_replay() -> None:
    """What no longer replays is told with both versions; what does, is read all the same."""
    data = {**plain(), "kit": "0.0.1"}
    load(data)
    data["steps"][2]["fingerprint"] = "0123456789abcdef"
    expected = f"| replay | '0.0.1' | {__version__}"
    with pytest.raises(BadInput, match=like(expected)):
        load(data)


def test_tampered_parameters_show_at_the_first_step() -> None:
    """A trace replayed with other parameters leads elsewhere, and says where."""
    timeline = Timeline(build("tcm"))
    for _ in range(6):
        timeline.forward()
    data = json.loads(dumps(timeline.save()))
    data["parameters"]["nodes"] = 4
    with pytest.raises(BadInput, match=r"^steps\[\d\]"):
        load(data)


def test_a_trace_of_another_model_is_not_replayed_on_this_one() -> None:
    """Loading with a model of one's own checks that the trace is that model's."""
    saved = Timeline(LiftModel(LiftParameters())).save()
    with pytest.raises(BadInput, match=like("model | 'lift' | twophase")):
        Timeline.load(saved, build("twophase"))
    with pytest.raises(BadInput, match=like("model of the trace | 'lift'")):
        Timeline.load(saved)
    assert Timeline.load(saved, LiftModel(LiftParameters())).path() == [0]


@given(st.data())
@examples(200)
def test_no_damage_gets_past_as_another_error(data: st.DataObject) -> None:
    """Whatever bytes are put into a trace, it loads or it is one clear line: never another error,
    never another run.
    """
    text = bytearray(json.dumps(plain()).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    found = outcome(bytes(text))
    if isinstance(found, Timeline):
        recorded = [step["fingerprint"] for step in plain()["steps"]]
        assert [fingerprint(m.state) for m in found.moments[1:]] == recorded
    else:
        assert str(found).isprintable()


HOSTILE = [
    "__import__('pathlib').Path('owned').touch()",
    "{{7*7}}",
    "$(touch owned)",
    "!!python/object/apply:os.system ['touch owned']",
    "<img src=x onerror=alert(1)>",
    "\n\x1b[31mred\u202e",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_from_a_file_is_executed(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code in any field of a trace is text: it is refused or kept, and does nothing."""
    monkeypatch.chdir(tmp_path)
    for way in (["model"], ["kit"], ["off"], ["parameters", "rms"], ["steps", 0, "verb"],
                ["steps", 0, "fingerprint"], ["steps", 0, "action", "type"],
                ["steps", 0, "action", "rm"]):  # fmt: skip
        data = plain()
        _set(*way, [text] if way == ["off"] else text)(data)
        found = outcome(json.dumps(data))
        assert isinstance(found, Timeline) or str(found).isprintable()
    assert not list(tmp_path.iterdir())


def test_a_hostile_name_survives_as_text() -> None:
    """A node with markup and code for a name is that node after saving and loading."""
    name = HOSTILE[4]
    members = [{"name": name, "tokens": [100]}, {"name": "B", "tokens": [200]}]
    operations = ["bootstrap X --tokens 150"]
    parameters = {"members": members, "low": 0, "high": 400, "operations": operations}
    timeline = Timeline(build("tcm", parameters))
    while timeline.forward() is not None:
        pass
    saved = timeline.save()
    again = Timeline.load(loads(dumps(saved)))
    assert again.state == timeline.state
    assert saved.parameters["members"][0]["name"] == name
