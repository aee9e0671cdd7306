"""Each judge of the model is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.protocols.storage.actions import Cleanup, Commit, Finish
from kit.protocols.storage.availability import fenced, under_session
from kit.protocols.storage.properties import properties
from kit.protocols.tablets.requests.properties import one_stage_apart, replicas_hold, stage_asks
from tests.protocols.tablets.requests.runs import GUARDS, ONE, built
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Any]


def without(off: str) -> Any:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return built(dict(GUARDS[off].smallest), (off,))


def judged(model: Any, *judges: Any) -> Any:
    """The model with these properties, which it does not have while a safeguard is off."""
    model.properties = judges
    return model


def unfenced() -> Any:
    """Replicas that let in what is below the fence."""
    model: Any = without("fencing")
    return judged(model, fenced(model))


def unpermitted() -> Any:
    """Replicas that take what comes late, whose session is closed."""
    model: Any = without("sessions")
    return judged(model, under_session(model))


def unstreamed() -> Any:
    """Data of the wrong replica."""
    model: Any = built({"losses": 1, "edition": "code"}, ("stream-from-leaving",))
    return judged(model, *(p for p in properties(model) if p.name == "streamed"))


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


def unready() -> Any:
    """A new replica is written to before it knows of itself."""
    model: Any = without("allow-stage")
    return judged(model, stage_asks(model, ""))


def far_apart() -> Any:
    """The documents' way back, which changes both selectors at once."""
    model: Any = built({**ONE, "excluded": "D"})
    return judged(model, one_stage_apart(model, "D"))


def uncleaned() -> Any:
    """A cleanup that leaves the data where it is."""
    model: Any = built(ONE)
    clean = model._clean

    def left(s: Any, action: Any) -> Any:
        return replace(clean(s, action), cells=s.cells)

    return judged(broken(model, Cleanup, doing(left)), replicas_hold(model, ""))


REPORTED: dict[str, Broken] = {
    "consistency-level": hasty,
    "streamed": unstreamed,
    "answered": lambda: built({**ONE, "requests": ("K1 write THREE",)}),
    "moved": lambda: broken(built(ONE), Commit, never),
    "available": impatient,
    "found-there": lambda: without("allow-stage"),
    "fenced": unfenced,
    "session": unpermitted,
    "stage-asks": unready,
    "one-stage-apart": far_apart,
    "replicas-hold": uncleaned,
    "visible": lambda: without("level-in-both-sets"),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name, 100_000)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties and monitors."""
    assert set(REPORTED) == set(judges(built({})))
