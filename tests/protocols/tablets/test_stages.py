"""The stages of tablets are those of the documents and of the published server, edge for edge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kit.errors import BadInput, KitError
from kit.lessons.predictions import predict
from kit.model.registry import build
from kit.protocols.group0.rules.releases import SUPPORTED, Supported
from kit.protocols.tablets.lessons.stories import DONE, FAILS, WAITS, how_it_ends
from kit.protocols.tablets.rules.replica_sets import (
    CONDITIONS,
    ReplicaSets,
    TabletReplica,
    after_failure,
    choice_of,
    repairing,
    streaming,
)
from kit.protocols.tablets.rules.stages import (
    KINDS,
    TRANSITIONS,
    TransitionKind,
    ends_well,
    in_words,
    onward,
    stages,
    tables_for,
)
from kit.protocols.topology.rules.machines import (
    BOUNDARY,
    EDITIONS,
    EdgeRow,
    Edition,
    Machine,
    StateRow,
    machine_in_words,
)
from tests.fixtures import rows
from tests.protocols.tablets.answers import in_session

DIAGRAM: dict[TransitionKind, str] = {
    "migration": "tablet",
    "intranode_migration": "tablet",
    "rebuild": "tablet",
    "rebuild_v2": "tablet_rebuild_v2",
    "repair": "tablet_repair",
}


def tables() -> Iterator[tuple[Edition, Machine]]:
    """Every table of every edition."""
    return ((edition, each) for edition in EDITIONS for each in TRANSITIONS[edition].values())


def replicas(text: str) -> tuple[TabletReplica, ...]:
    """``A B`` are shards 0 of two hosts, ``A1`` is shard 1 of one."""
    return tuple(TabletReplica(name[0], int(name[1:] or 0)) for name in text.split())


MOVE = ReplicaSets(replicas("A B C"), replicas("D B C"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_documents_edition_has_the_edges_of_its_diagrams(kind: TransitionKind) -> None:
    """Each kind has them once, and no other."""
    ours = [(e.source, e.target, e.label) for e in TRANSITIONS["documents"][kind].edges]
    theirs = rows("EDGE", DIAGRAM[kind])
    assert sorted(ours) == sorted(theirs)
    assert len(theirs) == len(set(theirs)) > 2


MOVES = "allow_write_both_read_old write_both_read_old streaming write_both_read_new use_new"
LAST = f"{MOVES} cleanup end_migration"
REBUILDS = LAST.replace("streaming", "rebuild_repair streaming")


@pytest.mark.parametrize("edition", EDITIONS)
def test_only_stages_on_the_way_on_end_with_the_new_replicas(edition: Edition) -> None:
    """Ways back and repairs end with the old ones."""
    for kind in KINDS:
        table = TRANSITIONS[edition][kind]
        ended = {row.name for row in table.states if ends_well(table, row.name)}
        onwards = {"rebuild_v2": REBUILDS, "repair": ""}.get(kind, LAST)
        assert ended == {*onwards.split()}, kind


def test_a_restore_is_one_stage_in_the_server_alone() -> None:
    """It ends whether its work is done or has failed, and the editions page has its words."""
    assert "restore" not in TRANSITIONS["documents"]
    table = TRANSITIONS["server"]["restore"]
    assert [row.name for row in table.states] == ["restore"]
    assert [(e.source, e.target, e.kind) for e in table.edges] == [
        (BOUNDARY, "restore", "happy"),
        ("restore", BOUNDARY, "happy"),
        ("restore", BOUNDARY, "proceed"),
    ]
    for edition in EDITIONS:
        words = [*in_words(edition)]
        for kind, each in TRANSITIONS[edition].items():
            own = [*machine_in_words(each)]
            assert own == words[: len(own)], kind
            words = words[len(own) :]
        assert words == [], edition


def test_each_stage_of_the_documents_has_the_documents_selectors() -> None:
    """In every kind. Sessions and work are compared as well."""
    known = {row[0]: row[1:] for row in rows("STAGE")}
    assert set(known) == set(stages("documents"))
    for table in TRANSITIONS["documents"].values():
        for row in table.states:
            session = "yes" if row.name in in_session(table) else "no"
            work = " ".join(each.name for each in row.work)
            assert known[row.name] == (row.writes, row.reads, session, work), table.name


def test_the_server_edition_has_the_stages_of_the_published_server() -> None:
    """Selectors, work and both kinds of next stage are compared."""
    known = {row[0]: row[1:] for row in rows("CODE")}
    assert set(known) == set(stages("server"))
    for table in (TRANSITIONS["server"][kind] for kind in KINDS):
        for row in table.states:
            reads, writes, work, onwards, failed = known[row.name]
            assert (row.reads, row.writes) == (reads, writes)
            assert " ".join(each.name for each in row.work) == work
            assert onward(table, row.name).target in onwards.split()
            back = {e.target for e in table.edges if e.source == row.name and e.kind != "happy"}
            assert back <= set(failed.split())
            assert back == set(failed.split()) or table.name == "intranode_migration"


def test_the_server_opens_a_session_one_stage_before_the_documents() -> None:
    """In the documents each stage that needs one opens its own."""
    moving, repaired = {"streaming"}, {"rebuild_repair", "streaming"}
    early = {"write_both_read_old"}
    expected = {
        ("documents", "migration"): moving,
        ("documents", "rebuild_v2"): repaired,
        ("documents", "repair"): {"repair"},
        ("server", "migration"): moving | early,
        ("server", "rebuild_v2"): repaired | early,
        ("server", "repair"): {"repair"},
    }
    for edition, table in tables():
        if (edition, table.name) in expected:
            assert in_session(table) == expected[edition, table.name], (edition, table.name)
    # Each stage that needs one has its own: the second one of a rebuild opens another.
    assert onward(TRANSITIONS["documents"]["rebuild_v2"], "rebuild_repair").session == "opens"
    assert onward(TRANSITIONS["server"]["rebuild_v2"], "rebuild_repair").session == ""


def test_every_stage_is_reached_and_leads_to_the_end_by_happy_edges() -> None:
    """Every edge raises the version."""
    for edition, table in tables():
        names = {row.name for row in table.states}
        assert {e.target for e in table.edges} == names | {BOUNDARY}, (edition, table.name)
        assert all(edge.version for edge in table.edges)
        assert {edge.when for edge in table.edges} <= {"", *CONDITIONS}
        for name in names:
            way = [name]
            while way[-1] != BOUNDARY:
                way.append(onward(table, way[-1]).target)
                assert len(way) <= len(names) + 1


def test_every_edge_but_one_changes_at_most_one_selector() -> None:
    """The one is the documents' way back from write_both_read_new."""
    found = set()
    for edition, table in tables():
        rest = {row.name: (row.reads, row.writes) for row in table.states}
        for edge in table.edges:
            if BOUNDARY in (edge.source, edge.target):
                continue
            (reads, writes), (then_reads, then_writes) = rest[edge.source], rest[edge.target]
            if reads != then_reads and writes != then_writes:
                found.add((edition, edge.source, edge.target))
    assert found == {("documents", "write_both_read_new", "cleanup_target")}


