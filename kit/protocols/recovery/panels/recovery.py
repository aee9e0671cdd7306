"""A recovery: nodes and their groups with the gossip between them, what each has persisted, groups,
data by range, causality.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

from msgspec import Struct

from kit.errors import are
from kit.masks import is_majority, majority, nodes_in
from kit.protocols.recovery import facts, recovery, recovery_mode
from kit.protocols.recovery.facts import ChecklistRow, EffectRow, ModeRow, PersistedRow
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY, OLD
from kit.protocols.recovery.panels.stage import MODE_STAGE, STAGE, states_of
from kit.protocols.recovery.recovering_cluster import ENDS, LEAVES, RecoveryState
from kit.protocols.topology.panels.states import diagram
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, Machine
from kit.views.declared import Badges, Column, Drawn, Table, of_state, panel_of
from kit.views.diagrams import START, Standing, state_panel
from kit.views.fragment import Frag, h
from kit.views.logs import log_panel
from kit.views.panel import Panel, Scene, alternative
from kit.views.parts import bulb, lamp, scroll
from kit.views.registry import staged


def standing(scene: Scene) -> Standing | None:
    """The state of the operation in its machine in which they died; None where there was none."""
    m = scene.model
    if not m.operation:
        return None
    machine = MACHINES[m.edition][LEAVES]
    path = list(_way_to(machine, m.reached))
    path += (s.operation for s in states_of(scene) if s.is_under_way)
    if ending := ENDS.get(scene.state.operation):
        ends = (edge for edge in machine.edges if edge.becomes == ending)
        path.append(next(e.becomes if e.target == BOUNDARY else e.target for e in ends))
    return Standing(diagram(machine, m.edition), tuple(name for name, _ in groupby(path)))


def _way_to(machine: Machine, state: str) -> Iterator[str]:
    at, name = machine.begins, START
    while name != state:
        yield name
        name = at.target
        at = machine.edge(name, "happy") or at
    yield name


OPERATION_PANEL = state_panel(
    "operation",
    "The operation that was in progress",
    standing,
    "No operation was in progress when the nodes died.",
    tab="Operation",
)


LEFT, RIGHT, TOP, HEIGHT = 34.0, 20.0, 34.0, 150.0
STEP = 28.0
WHAT = "The newest schema version that a driver sees. The majority is lost at step 0."
EXPECTED = "an effect outside the recovery, not a broken promise"


class DriverPoint(Struct, frozen=True):
    """A moment: its step, and the newest version that is seen then.

    Step 0 is the start, when the majority is lost; -1 is before that. A version is a count of
    entries; None where nobody answers. ``was`` is what was seen before.
    """

    step: int
    version: int | None
    was: int | None

    @property
    def goes_back(self) -> bool:
        """Whether a driver has seen a newer version before."""
        return self.version is not None and self.was is not None and self.version < self.was


def driver_points(states: Iterable[RecoveryState]) -> tuple[DriverPoint, ...]:
    """The view of a driver in each state of a run, after that before the disaster."""
    points: list[DriverPoint] = []
    for at, s in enumerate(states):
        points = points or [DriverPoint(-1, s.entries, None)]
        answering = (n.index for n in s.nodes if n.takes_part and n.group != NO_GROUP)
        version = max(answering, default=None)
        last = points[-1].was if points[-1].version is None else points[-1].version
        points.append(DriverPoint(at, version, last))
    return tuple(points)


def _draw_versions(scene: Scene) -> Frag:
    points = driver_points(states_of(scene))
    seen = sorted({p.version for p in points if p.version is not None})
    width = LEFT + STEP * len(points) + RIGHT
    heights = {version: TOP + (HEIGHT - TOP) * (len(seen) - at - 0.5) / len(seen)
               for at, version in enumerate(seen)}  # fmt: skip
    return scroll(
        "versions that a driver sees",
        h("p", WHAT),
        h(
            "svg",
            [h("text", str(version), x=LEFT - 8, y=y + 4, text_anchor="end", class_="strong")
             for version, y in heights.items()],
            h("path", d=_line(points, heights), class_="message"),
            [_point(point, heights) for point in points],
            viewBox=f"0 0 {width:.0f} {HEIGHT + 24:.0f}",
            width=width,
            role="img",
            aria_label=alternative("versions that a driver sees", _versions_text(scene)),
        ),
        [h("p", line) for line in _backwards(points)],
    )  # fmt: skip


def _x(point: DriverPoint) -> float:
    return LEFT + STEP * (point.step + 1)


def _line(points: Sequence[DriverPoint], heights: dict[int, float]) -> str:
    seen = [(_x(each), heights[each.version]) for each in points if each.version is not None]
    return "M" + "L".join(f"{x:.0f} {y:.1f}H{x + STEP:.0f}" for x, y in seen)


def _point(point: DriverPoint, heights: dict[int, float]) -> Frag:
    sign = "▼" if point.goes_back else "?" if point.version is None else ""
    y = TOP if point.version is None else heights[point.version]
    number = str(point.step) if point.step >= 0 else ""
    return h(
        "g",
        h("text", number, x=STEP / 2, y=HEIGHT + 16, text_anchor="middle", class_="soft"),
        h("text", sign, x=0, y=y - 8, text_anchor="middle", class_="strong") if sign else None,
        transform=f"translate({_x(point):.0f} 0)",
    )


def _backwards(points: Sequence[DriverPoint]) -> list[str]:
    return [
        f"Step {point.step}: the version goes back from {point.was} to {point.version} "
        f"({EXPECTED})."
        for point in points
        if point.goes_back
    ]


def _versions_text(scene: Scene) -> str:
    points = driver_points(states_of(scene))
    lines = [f"  before the majority was lost: {points[0].version}"]
    for point in points[1:]:
        if point.version is None:
            lines.append(f"  step {point.step}: no node answers")
        elif point.version != point.was:
            lines.append(f"  step {point.step}: {point.version}")
    return "\n".join([*lines, *(f"  {line}" for line in _backwards(points))])


DRIVER = Panel("driver", "What a driver sees", _draw_versions, _versions_text, tab="Driver")


# -- tables ----------------------------------------------------------------------------------------


def _data(row: PersistedRow) -> tuple[str, ...]:
    dangling = row.dangling
    return tuple(f"column {c + 1}{' !' * (dangling >> c & 1)}" for c in nodes_in(row.node.data))


def _number(group: str) -> str:
    return group.replace("the old group", "old").removeprefix("group ")


def _groups(scene: Scene) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...], bool, str]]:
    m, s = scene.model, scene.state
    for group, members in enumerate(s.groups):
        sides = [s.running(group, walled_off) for walled_off in (False, True)]
        running, voters = sides[0] | sides[1], s.voters_of(group)
        needed = majority(voters.bit_count())
        given_up = group <= s.abandoned and (group > OLD or s.leader != NOBODY)
        majority_is = f"{needed} {are(needed)} needed{', the group is given up' * given_up}"
        run = f"{(running & voters).bit_count()} of {voters.bit_count()} voters run; {majority_is}"
        vote = "votes" if voters.bit_count() == 1 else "vote"
        said = run if voters == members else f"{', '.join(m.named(voters))} {vote}: {run}"
        able = any(is_majority(side, voters) for side in sides)
        yield m.group_name(group), m.named(members), m.named(running), able, said


def _level(level: str) -> Column:
    yes, no = f"{level} available", f"{level} unavailable"
    return Column(level, lambda row: lamp(level in row.levels, yes, no))


RANGES = panel_of(
    "ranges",
    "Availability of data",
    Table(
        of_state(facts.ranges),
        "range:{0.label}",
        ("range", "replicas", Column("up", "live", none="none"), *map(_level, facts.SHOWN)),
        caption=lambda scene: f"Data by range, RF {scene.model.rf}",
    ),
    tab="Data",
)
"""A row for each range: its replicas, which are up, and a lamp for each level."""


def _needs(row: EffectRow) -> str:
    if row.is_known:
        return f"← entry {row.column}, persisted on {row.node}"
    return f"? entry {row.column} is unknown in {row.group or row.node}"


# -- badges ----------------------------------------------------------------------------------------


def _badges(scene: Scene) -> Badges:
    able, ranges = scene.state.can_change_schema, scene.of(facts.ranges)
    met = sum("QUORUM" in row.levels for row in ranges)
    yield "schema", *(("✓ schema changes", "") if able else ("! no schema changes", "alarm"))
    less = f"! QUORUM in {met} of {len(ranges)}", "alarm", "so many of the ranges"
    yield "data", *(("✓ data at QUORUM", "") if met == len(ranges) else less)


VIEWS = staged(
    _badges,
    STAGE,
    panel_of(
        "rows",
        "What each node has persisted",
        Table(
            of_state(facts.persisted),
            "row:{0.name}",
            (
                Column("node", lambda row: "★" * row.leads + row.name),
                Column("runs in", lambda row: _number(row.where)),
                Column("group id", lambda row: _number(row.group_id)),
                Column("discovery", lambda row: not row.node.looks_for_group),
                Column("commit index", "node.index"),
                Column("recovery_leader", "option"),
                Column("data in", _data),
                Column("old rows", "node.old_rows"),
            ),
            caption="What each node has persisted (★ leads)",
            of="{0.name}",
        ),
        still=True,
        tab="Persisted",
    ),
    panel_of(
        "groups",
        "Group membership",
        Table(
            _groups,
            "group:{0[0]}",
            (
                "group",
                Column("members", itemgetter(1), none="none"),
                Column("running", itemgetter(2), none="none"),
                Column("commits", lambda row: lamp(row[3], "can commit", "cannot commit")),
                Column("majority", itemgetter(4)),
            ),
            caption="Members of each group 0",
        ),
        tab="Groups",
    ),
    RANGES,
    panel_of(
        "gossip",
        "Gossip",
        Table(
            lambda scene: facts.gossip(scene.model, scene.state),
            "gossip:{0[0]}:{0[1]}",
            (
                Column("nodes", "{0[0]} ↔ {0[1]}".format),
                Column("gossip", lambda row: lamp(row[2], "accepted", "rejected")),
                Column("why", itemgetter(3)),
            ),
            caption="Which nodes accept each other's gossip",
            empty="No two nodes are up.",
        ),
        tab="Gossip",
    ),
    panel_of(
        "causality",
        "Causality",
        Table(
            lambda scene: facts.effects(scene.model, scene.state),
            "effect:{0.node}:{0.column}",
            (
                Column("data", "column {0.column} on {0.node}".format),
                Column("known", lambda row: lamp(row.is_known, "known", "dangling")),
                Column("needs", _needs),
            ),
            caption="Data and the entries that it needs",
            empty="No data depends on an entry yet.",
        ),
        tab="Causality",
    ),
    OPERATION_PANEL,
    DRIVER,
    log_panel(recovery.LOG),
)


MARKS = {"done": "✓", "begun": "…", "left out": "!", "to do": "–"}


COLUMNS = (
    Column("node", "name"),
    Column("mode", lambda row: row.mode.removesuffix(" mode")),
    Column("group0_upgrade_state", lambda row: row.node.value.replace("_", "_\u200b"), "no row"),
    Column("raft_group0_id", lambda row: _number(row.group_id)),
    Column("runs in", lambda row: _number(row.group)),
)
OTHERS = (
    Column("discovery", lambda row: " ".join(row.discovery)),
    Column("group0_history", lambda row: f"up to {row.node.history}" if row.node.history else ""),
    Column("schema version", "node.version_text"),
    Column("committed_by_group0", lambda row: str(not row.node.hashed).lower()),
)


def _cells(row: ModeRow) -> str:
    cells = (f"{column.head} {column.cell(row)}" for column in COLUMNS[1:])
    said = f"{', '.join(cells)} ({facts.DIAGNOSES[row.node.value]})"
    return f"{row.name}: {said}".replace("\u200b", "")


def _steps(scene: Scene) -> tuple[ChecklistRow, ...]:
    return scene.once("steps", lambda: facts.checklist(scene.model, scene.state, scene.way()))


def _draw_steps(scene: Scene) -> Frag:
    return h(
        "ol",
        [
            h(
                "li",
                bulb(MARKS[progress], progress),
                f" {name}",
                h("p", harm, class_="witness") if harm else None,
                k=f"step:{name}",
            )
            for name, progress, harm in _steps(scene)
        ],
    )


def _step_words(scene: Scene) -> Iterator[str]:
    for name, progress, harm in _steps(scene):
        yield f"{name}: {progress}{f' ({harm})' if harm else ''}"


MODE_VIEWS = staged(
    _badges,
    MODE_STAGE,
    panel_of(
        "rows",
        "System tables of each node",
        Table(
            of_state(facts.rows),
            "row:{0.name}",
            COLUMNS,
            caption="The mode of each node, and its tables",
            of="{0.name}",
            line=_cells,
        ),
        still=True,
        tab="Tables",
    ),
    panel_of(
        "others",
        "Discovery, history and schema of each node",
        Table(of_state(facts.rows), "others:{0.name}", (COLUMNS[0], *OTHERS), of="{0.name}"),
        tab="More tables",
    ),
    panel_of("checklist", "The documented steps", Drawn(_draw_steps, _step_words), tab="Checklist"),
    log_panel(recovery_mode.LOG),
    RANGES,
)
