"""The recovery adviser at the edges of its rules: which text, which name, who, what is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.operators.importers.system_tables import RaftView
from kit.protocols.group0.rules.releases import Release
from kit.protocols.recovery.dry_run import (
    UNTOLD,
    RecoveryAdvice,
    advise,
    first_of,
    is_description,
    node_named,
    open_cluster,
    parse_cluster,
)
from kit.protocols.topology.rules.machines import Edition
from tests.protocols.recovery.dry_run.test_members import dumped, host
from tests.saying import says

STATUS = {"u": "up", "d": "down", "l": "lost"}


def of(nodes: str, edition: Edition = "documents", **more: Any) -> RecoveryAdvice:
    """The advice for nodes A, B, … of datacenters: ``1u 1d 2lx``, x of them joins."""
    described = [
        {
            "name": chr(65 + at),
            "dc": f"dc{node[0]}",
            "status": STATUS[node[1]],
            "state": "bootstrapping" if node[2:] else "normal",
        }
        for at, node in enumerate(nodes.split())
    ]
    release: Release = more.pop("release", "2026.3")
    cluster = parse_cluster(json.dumps({"nodes": described, **more}))
    return advise(cluster, "x", edition, release=release)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        (' {"nodes": [{"name": "A", "status": "up"', True),
        ('[{"nodes": [{"name": "A", "status": "up"', False),
        ('{"hosts": [{"name": "A", "status": "up"', False),
        ('{"nodes": [{"name": "A", "tokens": [1]', False),
    ],
)
def test_what_looks_like_a_description(text: str, is_one: bool) -> None:
    """An object that has nodes and tells who is lost."""
    assert is_description(text) is is_one


@pytest.mark.parametrize(
    ("name", "names", "node"),
    [("b", "aa ba", "ba"), ("A", "aa ba", "aa"), ("a", "aa ab", None), ("", "aa", None)],
)
def test_a_beginning_names_a_node(name: str, names: str, node: str | None) -> None:
    """That of only one; no text at all is the beginning of each, and names none."""
    if node is not None:
        assert node_named(name, names.split(), "--lost") == node
        return
    with pytest.raises(BadInput, match="--lost: got"):
        node_named(name, names.split(), "--lost")


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "A"), (6, "A, B, C, D, E, F"), (7, "A, B, C, D, E, F and 1 more")],
)
def test_the_first_of_many_names(count: int, said: str) -> None:
    """Six of them, and how many more."""
    assert first_of("ABCDEFG"[:count]) == said


@pytest.mark.parametrize(
    ("votes", "state", "refused"),
    [
        (True, "normal", None),
        (None, "normal", "true or false for every node that has joined"),
        (None, "bootstrapping", None),
        (False, "bootstrapping", None),
        (True, "bootstrapping", "false for a node that is bootstrapping"),
    ],
)
def test_of_whom_votes_are_told(votes: bool | None, state: str, refused: str | None) -> None:
    """Where A's are, of each node that has joined; one that joins has none."""
    nodes = [{"name": "A", "votes": True}, {"name": "B", "votes": votes, "state": state}]
    text = json.dumps({"nodes": nodes})
    if refused is None:
        assert [node.votes for node in parse_cluster(text).nodes] == [True, votes]
        return
    with pytest.raises(BadInput) as caught:
        parse_cluster(text)
    assert says(caught.value, f"nodes[1].votes | {votes} | {refused}")


def test_documents_recover_by_a_leader_whatever_the_release() -> None:
    """The option came with 2025.2; documents know no releases."""
    assert of("1u 1l 1l", release="2025.1").procedure == "recovery leader"
    assert of("1u 1l 1l", "server", release="2025.1").procedure == "recovery mode"


def test_voters_without_nodes_are_named_in_order() -> None:
    """As not known, and in the lines of those who vote."""
    strange = [f"n{number}" for number in range(9)]
    cluster = parse_cluster('{"nodes": [{"name": "A"}]}')
    view = RaftView("view", dict.fromkeys(("A", *reversed(strange)), True))
    advice = advise(cluster, "x", views=[view])
    assert (advice.lost, advice.unknown) == ((), tuple(strange))
    assert [line.voters for line in advice.group0] == [("A", *strange)] * 2
    assert [line.split()[0] for line in advice.warnings[:9]] == strange


