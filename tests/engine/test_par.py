"""Par of a drill: searched where that is possible, else the best that is known."""

from __future__ import annotations

from kit.engine.par import Par, par
from tests.drills import typed
from tests.protocols.recovery.drill.walks import DRILL, WHOLE

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
