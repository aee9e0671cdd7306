"""What a coordinator does differs from release to release: published cases, each on every one."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.group0.rules.releases import (
    CHANGES,
    RELEASES,
    SUPPORTED,
    Release,
    Supported,
    has,
    release_of,
)
from kit.protocols.topology.rules.decide import decide
from kit.protocols.topology.rules.requests import OperationRequest, refusal
from kit.protocols.topology.topology import CrashMember, MakeRequest
from kit.search.check import check
from tests.commands.calling import call
from tests.protocols.topology.test_decide import reached

# what is asked for, who is down of five nodes in three racks, who is ignored -> the first release
# that refuses it at once, and why; before that it waits in the queue
ASKED_BESIDE_THE_DEAD = [
    ("remove", "E", "", "5.2", ""),
    ("remove", "DE", "", "2026.3", "another node is down"),
    ("remove", "DE", "D", "5.2", ""),
    ("remove", "E", "D", "2026.3", "an ignored node is up"),
    ("remove", "CDE", "C", "2026.3", "another node is down"),
    ("leave", "D", "", "5.2", ""),
]


@pytest.mark.parametrize("release", SUPPORTED)
@pytest.mark.parametrize(("kind", "down", "ignored", "first", "why"), ASKED_BESIDE_THE_DEAD)
def test_a_removal_beside_a_dead_node_is_refused_from_2026_3(
    release: Supported, kind: str, down: str, ignored: str, first: Release, why: str
) -> None:
    """Before, it waits in the queue (commit e9abb31e8d)."""
    given = {"nodes": 5, "down": tuple(down), "ignored": tuple(ignored), "operations": ("leave A",)}
    model = build("topology", {"edition": "server", "release": release, **given})
    state = model.start()
    alive = state.up
    said = refusal(state.topology, OperationRequest(kind, 4), alive, model.setting)
    refuses = bool(why) and RELEASES.index(release) >= RELEASES.index(first)
    assert (said is not None and why in said.reason) if refuses else said is None


@pytest.mark.parametrize("release", SUPPORTED)
def test_a_join_goes_before_tablets_from_2026_3(release: Supported) -> None:
    """Earlier, the join begins once the tablet track has ended. No promise breaks either way."""
    given = {"operations": ("join D",), "tablets": 1, "edition": "server", "release": release}
    first = any(
        state.topology.transition == "tablet_migration"
        and decide(state.topology, state.up, model.setting).kind == "begin"
        for model, state in reached(given)
    )
    assert first is has("join-first", release)
    assert check(build("topology", given), max_states=50_000).violation is None


# the operation and where its node's tablets are, whether one may be moving -> all of it is searched
DRAINED = [
    (("leave C",), ("C",), {"failures": 1}),
    (("remove C", "join D"), ("C",), {"failures": 1}),
    (("replace D C",), (), {"failures": 1}),
]


@pytest.mark.parametrize("release", ["2025.1", "2025.4", "2026.1", "2026.3"])
@pytest.mark.parametrize(("operations", "on_tablets", "given"), DRAINED)
def test_tablets_are_drained_within_the_operation_before_2026_1(
    release: Supported,
    operations: tuple[str, ...],
    on_tablets: tuple[str, ...],
    given: dict[str, int],
) -> None:
    """Since then while the request is paused; no promise breaks either way."""
    server = {"edition": "server", "release": release, "operations": operations, "tablets": 1}
    model = build("topology", {**server, "on_tablets": on_tablets, **given})
    found = check(model, max_states=60_000)
    assert (found.violation, found.complete) == (None, True)
    drains = any(
        state.topology.transition == "tablet_draining"
        for _, state in reached({**server, "on_tablets": on_tablets})
    )
    assert drains is not has("paused-drain", release)


def test_a_patch_release_lacks_a_change_that_came_with_a_later_patch() -> None:
    """Unknown releases are refused."""
    assert release_of("2026.2.1", "last-node")[0] == "2026.2"
    assert "the last node" in release_of("2026.2.1", "last-node")[1][0]
    assert release_of("2026.2.2", "last-node") == ("2026.2", ())
    assert release_of("2026.2.1", "join-first") == ("2026.2", ())
    for text in ("2026.4", "2026", "newest", "2026.2.x", "٢٠٢٦.١", ""):
        with pytest.raises(BadInput, match=r"allowed: one of 5\.2"):
            release_of(text)


def test_releases_prints_what_each_release_does() -> None:
    """All changes, or one release's own side of each."""
    every = call("releases").out
    assert all(name in every for name in CHANGES)
    told = call("releases", "2026.2.2", "--json").json["does"]
    assert told["last-node"] == CHANGES["last-node"].after
    assert told["history-hour"] == CHANGES["history-hour"].before
    assert told["join-first"] == CHANGES["join-first"].before
    assert call("releases", "4.6").status == 2


