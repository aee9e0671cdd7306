"""What a control model of the topology takes: a cluster, requests, and how much may go wrong."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

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

MOST_NODES = 2000
"""Beyond some 20 nodes models are stepped and walked, not searched."""


def _faults(title: str, meaning: str) -> Meta:
    return faults(title, meaning, MOST_FAULTS)


class TopologyParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster with what is asked of it, and the faults that there may be."""

    edition: AnyEdition = "server"
    nodes: Annotated[int, members(MOST_NODES)] = 3
    names: Names = ()
    operations: Annotated[
        tuple[str, ...],
        Meta(
            description="what is asked for, in this order: join D (or bootstrap), replace D C, "
            "leave C (or decommission), remove C (or removenode), rebuild C, cleanup, "
            "new_cdc_generation, keyspace_rf_change ks dc1=3, truncate_table ks.t, lock",
            extra_json_schema={"written": True},
        ),
    ] = ("join D",)
    down: DownAtFirst = None
    ignored: Ignored = ()
    racks: Annotated[
        tuple[str, ...],
        Meta(
            description="the rack of each node, members first: dc1/r1 dc1/r2 dc2/r1; else dc1/r1",
            extra_json_schema={"written": True},
        ),
    ] = ()
    rf: Annotated[
        int,
        Meta(
            title="replicas",
            description="replicas in each datacenter of a keyspace that has to stay RF-rack-valid "
            "(0: there is none)",
            ge=0,
            le=MOST_NODES,
        ),
    ] = 0
    keyspaces: Annotated[
        tuple[str, ...],
        Meta(
            description="the keyspaces with tablets and their replicas: ks dc1=3 dc2=1",
            extra_json_schema={"written": True},
        ),
    ] = ()
    crashes: Crashes = 0
    changes: CoordinatorChanges = 0
    failures: Annotated[
        int, _faults("failures", "how often a piece of work may fail by itself")
    ] = 0
    cuts: Annotated[int, _faults("cuts", "how often a node may be cut off")] = 0
    late: Annotated[int, _faults("late", "how many streams may be left behind")] = 0
    addresses: Annotated[
        int, _faults("address changes", "how often a node may be restarted with another address")
    ] = 0
    exclusions: Annotated[
        int, _faults("exclusions", "how often an operator excludes a node that is dead")
    ] = 0
    clients: Annotated[int, _faults("client requests", "how many clients make a request")] = 0
    tablets: Annotated[
        int, _faults("tablet plans", "how often the balancer finds something to move")
    ] = 0
    on_tablets: Annotated[
        tuple[str, ...],
        Meta(
            title="nodes with tablets",
            description="the nodes that have tablets",
            extra_json_schema={"written": True},
        ),
    ] = ()
    placing: Annotated[
        bool,
        Meta(
            description="which nodes have tablets after a move is open",
            extra_json_schema={"hidden": True},
        ),
    ] = False
    publishing: Annotated[
        bool, Meta(description="CDC generations are published in steps of their own")
    ] = False
    lag: Annotated[
        bool, Meta(description="nodes apply commands in steps of their own, not at once")
    ] = True
