"""How a group of Raft begins, what a leader knows of its followers, and the commit log."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.raft import core
from kit.protocols.raft import messages as say
from kit.protocols.raft.beginning import begun, members_of
from kit.protocols.raft.commit_log import DEFINITION, size
from kit.protocols.raft.rules.configuration import Configuration
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import Follower, Leader, Options, Server, Stored
from kit.protocols.raft.tables import RaftTables
from kit.search.check import check
from kit.views.panel import scene_of
from tests.protocols.raft.driving import UNTIMED, Group, members
from tests.protocols.raft.test_published import ask, known, led, receive, role
from tests.protocols.tcm.exploring import reachable
from tests.views.frames import after, check_frame, go_on, last_flows, panel_text, scenes, walk
from tests.views.test_stage import pictured

FIRST = core.first_stored(members("A B C")).log


CLOCKED = Options("documents", election=3, heartbeat=1)


def log_of(*terms: int) -> Log:
    """A log with entries of these terms."""
    log = FIRST
    for index, term in enumerate(terms, 1):
        log = log.appended(Entry(term, index))
    return log


def waits_for_snapshot(options: Options) -> Group:
    """A leads; its log begins behind a snapshot, which is on its way to C."""
    behind = FIRST.merged([Entry(1, i) for i in range(1, 5)])
    compacted = behind.compacted(Snapshot(4, 1, FIRST.configuration))
    reign = Leader((Progress("B", 5, 4, "pipeline"), Progress("C", 5, 0, "snapshot")))
    group = Group("A B C", options)
    group.servers["A"] = Server("A", Stored(1, "A", compacted, 4), reign, applied=4)
    group.servers["B"] = Server("B", Stored(1, "A", behind, 4), applied=4)
    return group


def test_who_knows_no_leader_asks_the_voters() -> None:
    """A answers C, which has restarted; then C knows it, and asks nobody any more."""
    group = Group("A B C")
    group.elect("A")
    group.did(core.restart("C", group.servers["C"].stored, UNTIMED))
    assert group.servers["C"].leader == ""
    group.did(core.ping(group.servers["C"], UNTIMED))
    group.run()
    assert group.servers["C"].leader == "A"
    assert core.ping(group.servers["C"], UNTIMED).messages == ()


# -- while a snapshot is on its way ----------------------------------------------------------------


def test_a_follower_waiting_for_a_snapshot_keeps_its_leader_in_office() -> None:
    """B is down: with C the leader has a majority, however long the snapshot takes."""
    group = waits_for_snapshot(CLOCKED)
    for _ in range(4 * CLOCKED.election):
        for name in "AC":
            group.did(core.tick(group.servers[name], CLOCKED))
        group.run(lost="B")
        assert (role(group, "A"), role(group, "C")) == ("leader", "follower")
    assert known(group, "C").mode == "snapshot"
    assert group.servers["C"].log.last_index == 0


def test_the_server_sends_nothing_else_while_a_snapshot_is_on_its_way() -> None:
    """Edition ``server``: while the snapshot is on its way, nothing else is."""
    told = ask(waits_for_snapshot(UNTIMED), core.remind, "A").messages
    assert [m.target for m in told if m.target == "C"] == []


def test_a_heartbeat_makes_up_for_a_lost_answer_to_a_snapshot() -> None:
    """C has the snapshot: the heartbeat is accepted, and entries flow again."""
    group = waits_for_snapshot(CLOCKED)
    held = group.servers["A"].log.snapshot
    receive(group, "C", "A", say.Install(1, held))
    group.remind("A")
    assert (known(group, "C").mode, known(group, "C").match) == ("pipeline", 4)
    ask(group, core.submit, "A", command="x")
    group.run()
    assert [e.data for e in group.servers["C"].log] == ["x"]


@pytest.mark.parametrize(("last", "mode"), [(3, "snapshot"), (4, "pipeline"), (9, "pipeline")])
def test_an_acknowledgement_past_the_snapshot_ends_the_wait(last: int, mode: str) -> None:
    """C has by another way what the snapshot stands for."""
    group = waits_for_snapshot(UNTIMED)
    receive(group, "A", "C", say.Accepted(1, 0, last))
    assert known(group, "C").mode == mode


@pytest.mark.parametrize(("name", "mode"), [("B", "pipeline"), ("C", "probe")])
def test_only_a_snapshot_that_is_on_its_way_can_fail(name: str, mode: str) -> None:
    """B is sent entries: late news of a snapshot changes nothing there."""
    group = waits_for_snapshot(UNTIMED)
    ask(group, core.snapshot_failed, "A", follower=name)
    assert known(group, name).mode == mode


# -- logs that differ ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "other", "rejections"),
    [
        ((1, *[4] * 400), (1, *[2] * 400), 1),  # a tail of one term
        ((1, *[4] * 400), (1, *[2] * 200, *[3] * 200), 1),
        ((1, *[4] * 10), (1, *[2] * 400), 1),
        ((1, *[4] * 400), (1, *[2] * 10), 1),
        ((1, *[4] * 400), (1,), 1),  # it only lacks entries
        ((1, 2, 2, 2, 4, 4), (1, 1, 1, 3, 3), 2),  # terms by turns: one each
        ((1, *[4] * 400), (1, *[4] * 400), 0),
    ],
)
def test_a_rejection_skips_a_whole_term(
    own: tuple[int, ...], other: tuple[int, ...], rejections: int
) -> None:
    """A differing tail costs a rejection for each term, and not for each entry."""
    group = Group("A B C", UNTIMED)
    group.servers["A"] = Server("A", Stored(4, "", log_of(*own)))
    group.servers["B"] = Server("B", Stored(4, "", log_of(*other)))
    group.did(core.campaign(group.servers["A"], UNTIMED))
    said = []
    while group.in_flight:
        source, target, message = group.in_flight.pop(0)
        said += [message] if isinstance(message, say.Rejected) and source == "B" else []
        group.did(core.receive(group.servers[target], source, message, UNTIMED))
    assert len(said) == rejections
    assert list(group.servers["B"].log) == list(group.servers["A"].log)


# -- a window, votes, a transfer -------------------------------------------------------------------


def test_a_later_answer_frees_the_window_of_lost_ones() -> None:
    """Four appends are on their way to B, and only the last is answered."""
    options = Options(timers=False, in_flight=4)
    group = led(options=options)
    for number in range(4):
        ask(group, core.submit, "A", command=f"x{number}")
    assert known(group, "B").in_flight == (2, 3, 4, 5)
    receive(group, "A", "B", say.Accepted(1, 1, 5))
    assert known(group, "B").in_flight == ()


# -- what nobody may say ---------------------------------------------------------------------------


def test_an_append_against_committed_entries_is_refused() -> None:
    """B has four committed entries, and the append has another first entry."""
    group = led()
    for command in "xyz":
        ask(group, core.submit, "A", command=command)
    group.run()
    group.remind("A")
    forged = say.Append(1, 0, 0, 4, (Entry(9, 1, "other"),))
    with pytest.raises(BadInput, match=r"^entries: got .*the committed ones up to index 4"):
        core.receive(group.servers["B"], "A", forged, UNTIMED)


def test_applying_an_index_that_is_not_committed_is_refused() -> None:
    """The error names the last index that may be applied."""
    with pytest.raises(BadInput, match=r"^index: got 100; allowed: an index up to 1, the last"):
        core.apply(led().servers["B"], 100, UNTIMED)


@pytest.mark.parametrize("what", ["members A A B", "members A Z", "members a A at B"])
def test_a_malformed_request_for_members_is_refused_at_the_start(what: str) -> None:
    """Members are named twice, or unknown."""
    with pytest.raises(
        BadInput, match=r"^requests: got .*; allowed: some of A B C, each at most once"
    ):
        build("raft", {"requests": ("x", what)})


def test_a_beginning_that_names_a_member_twice_is_refused() -> None:
    """The error says: each at most once."""
    with pytest.raises(BadInput, match=r"^begins: got 'A A'; allowed: .*each at most once"):
        build("raft", {"begins": ("1 1=AA",)}).start()


GROUP = Configuration(members("A B C"))


def a_log(terms: str, first: int = 1) -> Log:
    """A log whose entries have these terms: x1, x2 and so on."""
    log = Log(Snapshot(first - 1, 0, GROUP))
    for index, term in enumerate(map(int, terms), first):
        log = log.appended(Entry(term, index, f"x{index}"))
    return log


@pytest.mark.parametrize("text", ["A A", "A a", "A D", "A B C D"])
def test_a_group_with_repeated_or_unknown_members_is_refused(text: str) -> None:
    """Small letters are members without a vote."""
    with pytest.raises(BadInput) as caught:
        members_of(text, ("A", "B", "C"))
    assert (caught.value.field, caught.value.value) == ("members", text)
    assert [each.can_vote for each in members_of("A b", ("A", "B", "C"))] == [True, False]


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("1 x", "terms, followed by words such as commit 1, leads"),
        ("1, commit x", "terms, followed by words such as commit 1, leads"),
        ("1, ", "terms, followed by words such as commit 1, leads"),
        ("1, loses 3", "commit, term, votes, follows, leads"),
        ("1=AA", "each at most once"),
    ],
)
def test_a_malformed_beginning_is_refused_with_what_is_allowed(text: str, allowed: str) -> None:
    """The error's field is begins."""
    stored = core.first_stored(members("A B C"))
    with pytest.raises(BadInput) as caught:
        begun("A", stored, {"A": text})
    assert caught.value.field == "begins"
    assert allowed in str(caught.value)


