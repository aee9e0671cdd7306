"""The recovery adviser on clusters in which nodes join or leave: who votes, has data, may lead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.recovery.dry_run import (
    NO_FACTORS,
    RecoveryAdvice,
    advise,
    open_cluster,
    parse_cluster,
)
from kit.protocols.topology.rules.machines import Edition
from tests.saying import says

EDITIONS: tuple[Edition, ...] = ("documents", "server")


def host(number: int) -> str:
    """A host id."""
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def dumped(
    folder: Path, *rows: str, transition: str = "write_both_read_old", ignored: str = ""
) -> str:
    """A dump of ``system.topology``; a row is its state, its request and whom it replaces."""
    head = (
        "host_id,node_state,topology_request,replaced_id,datacenter,rack,request_id,ignore_nodes,"
        "tokens,transition_state,version,fence_version"
    )
    lines = [head]
    for at, row in enumerate(rows, 1):
        state, request, replaced = (*row.split(), "", "")[:3]
        tokens = f"\"{{'{at}'}}\"" if state not in ("none", "left") else ""
        request_id = f"{at:08x}-0000-11f0-8000-000000000001" if request else ""
        of = host(int(replaced)) if replaced else ""
        lines.append(
            f"{host(at)},{state},{request.strip('-')},{of},dc1,r{at},{request_id},{ignored},"
            f"{tokens},{transition},5,5"
        )
    path = folder / "topology.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def advised(path: str, edition: Edition, lost: str, **indexes: int) -> RecoveryAdvice:
    """The advice where these nodes (numbers) are lost, with RF 3."""
    cluster, warnings = open_cluster(
        path,
        lost=[host(int(number)) for number in lost],
        commit={host(int(name.strip("n"))): index for name, index in indexes.items()},
        factors={"dc1": 3},
    )
    return advise(cluster, "x", edition, warnings=warnings)


def voting(advice: RecoveryAdvice) -> tuple[int, int]:
    """How many vote, and how many of them live, where only one set of voters counts."""
    (line,) = advice.group0
    return len(line.voters), line.live


@pytest.mark.spec("C-015", "G-021")
@pytest.mark.parametrize("edition", EDITIONS)
def test_who_joins_neither_votes_nor_has_data(tmp_path: Path, edition: Edition) -> None:
    """Of three members one is lost, and the joiner: two of three are a majority, QUORUM is met."""
    path = dumped(tmp_path, *["normal"] * 3, "bootstrapping")
    advice = advised(path, edition, "14", n2=10, n3=11)
    assert (*voting(advice), advice.procedure) == (3, 2, "replace")
    standing = {each.level: each.standing for each in advice.keyspaces[0].levels}
    assert (standing["QUORUM"], standing["ALL"]) == ("available", "unavailable")
    assert (
        f"these nodes are still joining, so they have neither a vote nor data: {host(4)}"
        in advice.warnings
    )


@pytest.mark.spec("G-027")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("state", ["bootstrapping", "decommissioning"])
def test_who_joins_or_leaves_cannot_lead(tmp_path: Path, state: str, edition: Edition) -> None:
    """It knows most of all, and is stopped for good: what it alone knows is gone."""
    path = dumped(tmp_path, *["normal"] * 5, state)
    advice = advised(path, edition, "1235", n4=9, n6=11)
    assert advice.procedure == "recovery leader"
    assert (advice.leader, advice.leaders, advice.order) == (host(4), (host(4),), (host(4),))
    assert host(6) in next(step.what for step in advice.steps if step.name == "stop")
    assert "entries 10 to 11, known to be committed, are gone" in advice.worst


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("rows", "given"),
    [
        (["normal"] * 3 + ["removing"], {}),
        (["normal"] * 3 + ["normal remove"], {"transition": ""}),
        (["normal"] * 4 + ["replacing - 4"], {}),
        (["normal"] * 3 + ["decommissioning"], {"transition": "left_token_ring"}),
        (["normal"] * 4, {"transition": "", "ignored": f'"{{{host(4)}}}"'}),
    ],
)
def test_who_is_to_go_has_lost_its_vote(
    tmp_path: Path, rows: list[str], given: dict[str, Any], edition: Edition
) -> None:
    """Removed, replaced, ignored, on its way out: of three voters a second one may be lost."""
    advice = advised(dumped(tmp_path, *rows, **given), edition, "14")
    assert voting(advice) == (3, 2)


def test_who_leaves_votes_until_it_is_out_of_the_ring(tmp_path: Path) -> None:
    """Before left_token_ring the leaving node is one of four voters: two are no majority."""
    advice = advised(dumped(tmp_path, *["normal"] * 3, "decommissioning"), "documents", "14")
    assert voting(advice) == (4, 2)


def test_a_description_may_tell_of_states_and_votes() -> None:
    """A rebuilding node is as good as a normal one; a vote that was lost is not counted."""
    nodes = [
        {"name": "A", "state": "rebuilding", "commit_index": 4},
        {"name": "B", "status": "lost"},
        {"name": "C", "status": "lost"},
        {"name": "D", "status": "lost", "votes": False},
    ]
    advice = advise(parse_cluster(json.dumps({"nodes": nodes})), "x")
    assert (voting(advice), advice.leader, advice.warnings) == ((3, 1), "A", (NO_FACTORS,))


@pytest.mark.parametrize(
    ("state", "votes", "said"),
    [
        ("normal", None, "nodes[1].votes | None | true or false for every node that has joined"),
        ("bootstrapping", True, "nodes[1].votes | True | false for a node that is bootstrapping"),
    ],
)
def test_votes_that_cannot_be(state: str, votes: bool | None, said: str) -> None:
    """Where the description tells of votes it tells of each member, and of nobody else."""
    nodes = [{"name": "A", "votes": True}, {"name": "B", "state": state, "votes": votes}]
    with pytest.raises(BadInput) as caught:
        advise(parse_cluster(json.dumps({"nodes": nodes})), "x")
    assert says(caught.value, said)


def test_a_zero_token_node_votes_but_has_no_data(tmp_path: Path) -> None:
    """Of five nodes two own no tokens: with two others lost, one replica of three is left."""
    path = Path(dumped(tmp_path, *["normal"] * 5, transition=""))
    text = path.read_text(encoding="utf-8")
    for number in (4, 5):
        text = text.replace(f"\"{{'{number}'}}\"", "")
    path.write_text(text, encoding="utf-8")
    advice = advised(str(path), "server", "12")
    assert (*voting(advice), advice.procedure) == (5, 3, "replace")
    levels = {each.level: each.standing for each in advice.keyspaces[0].levels}
    assert (levels["ONE"], levels["TWO"], levels["QUORUM"]) == (
        *("available", "unavailable", "unavailable"),
    )
