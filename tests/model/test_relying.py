"""Progress is judged by steps that may be relied on, and by what operators are told to do."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from kit.errors import Refusal
from kit.model.declared import Declared, Each, State, action, budget, goal
from kit.model.model import Monitor
from kit.search.check import check
from kit.search.fuzz import fuzz


class Pump(State, frozen=True):
    """How much is left to pump, whether the pump is broken, and the budgets."""

    left: int = 2
    broken: bool = False
    strikes: int = 0
    spares: int = 0
    luck: int = 0


class Pumping(Declared[Pump]):
    """A pump that may break; the goal is an empty cellar."""

    name, title, State = "pump", "A pump", Pump
    strikes: int = budget(0, "how often the pump breaks", le=3)
    spares: int = budget(0, "how many spare pumps there are", le=3)
    luck: int = budget(0, "how often it repairs itself", le=3)

    @action()
    def pump(self, s: Pump) -> Pump | None:
        """Some water goes."""
        return None if s.broken or not s.left else s.but(left=s.left - 1)

    @action(fault=True, spends="strikes")
    def strike(self, s: Pump) -> Pump | None:
        """It breaks."""
        return None if s.broken else s.but(broken=True)

    @goal()
    def dry(self, s: Pump) -> bool:
        """The cellar can be pumped dry."""
        return not s.left


class Chance(Pumping):
    """It repairs itself, with luck."""

    @action(spends="luck")
    def heal(self, s: Pump) -> Pump | None:
        """It works again."""
        return s.but(broken=False) if s.broken else None


class Unsure(Pumping):
    """Somebody may come by and repair it."""

    @action(relied=False)
    def pass_by(self, s: Pump) -> Pump | None:
        """Somebody repairs it."""
        return s.but(broken=False) if s.broken else None


class Sure(Pumping):
    """It repairs itself for certain, although that is a fault of the model."""

    @action(fault=True, relied=True)
    def reset(self, s: Pump) -> Pump | None:
        """It starts again."""
        return s.but(broken=False) if s.broken else None


class Sometimes(Pumping):
    """It repairs itself for certain while there is much water."""

    @action(relied=lambda m, s, a: s.left > a.least)
    def float_up(self, s: Pump, least: Annotated[int, Each((0, 1))]) -> Pump | None:
        """It starts again."""
        return s.but(broken=False) if s.broken else None


class Told(Pumping):
    """The owner is told to replace a broken pump."""

    @action(spends="spares", instructed="a spare is there")
    def replace(self, s: Pump) -> Pump | Refusal | None:
        """A new pump."""
        return s.but(broken=False) if s.broken else None


class Useless(Pumping):
    """The owner is told to do what does not help."""

    @action(spends="spares", instructed="a spare is there")
    def fill(self, s: Pump) -> Pump | None:
        """More water."""
        return s.but(left=9) if s.broken and s.left < 9 else None


@pytest.mark.parametrize(
    ("model", "given", "holds"),
    [
        (Pumping, {}, True),
        (Pumping, {"strikes": 1}, False),
        (Chance, {"strikes": 1, "luck": 3}, False),
        (Unsure, {"strikes": 1}, False),
        (Sure, {"strikes": 3}, True),
        (Sometimes, {"strikes": 1}, True),
        (Told, {"strikes": 1}, True),
        (Told, {"strikes": 3, "spares": 1}, True),
        (Useless, {"strikes": 1}, False),
    ],
)
def test_a_goal_needs_help_that_comes(model: Any, given: Any, holds: bool) -> None:
    """Faults, what spends a budget and what need not come are no help; what is told is, always.

    Beside a monitor and in walks, too.
    """
    made = model(**given)
    watch = Monitor("water", "", int, lambda m, b, a, n: n.left % 2, lambda m: None)
    for watching in (), (watch,):
        found = check(made, made.properties, monitors=watching)
        broken = found.violation and found.violation.property
        assert broken == (None if holds else "dry")
    assert bool(fuzz(made, range(30), steps=2, within=30).findings) != holds
