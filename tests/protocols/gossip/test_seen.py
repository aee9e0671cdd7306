"""What a student sees of a schema by gossip: versions, pulls, two sides, what is lost."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.protocols.gossip.facts import OUTPUT, changes, schemas, short_versions, versions
from kit.protocols.gossip.gossip import Ack, Ack2, Gossip, LegacyNode, Syn, begun, lost_updates
from kit.protocols.gossip.rules import EndpointDigest, SchemaChange, cells_of, started
from tests.views.frames import after, check_frame, go_on, last_flows, panel_text, scenes, walk

SCENARIOS = [f"gossip/{one.name}" for one in entries()["gossip"].scenarios]
ROUND = ("gossip A B", "deliver A>B SYN", "deliver B>A ACK", "deliver A>B ACK2")
RIVALS = ("create table ks.t at A", "create table ks.t at B")


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


@pytest.mark.spec("C-040")
def test_another_digest_is_pulled() -> None:
    """Each node has its digest in a column, beside those that it has heard; a node that hears of
    another one pulls, and the cells travel from there to it.
    """
    timeline = after("gossip", {"nodes": 2}, RIVALS[0], *ROUND)
    text = panel_text(timeline, "versions")
    assert "A: version d872eb of 3 cells; heard: B ≠ 0ee694 (1:1)" in text
    assert "B: version 0ee694 of 1 cell; heard: A ≠ d872eb (1:2); pulls from A" in text
    timeline = after("gossip", {"nodes": 2}, RIVALS[0], *ROUND, "pull B A", "deliver B>A pull")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.kind) == ("n:B", "n:A", "request")
    timeline.forward()
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.label) == ("n:A", "n:B", "cells d872eb")
    assert "B: version d872eb of 3 cells" in panel_text(timeline, "versions")


@pytest.mark.parametrize(
    ("changes", "nodes", "short"),
    [
        (("create table ks.t at A", "create table ks.u at A"), {}, ["v0", "v1", "v1+2"]),
        (("create table ks.t at A", "create table ks.u at B"), {"nodes": 2}, ["v0", "v1", "v2"]),
    ],
)
def test_a_short_name_of_a_version_counts_changes_from_1(
    changes: tuple[str, ...], nodes: dict[str, int], short: list[str]
) -> None:
    """The first version is v0; others go by the changes that their nodes have."""
    timeline = after("gossip", {"changes": changes, **nodes}, *changes)
    assert isinstance(timeline.model, Gossip)
    seen = dict.fromkeys(
        name
        for moment in timeline.moments
        for name in short_versions(timeline.model, moment.state).values()
    )
    assert [*seen] == short


@pytest.mark.spec("G-015")
def test_both_sides_of_a_split_change_the_schema() -> None:
    """Neither side asks for a majority: two schemas, two versions, and the lamp is out."""
    changes = ("create table ks.t at A", "create table ks.u at C")
    timeline = after("gossip", {"changes": changes, "partitions": 1}, "partition A B | C", *changes)
    assert "cut: between C and the others" in panel_text(timeline, "nodes")
    text = panel_text(timeline, "schemas")
    assert "≠ table ks.t: A id 2@A, B –, C –" in text
    assert "≠ table ks.u: A –, B –, C id 3@C" in text
    assert [v.name for v in timeline.verdicts() if not v.ok] == ["one-side", "split-brain"]


@pytest.mark.spec("G-017")
def test_the_newest_timestamp_wins_and_the_other_is_lost() -> None:
    """Of two tables with one name the newer stays; the diff names the one that is lost."""
    timeline = after("gossip", {"changes": RIVALS, "nodes": 2}, *RIVALS)
    text = panel_text(timeline, "schemas")
    assert "≠ table ks.t: A id 2@A, B id 3@B" in text
    assert "id 2@A): ! something newer on B" in text
    assert "overwritten" not in panel_text(timeline, "badges")  # B never knew it, A still has it
    while timeline.forward() is not None:
        pass
    text = panel_text(timeline, "schemas")
    assert "= table ks.t: A id 3@B, B id 3@B" in text
    assert (
        "(column ks.t.pk: int, table ks.t: id 2@A): ! lost: something newer took its place" in text
    )
    assert "1 change overwritten" in panel_text(timeline, "badges")
    assert [v.name for v in timeline.verdicts() if not v.ok] == ["lost-update"]


TWO = ("create table ks.t at A", "create table ks.u at B")
PULLED = ("pull A B", "deliver A>B pull")


@pytest.mark.parametrize(
    ("changes", "verbs", "names"),
    [
        (TWO, (), "v0 v0"),
        (TWO, TWO[:1], "v1 v0"),
        (TWO, TWO[1:], "v0 v2"),
        (TWO, TWO, "v1 v2"),
        (TWO, (*TWO, *ROUND, *PULLED, "deliver B>A cells 5772a4"), "v1+2 v2"),
        (RIVALS, (*RIVALS, *ROUND, *PULLED, "deliver B>A cells 7ad76c"), "v2 v2"),
    ],
)
def test_a_version_is_named_for_its_changes(
    changes: tuple[str, ...], verbs: tuple[str, ...], names: str
) -> None:
    """Numbers say which changes a node has; 0 stands for the schema before all of them."""
    timeline = after("gossip", {"nodes": 2, "changes": changes}, *verbs)
    short = short_versions(timeline.model, timeline.state)
    assert " ".join(short[node.version] for node in timeline.state.nodes) == names


def test_a_node_pulls_from_those_that_it_has_heard_of() -> None:
    """Only B has heard of the version that A has now."""
    timeline = after("gossip", {}, RIVALS[0], *ROUND)
    rows = versions(timeline.model, timeline.state)
    assert [row.pulls for row in rows] == [(), ("A",), ()]


def test_definitions_are_sorted_by_name() -> None:
    """Whatever they are, and whoever has them: a keyspace stands before its tables."""
    keyspace, *tables = "create keyspace b at A", "create table ks.u at A", "create table ks.t at B"
    timeline = after("gossip", {"changes": (*tables, keyspace)}, *tables, keyspace)
    assert [name for _, name, *_ in schemas(timeline.model, timeline.state)] == [
        *("keyspace b", "keyspace ks", "table ks.t", "column ks.t.pk"),
        *("table ks.u", "column ks.u.pk"),
    ]


def test_the_sides_of_a_split_are_named() -> None:
    """While the network is split, and not before or after."""
    given = {"partitions": 1}
    for verbs, said in (((), False), (("partition A B | C",), True), (("heal",), False)):
        done = ("partition A B | C", *verbs) if verbs == ("heal",) else verbs
        badges = panel_text(after("gossip", given, *done), "badges")
        assert ("partition: A B | C" in badges, "partition" in badges) == (said, said)


DONE_BY_A = "create table ks.t at A: timestamp 2, known to "
DONE_BY_B = "create table ks.t at B: timestamp 3, known to B"
MERGED = (*RIVALS, *ROUND, *PULLED, "deliver B>A cells 7ad76c")


@pytest.mark.parametrize(
    ("verbs", "lines"),
    [
        ((), ["no change has been made"]),
        (RIVALS[:1], [f"{DONE_BY_A}A"]),
        (RIVALS, [f"{DONE_BY_A}A, something newer on B", DONE_BY_B]),
        (MERGED, [f"{DONE_BY_A}no node, something newer on A, B", f"{DONE_BY_B[:-1]}A, B"]),
    ],
)
def test_a_file_shows_the_changes_that_were_made(verbs: tuple[str, ...], lines: list[str]) -> None:
    """When, who knows of each, and who has something newer in its place."""
    timeline = after("gossip", {"nodes": 2, "changes": RIVALS}, *verbs)
    assert OUTPUT["changes"](timeline.model, timeline.state, "").splitlines() == lines


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"changes": ("add a table at A",)}, "create table KS.T at NODE"),
        ({"changes": ("create table ks.t at Z",)}, "one of the nodes A, B, C"),
        ({"changes": ("alter keyspace ks at A",)}, "alter keyspace KS rf N at NODE"),
        ({"changes": ("drop keyspace ks rf 2 at A",)}, "drop keyspace KS at NODE"),
        ({"changes": ("drop table ks.t add c int at A",)}, "drop table KS.T at NODE"),
        ({"changes": RIVALS[:1] * 2}, "each change once"),
        ({"earlier": ("create table ks.t at A",)}, "keyspace ks does not exist"),
        ({"clocks": (1, 2, 3, 4)}, "at most 3 numbers, one per node"),
    ],
)
def test_bad_parameters_are_told_in_one_line(given: dict[str, object], words: str) -> None:
    """What is no change, or at no node, or makes no sense before the start, is named."""
    with pytest.raises(BadInput, match=words):
        build("gossip", given)


def test_nodes_talk_once_at_a_time_and_few_at_once() -> None:
    """A round or a pull between two nodes waits for the one under way, and for others as far as
    the limit says; what a split stops does not count.
    """
    changes = ("create table ks.t at A", "create table ks.u at C")
    given = {"changes": changes, "partitions": 1}
    timeline = after("gossip", given, *changes, "gossip A B")
    model = timeline.model

    def why(verb: str) -> str:
        option = model.find(timeline.state, verb)
        assert option is not None, verb
        return option[1].reason if option[1] else ""

    for verb in ("gossip A B", "gossip B A"):
        assert why(verb) == f"{verb[7]} and {verb[9]} already have SYN in flight"
    few = "at_once={}: no more rounds or pulls can be in flight"
    assert why("gossip A C") == why("gossip C B") == few.format(1)
    go_on(timeline, "partition A | B C")
    for verb in ("gossip A B", "gossip C A"):
        assert why(verb).endswith("the network is partitioned")
    assert why("gossip C B") == ""
    two = after("gossip", {**given, "at_once": 2}, *changes, "gossip A B", "gossip C B")
    assert two.model.find(two.state, "gossip A C")[1].reason == few.format(2)


def why_not(timeline: Timeline, verb: str) -> str:
    """Why a step may not be taken now; empty: it may."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    return str(option[1].reason) if option[1] else ""


