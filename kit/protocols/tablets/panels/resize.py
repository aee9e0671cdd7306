"""The panels of a resize: the grid, the average against both thresholds, readiness, siblings."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import counted
from kit.protocols.tablets.facts import resize as facts
from kit.protocols.tablets.facts.resize import Readiness
from kit.protocols.tablets.hosts import LOG
from kit.protocols.tablets.panels import plans
from kit.protocols.tablets.panels.grid import grid_panel
from kit.protocols.tablets.resize import NOT_POLLED, Resize
from kit.protocols.tablets.rules import maps
from kit.protocols.tablets.rules.replica_sets import Replicas, TabletReplica
from kit.protocols.tablets.rules.resize import resize_said
from kit.protocols.topology.panels.states import diagram
from kit.protocols.topology.rules.editions import MACHINES
from kit.views import declared
from kit.views.diagrams import END, START, Standing, state_panel
from kit.views.fragment import Frag, Kid, h
from kit.views.gate import Gate
from kit.views.panel import Scene
from kit.views.parts import bulb, volume
from kit.views.promises import LAMPS
from kit.views.registry import Views

PHASES = {
    "": "not begun",
    "barrier": "the barrier before the new map",
    "commit": "the new map can be committed",
    "after": "the barrier after the new map",
}


# -- the average on a line with both thresholds, the decision, what it waits for -------------------


def _sizes(scene: Scene) -> Iterator[tuple[str, str]]:
    size = scene.model.size_of(scene.state)
    size = replace(size, bytes=facts.in_bytes(size.bytes))
    total, table, tablet = map(volume, (size.bytes, size.average_table, size.average_tablet))
    yield "one copy", f"{total} in total ÷ {counted(size.replicas, 'replica')} = {table}"
    yield "one tablet", f"{table} ÷ {counted(size.count, 'tablet')} = {tablet}"
    yield "average", f"{scene.state.average} % of the target size"
    kept = f"on: no merge until there are more than {counted(size.initial, 'tablet')}"
    yield "growing mode", kept if size.growing else "off"


def _words(scene: Scene) -> Iterator[tuple[str, str]]:
    s, due, blocked = scene.state, scene.model.decision(scene.state), scene.of(facts.blocked)
    kind, number = s.map.resize_type, s.map.resize_seq_number
    yield "decision", f"{kind}, number {number}"
    yield "sizes ask for", f"{due.resize_type}: {resize_said(due.reason)}"
    yield "transition", s.transition or "null"
    drained = ": {} of {} drained".format(*_barrier(scene)) if any(_barrier(scene)) else ""
    yield "finalization", PHASES[s.phase] + drained
    if kind == "split":
        replicas = scene.of(facts.readiness)
        ready = sum(each.is_ready for each in replicas)
        awaited = sum(not each.is_ignored for each in replicas)
        yield "ready", f"{ready} of {counted(awaited, 'replica')}"
        seen = f"every replica has reported number {number}"
        yield "polled", seen if s.polled == number else "not every replica has reported it yet"
    if kind == "merge":
        every = pairs(scene)
        yield "pairs apart", f"{sum(bool(pair.moves) for pair in every)} of {len(every)}"
    if blocked:
        evidence = ", ".join(blocked.evidence)
        yield "waits", ": ".join(filter(None, (blocked.reason, evidence)))


def _barrier(scene: Scene) -> tuple[int, int]:
    there, missing = scene.of(facts.drained)
    return len(there), len(there) + len(missing)


def _limits(scene: Scene) -> str:
    limits = scene.model.limits
    return f"merge below {limits.merge_below} %, split above {limits.split_above} %"


def _sized(scene: Scene) -> Iterator[tuple[str, int]]:
    limits = scene.model.limits
    for words, at in (("split above", limits.split_above), ("merge below", limits.merge_below)):
        yield f"{at} %: {words}", facts.in_bytes(at)


def _waited_for(scene: Scene) -> str:
    given = scene.state.map
    if given.resize_type == "split":
        return f"the split waits until every replica reports number {given.resize_seq_number}"
    return "no split has been decided, so nothing waits for replicas"


def _look(each: Readiness) -> tuple[str, ...]:
    standing = "ignored" if each.is_ignored else "ready" if each.is_ready else ""
    return "divided" if len(each.groups) > 1 else "whole", f"number {each.number}", standing


def _groups(each: Readiness) -> list[Kid]:
    if len(each.groups) == 1:
        return [f"group {each.groups[0]}"]
    looks = zip(each.groups, ("badge", "badge busy"), strict=True)
    return ["groups ", *(h("span", name, class_=look) for name, look in looks)]


def _behind(scene: Scene, each: Readiness) -> str:
    newest = scene.state.map.count
    return "" if each.count == newest else f"of {each.count}, not yet remapped"


def _ready(scene: Scene, each: Readiness) -> Frag | None:
    if each.is_ready:
        return bulb("✓", "ready")
    if each.is_ignored:
        return h("small", "ignored")
    return bulb("…", "not ready") if scene.state.map.resize_type == "split" else None


def _replicas(scene: Scene) -> Iterator[str]:
    for each in scene.of(facts.readiness):
        behind = _behind(scene, each)
        named = f"compaction groups {' and '.join(each.groups)}"
        said = ", ".join(filter(None, (*_look(each), named, behind)))
        yield f"tablet {each.tablet} at {each.replica}: {said}"


# -- the line of tokens cut into tablets, a bracket over each pair that a merge makes one ----------


class SiblingPair(Struct, frozen=True):
    """Two tablets that a merge would make one, the tokens of both, where each has replicas, and the
    moves of the odd one's (from, to) that bring them together.
    """

    even: int
    odd: int
    tokens: str
    replicas: tuple[Replicas, Replicas]
    moves: tuple[tuple[TabletReplica, TabletReplica], ...]

    @property
    def standing(self) -> str:
        """Whether they are together."""
        ways = ", ".join(f"{source} → {target}" for source, target in self.moves)
        return f"apart: {ways}" if ways else "together"

    @property
    def said(self) -> str:
        """All of it in words."""
        return f"tablets {self.even} and {self.odd}, tokens {self.tokens}: {self.standing}"


def pairs(scene: Scene) -> list[SiblingPair]:
    """Every pair; none where there is one tablet, or a count that is no power of two."""
    given: maps.TabletMap = scene.state.map
    if given.count < 2 or not maps.is_power_of_two(given.count):
        return []
    lasts, tablets = given.last_tokens, given.tablets
    return [
        SiblingPair(
            *(even, odd, f"above {maps.first_token(even, lasts)} up to {lasts[odd]}"),
            (tablets[even].replicas, tablets[odd].replicas),
            maps.colocating(tablets[even], tablets[odd]),
        )
        for even, odd in maps.siblings(given.count)
    ]


def _badges(scene: Scene) -> declared.Badges:
    s = scene.state
    kind, number = s.map.resize_type, s.map.resize_seq_number
    yield "tablets", counted(s.map.count, "tablet"), "plain"
    yield "decision", "" if kind == "none" else f"{kind} {number} is decided", "busy"


def standing(scene: Scene) -> Standing:
    """The state of the tablet track, and the way that it took last."""
    path = [START]
    for step in scene.way():
        old, new = step.before.transition, step.after.transition
        if old != new:
            path = [*([START] if not old else path), new or END]
    return Standing(
        diagram(MACHINES[scene.model.edition]["tablets"], scene.model.edition), tuple(path)
    )


def gates(scene: Scene) -> Iterator[Gate]:
    """What is waited for: the barrier of a finalization, the decision's effect, or the new map."""
    m, s, blocked = scene.model, scene.state, scene.of(facts.blocked)
    if any(_barrier(scene)):
        verb = m.verb(Resize.pass_barrier())
        yield Gate("resize:barrier", verb, "drained", *scene.of(facts.drained), _barrier(scene)[1])
    elif blocked:
        verb, reason = m.verb(Resize.finalize()), blocked.reason
        others, awaited = scene.of(facts.awaited)
        there, missing = (others, awaited) if awaited else ((), ())
        if reason == NOT_POLLED.reason:
            missing = others
        need = max(1, len(there) + len(missing))
        yield Gate("resize:ready", verb, "", there, missing, need, reason)
    elif behind := m.behind(s):
        there = tuple(name for name in m.asked if name not in m.named(behind))
        what = f"the map of {counted(s.map.count, 'tablet')}"
        yield Gate(LOG, what, "applied it", there, m.named(behind), len(m.asked))


