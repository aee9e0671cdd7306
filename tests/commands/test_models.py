"""``models``, ``show``, ``check`` and ``play``: what there is, searched and run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.commands.answer import WIDTH
from kit.model.registry import build, entries, entry_of
from kit.model.scenario import file_named
from kit.model.timeline import Timeline
from kit.model.trace import dumps
from kit.protocols.tcm.rules.operations import EDITIONS, OPERATION_SPECS, transitions
from tests.commands.calling import Answer, bad, call
from tests.saying import says

SAFEGUARDS = {guard.id: guard.name for guard in entry_of("tcm").safeguards}
CHECKED = ["model", "states", "transitions", "depth", "complete", "violation", "seconds"]


def test_models_as_json() -> None:
    """Every model, with exactly the keys of the contract."""
    answer = call("models", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert [model["name"] for model in answer.json] == list(entries())
    for model in answer.json:
        assert list(model) == [
            "name", "title", "parameters", "scenarios", "safeguards", "properties",
        ]  # fmt: skip
        assert all(list(guard) == ["name", "id", "protects"] for guard in model["safeguards"])
        assert all(isinstance(name, str) for name in model["properties"])
    tcm = next(model for model in answer.json if model["name"] == "tcm")
    assert {guard["id"] for guard in tcm["safeguards"]} >= {
        "S-05", "S-06", "S-09", "S-11", "S-53", "S-54", "S-55",
    }  # fmt: skip
    assert all(name.startswith("INV-") for g in tcm["safeguards"] for name in g["protects"])
    assert tcm["parameters"]["nodes"] == 3


def test_models_in_words() -> None:
    """The list names every model and every scenario, as JSON does, within the terminal's width."""
    out = call("models").out
    scenarios = {model["name"]: model["scenarios"] for model in call("models", "--json").json}
    words = out.replace(",", " ").split()
    for entry in entries().values():
        assert f"{entry.name}: {entry.title}" in out
        assert scenarios[entry.name] == [scenario.name for scenario in entry.scenarios]
        assert all(name in words for name in scenarios[entry.name])
    assert max(map(len, out.splitlines())) <= WIDTH


@pytest.mark.spec("H-007")
def test_show_prints_the_diagrams() -> None:
    """A model is shown with its state diagrams, row by row from its own tables."""
    answer = call("show", "tcm")
    assert (answer.status, answer.err) == (0, "")
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    for kind in OPERATION_SPECS:
        for edition in EDITIONS:
            assert f"{kind}, edition {edition}" in lines
            for state, event, after in transitions(kind, edition):
                assert f"{state} ─ {event} → {after}" in lines
    assert max(map(len, answer.out.splitlines())) <= WIDTH


@pytest.mark.parametrize("name", ["tcm/bootstrap", "bootstrap"])
def test_show_a_scenario(name: str) -> None:
    """A scenario is shown as its model with its own parameters, marked."""
    out = call("show", name).out
    assert "scenario bootstrap: X joins at 150" in out
    assert '  * operations  ["bootstrap X --tokens 150"]\n' in out
    assert "    nodes       3\n" in out


def test_show_everything() -> None:
    """All models and scenarios can be shown, each part under its heading."""
    for entry in entries().values():
        for name in (entry.name, *(scenario.name for scenario in entry.scenarios)):
            answer = call("show", name)
            assert answer.status == 0
            for heading in ("parameters", "properties", "safeguards", "scenarios"):
                assert f"\n{heading}" in answer.out


def test_show_says_of_parameters_only_their_own_words() -> None:
    """Where a model declares its parameters by fields, nothing of a library's class is shown."""
    assert "serializable" not in call("show", "twophase").out


def test_show_tells_signs_from_promises() -> None:
    """A sign is told with its kind, or with the safeguards without which it is one."""
    out = " ".join(call("show", "recovery").out.split())
    assert "persist-in-order step Data is persisted" in out
    assert "needs INV-CAUSAL; counts as a sign without S-48" in out
    for entry in entries().values():
        shown = " ".join(call("show", entry.name).out.split())
        for sign in build(entry.name).signs:
            assert f"{sign.name} sign {sign.title}" in shown
            assert sign.name in call("models").out


def checked(*words: str) -> tuple[Answer, Any]:
    """A check, and its result as data."""
    answer = call("check", *words, "--json")
    assert answer.err == ""
    assert list(answer.json)[:7] == CHECKED
    return answer, answer.json


def test_check_clean() -> None:
    """A complete search without violation ends with 0, and counts the known states."""
    answer, found = checked("twophase")
    assert answer.status == 0
    assert "interrupted" not in found
    assert (found["model"], found["states"], found["complete"]) == ("twophase", 288, True)
    assert found["violation"] is None
    assert checked("twophase", "-p", "rms=5")[1]["states"] == 8832


def test_check_bounded() -> None:
    """A search that is cut short ends with 2, and says so on stdout."""
    answer, found = checked("twophase", "--max-states", "10")
    assert answer.status == 2
    assert (found["complete"], found["violation"]) == (False, None)
    assert (
        "bounded: no violation found so far" in call("check", "twophase", "--max-states", "10").out
    )


@pytest.mark.sweep(3)
@pytest.mark.parametrize("word", [*SAFEGUARDS, *SAFEGUARDS.values()])
def test_check_without_a_safeguard(word: str) -> None:
    """Each safeguard off, by id or by name, is found out in its smallest configuration."""
    answer, found = checked("tcm", "--off", word)
    assert answer.status == 1
    assert list(found["violation"]) == ["property", "witness", "trace"]
    assert found["violation"]["property"] in {p.name for p in entry_properties()}
    assert found["violation"]["witness"]
    shorter = found["violation"]["property"] == "stable"  # a lost goal is seen further on
    assert len(found["violation"]["trace"]) == (2 if shorter else found["depth"])