def test_a_beginning_sets_log_members_commit_term_vote_and_role() -> None:
    """A follower's vote is for its leader in the same term."""
    stored = core.first_stored(members("A B C"))
    texts = {"A": "1 1 2=Ab, commit 2, term 3, votes B, follows B", "B": "1 1, term 3, leads"}
    first, second = (begun(name, stored, texts) for name in "AB")
    assert first.machine == ("1:-", "1:x2")
    assert first.server.stored.vote == "B"
    assert (first.server.term, first.server.commit, first.server.applied) == (3, 2, 2)
    assert first.server.role == Follower("B")
    assert first.server.log.configuration == Configuration(members("A b"))
    assert isinstance(second.server.role, Leader)
    assert [(p.id, p.next) for p in second.server.role.progress] == [("A", 2), ("C", 2)]
    assert (second.machine, second.server.stored.vote) == ((), "B")
    follower = begun("C", stored, {**texts, "C": "1, term 3"})
    assert (follower.server.stored.vote, follower.server.log.last_index) == ("B", 1)
    assert begun("C", stored, {**texts, "C": "1, term 2"}).server.stored.vote == ""


@pytest.mark.parametrize(("count", "refused"), [(2, False), (3, False), (4, True)])
def test_more_beginnings_than_nodes_are_refused(count: int, refused: bool) -> None:
    """As many as nodes are not."""
    given = {"nodes": 3, "begins": ("1",) * count}
    if not refused:
        assert build("raft", given).start()
        return
    with pytest.raises(BadInput, match="at most 3 texts"):
        build("raft", given)


