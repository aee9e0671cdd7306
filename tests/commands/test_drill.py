"""``drill``: commands from stdin, graded at the end."""

from __future__ import annotations

import io

import pytest

from tests.commands.calling import bad, call

NAME = "recovery/majority-is-lost"


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> tuple[int, list[str]]:
    """The status and the lines of a drill in which these were typed."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    answer = call("drill", NAME, "--checklist")
    assert answer.err == ""
    return answer.status, answer.out.splitlines()


def test_without_a_name_all_drills_are_listed() -> None:
    """A model, and each of its scenarios."""
    assert NAME in call("drill").out.splitlines()


def test_a_drill_is_played_and_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed, what happened, what was wrong; then the checklist and the grade."""
    status, lines = typed(
        monkeypatch, "nodetool status", "", "stop A", "rm -rf /", "exit", "stop B"
    )
    assert status == 1
    assert any(line.startswith("UN 10.0.0.11") for line in lines)
    assert "# The server on A stops. Its disk stays." in lines
    assert any(
        line.startswith("error: command: got 'rm'; allowed: a command of this drill")
        for line in lines
    )
    assert "A$ stop B" not in lines
    assert any(line.startswith("[ ] delete") for line in lines)
    assert "Not passed." in lines


def test_an_unknown_drill_is_one_line() -> None:
    """With the nearest names."""
    assert "drill: got 'recovery/lost'; allowed: one of recovery" in bad("drill", "recovery/lost")