@pytest.mark.parametrize(
    ("edition", "stage", "excluded", "leads", "left"),
    [
        ("documents", "streaming", "", "cleanup_target", None),
        ("documents", "write_both_read_new", "", "use_new", (3, 3)),
        ("documents", "write_both_read_new", "A", "use_new", (2, 3)),
        ("documents", "write_both_read_new", "D", "cleanup_target", (3, 2)),
        ("documents", "write_both_read_new", "AD", "use_new", (2, 2)),
        ("documents", "use_new", "D", None, None),
        ("documents", "cleanup_target", "A", None, None),
    ],
)
def test_a_failed_stage_leads_back_or_on_by_the_nodes_that_are_left(
    edition: Edition, stage: str, excluded: str, leads: str | None, left: tuple[int, int] | None
) -> None:
    """Where the table has no edge it is tried again; where it has two, replicas are counted."""
    table = TRANSITIONS[tables_for(edition, "2025.4")]["migration"]  # of no release, in documents
    edge = after_failure(table, stage, MOVE, excluded)
    assert (edge and edge.target) == leads
    choice = choice_of(table, stage, MOVE, excluded)
    assert (choice and (choice.old, choice.new)) == left


PUBLISHED = Path(__file__).parent / "published" / "failures.txt"


@pytest.mark.parametrize("release", SUPPORTED)
@pytest.mark.parametrize(
    "case", PUBLISHED.read_text(encoding="utf-8").partition("\n\n")[2].splitlines()
)
def test_a_published_failure_leads_where_its_release_leads(case: str, release: Supported) -> None:
    """Each row of failures.txt, on each release."""
    kind, stage, excluded, before, since = map(str.strip, case.split("|"))
    given_up = excluded == "full"
    table = TRANSITIONS[tables_for("server", release)][kind]  # type: ignore[index]  # a kind
    edge = after_failure(
        table, stage, MOVE, () if given_up else excluded.split(), given_up=given_up
    )
    leads = since if release >= "2026.2" else before
    assert (edge.target if edge else "again") == leads


def test_each_kind_of_transition_streams_from_and_to_its_replicas() -> None:
    """A migration from the leaving one, a rebuild from all, after a repair from one of them."""
    sent = streaming("migration", MOVE)
    assert (sent.sources, sent.targets) == (replicas("A"), replicas("D"))
    assert streaming("rebuild", MOVE, "A").sources == replicas("B C")
    assert streaming("rebuild", MOVE, "AB").sources == replicas("C")
    assert streaming("rebuild_v2", MOVE, "A").sources == replicas("B")
    assert repairing(MOVE, "A").sources == replicas("B C")
    within = ReplicaSets(replicas("A B"), replicas("A1 B"))
    assert streaming("intranode_migration", within).sources == replicas("A")
    assert within.both == replicas("A B A1")
    added = ReplicaSets(replicas("A"), replicas("A B"))
    assert streaming("rebuild", added).targets == replicas("B")
    assert streaming("rebuild", ReplicaSets(replicas("A B"), replicas("A"))).targets == ()