ENDS_AT_ONCE = {"2025.1", "2025.3", "2025.4", "2026.1", "2026.2", "2026.3", "master"}
"""By the newest patch of each line. Source: published server, tags with commit bee5f63cb6."""


@pytest.mark.parametrize("asked", ["leave C", "remove C", "rebuild C"])
@pytest.mark.parametrize("release", SUPPORTED)
def test_a_replacement_ends_older_requests_of_its_node(asked: str, release: Supported) -> None:
    """With an error, at once on the releases of ENDS_AT_ONCE; the replacement is done."""
    words = (asked, "replace D C")
    given = {"edition": "server", "release": release, "operations": words, "crashes": 1}
    model = build("topology", {**given, "down": ("C",) if asked == "remove C" else ()})
    timeline: Any = Timeline(model)
    timeline.run([MakeRequest(0), *([] if asked == "remove C" else [CrashMember("C")])])
    timeline.do(MakeRequest(1))
    assert timeline.state.topology.requests[0].done is (release in ENDS_AT_ONCE)
    last = played_out(timeline).state.topology
    assert [(each.done, each.error) for each in last.requests] == [(True, True), (True, False)]


BUILDS_ON = """
topology-in-group-0 | 6.0    | dead-refused replaced-request always-in-group-0
tablets             | 6.0    | truncate-request rebuild-after-repair sizing-rules by-capacity
tablets             | 6.0    | left-out request-queue paused-drain complete-statistics rf-changes
tablets             | 6.0    | two-reads fallback-cleanup join-first desired-by-size
sizing-rules        | 2025.2 | goal-by-rack
few-voters          | 2025.2 | odd-voters members-vote leader-counts
rack-checks         | 2026.1 | last-node
"""
"""What an earlier release has neither side of. Source: published server, the tags of releases."""


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_silent_on_what_builds_on_what_it_lacks(release: Release) -> None:
    """5.4 has no tablets, so neither side of a change to tablets is told."""
    told = call("releases", release, "--json").json
    rows = [[cell.strip() for cell in row.split("|")] for row in BUILDS_ON.strip().splitlines()]
    lacks = {name: first for name, first, _ in rows if not CHANGES[name].holds(release)}
    left_out = {each for name, _, on in rows if name in lacks for each in on.split()}
    assert told["not_yet"] == lacks
    assert {*CHANGES} - {*told["does"]} == left_out


def test_check_plays_the_server_of_a_release() -> None:
    """A model without releases says so."""
    assert "edition server 2026.1" in call("check", "topology", "--release", "2026.1").out
    assert "tcm has no parameter release" in call("check", "tcm", "--release", "2026.1").err


@pytest.mark.parametrize("release", ["2025.4", "2026.2"])
@pytest.mark.parametrize("operation", ["leave C", "remove C", "replace D C"])
def test_draining_real_tablets_breaks_no_promise(release: Supported, operation: str) -> None:
    """With each tablet and its stages, on a release before and after the paused drain."""
    given = {"operations": (operation,), "nodes": 4 if operation == "leave C" else 3}
    found = check(build("tablets", {"edition": "server", "release": release, **given}))
    assert (found.violation, found.complete) == (None, True)