def _log_words(scene: Scene) -> str:
    s = scene.state
    kind, number = s.map.resize_type, s.map.resize_seq_number
    decision = f"{kind} {number}" if kind != "none" else ""
    if decision and s.polled == number:
        decision += ", ready"
    phase = s.phase or s.transition.removeprefix("tablet_").removeprefix("resize_")
    tablets = "" if decision and phase else counted(s.map.count, "tablet")
    return f"group 0: {', '.join(filter(None, (tablets, decision, phase)))}"


RESIZE = Views(
    (
        declared.status(_badges, "badges"),
        grid_panel(declared.of_state(facts.grid), lambda scene: {LOG: _log_words(scene)}, _sized),
        declared.panel_of(
            "resize",
            "Resize decision",
            declared.Note(_limits, "limits"),
            declared.Table(
                _words,
                "resize:{0[0]}",
                ("what", "now"),
                caption=lambda scene: f"resize of {scene.state.map.table}",
                line=": ".join,
                headless=True,
            ),
            still=True,
            tab="Resize",
        ),
        declared.panel_of(
            "readiness",
            "Readiness by replica",
            declared.Table(
                declared.of_state(facts.readiness),
                "ready:{0.tablet}:{0.replica}",
                (
                    declared.Column("tablet", "tablet"),
                    declared.Column("replica", "replica"),
                    declared.Column("compaction groups", _groups),
                    declared.Column("map", lambda each: f"of {each.count}"),
                    declared.Column("local number", "number"),
                    declared.Column("ready", draws=_ready),
                ),
                caption=_waited_for,
                of="tablet ks.t {0.tablet}",
                lines=_replicas,
                alike=declared.Alike(lambda each: (*_look(each), f"of {each.count}")),
            ),
            tab="Ready",
        ),
        declared.panel_of(
            "siblings",
            "Siblings along the tokens",
            declared.Table(
                pairs,
                "siblings:{0.even}",
                (
                    declared.Column("siblings", "{0.even}, {0.odd}".format),
                    declared.Column("even", lambda pair: " ".join(map(str, pair.replicas[0]))),
                    declared.Column("odd", lambda pair: " ".join(map(str, pair.replicas[1]))),
                    declared.Column("state", "standing"),
                ),
                caption="pairs that a merge combines",
                of=lambda pair: f"tablet ks.t {pair.odd}",
                line="{0.said}",
                empty="There are no pairs: the tablet count must be a power of two, at least 2.",
                alike=declared.Alike(
                    lambda pair: ("apart" if pair.moves else "together",),
                    lambda scene, pair: bool(pair.moves),
                ),
            ),
            tab="Siblings",
        ),
        declared.panel_of(
            "sizes",
            "Where the average comes from",
            declared.Table(
                _sizes,
                "sizes:{0[0]}",
                ("what", "now"),
                caption=lambda scene: f"sizes of {scene.state.map.table}",
                line=": ".join,
                headless=True,
            ),
            tab="Sizes",
        ),
        state_panel("states", "Transition state", standing, tab="States"),
        plans.RESIZE_LOAD,
        plans.RESIZE_PLAN,
        LAMPS,
    ),
    evidence=("resize",),
    picture="grid",
    table="resize",
    badges="badges",
    gates=gates,
)
