"""What a student sees of versions that are held: barriers wait for them, and for whose writes."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from kit.protocols.storage.storage import Commit, TimeOut
from kit.protocols.tablets.panels.tablet import FREE, awaited_versions
from kit.protocols.tablets.rules.availability import Sharder
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from tests.protocols.tablets.tablet.test_seen import panel
from tests.protocols.tablets.tablet.test_stages_kept import walks

IN_FLIGHT = "requests planned before version"


def awaited(model: Any, s: Any) -> bool:
    """Whether a stage is not committed since older requests are still under way."""
    refused = (refusal for action, refusal in model.options(s) if isinstance(action, Commit))
    return any(refusal is not None and refusal.reason.startswith(IN_FLIGHT) for refusal in refused)


@pytest.mark.spec("E-059")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_version_that_is_held_blocks_the_barrier(edition: Edition) -> None:
    """Wherever the coordinator waits for older requests the strips name them with the version that
    they hold, and what holds nothing is waited for by nobody.
    """
    met = 0
    for steps in walks(edition):
        for model, _, _, s in steps:
            text = panel(model, s, "strips")
            held = awaited_versions(model, s)
            for each in held:
                for words in each.requests:
                    passed_over = words in (*each.adrift, *each.passed)
                    waits = f"a barrier waits: version {each.version} is held by {words}" in text
                    assert waits != passed_over
            assert (FREE in text) == (not held)
            if awaited(model, s):
                assert "a barrier waits" in text
                met += 1
    assert met


@pytest.mark.spec("E-059")
def test_a_sharder_answers_from_one_version_of_one_table() -> None:
    """Another version, or another table at the same version, has another answer."""
    a1, a2 = TabletReplica("A", 1), TabletReplica("A", 2)
    maps = {
        (version, name): TabletMap(name, (Tablet(last_tokens(1)[0], (place,)),))
        for version, name, place in ((1, "ks.t", a1), (2, "ks.t", a2), (1, "ks.u", a2))
    }
    of = {key: Sharder("A", "holding", key[0], given) for key, given in maps.items()}
    shards = {key: each.shard_for_reads(0) for key, each in of.items()}
    assert shards == {(1, "ks.t"): 1, (2, "ks.t"): 2, (1, "ks.u"): 2}
    kept = of[1, "ks.t"].refreshed(2, maps[2, "ks.t"])
    assert (kept.shard_for_reads(0), kept.shard_for_writes(0), kept.holds) == (1, (1,), 1)


@pytest.mark.spec("E-066")
@pytest.mark.parametrize("edition", EDITIONS)
def test_an_orphan_write_is_awaited_and_an_orphan_read_is_not(edition: Edition) -> None:
    """A coordinator gives up while messages are on their way. What it wrote holds its version, and
    once that is older than the committed one the strips have it as an orphan. The barrier waits for
    it where a replica is at work on it, and not where it is still on its way; a read is in no row,
    and holds nothing.
    """
    gave_up = {True: 0, False: 0}
    orphans = adrifts = 0
    for steps in chain(walks(edition), walks(edition, slow=True)):
        for model, before, action, after in steps:
            if isinstance(action, TimeOut) and before.requests[action.request].in_flight:
                is_write = bool(before.requests[action.request].timestamp)
                gave_up[is_write] += 1
                left = after.requests[action.request].in_flight
                assert bool(left & ~after.down) == (
                    is_write and bool(before.requests[action.request].in_flight & ~before.down)
                )
            for each in awaited_versions(model, after):
                assert all(": read" not in words for words in each.orphans)
                for words in each.orphans:
                    said = f"{words}, which its coordinator has given up"
                    adrift = words in each.adrift
                    text = panel(model, after, "strips")
                    assert (f"{said}: no barrier waits" in text) == adrift
                    assert said in text
                    orphans += awaited(model, after) and not adrift
                    adrifts += adrift
    assert all(gave_up.values())
    assert orphans
    assert adrifts
