"""Each property of a resize is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.registry import build
from kit.protocols.tablets.resize import Resize
from kit.protocols.tablets.rules.maps import Tablet, TabletMap
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from tests.quality.breaking import broken, changing, doing, never
from tests.quality.reporting import assert_reported, judges

SMALLEST = {guard.name: guard.smallest for guard in Resize.safeguards}
SMALL = {"tablets": ("A",), "nodes": 1}
A, B = (TabletReplica(host) for host in "AB")
MOVING = (Tablet(2**63 - 1, (A,), (B,), "streaming", "migration"),)


def without(off: str) -> Callable[[], Any]:
    """The model without one safeguard, in the smallest configuration that needs it."""
    return lambda: build("resize", SMALLEST[off], (off,))


def spoiling(action: type, change: Callable[[TabletMap], TabletMap]) -> Callable[[], Any]:
    """The model, where a step also changes group 0's map."""
    spoiled = changing(lambda s, action, after: replace(after, map=change(after.map)))
    return lambda: broken(build("resize", SMALL), action, spoiled)


REPORTED: dict[str, Callable[[], Any]] = {
    "whole-map": spoiling(Resize.commit_map.struct, lambda m: replace(m, tablets=m.tablets[:1])),
    "finds-all": without("split-readiness"),
    "co-located": without("colocation-test"),
    "repair-map": without("barrier-before-map"),
    "nothing-moves": spoiling(Resize.finalize.struct, lambda m: replace(m, tablets=MOVING)),
    "numbers": spoiling(
        Resize.decide.struct, lambda m: replace(m, resize_seq_number=m.resize_seq_number + 1)
    ),
    "resized": lambda: broken(
        build("resize", SMALL), Resize.decide.struct, doing(lambda s, action: s)
    ),
    "ends": lambda: broken(build("resize", SMALL), Resize.finalize.struct, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("resize")))
