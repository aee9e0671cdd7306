"""``export`` and ``play`` on runs of other tools: answers as data, files whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit.formats.itf import parse
from tests.commands.calling import call
from tests.saying import says

TRACES = Path(__file__).parents[1] / "fixtures" / "itf"


@pytest.mark.parametrize("form", ["itf", "shiviz", "mermaid", "svg"])
def test_a_run_is_printed_or_written(form: str, tmp_path: Path) -> None:
    """The same text in words, in JSON and in a file, which is named with its size."""
    printed = call("export", "bootstrap", form)
    assert (printed.status, printed.err) == (0, "")
    answer = call("export", "bootstrap", form, "--json").json
    assert (answer["model"], answer["form"], answer["steps"]) == ("tcm", form, 22)
    assert answer["text"].splitlines() == printed.out.splitlines()
    path = tmp_path / "run"
    written = call("export", "bootstrap", form, "--out", str(path))
    assert path.read_text("utf-8") == answer["text"]
    assert f"{path.stat().st_size:,} bytes" in written.out


def test_what_was_exported_is_played_again(tmp_path: Path) -> None:
    """Our own trace in ITF is read by ``play`` and by ``export``: nodes, names, the same states."""
    first, again = tmp_path / "a.itf.json", tmp_path / "b"
    assert call("export", "commit/two-submit", "itf", "--out", str(first)).status == 0
    assert "Changed: nodes" in call("play", str(first)).out
    assert call("export", str(first), "itf", "--out", str(again)).status == 0
    before, after = (parse(path.read_text("utf-8")) for path in (first, again))
    assert (before.states, before.names) == (after.states, after.names)


@pytest.mark.parametrize("name", ["quint.itf.json", "apalache.itf.json", "tlc.txt"])
def test_runs_of_other_tools_are_played(name: str, tmp_path: Path) -> None:
    """In words, and as a page; through a pipe they are known by what they hold."""
    path = TRACES / name
    assert "Changed: " in call("play", str(path)).out
    page = tmp_path / "run.html"
    assert call("play", str(path), "--html", str(page)).status == 0
    assert page.stat().st_size < 100_000
    bare = tmp_path / "run"
    bare.write_bytes(path.read_bytes())
    assert call("play", str(bare)).out == call("play", str(path)).out


def test_bad_input_is_a_line_and_nothing_is_written(tmp_path: Path) -> None:
    """The field, the value, what is allowed; a file that is there stays as it was."""
    spoiled, out = tmp_path / "x.itf.json", tmp_path / "out"
    spoiled.write_text('{"vars": ["x"], "states": [{"x": {"#sett": []}}]}')
    out.write_text("mine")
    for words, about in (
        (("bootstrap", "pdf"), "form | 'pdf' | itf"),
        (("bootstrap", "node", "--node", "Z"), "--node | 'Z' | A, B"),
        (("bootstrap", "node"), "--node | 'nothing' | A, B, C, X"),
        (("bootstrap", "itf", "--node", "A"), "--node | 'A' | no node with itf"),
        ((str(spoiled), "itf"), "states[0].x | ['#sett'] | #set | line 1"),
        ((str(tmp_path / "none.json"), "itf"), "file | No such file"),
    ):
        answer = call("export", *words, "--out", str(out))
        assert (answer.status, answer.out) == (2, "")
        assert says(answer.err, about)
        assert len(answer.err.splitlines()) == 1
        assert out.read_text() == "mine"
    same = call("export", str(spoiled), "itf", "--out", str(spoiled))
    assert says(same.err, "--out | a different file from the one being read")
    assert json.loads(spoiled.read_text())["vars"] == ["x"]
