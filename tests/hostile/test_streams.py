"""Streams that are closed, full or without end: one line or a bounded answer, and its status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kit import Timeline, build
from kit.console.drill import MOST_ENTRIES
from kit.edge import reading, writing
from kit.edge.reading import read_bytes
from kit.errors import BadInput
from kit.model import trace
from tests.commands.calling import bad

FULL = Path("/dev/full")


def kit(*words: str, lines: str | None = None, **streams: int) -> tuple[int, str, str]:
    """The command in a process of its own: status, stdout, stderr."""
    done = subprocess.run(
        [sys.executable, "-m", "kit", *words],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
        input=lines,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout or "", done.stderr or ""


def test_a_drill_without_stdin_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell's ``<&-`` leaves none at all."""
    monkeypatch.setattr(sys, "stdin", None)
    assert bad("drill", "recovery").startswith("stdin: got 'a closed one'; allowed: a terminal")


@pytest.mark.sweep(3)
@pytest.mark.parametrize("line", ["x", "", "nodetool status"], ids=["wrong", "empty", "right"])
def test_a_drill_reads_so_many_lines_and_no_more(line: str) -> None:
    """Whatever they hold, an end comes, and the drill is graded."""
    status, out, err = kit("drill", "recovery", lines=f"{line}\n" * (MOST_ENTRIES + 5))
    assert (status, err) == (1, "")
    assert out.count("the rest is ignored") == 1
    assert "Not passed." in out


def test_a_line_without_end_ends_a_drill() -> None:
    """It is not kept whole."""
    status, out, err = kit("drill", "recovery", lines="x" * 300_000)
    assert (status, err) == (1, "")
    assert "nothing more is read" in out
    assert len(out) < 10_000


def test_where_nobody_can_be_told_the_status_still_tells() -> None:
    """Stderr is full: bad input is 2, and nothing else."""
    with FULL.open("w") as full:
        assert kit("show", "nonsense", stderr=full.fileno()) == (2, "", "")
        assert kit("show", "twophase", stderr=full.fileno(), stdout=full.fileno()) == (2, "", "")


@pytest.mark.parametrize("end", ["/", "/.", "//"])
def test_the_name_of_a_folder_is_no_file(tmp_path: Path, end: str) -> None:
    """Neither is read nor written what stands before its end."""
    (tmp_path / "a").write_text("old")
    with pytest.raises(BadInput, match="name of a folder"):
        read_bytes(f"{tmp_path}/a{end}", "file", 10)
    for write in (writing.check_place, lambda name: writing.write_whole(name, "new")):
        with pytest.raises(BadInput, match="name of a folder"):
            write(f"{tmp_path}/a{end}")
    assert (tmp_path / "a").read_text() == "old"
    assert reading.read_bytes(tmp_path / "a", "file", 10) == b"old"


@pytest.mark.parametrize("value", ["rms=2", "rms=3"])
def test_a_parameter_is_given_once(value: str) -> None:
    """The last one would win without a word; so would the last of two keys."""
    assert "each parameter once" in bad("check", "twophase", "-p", "rms=2", "-p", value)
    assert "each key once" in bad("check", "tcm", "-p", 'ring={"a": 1, "a": 2}')


def test_what_is_wrong_in_a_file_has_its_place(tmp_path: Path) -> None:
    """Traces and descriptions of clusters: the line and the column of the field."""
    timeline = Timeline(build("twophase"))
    timeline.forward()
    text = trace.dumps(timeline.save()).replace('"fold": 0', '"fold": null')
    line = next(number for number, each in enumerate(text.splitlines(), 1) if '"fold"' in each)
    with pytest.raises(BadInput, match=rf"^trace.steps\[0\].fold: .*in the file at line {line} c"):
        trace.loads(text)
    (tmp_path / "c.json").write_text('{"nodes": [\n{"name": "A", "status": 7}]}')
    said = bad("recover", str(tmp_path / "c.json"))
    assert said.startswith("FILE.nodes[0].status: got 7;")
    assert said.endswith("(in the file at line 2 column 25)")
