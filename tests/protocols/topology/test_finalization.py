"""``tablet_resize_finalization`` in the topology's machine: how it is entered, held and left."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.search.check import check
from tests.protocols.topology.test_seen import ended, in_state, press, seen, starting, until, way

TRACK, FINALIZATION = "tablet_migration", "tablet_resize_finalization"
# The documents leave the track for it; the published server enters it where nothing else is to do.
WAYS: tuple[tuple[Edition, tuple[str, ...], tuple[str, ...], list[str]], ...] = (
    ("documents", (), ("imbalance", "resize"), [TRACK, FINALIZATION]),
    ("documents", (), ("resize",), [TRACK, FINALIZATION]),
    ("documents", (), ("imbalance",), [TRACK]),
    ("server", (), ("imbalance", "resize"), [TRACK, FINALIZATION]),
    ("server", (), ("resize",), [FINALIZATION]),
    ("server", (), ("resize", "imbalance"), [TRACK, FINALIZATION]),
    # A request that waits comes first in the server, which looks for it once the track has ended.
    ("documents", ("rebuild B",), (*("imbalance", "decide", "commit"), "resize", "rebuild B"),
     [TRACK, FINALIZATION, "rebuilding"]),
    ("server", ("rebuild B",), (*("imbalance", "decide", "commit"), "resize", "rebuild B"),
     [TRACK, "rebuilding", FINALIZATION]),
)  # fmt: skip


@pytest.mark.parametrize(("edition", "asked", "verbs", "states"), WAYS)
def test_the_states_follow_one_another(
    edition: Edition, asked: tuple[str, ...], verbs: tuple[str, ...], states: list[str]
) -> None:
    """The track is left for it, or nothing else is to do; then the cluster rests."""
    timeline = starting(*asked, edition=edition, tablets=1, resizes=1)
    for verb in verbs:
        press(timeline, verb)
    found = list[str]()
    for moment in ended(timeline).moments:
        topology = moment.state.topology
        rebuilds = topology.nodes[1].state == "rebuilding"
        now = topology.transition or "rebuilding" * rebuilds
        if now and now not in found[-1:]:
            found.append(now)
    assert found == states
    assert timeline.state.topology.resizes == 0


@pytest.mark.spec("D-016")
@pytest.mark.parametrize("edition", EDITIONS)
def test_its_barrier_comes_before_the_new_map(edition: Edition) -> None:
    """An older request on B keeps the barrier; no tablet moves and no request begins meanwhile. The
    map is new in the command that leaves the state.
    """
    timeline = starting("rebuild C", edition=edition, tablets=1, resizes=1, clients=1)
    enters = ("move tablets", "decide", "commit") if edition == "documents" else ()
    for verb in ("begin B", "resize", "decide", "commit", *enters, "rebuild C"):
        press(timeline, verb)
    assert in_state(FINALIZATION)(timeline.state)
    while timeline.forward() is not None:
        assert timeline.state.topology.tablets == "even"
    lines = seen(timeline)
    assert way(timeline)[-1] == FINALIZATION
    assert "  barrier_and_drain: 2 of 3 have answered" in lines["Barrier by node"]
    assert "  rebuild C: waits (the tablet track must end first)" in lines["Request queue"]
    assert timeline.state.topology.resizes == 1
    press(timeline, "serve B")
    until(timeline, lambda state: state.topology.resizes == 0)
    assert in_state("")(timeline.state)
    assert "new maps of tablets" in seen(timeline)["Group 0 history"][-2]


@pytest.mark.parametrize("edition", EDITIONS)
def test_an_ignored_node_is_not_asked(edition: Edition) -> None:
    """The barrier passes over it, as that of the tablet track does."""
    given: dict[str, Any] = {"edition": edition, "resizes": 1, "down": ("C",), "ignored": ("C",)}
    timeline = until(press(starting(**given), "resize"), in_state(FINALIZATION))
    lines = seen(timeline)["Barrier by node"]
    assert "  barrier_and_drain: 0 of 2 have answered" in lines
    assert not in_state(FINALIZATION)(ended(timeline).state)


SEARCHED: dict[str, dict[str, Any]] = {
    "alone": {},
    "tablets": {"tablets": 1},
    "a join": {"operations": ("join D",), "tablets": 1, "lag": False},
    "a client": {"nodes": 2, "clients": 1},
    "two": {"resizes": 2, "tablets": 1},
    "crashes": {"nodes": 2, "crashes": 1, "tablets": 1},
    "another coordinator": {"nodes": 2, "changes": 1},
}


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", SEARCHED)
def test_searches_find_nothing(edition: Edition, name: str) -> None:
    """Complete: no promise breaks, and every finalization can end."""
    given = {"operations": (), "resizes": 1, **SEARCHED[name]}
    result = check(build("topology", {"edition": edition, **given}), max_states=200_000)
    assert (result.violation, result.verdict) == (None, "complete")


@pytest.mark.parametrize("edition", EDITIONS)
def test_without_the_drain_an_older_request_meets_a_new_map(edition: Edition) -> None:
    """S-21 off: the map is new while a request by an older version can still be served."""
    given = {"edition": edition, "operations": (), "nodes": 2, "resizes": 1, "clients": 1}
    model = build("topology", given, ("barrier-drains", "fencing"))
    only = tuple(prop for prop in model.properties if prop.name == "older-over")
    found = check(model, only).violation
    assert found is not None
    assert "would still serve an older request" in found.witness
