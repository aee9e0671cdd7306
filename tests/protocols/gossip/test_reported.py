"""Each judge of the two models is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.network import DeliverMessage
from kit.model.registry import build, entry_of
from kit.protocols.gossip.gossip import BeginRound
from kit.protocols.gossip.gossip_join import GossipJoin
from tests.protocols.gossip.test_search import DROPPED, RIVALS, SPLIT, TABLE, two
from tests.quality.breaking import broken, doing, never
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Any]
SMALLEST = {guard.name: guard.smallest for guard in entry_of("gossip_join").safeguards}
REMOVAL: dict[str, Any] = {"operation": "removenode", "rf": 2, "nodes": 2}


def unchanged(s: Any, action: Any) -> Any:
    """A step without effect."""
    return s


def without(off: str) -> Broken:
    """The join without one of its safeguards, where that is needed."""
    return lambda: build("gossip_join", SMALLEST[off], (off,))


GOSSIP: dict[str, Broken] = {
    # Gossip promises none of these where clients change the schema at two nodes.
    "one-side": lambda: build("gossip", SPLIT),
    "split-brain": lambda: build("gossip", SPLIT),
    "one-id": lambda: build("gossip", two(*RIVALS)),
    "lost-update": lambda: build("gossip", two(*RIVALS)),
    "loadable": lambda: build("gossip", two(*DROPPED, earlier=TABLE)),
    "differ": lambda: build("gossip", {"changes": ()}),
    "again": lambda: broken(build("gossip", {"nodes": 2}), BeginRound, doing(unchanged)),
    "agreement": lambda: broken(build("gossip", {"nodes": 2}), DeliverMessage, never),
}
JOIN: dict[str, Broken] = {
    "kept": without("ring-delay"),
    "streamed": without("ring-delay"),
    "one-joins": without("one-at-a-time"),
    "seen": lambda: build("gossip_join", {"nodes": 2}),
    "joined": lambda: broken(
        build("gossip_join", {"nodes": 2}), GossipJoin.announce_normal.struct, doing(unchanged)
    ),
    "all-in": lambda: broken(
        build("gossip_join", {"nodes": 2}), GossipJoin.announce_normal.struct, never
    ),
    "restored": lambda: build("gossip_join", {**REMOVAL, "rf": 3, "nodes": 3}, ("ring-delay",)),
    "removed": lambda: broken(
        build("gossip_join", REMOVAL), GossipJoin.announce_removed.struct, doing(unchanged)
    ),
    "all-out": lambda: broken(
        build("gossip_join", REMOVAL), GossipJoin.announce_removed.struct, never
    ),
}


@pytest.mark.parametrize("name", GOSSIP)
def test_a_search_of_gossip_reports_it(name: str) -> None:
    """Judged alone, each promise of a shared schema is broken by what was broken for it."""
    assert_reported(GOSSIP[name](), name)


@pytest.mark.parametrize("name", JOIN)
def test_a_search_of_a_join_reports_it(name: str) -> None:
    """Judged alone, each promise of a join or a removal is broken by what was broken for it."""
    assert_reported(JOIN[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The tables name all properties and monitors of the two models, removals included."""
    assert set(GOSSIP) == set(judges(build("gossip")))
    removal = judges(build("gossip_join", REMOVAL))
    assert set(JOIN) == {*judges(build("gossip_join")), *removal}