def test_a_pull_and_a_round_go_on_at_once() -> None:
    """Between the same two nodes; what waits is another pull, with its reason."""
    given = {"nodes": 2, "changes": RIVALS, "at_once": 2}
    timeline = after("gossip", given, RIVALS[0], *ROUND, RIVALS[1], "pull B A")
    assert why_not(timeline, "pull B A") == "B and A already have pull in flight"
    assert why_not(timeline, "gossip A B") == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("create keyspace ks at A", "keyspace ks already exists"),
        ("drop table ks.t at A", "table ks.t does not exist"),
        ("create table ks.t at A", ""),
    ],
)
def test_a_node_refuses_what_makes_no_sense_to_it(change: str, reason: str) -> None:
    """It looks at its own cells."""
    assert why_not(after("gossip", {"changes": (change,)}), change) == reason


def test_a_keyspace_has_no_id() -> None:
    """Nodes may say different things of its replication: that is no second keyspace."""
    change = "alter keyspace ks rf 3 at A"
    timeline = after("gossip", {"nodes": 2, "changes": (change,)}, change)
    model: Any = timeline.model
    assert [row[:2] for row in schemas(model, timeline.state)] == [("≠", "keyspace ks")]
    assert model.one_id(timeline.state) is None


@pytest.mark.parametrize(
    ("verbs", "again"), [((), False), (TWO[:1], False), (TWO, False), (MERGED, True)]
)
def test_nodes_agree_again_after_a_change(verbs: tuple[str, ...], again: bool) -> None:
    """Not before the first one, and not while their versions differ."""
    changes = RIVALS if verbs == MERGED else TWO
    timeline = after("gossip", {"nodes": 2, "changes": changes}, *verbs)
    model: Any = timeline.model
    assert model.again(timeline.state) is again


