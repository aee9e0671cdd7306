"""The drills of the CMS: a member lost, its quorum lost, all of it lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.console.par import par
from kit.protocols.cms.cms import is_forced
from kit.protocols.cms.drill import ALTER, BOOT, DUMP
from tests.drills import errors, failed, keeps_all, passing, printed, typed
from tests.examples import examples

MEMBER, QUORUM, ALL = "cms/member-lost", "cms/quorum-lost", "cms/cms-lost"
LIST, THREE = "nodetool cms describe", "nodetool cms reconfigure 3"
CHECK = "nodetool cms reconfigure --status"
FILE = ["jmx dumpClusterMetadata", f"addtocmstool {DUMP} 10.0.0.14", f"{BOOT}: {DUMP}"]
RESTART, START = "systemctl restart cassandra", "systemctl start cassandra"
LEAVE, READ = ["nodetool decommission"], "SELECT id FROM shop.orders"
RETURN = ["on C", START, LIST, "on B", LIST, "on D", LIST]
PASSING = {
    MEMBER: [LIST, THREE, CHECK],
    QUORUM: [LIST, "on B", START, THREE, CHECK],
    ALL: [LIST, *RETURN, *FILE, RESTART, f"{BOOT}:", THREE, CHECK],
}
LEAST = {MEMBER: 1, QUORUM: 2, ALL: 7}
# what is typed -> what does not hold of the grade, what is refused
WRONG: list[tuple[str, list[str], set[str], str]] = [
    (MEMBER, ["nodetool cms reconfigure 1"], {"CMS whole"}, ""),
    (MEMBER, ["nodetool assassinate C"], {"cluster whole"}, ""),
    (MEMBER, [*FILE], {"CMS whole"}, "enough members can come back"),
    (MEMBER, ["on C"], {"CMS whole"}, "no route to host"),
    (QUORUM, [THREE], {"CMS whole"}, "no quorum of the CMS answers (B, C)"),
    (
        QUORUM,
        ["nodetool cms dumplog"],
        {"CMS whole"},
        "no quorum of the CMS answers (missing B, C)",
    ),
    (QUORUM, ["on B", START], {"CMS whole"}, ""),
    (QUORUM, ["on B", START, "nodetool cms reconfigure 2"], {"CMS whole"}, ""),
    (QUORUM, ["on D", *FILE], {"CMS whole"}, "enough members can come back"),
    (ALL, ["on B", *FILE], {"CMS whole"}, "address"),
    (ALL, [*FILE, RESTART], {"CMS whole"}, "another node knows more of the log (C)"),
    (ALL, [*RETURN, *FILE, RESTART, THREE], {"CMS whole"}, ""),
    (ALL, [*RETURN, *FILE, RESTART, RESTART], {"CMS whole"}, "remove the option first"),
    (ALL, [*RETURN, FILE[0], FILE[2]], {"CMS whole"}, "names D as the only member"),
    (ALL, [*FILE[:2], *RETURN, FILE[2]], {"CMS whole"}, "no clustermetadata.dump of epoch 3"),
    (ALL, [*FILE[:1], "on C", START, START], {"CMS whole"}, "C is already up"),
    (ALL, [*FILE, "on C", START, "on D", RESTART], {"CMS whole"}, "would lose what came after"),
    (MEMBER, [*LEAVE, RESTART], {"CMS whole", "cluster whole"}, "D has left the cluster"),
    (MEMBER, [*LEAVE, THREE], {"CMS whole", "cluster whole"}, "D has left the cluster"),
    (MEMBER, [*LEAVE, READ], {"CMS whole", "cluster whole"}, "D has left the cluster"),
    (MEMBER, ["nodetool assassinate C", "on C"], {"cluster whole"}, "no route to host"),
]


@pytest.mark.spec("B-055")
@pytest.mark.parametrize("name", PASSING)
def test_the_documented_procedure_passes_with_the_fewest_commands(name: str) -> None:
    """Each step is ticked, and no command is needless."""
    assert passing(name, *PASSING[name]) == LEAST[name]


@pytest.mark.parametrize("name", [MEMBER, QUORUM, pytest.param(ALL, marks=pytest.mark.deep)])
def test_no_walk_passes_with_fewer_commands(name: str) -> None:
    """A search of all that can be typed."""
    shortest = par(typed(name), seconds=3600)
    assert shortest.fewest
    assert shortest.least == LEAST[name]
    assert shortest.states <= 200_000


@pytest.mark.parametrize(
    "line",
    [
        "SELECT * FROM shop.orders; -- all of it",
        'SELECT id FROM shop."orders"',
        "ALTER TABLE IF EXISTS shop.orders ADD note text;",
        "sudo systemctl restart cassandra.service",
    ],
)
def test_a_command_is_accepted_in_other_real_spellings(line: str) -> None:
    """With comments, quotes, options or sudo."""
    assert not errors(typed(MEMBER, line))


@pytest.mark.parametrize(
    ("lines", "size"),
    [
        ([], 3),
        (["nodetool cms reconfigure 2"], 2),
        ([THREE, *LEAVE, "on A"], 3),  # only two nodes are left that can be members
    ],
)
def test_the_replication_factor_follows_a_reconfiguration(lines: list[str], size: int) -> None:
    """In the server's words; a CMS that cannot be that large does not change it."""
    row = f"ReplicationParams{{class=org.apache.cassandra.locator.MetaStrategy, dc1={size}}}"
    walked = typed(MEMBER, *lines, LIST, "nodetool cms dumplog")
    assert f"Replication factor: {row}" in walked.transcript[-2].lines
    prepared = [line for line in walked.transcript[-1].lines if "#Complex" in line]
    said = f"#Complex{{replicationParams={row}}}: reconfigure {size} (by A)"
    assert all(line.endswith(said) for line in prepared)
    assert bool(prepared) == bool(lines)