FEW = "which has fewer nodes (1): levels still count the missing replicas"
LEFT = "add nodes after RECOVERY mode"
UNTOLD_INDEX = "the commit index is not given for"


@pytest.mark.parametrize(
    ("nodes", "more", "warnings"),
    [
        ("1u 1l 1l", {}, [f"{UNTOLD_INDEX} A: no leader can be named"]),
        # A procedure without a leader asks for no index.
        ("1u 1l 1l", {"upgrade": "stuck"}, []),
        # Two replicas in each datacenter: dc1 loses its second node, dc2 never had one.
        (
            "1u 1l 2u 3l 3l 3l",
            {"upgrade": "stuck", "keyspaces": {"k": {"dc1": 2, "dc2": 2}}},
            [
                f"k has RF 2 in dc2, {FEW}",
                f"k has RF 2, but 1 node is left in dc1: {LEFT}",
            ],
        ),
        # As many nodes as replicas, before and after the loss.
        ("1u 1l 2l", {"upgrade": "stuck", "keyspaces": {"k": {"dc1": 1}}}, []),
    ],
)
def test_warnings(nodes: str, more: dict[str, Any], warnings: list[str]) -> None:
    """Each is said once, and only where it matters."""
    assert list(of(nodes, **more).warnings) == warnings


def test_only_a_settled_node_is_restarted_first() -> None:
    """One that was joining when it went down is stopped for good instead."""
    first, second = of("1u 1d 1l 1l 1l 1dx").steps[:2]
    assert (first.name, first.what) == ("restart", "first restart B")
    assert (second.name, second.what.split(":")[0]) == ("stop", "stop F for good")


def test_what_a_dump_and_the_status_tell(tmp_path: Path) -> None:
    """The datacenter of each node; with the status nobody is assumed to be alive."""
    path = Path(dumped(tmp_path, *["normal"] * 3, transition=""))
    text = path.read_text(encoding="utf-8").replace("dc1,r3", "dc2,r3")
    path.write_text(text, encoding="utf-8")
    status = tmp_path / "status.txt"
    states = {1: "UN", 2: "DN", 3: "UN"}
    rows = [f"{state} 10.0.0.{at} 1 KB 1 ? {host(at)} r{at}" for at, state in states.items()]
    status.write_text(
        "\n".join(
            [
                "Datacenter: dc1",
                "===============",
                "Status=Up/Down",
                "|/ State=Normal/Leaving/Joining/Moving",
                "-- Address Load Tokens Owns Host ID Rack",
                *rows,
            ]
        )
        + "\n",
        encoding="utf-8",
    )
    cluster, warnings = open_cluster(path, status=status, down=["10.0.0.1"], lost=[host(3)])
    assert [(node.dc, node.status) for node in cluster.nodes] == [
        ("dc1", "down"),
        ("dc1", "down"),
        ("dc2", "lost"),
    ]
    assert UNTOLD not in warnings
    assert UNTOLD not in open_cluster(path, status=status)[1]
    assert UNTOLD in open_cluster(path)[1]


def test_who_has_left_is_named_in_order() -> None:
    """With those of whom the description says so; a node that is not there yet has not left."""
    states = {"A": "normal", "Z": "left", "N": "none", "Q": "left", "B": "left"}
    nodes = [{"name": name, "state": state} for name, state in states.items()]
    given = {"nodes": [{**each, "status": "lost"} for each in nodes[1:]] + nodes[:1]}
    more = {"left": ["Y", "A"], "deaths": [["Z", "N"], ["B"]]}
    cluster = parse_cluster(json.dumps({**given, **more}))
    assert cluster.left == ("B", "Q", "Y", "Z")
    assert [node.name for node in cluster.nodes] == ["A"]
    assert cluster.deaths == ((), ())


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ("normal gone", "nodes[1].state | 'gone' | normal"),
        ("left none", "nodes | 'none or left' | a node that is a member"),
    ],
)
def test_nodes_are_members_in_a_state_that_there_is(states: str, said: str) -> None:
    """One of them at least."""
    nodes = [{"name": f"n{at}", "state": state} for at, state in enumerate(states.split())]
    with pytest.raises(BadInput) as caught:
        parse_cluster(json.dumps({"nodes": nodes}))
    assert says(caught.value, said)