def test_what_is_news_of_a_run() -> None:
    """What clients and the network do, and that nodes agree; not each message, nor each round."""
    given = {"nodes": 2, "changes": RIVALS[:1], "partitions": 1}
    split = ("partition A | B", *RIVALS[:1], "heal")
    pulled = ("pull B A", "deliver B>A pull", "deliver A>B cells d872eb")
    timeline = after("gossip", given, *split, *ROUND, *pulled)
    told = [moment.milestone for moment in timeline.moments[1:]]
    assert told == ["split", RIVALS[0], "healed", *[None] * 6, "version d872eb"]


def test_a_node_keeps_its_past_versions_in_order() -> None:
    """However many it has had: states with the same past are the same state."""
    node, had = LegacyNode("A", (), begun(("A",), ())), []
    for number in range(12):
        had.append(node.version)
        change = SchemaChange("create", f"ks{number}")
        node = node.with_cells(cells_of(change, number + 1, "A"))
    assert node.past == tuple(sorted(had))


def test_there_is_nothing_to_switch_off() -> None:
    """The model has no safeguards: that is what it shows."""
    with pytest.raises(BadInput):
        build("gossip", off=("state-id-check",))


def test_who_knows_a_change_knows_all_of_it() -> None:
    """Two tables of one name at one time have the same key, and ids of their own."""
    timeline = after("gossip", {"nodes": 2, "changes": RIVALS})
    model: Any = timeline.model
    s = timeline.state
    for number, node in enumerate(s.nodes):
        cells = cells_of(SchemaChange("create", "ks", "t"), 2, node.name)
        s = s.put(number, node.with_cells(cells).but(done=((number, 2),)))
    assert {*s.nodes[0].cells} & {*s.nodes[1].cells}
    assert [row.known for row in changes(model, s)] == [("A",), ("B",)]


