"""Rules of the topology one by one, what each safeguard is for, what is done about dead nodes."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.model import Safeguard
from kit.model.registry import build
from kit.protocols.group0.rules.releases import RELEASES
from kit.protocols.topology.dry_run.report import is_played
from kit.protocols.topology.rules.cluster import ClusterTopology, NodeEntry, Setting
from kit.protocols.topology.rules.decide import queue
from kit.protocols.topology.rules.machines import GLOBAL_REQUESTS
from kit.protocols.topology.rules.remedies import NEVER, STEPS, numbered, remedy_steps
from kit.protocols.topology.rules.requests import LAST_OWNER, OperationRequest, refusal, requested
from kit.protocols.topology.topology import Topology
from kit.search.check import check
from tests.protocols.storage.proofs import assert_protects

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


def test_a_replace_is_refused_unless_its_node_is_normal_and_down() -> None:
    """With the reason."""
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
def test_a_leave_does_not_wait_for_cleanup_on_a_dead_node(second: NodeEntry, alive: int) -> None:
    """Nor on one that has left; on a live node it does."""
    leave = OperationRequest("leave", 0)
    [waits] = queue(requested(cluster(NORMAL, DIRTY), leave), 0b111, CODE)
    assert (waits.reason, waits.waits_for) == ("cleanup comes first", 0b10)
    [entry] = queue(requested(cluster(NORMAL, second), leave), alive, CODE)
    assert entry.reason != "cleanup comes first"


def test_every_request_of_the_cluster_is_played_or_refused() -> None:
    """All of the documents' are played."""
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
def test_the_last_owner_of_tokens_cannot_leave(kind: str, why: str) -> None:
    """A node without tokens is no other owner; alone, there is nobody to rebuild from."""
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
def test_a_request_without_a_full_table_or_replication_is_refused(text: str) -> None:
    """The error names the parameter."""
    with pytest.raises(BadInput, match=r"^operations: got "):
        build("topology", {"operations": (text,)})


REDUNDANT = "start-marker"


NEEDED = tuple(guard for guard in Topology.safeguards if guard.name != REDUNDANT)


@pytest.mark.parametrize("guard", NEEDED, ids=lambda guard: guard.name)
def test_each_safeguard_protects_its_invariant(guard: Safeguard) -> None:
    """Off, its smallest configuration breaks one of its invariants; on, nothing is broken there."""
    assert_protects("topology", guard)


def test_without_the_drain_streaming_begins_beside_an_older_request() -> None:
    """In the shortest run, long before the read switch."""
    guard = next(guard for guard in Topology.safeguards if guard.name == "barrier-drains")
    violation = check(build("topology", guard.smallest, (guard.name,))).violation
    assert violation is not None
    assert violation.property == "older-over"
    assert violation.witness.startswith("streaming began while")


TWO_VOTERS = {"nodes": 2, "changes": 1, "release": "2025.3"}


@pytest.mark.parametrize(
    "given",
    [
        {"changes": 1},
        {"changes": 1, "failures": 1, "operations": ("leave C",)},
        {**TWO_VOTERS, "changes": 2, "operations": ("leave B",)},
        {"crashes": 1, "nodes": 2},
    ],
    ids=str,
)
def test_the_start_marker_is_redundant_beside_the_state_id(given: dict[str, object]) -> None:
    """Without S-58 two coordinators on one state id break nothing."""
    found_none = check(build("topology", given, (REDUNDANT,)), symmetry=True)
    assert found_none.violation is None, found_none
    assert found_none.complete, found_none


def test_without_the_state_id_a_deposed_coordinator_takes_effect() -> None:
    """S-59 off, with the start marker (S-58) and without."""
    for off in (("commit-with-guard",), ("commit-with-guard", "start-marker")):
        violation = check(build("topology", TWO_VOTERS, off)).violation
        assert violation is not None, off
        assert violation.property == "guarded", off


CASES = [
    part.split("\n")
    for part in Path(__file__).with_name("remedies.txt").read_text("utf-8").strip().split("\n\n")
    if not part.startswith("#")
]


KINDS, NAMED = ({each: each for each in every} for every in (STEPS, RELEASES))


@pytest.mark.parametrize("lines", CASES, ids=[lines[0] for lines in CASES])
def test_the_remedies_are_those_of_the_manuals_in_order(lines: list[str]) -> None:
    """And nothing that is not for the release."""
    kind, release, node, dead, place, *bare = ("" if w == "." else w for w in lines[0].split())
    others = dead.split(",") if dead else []
    steps = remedy_steps(KINDS[kind], node, others, NAMED[release], place=place, tokens=not bare)
    text = "\n".join(f"{step.name}: {step.what}" for step in steps)
    at = 0
    for sign, words in (line.split(" ", 1) for line in lines[1:]):
        if sign == "-":
            assert words not in text
        else:
            at = text.find(words, at)
            assert at >= 0, words


def test_a_node_without_tokens_is_replaced_without_join_ring() -> None:
    """A node with tokens is not."""
    for tokens in (True, False):
        steps = remedy_steps("replace", "A", tokens=tokens)
        assert any("join_ring: false" in step.what for step in steps) is not tokens, tokens


def test_another_remedy_is_refused() -> None:
    """The error names those that there are."""
    with pytest.raises(BadInput, match=f"^kind: got 'mend'; allowed: .*{', '.join(STEPS)}"):
        remedy_steps("mend", "A")  # type: ignore[arg-type]  # the fault


def test_a_warning_in_the_remedies_comes_last_without_a_number() -> None:
    """Also where steps of two nodes follow each other."""
    rows = numbered((*remedy_steps("replace", "A", "B"), *remedy_steps("replace", "B")))
    numbers = [number for number, _, _ in rows]
    steps = [number for number in numbers if number]
    assert steps == [f"{at}" for at in range(1, len(steps) + 1)]
    assert {name for number, name, _ in rows if not number} == {NEVER}
    assert numbers[len(steps) :] == [""] * (len(rows) - len(steps))
