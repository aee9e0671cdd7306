"""What every drill understands: help, its checklist, its grade; and which drills there are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit.console.drill import checklist_lines, grade_lines, open_drill
from kit.console.par import Par, par
from kit.console.server import cql_rows, json_rows
from kit.errors import BadInput, Refusal
from tests.drills import errors, printed, typed
from tests.protocols.recovery.drill.walks import DRILL, WHOLE

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


STUCK = "topology/stuck-barrier"
ENOUGH = 100.0  # seconds, which no search of these takes


def test_the_fewest_commands_are_searched() -> None:
    """One restart frees the barrier: the search finds it by itself. Whoever looks around pays
    nothing.
    """
    found = par(typed(STUCK), seconds=ENOUGH)
    assert (found.used, found.least, found.fewest) == (0, 1, True)
    looked = par(typed(STUCK, "nodetool status", "help", "restart B"), seconds=ENOUGH)
    assert (looked.used, looked.least, looked.needless) == (1, 1, ())
    wandered = par(typed(STUCK, "restart C", "restart B"), seconds=ENOUGH)
    assert (wandered.used, wandered.least, wandered.fewest) == (2, 1, True)
    assert wandered.lines()[0] == "2 changing commands; par is 1."


def test_beyond_the_search_the_best_known_is_told() -> None:
    """It is the learner's own walk without what is needless; steps of the procedure never are."""
    walk = WHOLE["documents"]
    found = par(typed(DRILL["documents"], *walk), max_states=1, seconds=ENOUGH)
    assert not found.fewest
    assert found.least == found.used - len(found.needless) > 10
    assert "best known, after 1 state of a search, is" in found.lines()[0]
    assert found.needless
    assert found.lines()[1].startswith("It also passes without: ")
    assert not any("firewall" in line for line in found.needless)
    again = par(typed(DRILL["documents"], *walk, "restart A"), max_states=1, seconds=ENOUGH)
    assert (again.used, again.least) == (found.used + 1, found.least)


def test_who_has_not_passed_hears_of_no_walk() -> None:
    """Nothing is said of a shortest walk that nobody knows."""
    found = par(typed(DRILL["documents"], "stop A"), max_states=1, seconds=ENOUGH)
    assert (found.used, found.least, found.fewest) == (1, None, False)
    assert found.lines() == ("1 changing command.",)


def test_who_does_not_pass_has_no_needless_command() -> None:
    """Not even where it would have passed without one: what was typed is no way to the end."""
    looks = ("grep barrier /var/log/scylla.log", "on B", "cat /var/log/scylla.log")
    lost = typed(STUCK, *looks, "restart C", "restart B")
    assert par(lost, seconds=0.0) == Par(2, None, False, 0, ())
    passed = typed(STUCK, *looks, "restart B", "stop A")
    assert par(passed, seconds=0.0) == Par(2, 1, False, 0, ("stop A (on B)",))
    twice = typed(STUCK, *looks, "restart B", "on A", "restart B")  # the later one is left out
    assert par(twice, seconds=0.0) == Par(2, 1, False, 0, ("restart B (on A)",))


def test_only_what_led_to_the_moment_that_is_shown_is_counted() -> None:
    """Whoever goes back has not typed what follows there."""
    drill = typed(STUCK, "restart C", "restart B")
    assert par(drill, seconds=0.0).used == 2
    drill.timeline.goto(0)
    assert par(drill, seconds=0.0).used == 0


ROWS = [{"key": "one", "value": [1, 2]}, {"key": "three", "value": None}]


def test_rows_of_a_table() -> None:
    """A heading, a line below each column, the rows on its right, their count."""
    assert list(cql_rows(("key", "value"), ROWS)) == [
        " key   | value",
        "-------+------------",
        "   one | {'1', '2'}",
        " three |       null",
        "",
        "(2 rows)",
    ]
    assert " {9, 10}" in cql_rows(("key",), [{"key": {10, 9}}])


def test_the_same_as_json() -> None:
    """The line is as long as the longest row and a blank at each end; without rows as the head."""
    assert list(json_rows(("key",), ROWS)) == [
        " [json]",
        "-" * (2 + len('{"key": "three"}')),
        '   {"key": "one"}',
        ' {"key": "three"}',
        "",
        "(2 rows)",
    ]
    assert list(json_rows(("key",), [])) == [" [json]", "--------", "", "(0 rows)"]
    assert json_rows(("key",), [{"key": {8, 1}}]).__next__() == " [json]"
    assert ' {"key": [1, 8]}' in json_rows(("key",), [{"key": {8, 1}}])


LAMPS = {
    "light A": None,
    "light A green": "it is broken",
    "light A red at once": None,
    "light A red": None,
    "light B red": "it is taken",
    "light B green": "it is broken",
    "put out": None,
    "put out A now": None,
    "put out A": None,
}


def at(node: int) -> Any:
    """A moment at that node's machine."""
    options = [(each, why and Refusal(why)) for each, why in LAMPS.items()]
    model = SimpleNamespace(names=("A", "B"), options=lambda s: options, verb=str)
    return SimpleNamespace(here=node, place=model.names[node], model=model, state=None)
