"""``recover`` and who votes: by release, ``system.raft_state`` or the description; else unknown.

Nodes are written as in ``1a 1b- 2ax``: datacenter and rack, ``-`` down, ``x`` lost. The first is A.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.masks import nodes_in
from kit.operators.importers.system_tables import read_raft_state
from kit.protocols.group0.rules.quorum import extremes
from kit.protocols.group0.rules.releases import NEWEST, RELEASES, SUPPORTED, Release
from kit.protocols.group0.rules.voters import VoterRules
from kit.protocols.recovery.dry_run import RecoveryAdvice, advise, parse_cluster
from kit.protocols.recovery.rules.availability import after_deaths
from tests.commands.calling import bad, call, written
from tests.saying import says

STATUS = {"": "up", "-": "down", "x": "lost"}
GROUP = "00000000-1111-11f0-8000-000000000001"


def described(text: str, **more: Any) -> dict[str, Any]:
    """The description of such nodes."""
    nodes = [
        {
            "name": chr(65 + at),
            "dc": f"dc{node[0]}",
            "rack": node[1],
            "status": STATUS[node[2:]],
            "commit_index": 7,
        }
        for at, node in enumerate(text.split())
    ]
    return {"nodes": nodes, **more}


def advised(text: str, release: Release = NEWEST, **more: Any) -> RecoveryAdvice:
    """The advice for such nodes."""
    return advise(parse_cluster(json.dumps(described(text, **more))), "x", release=release)


def lines(advice: RecoveryAdvice) -> list[str]:
    """Each set of voters that counts, how many of them live, and what follows."""
    return [f"{''.join(each.voters)} {each.live} {each.procedure}" for each in advice.group0]


LEADS, MODE = "recovery leader", "recovery mode"
# nodes -> before 2025.2, 2025.2 and 2025.3, from 2025.4 on
BY_RELEASE = [
    ("1a 1b 1cx 1ax", (MODE, LEADS, "not known")),
    ("1a 1b 1c- 1a-", ("restart", "restart", "restart")),
    ("1a 1bx", (MODE, LEADS, "not known")),
    ("1a 1b 1cx", ("replace",) * 3),
    ("1a 1bx 1cx", (MODE, LEADS, LEADS)),
    ("1a 1a 1a 1ax", ("replace",) * 3),
    ("1a 1a 2ax 2ax", (MODE, "not known", "not known")),
    ("1a 1a 1a 1ax 1ax 1ax", (MODE, "not known", "not known")),
    ("1a 1a 1a 1a 1ax 1ax 1ax 1ax", (MODE, "not known", "not known")),
    ("1a 1a 1a 1a 1a 1a 1ax 1ax", ("replace",) * 3),
    ("1a 1a 1ax 1ax 1ax 1ax 1ax", (MODE, LEADS, LEADS)),
    ("1a 1b 1c 2a 2b 2c 3ax 3bx 3cx", ("replace",) * 3),
    ("1a 1b 1cx 1c-", ("restart", "restart", "replace")),
]


@pytest.mark.parametrize(("nodes", "procedures"), BY_RELEASE)
@pytest.mark.parametrize("release", RELEASES)
def test_the_procedure_by_release(
    nodes: str, procedures: tuple[str, str, str], release: Release
) -> None:
    """Recovery is offered only where no set of voters that the release may have chosen lives."""
    columns = {other: other in SUPPORTED[1:] for other in RELEASES}
    columns |= dict.fromkeys(SUPPORTED[3:], 2)
    advice = advised(nodes, release)
    assert advice.procedure == procedures[columns[release]]
    assert (LEADS in [each.procedure for each in advice.choices if each.offered]) == (
        advice.procedure == LEADS
    )
    there = {other: procedures[column] for other, column in columns.items()}
    differs = {other: each for other, each in there.items() if each != advice.procedure}
    assert advice.elsewhere == differs


def test_four_nodes_in_three_racks_of_which_two_die() -> None:
    """A, B, C, D in racks r1 r2 r3 r1; C dies, then D: it depends on who of A and D votes."""
    text, deaths = "1a 1b 1cx 1ax", [["C"], ["D"]]
    assert lines(advised(text, "2025.3", deaths=deaths)) == ["ABCD 2 recovery leader"]
    advice = advised(text, deaths=deaths)
    assert lines(advice) == ["BCD 1 recovery leader", "ABC 2 replace"]
    assert [step.name for step in advice.steps] == ["ask"]
    assert (advice.leader, advice.order) == (None, ())
    assert not any(each.offered for each in advice.choices)
    assert [each.why for each in advice.choices if each.procedure == "replace"] == [
        "for example if A, B, C vote"
    ]
    assert [each.procedure for each in advice.choices if each.depends] == [
        "replace",
        "recovery leader",
    ]


def rows_of(votes: str, previous: str = "") -> list[dict[str, Any]]:
    """Rows of ``system.raft_state``: who votes in capitals, who does not in small letters."""
    return [
        {
            "group_id": GROUP,
            "disposition": disposition,
            "server_id": host(name.upper()),
            "can_vote": name.isupper(),
        }
        for disposition, names in (("CURRENT", votes), ("PREVIOUS", previous))
        for name in names
    ]


def host(name: str) -> str:
    """The id of a node of that name."""
    return f"{ord(name):08x}-0000-4000-8000-000000000001"


def with_hosts(text: str) -> dict[str, Any]:
    """A description whose nodes have host ids as names."""
    given = described(text)
    return {"nodes": [{**node, "name": host(node["name"])} for node in given["nodes"]]}


# views of who votes -> the procedure, how many voters live in each line
VIEWS = [
    (("ABCd",), "replace", [2]),
    (("aBCD",), LEADS, [1]),
    (("ABCD",), LEADS, [2]),
    (("ABCd", "ABCd"), "replace", [2, 2]),
    (("ABCd", "aBCD"), "not known", [1, 2]),
    (("ABd",), "replace", [2]),
    (("Acd",), "replace", [1]),
    (("ABCE",), "not known", [2, 3]),
]


@pytest.mark.parametrize(("views", "procedure", "live"), VIEWS)
@pytest.mark.parametrize("form", ["json", "csv"])
def test_raft_state_says_who_votes(
    tmp_path: Path, views: tuple[str, ...], procedure: str, live: list[int], form: str
) -> None:
    """Views that agree decide; others are both shown; a voter without a node may live."""
    options: list[str] = []
    for number, votes in enumerate(views):
        path = tmp_path / f"view{number}.{form}"
        path.write_text(dumped(rows_of(votes), form), encoding="utf-8")
        options += ["--raft-state", str(path)]
    cluster = written(tmp_path, with_hosts("1a 1b 1cx 1ax"))
    answer = call("recover", cluster, *options, "--json")
    assert answer.json["procedure"] == procedure
    assert [line["live"] for line in answer.json["group0"]] == live
    assert answer.json["elsewhere"] == {}
    assert answer.status == (0 if procedure == "replace" else 1)
    strange = [line for line in answer.json["warnings"] if "is not in the file" in line]
    assert bool(strange) == ("E" in views[0])


def dumped(rows: list[dict[str, Any]], form: str) -> str:
    """Rows as cqlsh writes them."""
    if form == "json":
        return json.dumps(rows)
    return (
        "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n"
    )


@pytest.mark.parametrize(
    ("current", "previous", "holds"),
    [("ABC", "ABD", True), ("ABC", "CDa", False), ("CDA", "ABc", False), ("AB", "ABC", True)],
)
def test_both_configurations_need_a_majority(
    tmp_path: Path, current: str, previous: str, holds: bool
) -> None:
    """While voters are being changed; the one that is further from its majority is told."""
    path = written(tmp_path, rows_of(current, previous), "view.json")
    answer = call("recover", written(tmp_path, with_hosts("1a 1b 1cx 1ax")), "--raft-state", path)
    assert (answer.status == 0) is holds
    assert "the voters are changing; the old and the new set both need a majority" in " ".join(
        answer.out.split()
    )


BAD_VIEWS = [
    ({"disposition": "NEXT"}, "disposition | 'NEXT' | CURRENT or PREVIOUS"),
    ({"group_id": GROUP.replace("1", "2")}, "group_id | 2222 | raft_group0_id"),
    ({"server_id": host("A")}, "server_id | each server once as CURRENT"),
    ({"server_id": "A"}, "server_id | 'A'"),
    ({"can_vote": "yes"}, "can_vote | 'yes'"),
    ({"can_vote": None}, "can_vote | None | a value in each row"),
]


@pytest.mark.parametrize(("change", "words"), BAD_VIEWS)
def test_a_view_is_read_strictly(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    """The row and the column are named, with what is allowed."""
    rows = rows_of("ABC")
    path = written(tmp_path, [*rows[:2], {**rows[2], **change}], "view.json")
    with pytest.raises(BadInput) as caught:
        read_raft_state(path)
    assert says(caught.value, words)


def test_a_description_may_say_who_votes(tmp_path: Path) -> None:
    """Of each node that has joined, or of none."""
    given = described("1a 1b 1cx 1ax")
    for node, votes in zip(given["nodes"], (True, True, True, False), strict=True):
        node["votes"] = votes
    advice = advise(parse_cluster(json.dumps(given)), "x")
    assert lines(advice) == ["ABC 2 replace"]
    del given["nodes"][1]["votes"]
    assert says(
        bad("recover", written(tmp_path, given)), "nodes[1].votes | true or false for every"
    )


CLUSTERS = st.lists(
    st.tuples(st.sampled_from("12"), st.sampled_from("ab"), st.booleans()), min_size=1, max_size=6
)


@given(CLUSTERS, st.sampled_from(SUPPORTED), st.data())
def test_what_group_0_does_lies_between_the_extremes(
    nodes: list[tuple[str, str, bool]], release: Release, data: st.DataObject
) -> None:
    """However the nodes died, at once or in any groups: no run is better or worse than is said."""
    places = [(f"dc{dc}", rack) for dc, rack, _ in nodes]
    order = data.draw(st.permutations([at for at, node in enumerate(nodes) if node[2]]))
    cuts = data.draw(st.lists(st.booleans(), min_size=len(order), max_size=len(order)))
    groups: list[int] = []
    for node, apart in zip(order, cuts, strict=True):
        if apart or not groups:
            groups.append(0)
        groups[-1] |= 1 << node
    dead, everybody = sum(groups), (1 << len(places)) - 1
    rules = VoterRules(release)
    quorum = after_deaths("server", places, groups, rules)
    worst, best = extremes(places, everybody, 0, dead, rules, together=len(groups) < 2)
    assert worst.live.bit_count() <= quorum.live.bit_count() <= best.live.bit_count()
    assert quorum.needed == worst.needed == best.needed
    assert not list(nodes_in(worst.live & dead))


@pytest.mark.parametrize("release", ["2025.2", "2025.4"])
@pytest.mark.parametrize("known", [(), ((),), ("dc1",), ("dc1", "r1")])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_extremes_cover_every_place_that_is_not_known(
    release: Release, known: tuple[Any, ...], size: int
) -> None:
    """Over all places of the nodes: no outcome lies outside, and where none is known it is met."""
    rules, everybody = VoterRules(release), (1 << size) - 1
    given = [(*known, "", "")[:2] if known != ((),) or at else ("", "r1") for at in range(size)]
    if known == ("dc1", "r1"):
        given[-1] = ("", "")
    some = range(2 if size < 4 else 1)
    options = [
        [(dc or f"d{d}", rack or f"r{r}") for d in range(1 if dc else size) for r in some]
        for dc, rack in given
    ]

    def held(places: list[tuple[str, str]], lost: int, together: bool) -> list[bool]:
        ends = extremes(places, everybody, 0, lost, rules, together=together)
        return [end.holds for end in ends]

    for lost, together in product(range(1 << size), (True, False)):
        worst, best = held(given, lost, together)
        every = [held(list(places), lost, together) for places in product(*options)]
        low, high = min(each[0] for each in every), max(each[1] for each in every)
        assert worst <= low <= high <= best
        if not known:
            assert (worst, best) == (low, high)


GOSSIPS = """
5.4    | -                       | yes
6.0    | -                       | not known
6.2    | done                    | no
6.2    | not_upgraded            | yes
2025.1 | -                       | not known
2025.1 | build_coordinator_state | yes
2025.1 | done                    | no
2025.2 | -                       | no
2026.3 | -                       | no
"""
"""A release, upgrade_state, whether the topology is gossiped. Source: published manual of 2025.1
and 2025.4, docs/architecture/raft.rst; db/system_keyspace.cc at 6.0.0, ``upgrade_state``.
"""


@pytest.mark.parametrize("line", GOSSIPS.strip().splitlines())
def test_a_gossiped_topology_bans_nobody_and_changes_one_node_at_a_time(line: str) -> None:
    """The remedies go by it; where nothing tells, the command that does is named."""
    release, state, gossiped = (cell.strip() for cell in line.split("|"))
    more = {} if state == "-" else {"upgrade_state": state}
    advice = advised("1a 1b 1c 1ax", {each: each for each in RELEASES}[release], **more)
    names = {step.name for step in advice.remedies}
    text = " ".join(step.what for step in advice.remedies)
    assert ("alone" in names, "it is banned" in text) == (gossiped == "yes", gossiped != "yes")
    asks = any("SELECT upgrade_state FROM system.topology" in said for said in advice.warnings)
    assert asks == (gossiped == "not known")
    with pytest.raises(BadInput, match=r"upgrade_state: .*one of not_upgraded, build"):
        advised("1a", upgrade_state="dun")