def test_another_release_matters_where_nothing_tells_who_votes() -> None:
    """Not where the description does, a view, or the edition."""
    dead = {"C": "lost", "D": "lost"}
    nodes = [{"name": name, "status": dead.get(name, "up")} for name in "ABCD"]
    told = parse_cluster(json.dumps({"nodes": [{**each, "votes": True} for each in nodes]}))
    untold = parse_cluster(json.dumps({"nodes": nodes}))
    view = RaftView("view", dict.fromkeys("ABCD", True))
    assert advise(untold, "x").elsewhere
    for advice in (
        advise(told, "x"),
        advise(untold, "x", views=[view]),
        advise(untold, "x", "documents"),
    ):
        assert advice.elsewhere == {}


def test_no_state_goes_back_where_nobody_leads() -> None:
    """Though the node that is named knows less than the other one."""
    nodes = [{"name": "A", "commit_index": 3}, {"name": "B", "commit_index": 7}]
    lost = [{"name": name, "status": "lost"} for name in "CD"]
    for more, leader, back in (([], None, {}), (lost, "A", {"B": 4})):
        cluster = parse_cluster(json.dumps({"nodes": [*nodes, *more]}))
        advice = advise(cluster, "x", "documents", "A")
        assert (advice.leader, advice.regressing) == (leader, back)


def test_who_leaves_is_no_node_to_hold_replicas() -> None:
    """After the removal of C one node of two is left: B is decommissioned."""
    nodes = [{"name": name, "status": "lost"} for name in "CD"]
    nodes += [{"name": "A"}, {"name": "B", "state": "decommissioning"}]
    nodes = [{"dc": "dc1", **node} for node in nodes]
    given = {"nodes": nodes, "keyspaces": {"k": {"dc1": 2}}, "upgrade": "stuck"}
    assert list(advise(parse_cluster(json.dumps(given)), "x", "documents").warnings) == [
        "live nodes must be normal first: B",
        f"k has RF 2, but 1 node is left in dc1: {LEFT}",
    ]


@pytest.mark.parametrize(("current", "previous"), [("ABC", "ADE"), ("ADE", "ABC")])
def test_of_two_configurations_that_lack_a_majority_the_hopeless_one_counts(
    current: str, previous: str
) -> None:
    """A lives. B and C are lost, D and E may be restarted."""
    status = {"A": "up", "B": "lost", "C": "lost", "D": "down", "E": "down"}
    nodes = [{"name": name, "status": each} for name, each in status.items()]
    both = dict.fromkeys(current, True), dict.fromkeys(previous, True)
    advice = advise(
        parse_cluster(json.dumps({"nodes": nodes})), "x", views=[RaftView("view", *both)]
    )
    assert advice.group0[0].voters == ("A", "B", "C")


@pytest.mark.parametrize(
    ("lost", "gone"),
    [
        (None, None),
        (5, None),
        (6, "entry 6, known to be committed, is gone"),
        (8, "entries 6 to 8, known to be committed, are gone"),
    ],
)
def test_what_is_known_to_be_gone(lost: int | None, gone: str | None) -> None:
    """What a lost node knew above the leader's index."""
    nodes = [{"name": "A", "commit_index": 5}]
    nodes += [{"name": name, "status": "lost", "commit_index": lost} for name in "BC"]
    worst = advise(parse_cluster(json.dumps({"nodes": nodes})), "x", "documents").worst
    assert [each for each in worst if "known to be" in each] == ([gone] if gone else [])
    assert "entries that only lost nodes had are gone, whichever node leads" in worst


def test_of_who_is_not_in_the_file_nothing_is_known() -> None:
    """Voters are named in order, wherever they stand; of those that do not vote it is said, too."""
    cluster = parse_cluster('{"nodes": [{"name": "B"}, {"name": "C"}]}')
    advice = advise(
        cluster, "x", views=[RaftView("view", {"A": True, "B": True, "C": True, "D": False})]
    )
    assert (advice.lost, advice.unknown) == ((), ("A",))
    assert advice.group0[0].voters == ("A", "B", "C")
    assert [line.split()[0] for line in advice.warnings] == ["A", "D"]
