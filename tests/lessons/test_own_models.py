"""A model of one's own in ordinary use: searched, walked, asked about, shown, saved and opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput, KitError
from kit.lessons import breaks, fails, how_many
from kit.model.declared import Declared, State, action, always, goal, parameter, safeguard
from kit.model.family import model_places
from kit.model.model import Monitor
from kit.model.registry import entries, registered
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.search.fuzz import fuzz
from kit.widgets.player import Player


class Phases(State, frozen=True):
    """Where each process is: 0 away, 1 waiting, 2 inside."""

    phases: tuple[int, ...] = (0, 0)


class Mutex(Declared[Phases]):
    """Processes that go in and out again, one at a time."""

    name, title, State = "mutex", "Mutual exclusion", Phases
    looks = safeguard("M-1", "Nobody goes in while somebody is inside", ("one",))
    processes: int = parameter(2, "how many processes", ge=1, le=4)

    def start(self) -> Phases:
        """Everybody is away."""
        return Phases((0,) * self.processes)

    def moved(self, s: Phases, who: int, to: int) -> Phases:
        """One of them is elsewhere."""
        return Phases((*s.phases[:who], to, *s.phases[who + 1 :]))

    @action(each=lambda m, s: range(m.processes))
    def ask(self, s: Phases, who: int) -> Phases | None:
        """A process begins to wait."""
        return self.moved(s, who, 1) if s.phases[who] == 0 else None

    @action(each=lambda m, s: range(m.processes))
    def enter(self, s: Phases, who: int) -> Phases | None:
        """It goes in."""
        free = not self.looks or 2 not in s.phases
        return self.moved(s, who, 2) if s.phases[who] == 1 and free else None

    @action(each=lambda m, s: range(m.processes))
    def leave(self, s: Phases, who: int) -> Phases | None:
        """It goes away."""
        return self.moved(s, who, 0) if s.phases[who] == 2 else None

    @always(title="One at a time")
    def one(self, s: Phases) -> str | None:
        """At most one is inside."""
        return "two are inside" if s.phases.count(2) > 1 else None

    @goal(title="Everybody is away again")
    def quiet(self, s: Phases) -> bool:
        """Nobody waits or is inside."""
        return not any(s.phases)


class Meals(Mutex):
    """They go in only while nobody else waits: if two wait, they do so for ever."""

    name, title = "meals", "Meals"
    rests_at_goals = True

    @action(each=lambda m, s: range(m.processes))
    def enter(self, s: Phases, who: int) -> Phases | None:
        """It goes in."""
        return self.moved(s, who, 2) if s.phases[who] == 1 and sum(s.phases) == 1 else None


def broken() -> Timeline:
    """A run that breaks the promise."""
    model = Mutex(off=("looks",))
    violation = check(model).violation
    assert violation is not None
    return Timeline.along(model, violation.actions)


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_a_goal_that_can_always_be_reached_is_broken_by_no_walk(processes: int) -> None:
    """Also where a schedule that alternates goes round in a ring without meeting it."""
    model = Mutex(processes=processes)
    assert check(model).verdict == "complete"
    assert fuzz(model, range(10)).findings == ()


def test_states_are_counted_whatever_they_break() -> None:
    """Not up to the first violation; and a monitor's memories are no states."""
    for model in (Mutex(), Mutex(off=("looks",)), Watched()):
        [right] = how_many(Timeline(model)).question.right
        assert right == f"{check(model, (), monitors=()).states:,}"
    assert how_many(Timeline(Mutex(off=("looks",)))).question.right == ("9",)
    with pytest.raises(KitError, match="not all states of meals are counted: it rests where"):
        how_many(Timeline(Meals()))


class Watched(Mutex):
    """One that counts steps."""

    name = "watched"
    monitors = (
        Monitor("count", "Counts", lambda: 0, lambda m, b, a, s: (m + 1) % 7, lambda m: None),
    )


def test_a_safeguard_is_put_back_and_asked_about() -> None:
    """Without a registry: the class knows how to make the model."""
    player = Player(broken())
    restored = player.put_back()
    assert (restored.safeguard, restored.broken) == ("M-1", ())
    assert player.put_back("looks") == restored
    assert breaks(Timeline(Mutex()), "M-1").question.right == ("One at a time",)


@pytest.mark.parametrize("opens", [Player.load, Player.open])
def test_a_player_opens_what_it_has_saved(opens: Any, tmp_path: Path) -> None:
    """With the parameters of the file, and with the steps that a safeguard has changed."""
    player = Player(broken())
    player.put_back()
    player.save(tmp_path / "run.json")
    other = Player(Mutex(processes=3))
    opens(other, tmp_path / "run.json")
    assert other.model.off == ("looks",)
    assert other.timeline.state == player.timeline.state
    assert len(other.timeline.moments) == len(player.timeline.moments)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("name", sorted(model_places()))
def test_the_name_of_another_model_is_a_name_like_any(name: str, tmp_path: Path) -> None:
    """It is drawn, walked, asked about, saved and opened as the model it is."""
    model: Any = type("Named", (Mutex,), {"name": name})()
    assert registered(model) is None
    assert registered(entries()[name].build(*_usual(name))) is not None
    player = Player(model)
    player.act(next(model.actions(model.start())))
    assert "phases" in player.text()
    player.save(tmp_path / "run.json")
    player.load(tmp_path / "run.json")
    assert player.timeline.state == Phases((1, 0))
    assert fuzz(model, range(3)).findings == ()
    assert fails(Timeline(model)).question.right == ()
    assert check(model).verdict == "complete"


def _usual(name: str) -> tuple[Any, tuple[str, ...]]:
    return entries()[name].parameters(), ()


@pytest.mark.parametrize("limit", [10**19, -(10**30)])
def test_a_limit_beyond_64_bits_is_named(limit: int) -> None:
    """Where it is declared."""
    with pytest.raises(BadInput, match=r"le of a parameter: got .*2\*\*63"):
        parameter(1, "how many", le=limit)
