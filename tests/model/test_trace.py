"""Runs as data: what is saved comes back, with its branches, its model and its types."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.edge.writing import write_whole
from kit.errors import BadInput, Refusal
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline
from kit.model.trace import Trace, dumps, loads, read, write
from tests.examples import examples
from tests.formats.recorded import a_run, load, plain
from tests.model.toys import Door, Lift, LiftModel, LiftParameters, Up
from tests.saying import like, says

CONFIGURATIONS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "twophase": ("twophase", {"rms": 2}, ()),
    "tcm": ("tcm", {"crashes": 1, "cancels": 1, "window": 3, "rf": 3}, ()),
    "tcm, two switched off": ("tcm", {"nodes": 5, "edition": "server"}, ("S-05", "S-54")),
    **{
        scenario.name: ("tcm", scenario.parameters, scenario.off)
        for scenario in entry_of("tcm").scenarios
    },
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", CONFIGURATIONS)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=25))
@examples(8)
def test_any_history_comes_back_from_its_text(name: str, moves: list[tuple[int, int]]) -> None:
    """A tree of random steps on any model, written as JSON and read again, is the same tree: each
    state, each word, where one looked, and the registry builds the same model.
    """
    model_name, parameters, off = CONFIGURATIONS[name]
    timeline = Timeline(build(model_name, parameters, off))
    for where, which in moves:
        timeline.goto(where % len(timeline.moments) if which % 4 == 0 else timeline.tip)
        enabled = list(timeline.model.actions(timeline.state))
        if enabled:
            timeline.do(enabled[which % len(enabled)])
    saved = timeline.save()
    text = dumps(saved)
    assert loads(text) == loads(text.encode())
    again = Timeline.load(loads(text))
    assert again.moments == timeline.moments
    assert (again.at, again.tip, again.path()) == (timeline.at, timeline.tip, timeline.path())
    assert again.model.off == timeline.model.off
    assert again.model.parameters == timeline.model.parameters
    assert dumps(again.save()) == text


def test_a_trace_holds_the_whole_tree() -> None:
    """Every branch, the folds of macros, and where one looked are in the trace."""
    timeline = a_run()
    again = load(plain())
    assert again.branches() == timeline.branches() == [4, 6]
    assert [moment.fold for moment in again.moments] == [0, 0, 0, 0, 0, 0, 1]
    assert (again.at, again.tip) == (5, 6)
    again.run([again.model.suggest(again.state)])
    assert again.now.fold in (1, 2)


def test_booleans_and_structs_in_actions_keep_their_types() -> None:
    """An action's fields come back with the types that the model gives them, not others."""
    timeline = Timeline(LiftModel(LiftParameters()))
    timeline.do(Up())
    timeline.do(Door(True))
    data = json.loads(dumps(timeline.save()))
    data["steps"][1]["action"]["open"] = 1
    with pytest.raises(BadInput, match=like("steps[1].action.open | 1")):
        Timeline.load(loads(json.dumps(data)), timeline.model)


class LaterLift(LiftModel):
    """The lift after a change of what an action does: it goes no higher than the first floor."""

    revision = 2

    def _move(self, s: Lift, by: int) -> Lift | Refusal:
        """One floor up is as far as it goes now."""
        return Refusal("no higher") if s.floor and by > 0 else super()._move(s, by)


def _moved(*actions: Any) -> dict[str, Any]:
    """A trace of the lift as plain data."""
    timeline = Timeline.along(LiftModel(LiftParameters()), actions)
    data: dict[str, Any] = json.loads(dumps(timeline.save()))
    return data


def test_a_trace_says_the_revision_of_its_model() -> None:
    """It is that of the model which did the steps; of the same one, states are compared."""
    data = _moved(Up())
    assert (data["format"], data["revision"]) == (2, 1)
    assert Timeline.load(loads(json.dumps(data)), LiftModel(LiftParameters())).notes == ()
    data["steps"][0]["fingerprint"] = "0" * 16
    with pytest.raises(BadInput, match=like("steps[0].fingerprint |")):
        Timeline.load(loads(json.dumps(data)), LiftModel(LiftParameters()))


def test_a_trace_of_another_revision_is_replayed_by_its_actions() -> None:
    """Where they lead is not compared, a line says so, and it is saved as of today's revision."""
    data = _moved(Up())
    data["steps"][0]["fingerprint"] = "0" * 16
    later = Timeline.load(loads(json.dumps(data)), LaterLift(LiftParameters()))
    assert later.state.floor == 1
    (note,) = later.notes
    assert says(note, "revision 1 of lift | not compared")
    again = Timeline.load(loads(dumps(later.save())), LaterLift(LiftParameters()))
    assert (again.save().revision, again.notes) == (2, ())


def test_a_step_that_another_revision_refuses_is_named() -> None:
    """By its number, counted from 1, and its verb; and by which revision the trace is of."""
    traced = loads(json.dumps(_moved(Up(), Door(True), Door(False), Up())))
    with pytest.raises(BadInput) as caught:
        Timeline.load(traced, LaterLift(LiftParameters()))
    assert says(caught.value, "steps[3] | 'up' | step 4 | no higher | revision 1 of lift")
    strange = json.loads(dumps(traced))
    strange["steps"][1]["action"] = {"type": "hatch"}
    with pytest.raises(BadInput) as caught:
        Timeline.load(loads(json.dumps(strange)), LaterLift(LiftParameters()))
    assert says(caught.value, "steps[1].action.type | hatch | step 2, 'door | revision 1 of lift")


def test_a_file_is_read_back(tmp_path: Path) -> None:
    """What was written to a file is read from it; a mark that some editors put first is no harm."""
    file = tmp_path / "run.json"
    saved = a_run().save()
    write(saved, file)
    assert json.loads(file.read_text(encoding="utf-8")) == plain()
    again = read(file)
    assert isinstance(again, Trace)
    assert dumps(again) == dumps(saved)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert read(str(file)) == again


@pytest.mark.parametrize("name", ["missing.json", ".", "a\0b", "x/y/z", "n" * 300])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    """A missing file, a folder, an impossible name: one line with the path and the reason."""
    with pytest.raises(BadInput, match=like("file | readable | file")):
        read(tmp_path / name)


@pytest.mark.parametrize("name", [".", "a\0b", "x/y/z", "n" * 300])
def test_a_place_that_cannot_be_written_is_named(name: str, tmp_path: Path) -> None:
    """Where nothing can be written, one line says so, and nothing is left behind."""
    with pytest.raises(BadInput, match=like("file | writable | place")):
        write(a_run().save(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_writing_replaces_the_old_file_at_once(tmp_path: Path) -> None:
    """The new text takes the place of the old file, readable by all, with nothing beside it."""
    file = tmp_path / "run.json"
    file.write_text("old", encoding="utf-8")
    write_whole(file, "new ✓")
    assert file.read_text(encoding="utf-8") == "new ✓"
    assert list(tmp_path.iterdir()) == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


FAILURES = {
    "the disk is full": ("os.fsync", OSError(28, "No space left on device")),
    "it cannot be moved": ("pathlib.Path.replace", OSError(1, "Operation not permitted")),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_write_that_fails_keeps_the_old_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When writing fails half way, the old file is whole and no other file is left."""
    where, error = FAILURES[name]
    file = tmp_path / "run.json"
    file.write_text("old", encoding="utf-8")

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(where, fail)
        with pytest.raises(BadInput, match=f"a writable place .{error.strerror}"):
            write_whole(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]
