"""Each judge of the model is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.protocols.storage.storage import Cleanup, Commit, Finish
from kit.protocols.tablets.tablet import DELETED
from tests.protocols.tablets.tablet.runs import GUARDS, ONE, built
from tests.quality.breaking import broken, changing, never, unguarded
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Any]


def without(off: str) -> Any:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return built(dict(GUARDS[off].smallest), (off,))


def hasty() -> Any:
    """A coordinator that tells its client of success whenever it likes."""
    model: Any = built(ONE)
    model.success = lambda s, number: True
    return broken(model, Finish, unguarded)


def impatient() -> Any:
    """Requests that are never satisfied, whoever answers."""
    model: Any = built({**ONE, "crashes": 1})
    model.satisfied = lambda s, number: False
    return model


def uncleaned() -> Any:
    """A cleanup that leaves the data where it is."""

    def left(before: Any, action: Any, after: Any) -> Any:
        return after.but(cells=before.cells)

    return broken(built(ONE), Cleanup, changing(left))


REPORTED: dict[str, Broken] = {
    "consistency-level": hasty,
    "streamed": lambda: without("barrier-drains"),
    "answered": lambda: built({**ONE, "requests": ("K1 write THREE",)}),
    "moved": lambda: broken(built(ONE), Commit, never),
    "available": impatient,
    "found-there": lambda: without("allow-stage"),
    "fenced": lambda: without("fencing"),
    "session": lambda: without("sessions"),
    "stage-asks": lambda: without("allow-stage"),
    # The documents' way back changes both selectors at once.
    "one-stage-apart": lambda: built({**ONE, "excluded": "D"}),
    "replicas-hold": uncleaned,
    "over-is-over": lambda: without("sessions"),
    "visible": lambda: without("level-in-both-sets"),
    "no-resurrection": lambda: without("sessions"),
    "linearizable": lambda: built({**ONE, "together": True}, ("level-in-both-sets",)),
}

LONG = ("no-resurrection", "over-is-over")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.deep] * (name in LONG)) for name in REPORTED]
)
def test_a_search_of_a_tablet_reports_the_property_that_was_broken(name: str) -> None:
    """Each property is judged alone, on a model that was broken for it."""
    assert_reported(REPORTED[name](), name, 100_000)


def test_every_property_of_a_tablet_has_a_broken_model() -> None:
    """The table names all properties and monitors that the model can have."""
    whole = built({"together": True, "requests": DELETED})
    assert set(REPORTED) == set(judges(whole))
