"""``models``, ``show``, ``check`` and ``play``: what there is, searched and run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.commands.answer import WIDTH
from kit.model.registry import entries
from kit.protocols.tcm.rules.operations import EDITIONS, OPERATION_SPECS, transitions
from tests.commands.calling import Answer, call

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


def test_names_do_not_command_the_terminal() -> None:
    """Names with control characters (in a trace, say) are refused, and shown as escapes."""
    for name, shown in (("a\x1b[31m", "a\\x1b[31m"), ("b\u202e", "b\\u202e")):
        members = [{"name": name, "tokens": [5]}, {"name": "c", "tokens": [9]}]
        words = ["-p", f"members={json.dumps(members)}", "-p", "rf=1"]
        answer = call("check", "tcm", *words, "-p", 'operations=["decommission c"]')
        assert (answer.status, answer.out) == (2, "")
        assert shown in answer.err
        assert name not in answer.err
