"""What every drill understands: help, its checklist, its grade; and which drills there are."""

from __future__ import annotations

import pytest

from kit.engine.drill import (
    checklist_lines,
    grade_lines,
    open_drill,
)
from kit.errors import BadInput
from tests.drills import errors, printed, typed

WITH_SERVERS = "recovery/majority-is-lost"


def test_every_drill_has_words_of_its_own() -> None:
    """Help tells all forms or those that begin so; checklist and grade are those of the run."""
    drill = typed("raft_upgrade", "help")
    told = printed(drill)
    for word in ("help", "checklist", "grade"):
        assert f"{word} – " in told
    drill.enter("help CHECK")
    [line] = printed(drill).splitlines()
    assert line.startswith("checklist – the steps of the procedure, ticked off as they are done")
    drill.enter("checklist")
    assert printed(drill).splitlines() == list(checklist_lines(drill.checklist()))
    drill.enter("grade")
    assert printed(drill).splitlines() == list(grade_lines(drill.grade()))
    drill.enter("help nothing-of-the-kind")
    [error] = errors(drill)
    assert "the beginning of a command; help alone lists all of them" in error


def test_a_drill_that_there_is_not_is_named() -> None:
    """Models and their scenarios are names of drills."""
    for name in ("upgrade", "raft_upgrade/no-such"):
        with pytest.raises(BadInput, match=r"^drill: "):
            open_drill(name)


def test_a_shell_s_words_are_understood() -> None:
    """``hint`` names the first step that is not done, ``history`` has what was typed, ``exit`` the
    grade; a word that is like a command's is asked back.
    """
    drill = typed(WITH_SERVERS, "hint", "nodetol status", "history", "exit", "clear")
    hint, wrong, history, ended, cleared = drill.transcript
    first = next(step for step in drill.checklist() if not step.done)
    assert hint.lines == (f"next, {first.name}: {first.what}",)
    assert "Did you mean nodetool?" in wrong.error
    assert history.lines == ("   1  hint", "   2  nodetol status")
    assert ended.lines[0] == "Not passed."
    assert cleared.lines == ()
    assert cleared.error == ""


def test_a_machine_is_reached_by_its_address() -> None:
    """``ssh`` goes to the machine that ``nodetool status`` prints the address of."""
    drill = typed(WITH_SERVERS, "nodetool status")
    address = drill.now.model.host(1).address
    drill.enter(f"ssh {address}")
    assert drill.place == drill.now.model.names[1]
    assert drill.transcript[-1].error == ""
