"""Each promise of two worlds is reported by a search, in a pair of which one world is broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.compose import Product
from kit.model.model import Model
from kit.protocols.worlds.alignment import WORLDS, aligned
from kit.protocols.worlds.facts.pairs import JOIN
from kit.protocols.worlds.side_by_side import SideBySide
from tests.protocols.topology.test_reported import REPORTED as TOPOLOGY
from tests.quality.reporting import assert_reported, judges
from tests.quality.test_reported import REPORTED as ELSEWHERE
from tests.quality.test_reported import Broken

PARTS: dict[str, Mapping[str, Broken]] = {"epochs": ELSEWHERE["tcm"], "topology": TOPOLOGY}
REPORTED = {f"{world}:{name}": PARTS[world][name] for world in WORLDS for name in PARTS[world]}
REPORTED["last-row"] = TOPOLOGY["ends"]  # never met: neither world tells a story
PROMISES = [*judges(SideBySide(aligned(JOIN)))]


def still(model: Model[Any, Any]) -> Model[Any, Any]:
    """A world in which nothing happens."""
    if isinstance(model, Product):
        model.lifted = {}
    model.rules, model.suggest = (), lambda s: None
    return model


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", PROMISES)
def test_a_search_reports_it(name: str) -> None:
    """A world breaks its promise while the other one stands still; where both do, no story ends."""
    broken, given = REPORTED[name], aligned(JOIN)
    models = tuple(
        broken() if name.startswith(f"{world}:") else still(model)
        for world, model in zip(WORLDS, given.models, strict=True)
    )
    begun = tuple(story[:1] for story in given.ways)
    model = SideBySide(replace(given, models=models, ways=begun, met=()))
    assert_reported(model, name)
