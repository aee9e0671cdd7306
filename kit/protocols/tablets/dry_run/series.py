"""Moments of a cluster, as snapshots or dumps show them, and snapshots as one record.

Nothing is computed of what lies in between: ``kit.explain`` says whether the model has a run there.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.paths import Readable, source_name
from kit.errors import BadInput, counted
from kit.model.flows import Flow, spot
from kit.model.record import ReadOn, Record, RecordState
from kit.operators.importers import system_tables
from kit.operators.importers.snapshots import is_snapshot, read_snapshots
from kit.operators.importers.system_tables import TabletLine
from kit.protocols.group0.rules.releases import NEWEST
from kit.protocols.tablets.dry_run.opening import OpenedTablets, open_tablets, opened_snapshot
from kit.protocols.tablets.dry_run.rehearsal import short_names
from kit.protocols.topology.rules.machines import Edition
from kit.views.busts import Health
from kit.views.declared import Badges, status
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import moved, scroll
from kit.views.registry import Views
from kit.views.stage import Character, Stage, stage_panel

MOST_SHOWN = 200
"""Changes of one step that a list shows."""


class Moment(Struct, frozen=True, dict=True):
    """A snapshot, or a dump alone: what was opened, and the rows of each table by last token. As
    far as it is told, which hosts are ``up``, and which that are down an operator has ``excluded``.
    """

    opened: OpenedTablets
    rows: Mapping[str, Mapping[int, TabletLine]]
    up: Mapping[str, bool] = {}
    excluded: Mapping[str, bool] = {}

    @property
    def version(self) -> int | None:
        """The version of its topology, where that is known."""
        return None if self.opened.topology is None else self.opened.topology.table.version

    @cached_property
    def held(self) -> Mapping[str, int]:
        """How many replicas each host has."""
        held = {node.host: 0 for node in self.opened.nodes}
        for rows in self.rows.values():
            for row in rows.values():
                for host, _ in row.replicas:
                    held[host] += 1
        return held


class Change(Struct, frozen=True):
    """A difference between a moment and the next: of ``what``, in words; where replicas went."""

    what: str
    words: str
    moves: tuple[tuple[str, str], ...] = ()


def opened_moments(
    files: Sequence[Readable], edition: Edition, anonymize: bool = False, release: str = NEWEST
) -> tuple[Moment, ...]:
    """Snapshots in the order of time, or dumps of ``system.tablets`` in the order given. BadInput
    for files that are not well formed, for both kinds together, for one of another cluster than the
    one before it: no node is in both.
    """
    moments: list[Moment] = []
    if all(map(is_snapshot, files)):
        for snapshot in read_snapshots(files, anonymize=anonymize):
            opened = opened_snapshot(snapshot, {}, edition, release)
            loads = snapshot.files.get("loads")
            rows = system_tables.read_loads(loads) if loads else ()
            members = {node.host for node in opened.nodes} - opened.left
            health = ((each.host, each.up) for each in rows if each.host in members)
            up = {host: is_up for host, is_up in health if is_up is not None}
            known = {each.host for each in rows if each.excluded is not None}
            excluded = {
                node.host: node.role == "excluded"
                for node in opened.nodes
                if node.host in known and node.role in ("down", "excluded")
            }
            moment = _moment(opened, snapshot.files["dump"])
            moments.append(replace(moment, up=up, excluded=excluded))
    else:
        for file in files:
            if is_snapshot(file):
                allowed = "only snapshots, or only dumps of system.tablets"
                raise BadInput("files", source_name(file), allowed)
            options: Any = {"edition": edition, "anonymize": anonymize, "release": release}
            moments.append(_moment(open_tablets(file, **options), file))
    hosts = [{node.host for node in moment.opened.nodes} for moment in moments]
    for at in range(1, len(moments)):
        if not hosts[at - 1] & hosts[at]:
            before, own = moments[at - 1].opened.source, moments[at].opened.source
            allowed = f"a snapshot of the same cluster as {before}; the two have no node in common"
            raise BadInput("snapshot", own, allowed)
    return tuple(moments)


def _moment(opened: OpenedTablets, dump: Readable) -> Moment:
    lines = {
        each.name if each.name in opened.maps else each.table_id: each
        for each in system_tables.read_tablets(dump).tables.values()
        if not each.base_table
    }
    rows = {name: {row.last_token: row for row in each.tablets} for name, each in lines.items()}
    return Moment(opened, rows)


def names_in(moments: Sequence[Moment]) -> Mapping[str, str]:
    """The name of each host of any moment in a picture, in the order of host ids."""
    hosts = sorted({node.host for moment in moments for node in moment.opened.nodes})
    host_at = {a: host for moment in moments for a, host in moment.opened.addresses.items()}
    return short_names(replace(moments[-1].opened, addresses=host_at), hosts)


def changes(before: Moment, after: Moment, names: Mapping[str, str]) -> Iterator[Change]:
    """The changes from a moment to the next: nodes first, then tables and their tablets."""
    yield from _of_nodes(before, after, names)
    for table in sorted({*before.rows, *after.rows}):
        old, new = before.rows.get(table), after.rows.get(table)
        if old is None or new is None:
            count = counted(len(new or old or ()), "tablet")
            yield Change(table, f"{'is new' if old is None else 'is gone'}, with {count}")
            continue
        way = "split" if len(new) > len(old) else "merged"
        said = [f"{way}: {counted(len(old), 'tablet')} → {len(new):,}"] * (len(old) != len(new))
        resizes = (each.opened.maps[table] for each in (before, after))
        was, now = (f"{each.resize_type}, number {each.resize_seq_number}" for each in resizes)
        said += [f"resize {was} → {now}"] * (was != now)
        if said:
            yield Change(table, "; ".join(said))
        for at, last in enumerate(sorted(new) if len(old) == len(new) else ()):
            if last in old:
                yield from _of_tablet(f"{table} {at}", old[last], new[last], names)


def _of_nodes(before: Moment, after: Moment, names: Mapping[str, str]) -> Iterator[Change]:
    old, new = ({node.host: node for node in each.opened.nodes} for each in (before, after))
    for host in sorted({*old, *new}):
        name = names[host]
        if host not in old or host not in new:
            yield Change(name, "is new" if host not in old else "has left")
            continue
        said = []
        if old[host].role != new[host].role:
            said.append(f"{old[host].role} → {new[host].role}")
        was, now = before.up.get(host), after.up.get(host)
        if None not in (was, now) and was != now:
            said.append("is up" if now else "is down")
        if said:
            yield Change(name, ", ".join(said))


def _of_tablet(
    what: str, old: TabletLine, new: TabletLine, names: Mapping[str, str]
) -> Iterator[Change]:
    went, came = (
        [f"{names[host]}:{shard}" for host, shard in sorted(places)]
        for places in ({*old.replicas} - {*new.replicas}, {*new.replicas} - {*old.replicas})
    )
    said = []
    if went or came:
        said.append(f"{', '.join(went) or 'one more'} → {', '.join(came) or 'gone'}")
    if (old.transition, old.stage) != (new.transition, new.stage):
        ways = (f"{each.transition} {each.stage}".strip() or "no transition" for each in (old, new))
        said.append(" → ".join(ways))
    if said:
        pairs = zip(went, came, strict=False)
        hosts = tuple((a.rpartition(":")[0], b.rpartition(":")[0]) for a, b in pairs)
        yield Change(what, "; ".join(said), hosts)


# -- the record, and how it is drawn ---------------------------------------------------------------


class Series(Record):
    """Snapshots one after the other: the first is there at the start, each step reads the next."""

    name = "tablets/series"
    title = "Snapshots of a cluster's tablets"
    ends = "the snapshots end here"

    def __init__(self, moments: Sequence[Moment]) -> None:
        self.names = names_in(moments)
        self.moments = tuple(moments)
        super().__init__([tuple(changes(*pair, self.names)) for pair in pairwise(moments)])
        self.flow_table = {ReadOn: _travels}

    def milestone(self, before: RecordState, action: ReadOn, after: RecordState) -> str | None:
        """The snapshot that is read."""
        return self.moments[after.read].opened.source.partition("/")[0]

    def describe(self, before: RecordState, action: ReadOn, after: RecordState) -> str:
        """How much changed."""
        moment, changed = self.moments[after.read], self.entries[before.read]
        version = "" if moment.version is None else f", version {moment.version:,}"
        return f"{moment.opened.source}{version}: {counted(len(changed), 'change')}."


def _travels(
    model: Series, before: RecordState, action: ReadOn, after: RecordState
) -> tuple[Flow, ...]:
    return tuple(
        Flow("data", spot(source), spot(target), change.what, f"{change.what}: {change.words}")
        for change in model.entries[before.read]
        for source, target in change.moves
        if source != target
    )


def _health(moment: Moment, host: str, role: str) -> Health:
    if role == "left":
        return "gone"
    if role == "joining":
        return "joining"
    return "down" if host in moment.opened.down else "up"


def _stage(scene: Scene) -> Stage:
    model: Series = scene.model
    moment = model.moments[scene.state.read]
    return Stage(
        tuple(model.names.values()),
        tuple(
            Character(
                model.names[node.host],
                spot(model.names[node.host]),
                _health(moment, node.host, node.role),
                tag=counted(moment.held[node.host], "tablet"),
                sign="ban" if node.role == "excluded" else "",
                holds=(node.rack,),
                title=f"{node.host}, {node.datacenter}/{node.rack}, {node.role}",
            )
            for node in moment.opened.nodes
        ),
        lines=1,
    )


def _read(scene: Scene) -> Sequence[Change]:
    entries: Sequence[Sequence[Change]] = scene.model.entries
    return entries[scene.state.read - 1] if scene.state.read else ()


def draw_changes(scene: Scene) -> Frag:
    """Draw what changed with the last snapshot, and how much before it."""
    if not (changed := _read(scene)):
        words = "Nothing changed." if scene.state.read else "This is the first snapshot."
        return h("p", words, k="no-changes", class_="soft")
    rows = [
        h("li", h("b", each.what), f": {each.words}", k=f"change:{each.what}", class_="entry")
        for each in changed[:MOST_SHOWN]
    ]
    more = len(changed) - MOST_SHOWN
    rows += [h("li", f"and {more:,} more", k="more")] if more > 0 else []
    return scroll("changes", h("ol", rows, class_=f"log {moved(True) or ''}".rstrip()))


def changes_text(scene: Scene) -> str:
    """Write what changed, a line each."""
    changed = [f"  {each.what}: {each.words}" for each in _read(scene)[:MOST_SHOWN]]
    return "\n".join(changed) or "  nothing changed so far"


def _badges(scene: Scene) -> Badges:
    model: Series = scene.model
    moment = model.moments[scene.state.read]
    yield "read", f"{scene.state.read + 1} of {len(model.moments)}", "plain"
    if moment.version is not None:
        yield "version", f"version {moment.version:,}", "plain"
    moving = sum(bool(row.transition) for rows in moment.rows.values() for row in rows.values())
    yield "moving", f"{moving:,} in transition", "busy" if moving else ""


STAGE = stage_panel("stage", "The cluster", _stage, gates=None)
VIEWS = Views(
    (
        status(_badges, "badges", lambda scene: f"{scene.state.read + 1} read"),
        STAGE,
        Panel("changes", "What changed", draw_changes, changes_text, still=True),
    ),
    picture="stage",
    table="changes",
    badges="badges",
)


def series_of(
    files: Sequence[Readable], edition: Edition = "server", anonymize: bool = False
) -> Series:
    """Two snapshots or more as a record. Raises BadInput as ``opened_moments``."""
    if len(files) < 2:
        raise BadInput("snapshots", f"{len(files)}", "two or more, to see what changed")
    return Series(opened_moments(files, edition, anonymize))
