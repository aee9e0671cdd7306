"""Two readings side by side: two protocols, two ways to acknowledge, a second operation."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from kit.model.flows import flows
from kit.model.registry import build, entry_of
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.storage.rules.levels import write_quotas
from kit.protocols.storage.rules.requests import DONE, FAILED
from kit.protocols.storage.rules.view import View
from kit.protocols.storage.storage import Commit, LandLate, Storage
from kit.search.check import check
from kit.views.frame import frame_text
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.protocols.vnodes.runs import OPERATIONS

# what each operation is under either protocol, small enough for each landing
PAIRED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bootstrap": ({"rf": 1}, {"nodes": 3, "rf": 1}),
    "replace": (
        {"nodes": 4, "rf": 3, "operations": ("replace B X",)},
        {"rf": 3, "operation": "replace"},
    ),
    "decommission": (
        {"nodes": 3, "rf": 1, "operations": ("decommission B",)},
        {"nodes": 3, "rf": 1, "operation": "decommission"},
    ),
    "removenode": (
        {"nodes": 4, "rf": 2, "operations": ("removenode B",)},
        {"rf": 2, "operation": "removenode"},
    ),
}

IDS = {
    name: {guard.id: guard for guard in entry_of(name).safeguards}
    for name in ("dataplane", "vnodes")
}

SHARED = sorted(set(IDS["dataplane"]) & set(IDS["vnodes"]))


def verdict(name: str, parameters: dict[str, Any], *off: str) -> str | None:
    """Which promise a search finds broken; None when it is complete and finds none."""
    model: Any = build(name, parameters, off)
    found = check(model)
    assert found.violation is not None or found.complete
    return found.violation.property if found.violation else None


def test_dataplane_and_vnodes_share_the_model_of_requests_and_five_safeguards() -> None:
    """Requests, replicas and promises come from the one Storage model."""
    assert isinstance(build("dataplane"), Storage)
    assert isinstance(build("vnodes"), Storage)
    assert SHARED == ["S-05", "S-06", "S-07", "S-08", "S-57"]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("operation", PAIRED)
def test_an_operation_breaks_no_promise_under_epochs_or_versions(operation: str) -> None:
    """Both searches are complete."""
    epochs, versions = PAIRED[operation]
    assert verdict("dataplane", epochs) is verdict("vnodes", versions) is None


@pytest.mark.sweep(3)
@pytest.mark.parametrize("id_", SHARED)
def test_a_shared_safeguard_off_breaks_one_promise_under_epochs_and_versions(id_: str) -> None:
    """Either model is searched in its smallest configuration, and breaks the same property."""
    broken = {
        verdict(name, dict(guards[id_].smallest), guards[id_].name) for name, guards in IDS.items()
    }
    assert len(broken) == 1
    assert None not in broken


WRITE = {"rf": 3, "crashes": 2, "requests": ("K1 write QUORUM",)}
LONG = (("bootstrap", "documents"), ("decommission", "documents"))
JUDGED = {"documents": (True, None), "server": (False, "available")}


def test_the_documents_count_acknowledgements_jointly_and_the_server_by_union() -> None:
    """Of {A, B, C} and {B, C, X}: two of each set, or three of the four."""
    a, b, c, x = 1, 2, 4, 8
    for edition, wanted in (("documents", [(a | b | c, 2), (b | c | x, 2)]), ("server", [(15, 3)])):
        history = build("vnodes", {"edition": edition}).history
        view = View(a | b | c, 15, a | b | c, b | c | x)
        quotas = write_quotas("QUORUM", view, (15,), 0, history.acknowledgement)
        assert [(quota.replicas, quota.needed) for quota in quotas] == wanted, edition


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("operation", "edition"),
    [
        pytest.param(*pair, marks=[pytest.mark.deep] if pair in LONG else [])
        for pair in product(OPERATIONS, JUDGED)
    ],
)
def test_live_quorums_answer_a_write_by_the_documents_count(operation: str, edition: str) -> None:
    """By the server's count some writes fail although both groups have a live quorum."""
    model = build("vnodes", {**WRITE, "operation": operation, "edition": edition})
    found = check(model, past_costs=False)
    broken = found.violation.property if found.violation else None
    assert (found.complete, broken) == JUDGED[edition]