@pytest.mark.parametrize(
    ("given", "alike"),
    [({}, True), ({"holds": 1}, False), ({"cuts": 1}, False), ({"partitions": 1}, False),
     ({"fifo": True}, False), ({"writes_apart": True}, False), ({"drops": 1}, True)],
)  # fmt: skip
def test_symmetry_is_used_only_where_servers_are_alike(given: dict[str, Any], alike: bool) -> None:
    """Not where a state names links or holds messages back."""
    assert (build("raft", given).symmetry is not None) is alike


def test_the_tables_give_back_a_log_that_was_cut_or_compacted() -> None:
    """In its order."""
    tables, was = RaftTables(), Stored(1, "A", core.first_stored(members("A B C")).log)
    begins = core.Output(Server("A"), Server("A", was), (), (), False)
    tables.store("g", begins.written, was)
    logs = [a_log("1111"), a_log("1122"), a_log("11223").compacted(Snapshot(3, 2, GROUP), 1)]
    for log in logs:
        now = Stored(3, "A", replace(log, snapshot=log.snapshot), 0)
        turn = core.Output(Server("A", was), Server("A", now), (), (), False)
        tables.store("g", turn.written, now)
        assert tables.load("g") == now
        was = now


CONFIGURATIONS: tuple[dict[str, Any], ...] = (
    {},
    {"shards": 1, "writes": 4, "changes": 2, "crashes": 1},
    {"shards": 3, "writes": 3, "changes": 1},
    {"data_segment": 1, "writes": 3, "changes": 1, "crashes": 0},
)


@pytest.mark.parametrize("given", CONFIGURATIONS, ids=str)
def test_no_interleaving_of_the_commit_log_breaks_a_promise(given: dict[str, Any]) -> None:
    """The search is complete, and reaches every goal."""
    result = check(build("commit_log", given))
    assert (result.verdict, result.unreached) == ("complete", ())