def test_changes_of_a_node_are_kept_by_number() -> None:
    """In whatever order clients ask for them."""
    tables = ("create table ks.t at A", "create table ks.u at A")
    timeline = after("gossip", {"changes": tables}, *reversed(tables))
    assert [number for number, _ in timeline.state.nodes[0].done] == [0, 1]


def test_a_lost_update_stays_one() -> None:
    """Whatever clients change later."""
    timeline = after("gossip", {"nodes": 2}, RIVALS[0])
    model: Any = timeline.model
    monitor = lost_updates(model)
    first, last = timeline.moments[0].state, timeline.moments[-1]
    kept, witness = monitor.step(monitor.begin(), first, last.action, last.state)
    assert (len(kept), witness) == (2, "")
    assert monitor.step(((), "lost"), first, last.action, last.state) == (kept, "lost")
    go_on(timeline, *ROUND, *REQUESTED, "deliver A>B cells d872eb")
    last = timeline.moments[-1]
    assert monitor.step(((), "lost"), first, last.action, last.state) == ((), "lost")


FACTORS = ("alter keyspace ks rf 2 at A", "alter keyspace ks rf 3 at A")
LATE = ("alter keyspace ks rf 2 at A", "alter keyspace ks rf 3 at B")
REQUESTED = ("pull B A", "deliver B>A pull")
BEHIND = (LATE[0], *ROUND, *REQUESTED, "deliver A>B cells 5930b0")


@pytest.mark.parametrize(
    ("given", "verbs", "lost"),
    [
        # B has something newer where A's change belongs, and has not pulled A's yet: then it has.
        ({"changes": RIVALS}, (*RIVALS, *ROUND), False),
        ({"changes": RIVALS}, (*RIVALS, *ROUND, *REQUESTED, "deliver A>B cells d872eb"), True),
        # A changes again what it changed before, knowingly: B hears of both in one.
        (
            {"changes": FACTORS},
            (*FACTORS, *ROUND, *REQUESTED, "deliver A>B cells a2378e"),
            False,
        ),
        # B has A's change, and a clock that is behind: what it does has no effect at all.
        ({"changes": LATE, "clocks": (9,)}, BEHIND, False),
        ({"changes": LATE, "clocks": (9,)}, (*BEHIND, LATE[1]), True),
    ],
)
def test_when_an_update_is_lost(given: dict[str, Any], verbs: tuple[str, ...], lost: bool) -> None:
    """Once a node with something newer hears of it; no node loses what it replaced itself."""
    timeline = after("gossip", {"nodes": 2, **given}, *verbs)
    broken = [each.name for each in timeline.verdicts() if not each.ok]
    assert ("lost-update" in broken) is lost


def test_messages_say_what_is_in_them() -> None:
    """An ACK asks for what is behind, says what is ahead, or that there is neither."""
    model: Any = build("gossip")
    known, newer = (EndpointDigest("A", 1, 2),), started((), "B", 1, SCHEMA="1f03c2")
    said = "B has version 1f03c2"
    for message, text in (
        (Syn(known), "SYN (digests A 1:2)"),
        (Ack((), ()), "ACK (nothing is newer)"),
        (Ack(known, ()), "ACK (asks for news of A)"),
        (Ack((), newer), f"ACK (says that {said})"),
        (Ack(known, newer), f"ACK (asks for news of A and says that {said})"),
        (Ack2(newer), f"ACK2 (says that {said})"),
    ):
        assert model.in_full(message) == text


@pytest.mark.parametrize(
    ("clocks", "ahead"),
    [((), (0, 0, 0)), ((5,), (5, 0, 0)), ((5, 0, 7), (5, 0, 7))],
)
def test_each_node_has_a_clock(clocks: tuple[int, ...], ahead: tuple[int, ...]) -> None:
    """Where none is given it is right; a clock more than nodes is refused."""
    assert Gossip(nodes=3, clocks=clocks).ahead == ahead
    with pytest.raises(BadInput):
        Gossip(nodes=len(clocks) or 1, clocks=(*clocks, 1, 1))