@pytest.mark.parametrize(("edition", "phase"), [("documents", DONE), ("server", FAILED)])
def test_the_same_answers_end_a_write_by_the_documents_alone(edition: str, phase: int) -> None:
    """The documents' client is told of success, and the server's client of failure."""
    timeline: Any = open_file(file_named(f"vnodes/two-of-four-{edition}"))
    timeline.goto(timeline.tip)
    assert timeline.state.requests[0].phase == phase
    dark = [verdict.name for verdict in timeline.verdicts() if not verdict.ok]
    assert dark == ([] if phase == DONE else ["available"])


def opened(name: str) -> Timeline:
    """A scenario of this family, at its end."""
    timeline = open_file(file_named(f"vnodes/{name}"))
    timeline.goto(timeline.tip)
    return timeline


def seen(timeline: Timeline, moment: int) -> str:
    """All panels of a moment as text."""
    scene = scene_of(timeline, moment)
    return frame_text(scene, for_model(timeline.model).panels)


def after(timeline: Timeline, action: type) -> tuple[Any, Any]:
    """The moment after the first action of a type, and the moment before it."""
    made = next(m for m in timeline.moments if isinstance(m.action, action))
    return made, timeline.moments[made.parent]


@pytest.mark.spec("F-002", "F-003")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_session_is_open_exactly_in_the_state_that_streams(operation: str) -> None:
    """Each streaming state opens a new session, and the badge names it."""
    history = build("vnodes", {"operation": operation, "leaves": True}).history
    for epoch in history.epochs:
        streams = epoch.title.startswith("write_both_read_old")
        assert bool(epoch.session) == bool(epoch.copies) == streams, epoch.title
    assert {epoch.session for epoch in history.epochs} == {0, 1, 2}
    timeline = opened("late-stream-turned-away")
    said = [seen(timeline, moment.id) for moment in timeline.moments if is_commit(moment)]
    for session, when in (1, [True, False, False, False]), (2, [False, False, True, False]):
        assert [f"\n  session {session} open\n" in text for text in said] == when, session
    assert [" open\n" in text for text in said] == [True, False, True, False]


def is_commit(moment: Any) -> bool:
    """Whether a moment comes of a commit."""
    return isinstance(moment.action, Commit)


@pytest.mark.spec("F-008")
def test_a_late_stream_of_a_closed_session_is_refused() -> None:
    """Its arrow is a refusal, and the target's data does not change."""
    timeline = opened("late-stream-turned-away")
    made, before = after(timeline, LandLate)
    (flow,) = flows(timeline.model, before.state, made.action, made.state)
    assert (flow.kind, flow.label) == ("refusal", "write 1, session 1")
    assert made.state.cells == before.state.cells
    assert (len(before.state.late_copies), made.state.late_copies) == (1, ())
    was, now = (seen(timeline, each.id) for each in (before, made))
    assert "copy from B to C: on its way, left behind by session 1" in was
    assert "A copy from session 1 arrives late with write 1: C rejects it" in now
    assert all(verdict.ok for verdict in timeline.verdicts())


@pytest.mark.spec("F-018")
def test_data_kept_without_cleanup_returns_when_its_range_does() -> None:
    """The former replica's row says "data not owned". Later a read finds the deleted write."""
    timeline = opened("off-cleanup-first")
    lost = next(m for m in timeline.moments if m.say.startswith("Version 13: X is normal"))
    row = seen(timeline, lost.id).partition("  B: nothing, ")[2].partition("\n")[0]
    assert "holds w1" in row
    assert "data not owned" in row
    end = timeline.moments[timeline.tip]
    assert end.say == "K3, at version 15, has answers from B and returns write 1."
    assert "still finds what delete 2 deleted" in seen(timeline, end.id)