@pytest.mark.parametrize("name", ["crash-after-commit", "saturated"])
def test_every_step_of_the_commit_log_is_drawn_whole(name: str) -> None:
    """Keys are unique, and each panel has words and a label."""
    for scene in scenes(walk(f"commit_log/{name}")):
        check_frame(scene)


@pytest.mark.spec("C-049")
def test_a_crash_right_after_a_commit_keeps_the_definition() -> None:
    """After the replay it is in SSTables; a write from the data log's buffer is lost here."""
    verbs = ("write D0", "change definition", "disk", "answer", "crash")
    timeline = after("commit_log", {}, *verbs)
    text = panel_text(timeline, "segments")
    said = [pictured(scene_of(timeline, at)).text() for at in range(len(verbs) + 1)]
    assert "M empty" in said[0]
    assert ["t1: waits for disk" in each for each in said] == [at == 2 for at in range(6)]
    assert "t1: answer is due" in said[3]
    assert "M synced t1" in said[3]
    assert ["down" in each for each in said] == [at == 5 for at in range(6)]
    assert "1 write; lost: w1" in said[5]
    assert "M  1  t1  –" in text
    assert "D0  1  –  –" in text
    assert "lost here" in panel_text(timeline, "badges")
    go_on(timeline, "replay")
    assert "SSTables: t1" in panel_text(timeline, "segments")
    assert all(verdict.ok for verdict in timeline.verdicts())


@pytest.mark.spec("C-049")
def test_a_definition_is_synced_before_saturated_data_logs() -> None:
    """The definition fits the metadata log, and no segment of a data log."""
    full = [f"write D{shard}" for shard in (0, 1)] * 4
    queue = [f"{what} D{shard}" for what in ("timer", "flush") for shard in (0, 1)]
    timeline = after("commit_log", {"writes": 9, "crashes": 0}, *full, *queue)
    go_on(timeline, "change definition")
    assert "disk: sync M, sync D0, sync D1" in panel_text(timeline, "logs")
    go_on(timeline, "disk")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.label) == ("n:M", "n:disk", "sync")
    go_on(timeline, "answer")
    assert timeline.state.answered == ("t1",)
    assert len(timeline.state.disk) == len(queue)
    assert size("t1") > timeline.model.data_segment


def metadata_seen(off: tuple[str, ...] = (), **given: Any) -> set[tuple[Any, ...]]:
    """What a search ever sees of metadata: its log and segments, what is asked for, answered,
    rejected and stored.
    """
    model: Any = build("commit_log", given, off)

    def own(records: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(record for record in records if record[0] != "w")

    return {
        (
            *(s.change, s.rejected, s.up, s.changes, s.crashes, own(s.answered), own(s.sstables)),
            *(s.logs[-1].first, own(s.logs[-1].on_disk), own(s.logs[-1].buffered)),
            tuple(map(own, s.logs[-1].segments(model.room(len(s.logs) - 1)))),
        )
        for s in reachable(model)
    }


@pytest.mark.spec("C-049")
@pytest.mark.parametrize(
    "given",
    [
        {"writes": 2},
        {"writes": 2, "data_segment": 1},
        {"writes": 3, "data_segment": 1, "shards": 1},
        {"writes": 2, "data_segment": 9, "shards": 3},
    ],
)
def test_the_data_log_never_changes_the_metadata_log(given: dict[str, Any]) -> None:
    """A search sees the same metadata log whatever is written."""
    quiet = metadata_seen(writes=0)
    assert metadata_seen(**given) == quiet
    result = check(build("commit_log", given))
    assert (result.violation, result.complete) == (None, True)
    assert metadata_seen(**given, metadata_segment=3) != quiet
    assert metadata_seen(("own-log",), **given) != metadata_seen(("own-log",), writes=0)


@pytest.mark.parametrize("room", [DEFINITION - 1, DEFINITION, DEFINITION + 1])
def test_a_definition_larger_than_a_segment_is_rejected(room: int) -> None:
    """An entry of Raft's log always fits, and so does each definition in a log of its own."""
    given, off = {"data_segment": room}, ("own-log",)
    state = after("commit_log", given, "change definition", off=off).state
    fits = room >= DEFINITION
    assert (state.rejected, state.change) == (("", "t1") if fits else ("t1", ""))
    assert after("commit_log", given, "change entry", off=off).state.change == "r1"
    assert after("commit_log", given, "change definition").state.change == "t1"
