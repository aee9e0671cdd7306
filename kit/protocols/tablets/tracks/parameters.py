"""What the control model of tablets takes: a cluster, its tablets, requests, and faults."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.tablets.tracks.dump import TabletDump
from kit.protocols.topology.parameter_types import (
    MOST_FAULTS,
    AnyEdition,
    CoordinatorChanges,
    Crashes,
    DownAtFirst,
    Ignored,
    Names,
    faults,
    members,
)
from kit.protocols.topology.request_plan import MOST_NODES

BalancingKind = Literal["migration", "intranode_migration", "repair", "add_tablet_replica"]
"""What begins without a request: a balancer's moves, a repair, an operator's one more replica."""
ADDITION: Literal["add_tablet_replica"] = "add_tablet_replica"
_WRITTEN = {"written": True}


def _faults(title: str, meaning: str) -> Meta:
    return faults(title, meaning, MOST_FAULTS)


class TracksParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster with tablets, what is asked of it, and the faults that there may be."""

    edition: AnyEdition = "server"
    nodes: Annotated[int, members(MOST_NODES)] = 4
    names: Names = ()
    tablets: Annotated[
        tuple[str, ...],
        Meta(
            description="the replicas of each tablet: A B C, or with shards A:0 B:1 C:0",
            extra_json_schema=_WRITTEN,
        ),
    ] = ("A B C",)
    tables: Annotated[
        tuple[str, ...],
        Meta(
            description="the co-located tables whose tablets these are, the base table first",
            min_length=1,
            extra_json_schema=_WRITTEN,
        ),
    ] = ("ks.t",)
    keyspaces: Annotated[
        tuple[str, ...],
        Meta(
            description="keyspaces with the racks that have a replica each, as in ks dc1=r1,r2; "
            "else as many replicas in each datacenter as tablets have",
            extra_json_schema=_WRITTEN,
        ),
    ] = ()
    shards: Annotated[int, Meta(description="the shards of each node", ge=1, le=64)] = 1
    kinds: Annotated[
        tuple[BalancingKind, ...],
        Meta(
            description="what may begin: migration, intranode_migration, repair, "
            "add_tablet_replica",
            extra_json_schema=_WRITTEN,
        ),
    ] = ("migration",)
    rebuild: Annotated[
        Literal["rebuild", "rebuild_v2"],
        Meta(description="how a replica of a dead node is made again, and one more one"),
    ] = "rebuild_v2"
    balancing: Annotated[
        bool, Meta(description="tablet_balancing_enabled: loads may be evened out")
    ] = True

    moves: Annotated[
        int, _faults("moves", "how many transitions the balancer begins to even out the load")
    ] = 1
    operations: Annotated[
        tuple[str, ...],
        Meta(
            description="what is asked for, in this order: bootstrap E, replace E C, "
            "decommission C, removenode C, keyspace_rf_change ks dc1=3 (or racks: dc1=r1,r2), "
            "truncate_table ks.t",
            extra_json_schema=_WRITTEN,
        ),
    ] = ()
    down: DownAtFirst = None
    ignored: Ignored = ()
    racks: Annotated[
        tuple[str, ...],
        Meta(
            description="the rack of each node, members first: dc1/r1 dc1/r2; else all are in one",
            extra_json_schema=_WRITTEN,
        ),
    ] = ()
    answering: Annotated[
        bool, Meta(description="nodes apply stages, and answer barriers, one by one")
    ] = False
    crashes: Crashes = 0
    changes: CoordinatorChanges = 0
    failures: Annotated[
        int, _faults("failures", "how often a piece of work on tablets may fail by itself")
    ] = 0
    undone: Annotated[
        int,
        _faults(
            "failures of operations",
            "how often other work of an operation may fail; a drain without a place fails anyhow",
        ),
    ] = 0
    exclusions: Annotated[
        int, _faults("exclusions", "how often an operator excludes a node that is dead")
    ] = 0
    late: Annotated[
        int, _faults("late RPCs", "how many RPCs of stages may be late, and how many of truncates")
    ] = 0
    dump: Annotated[
        TabletDump | None,
        Meta(
            description="what a cluster's own tables tell beside its tablets; its balancer plans",
            extra_json_schema={"hidden": True},
        ),
    ] = None

    @property
    def begun(self) -> tuple[TransitionKind, ...]:
        """The kinds of transitions that ``kinds`` begin: one more replica is a rebuild."""
        return tuple(self.rebuild if kind == ADDITION else kind for kind in self.kinds)
