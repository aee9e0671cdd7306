"""Snapshots and dumps as observations: does the model have a run from each to the next one?

Each tablet is looked at for itself, in a cluster of the same nodes: what kept others from moving is
not judged. Any legal move may have begun, not only what a balancer would choose. A tablet that
stands still needs no steps; a table that was split or merged meanwhile is left out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

from kit.edge.paths import Readable
from kit.errors import BadInput, counted
from kit.operators.explain import Question, Seen, Sight, Values
from kit.operators.importers.system_tables import TabletLine
from kit.protocols.group0.rules.releases import NEWEST, supported
from kit.protocols.tablets.cluster import TabletsState
from kit.protocols.tablets.dry_run.series import Moment, names_in, opened_moments
from kit.protocols.tablets.rules.balance.cluster import DRAINED
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.control import MOST_FAULTS
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, Edition, Machine
from kit.protocols.topology.rules.requests import MOST_NODES
from kit.protocols.topology.topology import CrashMember, Topology

MOST_SEARCHED = 200
"""Tablets that are searched in one call: each has its own model."""
RESTART = Topology.restart_member.struct
KINDS = ("migration", "intranode_migration", "repair")
Names = Mapping[str, str]


def _reads(model: Tablets, s: TabletsState) -> Values:
    [row] = s.tablets
    ways = row.transitions[:1]
    masks = {"up": s.control.up, "excluded": s.control.topology.ignored}
    return {
        **{
            f"{name} {what}": bool(mask >> at & 1)
            for what, mask in masks.items()
            for at, name in enumerate(model.names)
        },
        "replicas": frozenset(map(str, row.replicas)),
        "new_replicas": frozenset(str(each) for way in ways for each in way.new),
        "transition": "".join(way.kind for way in ways),
        "stage": "".join(way.stage for way in ways),
    }


def _distance(edition: Edition) -> Callable[[Values, Values], int]:
    places = {
        (kind, state.name): place
        for kind, machine in TRANSITIONS[edition].items()
        for place, state in enumerate(machine.states)
    }
    longest = max(places.values()) + 1

    def place(values: Values) -> int:
        return places.get((values["transition"], values["stage"]), longest)

    def distance(values: Values, wanted: Values) -> int:
        heading, goal = (each["new_replicas"] or each["replicas"] for each in (values, wanted))
        others: int = sum(" " in name and values[name] != wanted[name] for name in wanted)
        early = sum(name.endswith(" excluded") and values[name] > wanted[name] for name in wanted)
        apart = len(heading ^ goal) + early
        stages: int = longest * apart + abs(place(values) - place(wanted))
        return stages + others

    return distance


FAR = {edition: _distance(edition) for edition in EDITIONS}


def of_snapshots(
    files: Sequence[Readable], edition: Edition, anonymize: bool, release: str = ""
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """A question for each tablet that changed or is in transition, and lines to read first.
    BadInput for files that are not well formed, of several clusters, or too many tablets that
    changed.
    """
    moments = opened_moments(files, edition, anonymize, release or NEWEST)
    rows: dict[tuple[str, int], list[TabletLine]] = {}
    left_out: dict[str, str] = {}
    for table in dict.fromkeys(name for moment in moments for name in moment.rows):
        each_time = [moment.rows[table] for moment in moments if table in moment.rows]
        if len(each_time) < len(moments):
            left_out[table] = "not every moment has it"
            continue
        lasts, *others = (sorted(each) for each in each_time)
        if any(each != lasts for each in others):
            left_out[table] = "it was split or merged in between"
            continue
        for at, last in enumerate(lasts):
            rows[table, at] = [each[last] for each in each_time]
    shrinks = {place for place, lines in rows.items() if any(b < a for a, b in _counts(lines))}
    for table, at in sorted(shrinks):
        del rows[table, at]
        left_out[f"{table} {at}"] = (
            "it loses a replica, as with a lower RF, which no step here does"
        )
    moving = {place: lines for place, lines in rows.items() if not _still(lines)}
    if len(moving) > MOST_SEARCHED:
        allowed = (
            f"at most {MOST_SEARCHED} tablets that changed; try fewer snapshots, closer together"
        )
        raise BadInput("snapshots", f"{len(moving):,} tablets", allowed)
    names = names_in(moments)
    if len(names) > MOST_NODES:
        raise BadInput("nodes", len(names), f"at most {MOST_NODES}")
    held = f"{counted(len(moments), 'moment')}: {counted(len(rows), 'tablet')}"
    about = [
        f"{held}, of which {len(moving):,} changed or are in transition",
        "assumed: no node dies or comes back unless a moment shows it",
        "assumed: no tablet passes through a place that no moment shows, or moves without need",
        *(f"left out because {why}: {name}" for name, why in left_out.items()),
        *dict.fromkeys(line for moment in moments for line in moment.opened.warnings),
    ]
    questions = tuple(
        _question(f"{table} {at}", lines, moments, names) for (table, at), lines in moving.items()
    )
    return questions, tuple(about)


def _still(lines: Sequence[TabletLine]) -> bool:
    places = {frozenset(line.replicas) for line in lines}
    return len(places) == 1 and not any(line.transition for line in lines)


def _counts(lines: Sequence[TabletLine]) -> Iterator[tuple[int, int]]:
    yield from pairwise(len(line.replicas) for line in lines)
    yield from ((len(line.replicas), len(line.new_replicas or line.replicas)) for line in lines)


def _places(places: Sequence[tuple[str, int]], names: Names) -> list[str]:
    return [f"{names[host]}:{shard}" for host, shard in places]


def _question(
    name: str, lines: Sequence[TabletLine], moments: Sequence[Moment], names: Names
) -> Question:
    model = _model(lines, moments, names)
    ups = [moment.up for moment in moments]
    falls = {host for up in ups for host in up if not up[host]}
    rises = {
        host
        for before, up in pairwise(ups)
        for host in before
        if not before[host] and up.get(host, False)
    }
    mortal, back = ({names[host] for host in hosts} for hosts in (falls, rises))

    every = (_places((*line.replicas, *line.new_replicas), names) for line in lines)
    places = {"", *chain.from_iterable(every)}

    def may_be(action: Any) -> bool:
        """Nobody dies or comes back of whom that was not seen, and nothing moves elsewhere."""
        if isinstance(action, Tablets.begin_transition.struct):
            return {action.source, action.target} <= places
        if isinstance(action, CrashMember):
            return action.node in mortal
        return not isinstance(action, RESTART) or action.node in back

    def steps(m: Tablets, s: TabletsState) -> Iterator[tuple[Any, TabletsState]]:
        return (each for each in m.successors(s) if may_be(each[0]))

    sight = Sight(_reads, distance=FAR[model.edition], steps=steps)
    return Question(name, _seen_states(lines, moments, names), ((model, sight),))


def _seen_states(
    lines: Sequence[TabletLine], moments: Sequence[Moment], names: Names
) -> tuple[Seen, ...]:
    nodes = (
        {
            f"{names[host]} {what}": each
            for what, values in (("up", m.up), ("excluded", m.excluded))
            for host, each in values.items()
        }
        for m in moments
    )
    return tuple(
        Seen(
            line.line,
            {
                **who,
                "replicas": frozenset(_places(line.replicas, names)),
                "new_replicas": frozenset(
                    _places(line.new_replicas or line.replicas, names) if line.transition else ()
                ),
                "transition": line.transition,
                "stage": line.stage if line.transition else "",
            },
        )
        for line, who in zip(lines, nodes, strict=True)
    )


def _begun(lines: Sequence[TabletLine]) -> int:
    moves = int(bool(lines[0].transition))
    for before, after in pairwise(lines):
        heading, goal = ({*each.new_replicas} for each in (before, after))
        came = {*after.replicas} - heading - {*before.replicas}
        moves += len(came) + (len(goal - {*after.replicas}) if came or goal != heading else 0)
        moves += after.transition == "repair" and before.stage not in ("repair", after.stage)
    return moves


def _back(machine: Machine) -> set[str]:
    happy = [edge for edge in machine.edges if edge.kind == "happy"]
    reached = {edge.target for edge in happy if edge.source == BOUNDARY}
    while more := {e.target for e in happy if e.source in reached} - reached:
        reached |= more
    return {state.name for state in machine.states} - reached


def _returned(lines: Sequence[TabletLine]) -> bool:
    heading = [frozenset(line.new_replicas or line.replicas) for line in lines]
    held = [frozenset(line.replicas) for line in lines]
    return any(heading[at] != held[at] and held[at] in heading[at:] for at in range(len(lines)))


def _model(lines: Sequence[TabletLine], moments: Sequence[Moment], names: Names) -> Tablets:
    first = moments[0].opened
    gone = {host for moment in moments for host in moment.opened.down}
    excluded = [
        {node.host for node in moment.opened.nodes if node.role == "excluded"} for moment in moments
    ]
    shards = [shard for line in lines for _, shard in (*line.replicas, *line.new_replicas)]
    kinds = {line.transition for line in lines} & {*KINDS}
    down = [{host for host, up in moment.up.items() if not up} for moment in moments]
    died = [now - before for before, now in pairwise([set(), *down])]
    roles = {node.host: node.role for node in moments[-1].opened.nodes}
    held = {host for line in lines for host, _ in (*line.replicas, *line.new_replicas)}
    leavers = {host for host in held if roles.get(host, "left") in DRAINED}
    removed = leavers & gone
    # Whoever was down and is there no more was given up, even if no moment shows it.
    left = set().union(*down) - {n.host for n in moments[-1].opened.nodes if n.role != "left"}
    later = left.difference(removed).union(*excluded) - excluded[0]
    way_back = {each for machine in TRANSITIONS[first.edition].values() for each in _back(machine)}
    went_back = any(line.stage in way_back for line in lines) or _returned(lines)
    return Tablets(
        edition=first.edition,
        release=supported(first.release),
        nodes=len(names),
        names=tuple(names.values()),
        tablets=(" ".join(_places(lines[0].replicas, names)),),
        shards=max(2, *(shard + 1 for shard in shards)),
        kinds=(*sorted(kinds | {"migration", "intranode_migration"}),)
        + (("add_tablet_replica",) if any(b > a for a, b in _counts(lines)) else ()),
        moves=min(MOST_FAULTS, _begun(lines) + went_back),
        operations=tuple(
            f"{'removenode' if host in gone else 'decommission'} {names[host]}"
            for host in sorted(leavers)
        ),
        down=tuple(sorted(names[host] for host in removed)),
        ignored=tuple(sorted(names[host] for host in excluded[0])),
        exclusions=min(MOST_FAULTS, len(later)),
        failures=int(went_back),
        crashes=min(MOST_FAULTS, sum(len(each - removed) for each in died)),
    )