def entry_properties() -> Any:
    """The properties of the tcm model."""
    from kit.model.registry import build

    return build("tcm").properties


@pytest.mark.sweep(3)
@pytest.mark.parametrize("word", list(SAFEGUARDS))
def test_smallest_configurations_are_clean_otherwise(word: str) -> None:
    """With the safeguard on, the same configuration is searched whole without violation."""
    guard = next(g for g in entry_of("tcm").safeguards if g.id == word)
    words = [f"-p{name}={json.dumps(value)}" for name, value in guard.smallest.items()]
    answer, found = checked("tcm", *words)
    assert answer.status == 0
    assert found["complete"]


def test_check_by_id_and_name_is_the_same() -> None:
    """S-05 and write-before-read mean one thing; given twice it is still off once."""
    once = checked("tcm", "--off", "S-05")[1]
    twice = checked("tcm", "--off", "S-05", "--off", "write-before-read")[1]
    assert {**once, "seconds": 0} == {**twice, "seconds": 0}


def test_counterexample_in_words() -> None:
    """The text numbers the steps of the counterexample and says what each of them did."""
    answer = call("check", "tcm", "--off", "S-05")
    assert answer.status == 1
    lines = answer.out.splitlines()
    broken = next(at for at, line in enumerate(lines) if line.startswith("violated: "))
    run = next(line for line in lines[broken + 1 :] if line.startswith("   1"))
    assert run.split()[:5] == ["1", "bootstrap", "X", "--tokens", "150"]
    assert max(map(len, lines)) <= WIDTH


def test_counterexample_plays(tmp_path: Path) -> None:
    """A stored counterexample plays again, in words and as a page."""
    trace, page = str(tmp_path / "run.json"), tmp_path / "run.html"
    found = call("check", "tcm", "--off", "S-06", "--trace", trace, "--json").json
    played = call("play", trace)
    assert (played.status, played.err) == (0, "")
    last = len(found["violation"]["trace"])
    assert f"\n{last:4} " in played.out
    broken = next(line for line in played.out.splitlines() if "BROKEN " in line)
    assert found["violation"]["witness"][:20] in broken
    exported = call("play", trace, "--html", str(page))
    assert exported.status == 0
    size = page.stat().st_size
    assert exported.out == f"{page}: {size:,} bytes, {last + 1} moments\n"


def test_play_says_what_another_revision_made(tmp_path: Path) -> None:
    """The one line comes first, then the run as it is done today."""
    trace = json.loads(dumps(Timeline(build("tcm")).save()))
    trace["revision"] += 1
    path = tmp_path / "run.json"
    path.write_text(json.dumps(trace), encoding="utf-8")
    played = call("play", str(path))
    first, second, *_ = played.out.splitlines()
    assert says(first, f"revision {trace['revision']} of tcm | not compared")
    assert second.startswith("   0 ")


def test_play_every_scenario() -> None:
    """Every scenario runs to its end and is told step by step, in lines that fit."""
    for entry in entries().values():
        for scenario in entry.scenarios:
            answer = call("play", f"{entry.name}/{scenario.name}")
            assert (answer.status, answer.err) == (0, "")
            assert answer.out.startswith("   0 ")
            assert all(line == line.rstrip() for line in answer.out.splitlines())
            assert max(map(len, answer.out.splitlines())) <= WIDTH + 20


def test_play_takes_the_names_of_scenario_files() -> None:
    """What a changelog or a lesson names is played by that name; an unknown one is told."""
    by_name = call("play", "topology/another-address")
    path = str(file_named("topology/another-address"))
    assert by_name.status == 0
    assert by_name.out == call("play", path).out
    assert "with the same host id, is now at 10.1.0.13" in by_name.out
    assert says(bad("play", "topology/no-such"), "scenario | 'topology/no-such' | one of")


@pytest.mark.spec("A-001", "A-006", "A-007")
def test_play_bootstrap() -> None:
    """The worked bootstrap: each epoch with both tables, additions and removals marked."""
    out = call("play", "bootstrap").out
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "(0, 100] A, B A, B, +X locked: bootstrap X at 150" in rows
    assert "(100, 150] X, B X, B, −C" in rows
    for epoch in range(5):
        assert f"     epoch {epoch}, " in out
    assert "all promises hold" in out


def test_check_a_scenario() -> None:
    """A scenario's configuration can be searched too, with parameters of one's own on top."""
    assert checked("rf3")[1]["states"] > 0
    assert checked("rf3", "-p", "rf=2")[1]["states"] == checked("tcm")[1]["states"]


def test_names_do_not_command_the_terminal() -> None:
    """Names with control characters (in a trace, say) are refused, and shown as escapes."""
    for name, shown in (("a\x1b[31m", "a\\x1b[31m"), ("b\u202e", "b\\u202e")):
        members = [{"name": name, "tokens": [5]}, {"name": "c", "tokens": [9]}]
        words = ["-p", f"members={json.dumps(members)}", "-p", "rf=1"]
        answer = call("check", "tcm", *words, "-p", 'operations=["decommission c"]')
        assert (answer.status, answer.out) == (2, "")
        assert shown in answer.err
        assert name not in answer.err
