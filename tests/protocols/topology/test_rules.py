"""Rules of the topology one by one: who is refused, who must clean up first, what is played."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.topology.dry_run.report import is_played
from kit.protocols.topology.rules.cluster import ClusterTopology, NodeEntry, Setting
from kit.protocols.topology.rules.decide import queue
from kit.protocols.topology.rules.machines import GLOBAL_REQUESTS
from kit.protocols.topology.rules.requests import LAST_OWNER, OperationRequest, refusal, requested

CODE = Setting(edition="server")
NORMAL = NodeEntry(state="normal", tokens=True)
DIRTY = replace(NORMAL, cleanup="needed")


def cluster(*nodes: NodeEntry) -> ClusterTopology:
    """These nodes, all in group 0, and room for one more."""
    return ClusterTopology(nodes=(*nodes, NodeEntry()), members=(1 << len(nodes)) - 1)


def refused(topology: ClusterTopology, asks: OperationRequest, alive: int) -> str:
    """Why somebody may not ask for it; empty: one may."""
    found = refusal(topology, asks, alive, CODE)
    return "" if found is None else found.reason


def test_who_is_replaced_is_normal_and_down() -> None:
    """A replacing node stands in for a member that is down, and for nobody else."""
    replaces = OperationRequest("replace", 2, replaced=1)
    assert refused(cluster(NORMAL, NORMAL), replaces, 0b101) == ""
    assert refused(cluster(NORMAL, NORMAL), replaces, 0b111) == (
        "the node that it would replace is up"
    )
    left = replace(NORMAL, state="left")
    assert refused(cluster(NORMAL, left), replaces, 0b101) == (
        "the node that it would replace is not normal"
    )


@pytest.mark.parametrize(("second", "alive"), [(DIRTY, 0b101), (replace(DIRTY, state="left"), 7)])
def test_who_is_down_or_gone_holds_up_no_leaving(second: NodeEntry, alive: int) -> None:
    """Cleanup comes before a change that gives ranges back: on nodes that get them, and live."""
    leave = OperationRequest("leave", 0)
    [waits] = queue(requested(cluster(NORMAL, DIRTY), leave), 0b111, CODE)
    assert (waits.reason, waits.waits_for) == ("cleanup comes first", 0b10)
    [entry] = queue(requested(cluster(NORMAL, second), leave), alive, CODE)
    assert entry.reason != "cleanup comes first"


def test_a_request_of_the_cluster_is_played_if_somebody_may_ask_for_it() -> None:
    """An operator's words name just those, and all of the documents' are among them."""
    words = {"keyspace_rf_change": " ks dc1=3", "truncate_table": " ks.t"}
    for request in GLOBAL_REQUESTS:
        told = f"{request.name}{words.get(request.name, '')}"
        assert request.played is is_played(request.name), request
        assert request.played or request.edition == "server", request
        if request.played:
            build("tablets" if words.get(request.name) else "topology", {"operations": (told,)})
        else:
            with pytest.raises(BadInput, match=r"^operations"):
                build("topology", {"operations": (told,)})


@pytest.mark.parametrize(
    ("kind", "why"),
    [("leave", LAST_OWNER), ("remove", "the node is up, so decommission it"), ("rebuild", "")],
)
def test_the_last_owner_of_tokens_stays(kind: str, why: str) -> None:
    """The other node, which owns none, is no other owner; alone, it has nobody to rebuild from."""
    alone = why or "there is no other node to rebuild it from"
    assert refused(cluster(NORMAL), OperationRequest(kind, 0), 0b1) == alone
    tokenless = replace(NORMAL, tokens=False)
    assert refused(cluster(tokenless, NORMAL), OperationRequest(kind, 1), 0b11) == why
    assert refused(cluster(NORMAL, NORMAL), OperationRequest("leave", 1), 0b11) == ""


@pytest.mark.parametrize(
    "text",
    [
        *("truncate_table", "truncate_table ks", "truncate_table ks.", "truncate_table .t"),
        *("truncate_table .", "truncate_table ks.t ks.u", "truncate_table ks.t u"),
        *("keyspace_rf_change", "keyspace_rf_change ks dc1"),
    ],
)
def test_what_names_no_table_is_refused(text: str) -> None:
    """One table, by its keyspace and its name; a keyspace with what it is to have."""
    with pytest.raises(BadInput, match=r"^operations: got "):
        build("topology", {"operations": (text,)})