@pytest.mark.parametrize(("name", "lines", "wrong", "said"), WRONG)
def test_a_wrong_walk_fails_checks(name: str, lines: list[str], wrong: set[str], said: str) -> None:
    """A refused command says why."""
    walked = typed(name, *lines)
    assert set(failed(walked)) == wrong
    assert said in " ".join(errors(walked))
    assert bool(errors(walked)) == bool(said)


@pytest.mark.spec("B-052")
def test_without_a_quorum_data_is_read_and_nothing_is_committed() -> None:
    """The schema cannot change and the log cannot be dumped; a read is answered."""
    under_way = typed(QUORUM, "SELECT id FROM shop.orders")
    assert "7" in printed(under_way)
    for line in (ALTER, "nodetool cms dumplog", THREE):
        assert "no quorum of the CMS answers" in under_way.enter(line).error, line
    assert under_way.enter(LIST).lines[2].count("nodeid") == 3


def test_a_node_that_has_left_still_answers_its_own_tools() -> None:
    """The others do not list it."""
    walked = typed(MEMBER, *LEAVE, "on A", "nodetool status", "on D", "nodetool status", LIST)
    assert not errors(walked)
    _, _, others, _, own, view = (entry.lines for entry in walked.transcript)
    assert not [line for line in others if "10.0.0.14" in line]
    assert [line[:12] for line in own if "10.0.0.14" in line] == ["UL 10.0.0.14"]
    assert "Is Member: false" in view


@pytest.mark.spec("B-056")
def test_the_override_loses_only_what_no_live_disk_has() -> None:
    """The change of epoch 4; the forced entry is marked."""
    walked = typed(ALL, *PASSING[ALL])
    [lost] = [row.why for row in walked.grade().rows if row.name == "metadata lost"]
    assert lost == "no disk has this any more: “change” of epoch 4"
    forced = [each.epoch for each in walked.now.state.nodes[1].log.entries if is_forced(each)]
    assert forced == [4]


@examples(40)
@given(
    name=st.sampled_from([*PASSING]),
    lines=st.lists(
        st.one_of(st.text(max_size=60), st.sampled_from(sorted({*sum(PASSING.values(), [ALTER])}))),
        max_size=10,
    ),
)
def test_no_typed_line_loses_earlier_work(name: str, lines: list[str]) -> None:
    """Any text, or a command out of its place."""
    keeps_all(name, lines)
