"""One state of the old procedure as people ask of it: nodes, and the steps of a checklist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import recovery_mode as act
from kit.protocols.recovery.facts.recovery import DataRangeRow, data_ranges
from kit.protocols.recovery.harm import DOCUMENTED, Harm, actions_of, order_harm
from kit.protocols.recovery.lost_majority import NO_GROUP
from kit.protocols.recovery.mode_cluster import ModeState
from kit.protocols.recovery.recovery_mode import RecoveryMode

DIAGNOSES = {
    "": "no row: a Raft upgrade is under way",
    "use_pre_raft_procedures": "a Raft upgrade is under way",
    "synchronize": "a Raft upgrade is under way",
    "use_post_raft_procedures": "Raft is in use",
    "recovery": "a manual recovery is under way",
    "unknown": "unknown: taken for recovery at the next start",
}


class ModeRow(Struct, frozen=True):
    """A node: its mode, and what its system tables hold."""

    name: str
    standing: str
    mode: str
    group: str
    value: str
    diagnosis: str
    group_id: str
    discovery: tuple[str, ...]
    history: int
    version: str
    source: str
    committed_by_group0: bool


class ChecklistRow(Struct, frozen=True):
    """A documented step: how far it is, and what harm it does not to have taken it in its place."""

    name: str
    progress: str
    harm: str = ""


def rows(m: RecoveryMode, s: ModeState) -> tuple[ModeRow, ...]:
    """Every node that is not removed."""
    return tuple(
        ModeRow(
            name,
            node.standing,
            node.mode_text if node.standing != "dead" else "dead",
            m.group_name(node.group) if node.group != NO_GROUP else "",
            node.value,
            DIAGNOSES[node.value],
            m.group_name(node.group_id) if node.group_id != NO_GROUP else "",
            m.named(node.discovery),
            node.history,
            node.version_text,
            "hash" if node.hashed else "group 0",
            not node.hashed,
        )
        for name, node in zip(m.names, s.nodes, strict=True)
        if node.standing != "removed"
    )


def ranges(m: RecoveryMode, s: ModeState) -> tuple[DataRangeRow, ...]:
    """The ranges of a ring in which every node that is not removed owns one token."""
    there = [i for i, node in enumerate(s.nodes) if node.standing != "removed"]
    up = {m.names[i] for i in there if s.nodes[i].is_up and s.nodes[i].standing == "live"}
    return data_ranges([m.names[i] for i in there], up, m.rf)


def can_change_schema(s: ModeState) -> bool:
    """Whether a live node runs in a group 0 with a majority."""
    return any(s.nodes[i].mode == "group 0" and s.may_commit(i) for i in nodes_in(s.live))


def taken(m: RecoveryMode, way: Sequence[PassedStep]) -> tuple[tuple[str, ...], frozenset[str]]:
    """The documented steps that a run began, in that order, and those among them that it ended."""
    died = {each.action.node for each in way if isinstance(each.action, act.Die)}
    left = {step: {*_still(m, step, died)} for step in DOCUMENTED}
    begun: dict[str, None] = {}
    for passed in way:
        step = next((name for name in DOCUMENTED if passed.action in left[name]), None)
        if step is not None and isinstance(passed.action, act.BY_OPERATOR):
            begun[step] = None
            left[step].discard(passed.action)
    return tuple(begun), frozenset(step for step in begun if not left[step])


def _still(m: RecoveryMode, step: str, died: Iterable[str]) -> Iterator[Any]:
    """What a step is made of where more nodes have died: they are removed, too."""
    yield from (a for a in actions_of(m, (step,)) if getattr(a, "node", "") not in died)
    if step == "remove":
        yield from map(act.Remove, died)


def checklist(m: RecoveryMode, s: ModeState, way: Sequence[PassedStep]) -> tuple[ChecklistRow, ...]:
    """Every documented step; the harm of the first that was not taken in its place stands there.

    It is that of the steps so far, with those that are still to come behind them as documented.
    """
    begun, ended = taken(m, way)
    last = max(map(DOCUMENTED.index, begun), default=-1)
    ahead = [step for step in DOCUMENTED[last + 1 :] if step not in begun]
    harm = _harm((*begun, *ahead))
    listed = []
    for at, step in enumerate(DOCUMENTED):
        skipped = at < last and step not in begun
        progress = "done" if step in ended else "begun" if step in begun else ""
        said = harm.sentence if step == harm.missing else ""
        listed.append(ChecklistRow(step, progress or ("left out" if skipped else "to do"), said))
    end = "done" if s.is_whole else "to do"
    return (*listed, ChecklistRow("the Raft upgrade ends", end))


@cache
def _harm(order: tuple[str, ...]) -> Harm:
    return order_harm(order)
