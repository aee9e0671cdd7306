"""The metadata commit log: what is answered survives, and is quick while the data log is busy."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.raft.commit_log import DEFINITION, size
from kit.search.check import check
from kit.views.panel import scene_of
from tests.protocols.tcm.exploring import reachable
from tests.views.frames import after, check_frame, go_on, last_flows, panel_text, scenes, walk
from tests.views.test_stage import pictured

CONFIGURATIONS: tuple[dict[str, Any], ...] = (
    {},
    {"shards": 1, "writes": 4, "changes": 2, "crashes": 1},
    {"shards": 3, "writes": 3, "changes": 1},
    {"data_segment": 1, "writes": 3, "changes": 1, "crashes": 0},
)


@pytest.mark.parametrize("given", CONFIGURATIONS, ids=str)
def test_every_interleaving_keeps_what_was_answered(given: dict[str, Any]) -> None:
    """A complete search finds no lost change, none that waits, and none that does not fit."""
    result = check(build("commit_log", given))
    assert (result.verdict, result.unreached) == ("complete", ())


@pytest.mark.parametrize("name", ["crash-after-commit", "saturated"])
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    for scene in scenes(walk(f"commit_log/{name}")):
        check_frame(scene)


@pytest.mark.spec("C-049")
def test_a_crash_right_after_a_commit_loses_nothing() -> None:
    """The definition is in a segment after the crash, and in SSTables after the replay; a write
    that was answered from the buffer of its data log is lost on this node.
    """
    verbs = ("write D0", "change definition", "disk", "answer", "crash")
    timeline = after("commit_log", {}, *verbs)
    text = panel_text(timeline, "segments")
    said = [pictured(scene_of(timeline, at)).text() for at in range(len(verbs) + 1)]
    assert "M empty nothing yet" in said[0]
    assert ["t1: waits for disk" in each for each in said] == [at == 2 for at in range(6)]
    assert "t1: answer is due" in said[3]
    assert "M synced 1: t1" in said[3]
    assert ["down" in each for each in said] == [at == 5 for at in range(6)]
    assert "1 write; lost: w1" in said[5]
    assert "M segment 1: t1" in text
    assert "D0 segment 1: –" in text
    assert "lost here" in panel_text(timeline, "badges")
    go_on(timeline, "replay")
    assert "SSTables: t1" in panel_text(timeline, "segments")
    assert all(verdict.ok for verdict in timeline.verdicts())


@pytest.mark.spec("C-049")
def test_a_change_is_quick_while_the_data_logs_are_saturated() -> None:
    """Both data logs wait for the disk, which syncs the metadata log on shard 0 next.

    The metadata log takes a definition that no segment of a data log has room for.
    """
    full = [f"write D{shard}" for shard in (0, 1)] * 4
    queue = [f"{what} D{shard}" for what in ("timer", "flush") for shard in (0, 1)]
    timeline = after("commit_log", {"writes": 9, "crashes": 0}, *full, *queue)
    go_on(timeline, "change definition")
    assert "disk: sync M, sync D0, sync D1" in panel_text(timeline, "logs")
    go_on(timeline, "disk")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.label) == ("n:M", "n:disk", "sync")
    go_on(timeline, "answer")
    assert timeline.state.answered == ("t1",)
    assert len(timeline.state.disk) == len(queue)
    assert size("t1") > timeline.model.data_segment


def metadata_seen(off: tuple[str, ...] = (), **given: Any) -> set[tuple[Any, ...]]:
    """What a search ever sees of metadata: its log and segments, what is asked for, answered,
    rejected and stored.
    """
    model: Any = build("commit_log", given, off)

    def own(records: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(record for record in records if record[0] != "w")

    return {
        (
            *(s.change, s.rejected, s.up, s.changes, s.crashes, own(s.answered), own(s.sstables)),
            *(s.logs[-1].first, own(s.logs[-1].on_disk), own(s.logs[-1].buffered)),
            tuple(map(own, s.logs[-1].segments(model.room(len(s.logs) - 1)))),
        )
        for s in reachable(model)
    }


@pytest.mark.spec("C-049")
@pytest.mark.parametrize(
    "given",
    [
        {"writes": 2},
        {"writes": 2, "data_segment": 1},
        {"writes": 3, "data_segment": 1, "shards": 1},
        {"writes": 2, "data_segment": 9, "shards": 3},
    ],
)
def test_nothing_of_the_data_log_changes_the_metadata_log(given: dict[str, Any]) -> None:
    """Whatever its segment size, its flushes and what is queued: a search sees the same metadata
    log, in the same segments, and no change waits longer than its own flush and sync.
    """
    quiet = metadata_seen(writes=0)
    assert metadata_seen(**given) == quiet
    result = check(build("commit_log", given))
    assert (result.violation, result.complete) == (None, True)
    assert metadata_seen(**given, metadata_segment=3) != quiet
    assert metadata_seen(("own-log",), **given) != metadata_seen(("own-log",), writes=0)


@pytest.mark.parametrize("room", [DEFINITION - 1, DEFINITION, DEFINITION + 1])
def test_a_definition_that_fills_a_segment_fits(room: int) -> None:
    """One unit less, and it is rejected; an entry of Raft's log always fits. In a log of its own
    each definition does.
    """
    given, off = {"data_segment": room}, ("own-log",)
    state = after("commit_log", given, "change definition", off=off).state
    fits = room >= DEFINITION
    assert (state.rejected, state.change) == (("", "t1") if fits else ("t1", ""))
    assert after("commit_log", given, "change entry", off=off).state.change == "r1"
    assert after("commit_log", given, "change definition").state.change == "t1"
