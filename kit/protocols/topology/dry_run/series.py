"""Dumps of ``system.topology`` in the order of time: does the model lead from each to the next?

What is compared is the transition state, and of each node its state and what it asks for. Nodes
that stand still all the time are left out but for two: they only answer. Numbers of versions and
sessions are not compared. Which operation a node went through is told by its states and requests;
where they leave it open, each that fits is tried.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise, product
from typing import Any

from msgspec import Struct

from kit.edge.paths import Readable
from kit.errors import BadInput, counted
from kit.operators.explain import Question, Seen, Sight, Values
from kit.operators.importers.system_tables import beginnings
from kit.protocols.group0.rules.releases import NEWEST, supported
from kit.protocols.topology.control import MOST_FAULTS
from kit.protocols.topology.dry_run.explaining import MOST_OPERATIONS, MOST_WAYS, STAY, in_one_order
from kit.protocols.topology.dry_run.opening import OpenedTopology, asked_by, open_topology
from kit.protocols.topology.rules.cluster import NO_ROW, Setting
from kit.protocols.topology.rules.columns import JOINING, MEMBERS, SystemTopologyRow
from kit.protocols.topology.rules.machines import Edition, transition_state
from kit.protocols.topology.topology import Topology

LEAVING = ("leave", "remove")
OF_ALL = ("cleanup", "new_cdc_generation")
"""Requests of the whole cluster that this model plays; ``tablets`` has the others."""


class History(Struct, frozen=True):
    """The rows of one node in the dumps, in turn; None where it has none yet."""

    host: str
    rows: tuple[SystemTopologyRow | None, ...]

    @property
    def states(self) -> list[str]:
        """Its states."""
        return [NO_ROW if row is None else row.node_state or NO_ROW for row in self.rows]

    @property
    def owns_nothing(self) -> bool:
        """Whether it is a zero-token node."""
        rows = [row for row in self.rows if row is not None]
        return all(row.num_tokens == 0 and not row.tokens_string for row in rows)

    @property
    def begins(self) -> str:
        """Its state before all that was seen."""
        first = self.states[0]
        return "normal" if first in MEMBERS and first not in JOINING else NO_ROW

    @property
    def stands_still(self) -> bool:
        """Whether nothing at all happens to it."""
        return {*self.states} == {"normal"} and not self.requests

    @property
    def requests(self) -> dict[str, int]:
        """Its requests, each with the dump that first shows it."""
        rows = [(at, row) for at, row in enumerate(self.rows) if row is not None]
        return {kind: at for at, row in reversed(rows) if (kind := asked_by(row))}


def of_dumps(
    files: Sequence[Readable], edition: Edition, anonymize: bool, release: str = ""
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """The question whether the tables follow one another, and lines to read first.

    Raises BadInput for a file that is not well formed or is of another cluster, a version that
    decreases, a state that is not modelled, or too many operations.
    """
    opened = [open_topology(each, edition=edition, anonymize=anonymize) for each in files]
    _check_order(opened)
    rows = [{row.host_id: row for row in each.table.rows} for each in opened]
    hosts = sorted({host for each in rows for host in each})
    every = [History(host, tuple(each.get(host) for each in rows)) for host in hosts]
    every = [each for each in every if each.states[0] != "left"]
    replaced = {row.replaced_id for each in every for row in each.rows if row}
    still, moving = list[History](), list[History]()
    for each in every:
        (still if each.stands_still and each.host not in replaced else moving).append(each)
    # Who is ignored is dead: for each that is played one more lives, so that there is a majority.
    ignored = {*opened[0].table.ignore_nodes}
    living = [each for each in still if each.host not in ignored]
    dead = sum(each.host in ignored for each in moving)
    names, played = beginnings(hosts), [*living[: STAY + dead], *moving]
    seen = tuple(_sighting(each, played, at, names) for at, each in enumerate(opened))
    held = f"{counted(len(opened), 'dump')}: {counted(len(every), 'node')}"
    about = [
        f"{held}, of which {len(still):,} do not change",
        "compared: the transition state, and each node's state and request",
        "assumed: no node dies except those that others remove or replace",
        *dict.fromkeys(line for each in opened for line in each.warnings),
    ]
    if all(not each.values["state"] for each in seen) and not moving:
        return (), tuple(about)
    states = [str(each.values["state"]) for each in seen]
    setting = Setting(edition, release=supported(release or NEWEST))
    models = [*_models(opened, played, states, names, setting)]
    ways = tuple((model, Sight(_reads, steps=in_one_order)) for model in models)
    return (Question("tables", seen, ways),), tuple(about)


def _check_order(opened: Sequence[OpenedTopology]) -> None:
    for before, after in pairwise(opened):
        old, new = before.table.version, after.table.version
        assert old is not None
        assert new is not None
        if new < old:
            allowed = f"dumps in chronological order; {before.source} has version {old}"
            raise BadInput(f"{after.source} version", new, allowed)
        ids = [{row.host_id for row in each.table.rows} for each in (before, after)]
        if not ids[0] & ids[1]:
            allowed = f"a dump of the same cluster as {before.source}; they have no node in common"
            raise BadInput("dump", after.source, allowed)


def _reads(model: Topology, s: Any) -> Values:
    nodes = dict(zip(model.names, s.topology.nodes, strict=True))
    return {
        "state": s.topology.transition,
        **{name: entry.state for name, entry in nodes.items()},
        **{f"{name} asks": entry.request for name, entry in nodes.items()},
    }


def _sighting(
    opened: OpenedTopology, played: Sequence[History], at: int, names: Mapping[str, str]
) -> Seen:
    stored = opened.table.transition_state
    if (state := transition_state(stored or "")) and not state.played:
        raise BadInput(f"{opened.source} transition_state", stored, "a modelled state")
    values = {"state": state.name if state else ""}
    for each in played:
        row, name = each.rows[at], names[each.host]
        values[name] = each.states[at]
        values[f"{name} asks"] = (row.topology_request or "") if row else ""
    return Seen(opened.source, values)


def _start_of(each: History) -> tuple[int, int]:
    others = [at for at, state in enumerate(each.states) if state != each.begins]
    changed = min(others, default=len(each.states))
    return min([*each.requests.values(), changed]), changed


def _ways(
    each: History, gone: Sequence[str], names: Mapping[str, str]
) -> Sequence[tuple[str, ...]]:
    name = names[each.host]
    rows = [row for row in each.rows if row is not None]
    kinds = sorted(each.requests, key=each.requests.__getitem__)
    if each.begins == NO_ROW:
        taken = {row.replaced_id for row in rows}
        replaced = [name for host, name in names.items() if host in taken]
        zero = " --zero-token" if each.owns_nothing and each.states[-1] == "normal" else ""
        joins = [(f"join {name}{zero}",)]
        replaces = [(f"replace {name} {old}{zero}",) for old in replaced or gone]
        if "join" in kinds:
            return joins
        return replaces if replaced else [*joins, *replaces]
    if kinds:
        return [tuple(f"{kind} {name}" for kind in kinds)]
    return [*((f"{kind} {name}",) for kind in LEAVING), ()]


def _of_all(opened: Sequence[OpenedTopology]) -> Iterator[str]:
    under_way = {
        each.table.global_topology_request_id: each.table.global_topology_request
        for each in opened
        if each.table.global_topology_request
    }
    for kind in under_way.values():
        if kind not in OF_ALL:
            raise BadInput("global_topology_request", kind, " or ".join(OF_ALL))
        yield kind


def _models(
    opened: Sequence[OpenedTopology],
    played: Sequence[History],
    states: Sequence[str],
    names: Mapping[str, str],
    setting: Setting,
) -> Iterator[Topology]:
    """Raises BadInput for too many operations, or one that this model does not play."""
    members = [each for each in played if each.begins == "normal"]
    moving = sorted((each for each in played if not each.stands_still), key=_start_of)
    if len(moving) > MOST_OPERATIONS:
        allowed = f"dumps in which at most {MOST_OPERATIONS} nodes change; take dumps more often"
        raise BadInput("dumps", f"{len(moving)} nodes", allowed)
    gone = [names[each.host] for each in members if each.states[-1] != "normal"]
    failed = any(
        each.states[-1] == "left" if each.begins == NO_ROW else names[each.host] not in gone
        for each in moving
    )
    of_all = tuple(_of_all(opened))
    known = tuple(names[each.host] for each in members)
    ignored = {names.get(host) for host in opened[0].table.ignore_nodes}
    down = tuple(name for name in known if name in ignored)
    for row in islice(product(*(_ways(each, gone, names) for each in moving)), MOST_WAYS):
        wanted = [request for way in row for request in way]
        if all(any(name in request.split() for request in wanted) for name in gone):
            yield Topology(
                edition=setting.edition,
                release=setting.release,
                nodes=len(known),
                names=known,
                zero_tokens=tuple(names[each.host] for each in members if each.owns_nothing),
                operations=(*wanted, *of_all, *(["lock"] if "lock" in states else [])),
                ignored=down,
                tablets=min(MOST_FAULTS, states.count("tablet_migration")),
                resizes=min(MOST_FAULTS, states.count("tablet_resize_finalization")),
                on_tablets=tuple(gone) if "tablet_draining" in states else (),
                failures=int(failed),
                down=down,
                crashes=sum(each.startswith(("remove ", "replace ")) for each in wanted),
            )
