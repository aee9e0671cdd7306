"""Each property and each monitor of a model is reported by a search, on a model broken for it.

So that no property is one that nothing can break: a *sometimes* that is out of reach, a *goal* that
cannot be come back to, an *always*, a *step* or a promise of a link that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.log import Apply
from kit.model.model import Model
from kit.model.network import DeliverMessage, DropMessage, Heal
from kit.model.registry import build
from kit.protocols.tcm.cluster import SAFEGUARDS
from kit.protocols.tcm.tcm import Stream
from kit.protocols.twophase.twophase import Decide, GiveUp, ReceivePrepared
from kit.search.check import check
from tests.model.counting import counting
from tests.model.links import link_monitors, link_properties
from tests.model.test_log_model import logging_lift
from tests.model.toys import LiftModel, LiftParameters, Up
from tests.protocols.tcm.test_search import BROKEN, HARM
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Model[Any, Any]]
SMALLEST = {guard.name: guard.smallest for guard in SAFEGUARDS}


def twophase() -> Model[Any, Any]:
    """Two managers."""
    return build("twophase", {"rms": 2})


def tcm(off: str, **parameters: Any) -> Broken:
    """A cluster without one of its safeguards."""
    return lambda: build("tcm", {**SMALLEST[off], **parameters}, (off,))


def lift() -> Model[Any, Any]:
    """Three floors."""
    return LiftModel(LiftParameters())


def network(**options: Any) -> Model[Any, Any]:
    """Additions over a network, with the properties that every network has."""
    model = counting(**options)
    model.properties = (*model.properties, *link_properties(model.carrier))
    model.monitors = link_monitors(model.network_options, model.start().network)
    return model


def promised(**options: Any) -> Broken:
    """A network that promises what one without faults does, and has these."""

    def make() -> Model[Any, Any]:
        model = counting(**options)
        sound = counting(fifo=True)
        model.monitors = link_monitors(sound.network_options, model.start().network)
        return model

    return make


def overspent(s: Any, action: Any) -> Any:
    """To heal brings a loss back."""
    left = replace(s.network.left, drops=s.network.left.drops + 1)
    return replace(s, network=replace(s.network, left=left))


def answered_at_once(s: Any, action: Any) -> Any:
    """The sender takes all to be counted."""
    return replace(s, nodes=(0b110, s.nodes[1]))


# model -> property -> a model that breaks it
REPORTED: dict[str, Mapping[str, Broken]] = {
    "twophase": {
        "consistent": lambda: broken(twophase(), Decide, unguarded),
        "all-commit": lambda: broken(twophase(), ReceivePrepared, never),
        "all-abort": lambda: broken(broken(twophase(), GiveUp, never), Decide, never),
    },
    "tcm": {
        **{prop: tcm(off) for off, (prop, _) in BROKEN.items()},
        **{prop: tcm(off, **given) for off, prop, given, _ in HARM},
        "log-prefix": tcm("apply-in-order"),
        "settled": tcm("pending-in-metadata"),
        "in-transition": lambda: build("tcm", {"nodes": 4, "operations": ("assassinate B",)}),
        "done": lambda: broken(build("tcm", {}), Stream, never),
    },
    "network": {
        "counted-once": lambda: network(remembers="nothing", duplicates=1),
        "counted-all": lambda: broken(network(), DeliverMessage, doing(answered_at_once)),
        "done": lambda: broken(network(), DeliverMessage, never),
        "quiet": lambda: broken(network(), DeliverMessage, never),
        "from-nowhere": lambda: broken(network(drops=1), DropMessage, doing(lambda s, a: s)),
        "budgets": lambda: broken(network(drops=1, partitions=1), Heal, doing(overspent)),
        "cut": lambda: broken(network(partitions=1), DeliverMessage, unguarded),
        "in-order": promised(),
        "at-most-once": promised(duplicates=1, adds=1),
        "at-least-once": promised(drops=1, adds=1),
    },
    "lift": {
        "inside": lambda: broken(lift(), Up, unguarded),
        "top": lambda: broken(lift(), Up, never),
    },
    "log": {"log-prefix": lambda: broken(log(), Apply, unguarded)},
}


def log() -> Model[Any, Any]:
    """A log of what a lift does, judged by the log's own property."""
    model = logging_lift(2)
    part = model.parts["log"]
    model.properties = tuple(
        replace(p, check=lambda s, p=p: p.check(s.log)) for p in part.properties
    )
    return model


SOUND: dict[str, tuple[Broken, ...]] = {
    "twophase": (twophase,),
    "tcm": (lambda: build("tcm", {}),),
    "network": (network, lambda: network(fifo=True)),
    "lift": (lift,),
    "log": (log,),
}


@pytest.mark.parametrize(
    ("name", "judge"), [(name, judge) for name, rows in REPORTED.items() for judge in rows]
)
def test_a_search_reports_it(name: str, judge: str) -> None:
    """A search of a broken model, judging this alone, names it, or says that it is out of reach."""
    assert_reported(REPORTED[name][judge](), judge)


@pytest.mark.parametrize("name", SOUND)
def test_nothing_is_reported_of_the_sound_model(name: str) -> None:
    """The same search of the model as it is finds nothing, and every *sometimes* is reached."""
    for make in SOUND[name]:
        found = check(make(), max_states=5000)
        assert found.violation is None, found
        assert found.unreached == ()


@pytest.mark.parametrize("name", SOUND)
def test_all_that_a_model_promises_is_there(name: str) -> None:
    """The table has all properties and monitors of each model."""
    promised = {judge for make in SOUND[name] for judge in judges(make())}
    assert set(REPORTED[name]) == promised
