"""What a dump cannot hold is refused in one line with its column and node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from tests.operators.samples import one_line
from tests.operators.topology_printing import node, timeuuid, uuid
from tests.protocols.topology.dry_run.dumps import joining, leaving, said
from tests.saying import says

X = uuid(4)
BOOT = joining("bootstrapping")
JOIN = {"transition_state": "join group0"}


@pytest.mark.parametrize(
    ("nodes", "statics", "words"),
    [
        (
            [BOOT, joining("bootstrapping", 5)],
            JOIN,
            f"node_state of node {uuid(5)} | 'bootstrapping' | one node in transition at a time",
        ),
        ([node(9, node_state="left")], {}, f"tokens of node {uuid(9)} | '-9000, 9000' | is left"),
        (
            [node(9, node_state="left", tokens=["1", "2", "3"])],
            {},
            f"tokens of node {uuid(9)} | '1, 2, 3'; | is left",
        ),
        (
            [node(9, node_state="left", tokens=["1", "2", "3", "4"])],
            {},
            f"tokens of node {uuid(9)} | '1, 2, 3 \\u2026'; | is left",
        ),
        (
            [joining("replacing", replaced_id=uuid(1), tokens=["2000"])],
            JOIN,
            f"tokens of node {X} | '2000' | {uuid(2)} already has",
        ),
        (
            [node(4, replaced_id=uuid(1), tokens=["1000"])],
            {},
            f"tokens of node {X} | '1000' | {uuid(1)} already has",
        ),
        ([joining("none", tokens=["5"])], {}, f"tokens of node {X} | '5' | is none"),
        (
            [node(4, tokens=["5", "1000"])],
            {},
            f"tokens of node {X} | '1000' | {uuid(1)} already has",
        ),
        (
            [node(4, node_state="sleeping")],
            {},
            f"node_state of node {X} | 'sleeping' | bootstrapping",
        ),
        ([node(4, node_state=None)], {}, f"node_state of node {X} | None | bootstrapping"),
        ([node(4, topology_request="fly")], {}, f"topology_request of node {X} | 'fly' | join"),
        (
            [node(4, topology_request="join")],
            {},
            f"topology_request of node {X} | 'join' | in state none",
        ),
        (
            [joining("none", topology_request="leave")],
            {},
            f"topology_request of node {X} | 'leave' | in state normal",
        ),
        (
            [joining("bootstrapping", topology_request="leave")],
            JOIN,
            f"topology_request of node {X} | 'leave' | in state normal",
        ),
        (
            [joining("none", 5), joining("none")],
            {},
            f"request_id of node {uuid(5)} | {timeuuid(0x20)} | {X} already has this one",
        ),
        ([node(4, cleanup_status="dirty")], {}, f"cleanup_status of node {X} | 'dirty' | needed"),
        ([], {"transition_state": "sleeping"}, "transition_state | 'sleeping' | join_group0"),
        ([], {"transition_state": "write both read old"}, "no node in transition | or null"),
        ([BOOT], {}, f"transition_state | None | with {uuid(4)} bootstrapping: commit_cdc"),
        ([BOOT], {"transition_state": "rollback to normal"}, "transition_state | join_group0"),
        (
            [leaving("removing")],
            {"transition_state": "tablet draining"},
            "transition_state | 'tablet_draining' | before 2026.1 have it (--release 2025.4)",
        ),
        (
            [leaving("rebuilding")],
            {"transition_state": "write both read old"},
            f"transition_state | with {X} rebuilding: null",
        ),
        ([], {"global_topology_request": "cleanup"}, "global_topology_request | 'cleanup' | null"),
        ([], {"upgrade_state": "half"}, "upgrade_state | 'half' | not_upgraded, build_coord"),
        ([], {"version": 3, "fence_version": 4}, "fence_version | 4 | 0 to the version, 3"),
        ([], {"version": 3, "fence_version": -1}, "fence_version | -1 | 0 to the version, 3"),
        ([], {"version": 3, "fence_version": None}, "fence_version | None | 0 to the version, 3"),
        *(
            ([], {"version": version, "fence_version": 0}, f"version | {version} | from 1 up")
            for version in (None, -1, 0)
        ),
        (
            [joining("replacing", replaced_id=uuid(77))],
            JOIN,
            f"replaced_id of node {X} | another node in this table",
        ),
        ([joining("none", topology_request="replace")], {}, f"replaced_id of node {X} | None"),
    ],
)
def test_what_cannot_be(
    nodes: list[Mapping[str, Any]], statics: dict[str, Any], words: str, tmp_path: Path
) -> None:
    """Each is one line that says which cell, what it holds and what could stand there."""
    with pytest.raises(BadInput) as caught:
        said(tmp_path, *nodes, **statics)
    assert one_line(caught.value).startswith("topology.csv ")
    assert says(one_line(caught.value), words)


@pytest.mark.parametrize(
    ("nodes", "statics"),
    [
        ([], {}),
        ([], {"version": 1, "fence_version": 0}),
        ([], {"version": 1, "fence_version": 1}),
        ([BOOT], {"transition_state": "left token ring"}),
        ([joining("replacing", replaced_id=uuid(3), tokens=["3000", "-3000"])], JOIN),
        # Whichever of the two comes first in the order of host ids.
        ([joining("replacing", replaced_id=uuid(5), tokens=["5000", "-5000"]), node(5)], JOIN),
        ([leaving("rebuilding")], {}),
        # What two nodes asked for before, and is done, may have had one id.
        ([node(4, request_id=timeuuid(0x20)), node(5, request_id=timeuuid(0x20))], {}),
        ([leaving("decommissioning")], {"transition_state": "write_both_read_new"}),
        ([node(4, num_tokens=0, tokens=None)], {}),
        ([node(9, node_state="left", tokens=None)], {"transition_state": "lock"}),
        ([], {"transition_state": "truncate table", "global_requests": [timeuuid(0x40)]}),
    ],
)
def test_what_can_be(
    nodes: list[Mapping[str, Any]], statics: dict[str, Any], tmp_path: Path
) -> None:
    """A replacing node holds the tokens of the one that it replaces; a rebuild has no state."""
    assert said(tmp_path, *nodes, **statics).cases


@pytest.mark.parametrize(
    ("state", "edition", "other"),
    [
        ("truncate table", "documents", "server"),
        ("write both read old", "documents", ""),
        ("write both read old", "server", ""),
    ],
)
def test_a_state_of_the_other_edition_without_a_node(
    state: str, edition: str, other: str, tmp_path: Path
) -> None:
    """The edition that allows it is named, as for a node in transition."""
    with pytest.raises(BadInput) as caught:
        said(tmp_path, transition_state=state, asking={"edition": edition})
    assert says(caught.value, "transition_state | no node in transition: | or null")
    assert ("allows it: --edition" in str(caught.value)) == bool(other)
    assert f"--edition {other}" in f"{caught.value} --edition "
