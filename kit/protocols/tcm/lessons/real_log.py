"""Questions on the metadata log of a real cluster, and an exercise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kit.errors import BadInput, counted
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, posed
from kit.operators.importers.metadata_log import ServiceView, differences, read_metadata
from kit.protocols.tcm.dry_run.metadata_log import STEPS, MetadataHistory
from kit.protocols.tcm.facts.tools import SEQUENCES

ALL_STATES = ("REGISTERED", "BOOTSTRAPPING", "JOINED", "LEAVING", "LEFT", "no longer there")


def under_way_at(history: MetadataHistory, epoch: int) -> PosedQuestion:
    """Which operations were under way when an epoch was committed?"""
    begun = ((each.operation, max(each.epoch, epoch)) for each in history.epochs if each.operation)
    titles = [history.title(*each) for each in begun]
    now = [history.title(flight, epoch) for flight in history.at(history.known(epoch))[1]]
    return posed(
        f"Read the log up to epoch {epoch}. Which operations are under way at that point?",
        tuple(dict.fromkeys(titles)),
        tuple(now),
        f"An operation is under way from its preparation until it finishes or is cancelled. "
        f"At epoch {epoch}, this is true of {counted(len(now), 'operation')}.",
    )


def state_at(history: MetadataHistory, node: str, epoch: int) -> PosedQuestion:
    """Which state does the directory have of a node, by its address, at an epoch?"""
    states = {member.name: member.state for member in history.at(history.known(epoch))[0]}
    last = [each for each in history.epochs if each.node == node and each.epoch <= epoch]
    if not last:
        raise BadInput("node", node, "the address of a node that is in the log by then")
    return posed(
        f"What does the directory say about {node} at epoch {epoch}?",
        ALL_STATES,
        (states.get(node, ALL_STATES[-1]),),
        f"The log's last entry about {node} is epoch {last[-1].epoch}: {last[-1].say}.",
    )


def behind(history: MetadataHistory, first: str | Path, second: str | Path) -> PosedQuestion:
    """Which of two views of ``nodetool cms describe`` is that of a node that lags?"""
    views = [(str(path), read_metadata(path)) for path in (first, second)]
    epochs = {name: view.epoch for name, view in views if isinstance(view, ServiceView)}
    if len(epochs) < len(views):
        raise BadInput("views", str(first), "two files from nodetool cms describe")
    said = "; ".join(f"{what}: {a} and {b}" for what, a, b in differences(views[0][1], views[1][1]))
    return posed(
        "Two nodes were asked with nodetool cms describe. Which one lags?",
        (*epochs, "neither"),
        tuple(name for name, epoch in epochs.items() if epoch < max(epochs.values()))
        or ("neither",),
        f"Differences: {said}. The log goes up to epoch {history.entries[-1].epoch}; a "
        "node that shows a lower epoch has not applied it yet.",
    )


def unfinished(events: list[tuple[str, int]]) -> list[int]:
    """The nodes whose last event does not end an operation."""
    last = {node: kind for kind, node in events}
    ends = ("FINISH_", "CANCEL_")
    return sorted(node for node, kind in last.items() if not kind.startswith(ends))


def _some_log(chance: random.Random) -> Arguments:
    events: list[list[Any]] = []
    ahead: dict[int, list[str]] = {}
    for _ in range(chance.randrange(4, 24)):
        node = chance.randrange(1, 6)
        if not ahead.get(node):
            what = chance.choice(list(SEQUENCES))
            ahead[node] = [f"{step}_{what}" for step in STEPS]
        cancelled = len(ahead[node]) < len(STEPS) and chance.random() < 0.2
        kind = "CANCEL_SEQUENCE" if cancelled else ahead[node].pop(0)
        events.append([kind, node])
        ahead[node] = [] if cancelled else ahead[node]
    return [events]


def first_difference(before: list[list[int]], after: list[list[int]]) -> int | None:
    """The first epoch of both logs that has another entry, or none."""
    entries = {row[0]: row[1] for row in before}
    return next((epoch for epoch, entry in after if entries.get(epoch, entry) != entry), None)


def _two_logs(chance: random.Random) -> Arguments:
    first = chance.randrange(1, 9)
    before = [[epoch, chance.randrange(100)] for epoch in range(first, first + 8)]
    after = [row.copy() for row in before[chance.randrange(4) :]]
    after += [[first + 8 + more, chance.randrange(100)] for more in range(chance.randrange(3))]
    for _ in range(chance.randrange(3)):
        after[chance.randrange(len(after))][1] += 100
    return [before, after]


_MONDAY = [[7, 11], [8, 12], [9, 13]]
_CANCELLED: Sequence[list[Any]] = (["PREPARE_JOIN", 6], ["START_JOIN", 6], ["CANCEL_SEQUENCE", 6])

TASKS = (
    function_task(
        "unfinished",
        "what is still under way",
        "Write unfinished(events). events are pairs of a kind and a node's number, in "
        "the order of a metadata log, such as ['PREPARE_JOIN', 6]. Return, in ascending "
        "order, the numbers of the nodes whose last operation has neither finished nor been "
        "cancelled.",
        "a node has at most one operation at a time. It begins with PREPARE_…, and FINISH_… or "
        "CANCEL_SEQUENCE ends it.",
        unfinished,
        ([list(_CANCELLED)], [[*_CANCELLED, ["PREPARE_LEAVE", 5], ["START_LEAVE", 5]]]),
        _some_log,
    ),
    function_task(
        "first-difference",
        "where two logs diverge",
        "Write first_difference(before, after). Both are logs: lists of [epoch, entry "
        "id] in ascending order, as dumplog answers at two moments. Return the first epoch "
        "that is in both with different entries, or None if there is none.",
        "a log that goes further is only newer, and one that begins later was "
        "truncated. Neither is a difference.",
        first_difference,
        ([_MONDAY, [[8, 12], [9, 13], [10, 14]]], [_MONDAY, [[8, 12], [9, 99]]]),
        _two_logs,
    ),
)