Window = frozenset[str]
"""The stages by which somebody may still work."""


def steps(table: Machine) -> Iterator[tuple[EdgeRow, Window]]:
    """Each way through the table: an edge, with the stages in use once it is committed.

    A barrier that is met leaves the stage that it belongs to; one that failed leaves all.
    """
    seen: set[tuple[str, Window]] = set()
    reached = [(BOUNDARY, frozenset({BOUNDARY}))]
    while reached:
        stage, window = reached.pop()
        for edge in table.edges:
            if edge.source != stage:
                continue
            met = edge.kind == "happy" and barrier_of(table, stage)
            after = frozenset({stage}) if met else window
            after |= {edge.target}
            yield edge, after
            if edge.target != BOUNDARY and (edge.target, after) not in seen:
                seen.add((edge.target, after))
                reached.append((edge.target, after))


def barrier_of(table: Machine, stage: str) -> bool:
    """Whether a stage has a barrier."""
    return stage != BOUNDARY and any(work.barrier for work in table.state(stage).work)


def selectors(table: Machine, stage: str, ends: str) -> tuple[str, str]:
    """What requests use; outside the transition one of both sets alone."""
    row = None if stage == BOUNDARY else table.state(stage)
    return (ends, ends) if row is None else (row.reads, row.writes)


def too_far(edition: Edition, kind: TransitionKind) -> set[tuple[str, str]]:
    """The edges after which two nodes may differ in both selectors."""
    table = TRANSITIONS[edition][kind]
    found = set()
    for edge, window in steps(table):
        if edge.target == BOUNDARY:
            continue  # it ends behind a barrier of a stage with the same selectors
        used = [selectors(table, stage, "old") for stage in window]
        if any(a[0] != b[0] and a[1] != b[1] for a in used for b in used):
            found.add((edge.source, edge.target))
    return found


@pytest.mark.spec("E-064")
@pytest.mark.parametrize("kind", KINDS)
def test_in_the_server_no_two_nodes_differ_in_both_selectors(kind: TransitionKind) -> None:
    """On every way through the table, also those of failures."""
    assert too_far("server", kind) == set()


@pytest.mark.parametrize("kind", KINDS)
def test_in_the_documents_two_nodes_differ_in_both_selectors_after_a_failed_barrier(
    kind: TransitionKind,
) -> None:
    """Q-47: only after the read switch, where the next change comes without a barrier."""
    switch = {("write_both_read_new", "cleanup_target"), ("write_both_read_new", "use_new")}
    assert too_far("documents", kind) == (switch if kind != "repair" else set())


def test_without_one_barrier_two_nodes_are_two_stages_apart() -> None:
    """So the tests above would find a missing barrier."""
    table = TRANSITIONS["server"]["migration"]
    weaker = [
        row if row.name != "write_both_read_new" else StateRow(row.name, (), row.reads, row.writes)
        for row in table.states
    ]
    broken = Machine(table.name, tuple(weaker), table.edges)
    wide = [window for edge, window in steps(broken) if edge.target == "use_new"]
    assert any({"streaming", "use_new"} <= window for window in wide)


def test_a_model_refuses_a_dump_that_does_not_fit_its_parameters() -> None:
    """The shards of all members and the sizes of all tablets are needed."""
    given = {"nodes": 3, "tablets": ("A", "B"), "tables": ("ks.t",)}
    dump = {"shards": (1, 1, 1), "tables": ({"name": "ks.t", "tablets": 2},)}
    assert build("tablets", {**given, "dump": dump}).layout.shards == (1, 1, 1)
    for wrong in ({"shards": (1, 1)}, {"shards": (1, 1, 0)}, {"sizes": ((1,),)}):
        with pytest.raises(BadInput, match=f"dump.{next(iter(wrong))}"):
            build("tablets", {**given, "dump": {**dump, **wrong}})


@pytest.mark.parametrize(
    ("request_made", "answer"),
    [
        ("keyspace_rf_change ks dc1=2", DONE),
        ("keyspace_rf_change ks dc1=1", FAILS),
        ("keyspace_rf_change ks dc1=4", FAILS),
    ],
)
def test_the_right_answer_on_an_rf_change_depends_on_its_size_and_nodes(
    request_made: str, answer: str
) -> None:
    """One replica more or less is done, and more at once is refused."""
    given = {"operations": (request_made,), "keyspaces": ("ks dc1=3",)}
    question = predict(build("topology", given), how_it_ends)
    assert question.right == (answer,)
    assert WAITS in question.choices


def test_a_question_about_a_request_of_a_model_without_one_is_refused() -> None:
    """The reason says that no request is made."""
    with pytest.raises(KitError, match="no request is made"):
        predict(build("twophase"), how_it_ends)
