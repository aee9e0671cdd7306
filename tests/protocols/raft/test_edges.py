"""Rules, rows and words of Raft at their edges: snapshots, joint groups, logs of many chunks."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model.machines import Answer
from kit.model.network import Envelope, by_content
from kit.model.registry import build
from kit.protocols.raft import core, words
from kit.protocols.raft import messages as say
from kit.protocols.raft.beginning import begun, members_of
from kit.protocols.raft.examples import commands
from kit.protocols.raft.facts import cell, entries, first_leader, servers
from kit.protocols.raft.facts import members_of as members_in_force
from kit.protocols.raft.rules import progress as flow
from kit.protocols.raft.rules.configuration import Configuration, in_order, reached
from kit.protocols.raft.rules.log import Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import Candidate, Follower, Leader, Server, Stored, Transfer
from kit.protocols.raft.tables import RaftTables
from tests.protocols.raft.driving import members

GROUP = Configuration(members("A B C"))
JOINT = Configuration(members("B C D"), members("A B c"))


def a_log(terms: str, first: int = 1) -> Log:
    """A log whose entries have these terms: x1, x2 and so on."""
    log = Log(Snapshot(first - 1, 0, GROUP))
    for index, term in enumerate(map(int, terms), first):
        log = log.appended(Entry(term, index, f"x{index}"))
    return log


def test_a_log_of_many_entries() -> None:
    """First and last are those of the whole log, not of a part of it."""
    log = a_log("1" * 300 + "2" * 300)
    assert (log.first_index, log.last_index, log.last_term) == (1, 600, 2)
    assert (log.term(300), log.term(301), log.term(600), log.term(601)) == (1, 2, 2, None)
    behind = log.compacted(Snapshot(400, 2, GROUP), 10)
    assert (behind.first_index, behind.last_index, behind.last_term) == (391, 600, 2)
    assert [behind.term(index) for index in (390, 391, 400)] == [None, 2, 2]
    alone = log.compacted(Snapshot(600, 2, GROUP))
    assert (alone.first_index, alone.last_index, alone.last_term) == (601, 600, 2)


@pytest.mark.parametrize(
    ("index", "term", "kept"), [(2, 1, [3, 4]), (4, 1, []), (2, 3, []), (5, 1, []), (9, 2, [])]
)
def test_a_log_that_lacks_the_end_of_a_snapshot_is_dropped(
    index: int, term: int, kept: list[int]
) -> None:
    """What is behind another entry than the snapshot's last one does not count."""
    snapshot = Snapshot(index, term, GROUP)
    log = a_log("1111").compacted(snapshot)
    assert ([entry.index for entry in log], log.snapshot) == (kept, snapshot)
    assert (log.first_index, log.last_index) == (index + 1, max(kept, default=index))


@pytest.mark.parametrize(
    ("applied", "loads", "applies"),
    [(0, True, [4, 5]), (2, True, [4, 5]), (3, False, [4, 5]), (4, False, [5]), (5, False, [])],
)
def test_a_snapshot_is_loaded_by_who_lacks_its_entries(
    applied: int, loads: bool, applies: list[int]
) -> None:
    """It stands for three entries; behind it what is committed and not yet applied."""
    log = a_log("111111").compacted(Snapshot(3, 1, GROUP))
    server = Server("A", Stored(1, "", log, 5), applied=applied)
    output = core.Output(server, server, (), (), False)
    assert output.snapshot == (log.snapshot if loads else None)
    assert [entry.index for entry in output.committed] == applies


@pytest.mark.parametrize(
    ("index", "term", "matches"),
    [(0, 9, True), (1, 9, True), (2, 2, True), (2, 1, False), (3, 2, True), (3, 3, False),
     (4, 3, True), (5, 3, False)],
)  # fmt: skip
def test_what_a_log_has(index: int, term: int, matches: bool) -> None:
    """All before the snapshot, of that its own term, and the entries behind it."""
    log = a_log("1223").compacted(Snapshot(2, 2, GROUP))
    assert log.matches(index, term) is matches


@pytest.mark.parametrize(
    ("index", "term", "newest"),
    [(9, 3, (4, 3)), (4, 2, (3, 2)), (3, 3, (3, 2)), (2, 2, (2, 2)), (2, 1, (1, 0)), (1, 1, (1, 0))]
)  # fmt: skip
def test_the_newest_entry_that_is_no_newer(index: int, term: int, newest: tuple[int, int]) -> None:
    """What is within the snapshot has no term of its own any more."""
    log = a_log("1223").compacted(Snapshot(2, 2, GROUP))
    assert log.newest(index, term) == newest


@pytest.mark.parametrize(
    ("entries", "terms"),
    [
        ([(1, 1), (2, 9)], [2, 3]),  # both within the snapshot
        ([(3, 2)], [2, 3]),  # the same: what is behind it stays
        ([(3, 4)], [4]),
        ([(4, 4)], [2, 4]),
        ([(3, 2), (4, 3), (5, 5)], [2, 3, 5]),
    ],
)
def test_entries_of_a_leader(entries: list[tuple[int, int]], terms: list[int]) -> None:
    """What differs goes, with all behind it; a snapshot is committed."""
    log = a_log("1223").compacted(Snapshot(2, 2, GROUP))
    merged = log.merged([Entry(term, index) for index, term in entries])
    assert [entry.term for entry in merged] == terms
    assert merged.snapshot == log.snapshot


@pytest.mark.parametrize(
    ("before", "last", "match", "following", "mode"),
    [
        (Progress("B", 3, 1), 1, 1, 3, "pipeline"),
        (Progress("B", 3, 1), 2, 2, 3, "pipeline"),
        (Progress("B", 3, 1), 4, 4, 5, "pipeline"),
        (Progress("B", 9, 3, "pipeline"), 2, 3, 9, "pipeline"),
        (Progress("B", 9, 3, "snapshot"), 7, 7, 9, "snapshot"),
        (Progress("B", 9, 3, "snapshot"), 8, 8, 9, "pipeline"),
    ],
)
def test_what_an_acknowledgement_says(
    before: Progress, last: int, match: int, following: int, mode: str
) -> None:
    """It takes nothing back, and what is sent next is behind it."""
    after = flow.accepted(before, last)
    assert (after.match, after.next, after.mode) == (match, following, mode)


@pytest.mark.parametrize(
    ("match", "mismatch", "last", "following"),
    [
        (0, 5, 9, 5),
        (0, 5, 2, 3),
        (0, 5, 0, 1),
        (2, 5, 2, 3),
        (4, 5, 9, 5),
        (4, 5, 4, 5),
        (4, 3, 1, 5),
    ],
)
def test_where_a_rejected_leader_probes(
    match: int, mismatch: int, last: int, following: int
) -> None:
    """Where the logs differ, or behind the follower's last entry; never at what agrees."""
    after = flow.rejected(Progress("B", 6, match, "pipeline", (6,)), mismatch, last)
    assert after == Progress("B", following, match, "probe")


def test_members_are_in_order_and_there_once() -> None:
    """Whatever the order in which they are asked for."""
    assert [each.id for each in in_order(members("C A B"))] == ["A", "B", "C"]
    with pytest.raises(BadInput, match="each server once"):
        in_order(members("A B a"))


def test_who_votes_in_a_joint_configuration() -> None:
    """In elections all voters of both groups count; who votes on is of the new group."""
    assert (JOINT.members, JOINT.voters) == (tuple("ABCD"), tuple("ABCD"))
    assert [name for name in "ABCD" if JOINT.votes(name)] == ["B", "C", "D"]
    assert JOINT.groups == (("A", "B"), ("B", "C", "D"))
    assert reached(JOINT, {"A": 5, "B": 4, "C": 3, "D": 9}) == 4
    assert reached(JOINT, {"B": 4, "C": 3, "D": 9}, 2) == 2
    assert reached(JOINT, {"A": 5, "B": 4, "D": 9}) == 4


@pytest.mark.parametrize("text", ["A A", "A a", "A D", "A B C D"])
def test_members_of_no_group(text: str) -> None:
    """Nobody twice, and nobody else."""
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
def test_beginnings_that_say_nothing(text: str, allowed: str) -> None:
    """They are refused with what may be said."""
    stored = core.first_stored(members("A B C"))
    with pytest.raises(BadInput) as caught:
        begun("A", stored, {"A": text})
    assert caught.value.field == "begins"
    assert allowed in str(caught.value)


def test_a_beginning_says_all() -> None:
    """Entries and members, what is committed and applied, term, vote, and whom it follows."""
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


def test_commands_are_counted_once() -> None:
    """Those of the snapshot, then what is committed behind it, also where older ones are kept."""
    state = "1:x1 1:- 1:{A B}"
    for trailing in (0, 1, 2, 3):
        log = a_log("11112").compacted(Snapshot(3, 1, GROUP, state), trailing)
        assert log.first_index == 4 - trailing
        for commit, known in ((3, ("x1",)), (4, ("x1", "x4")), (5, ("x1", "x4", "x5"))):
            assert commands(Server("A", Stored(2, "", log, commit))) == known
    begins = Log().appended(Entry(1, 1)).appended(Entry(1, 2, GROUP)).appended(Entry(1, 3, "z"))
    assert commands(Server("A", Stored(1, "", begins, 3))) == ("z",)


@pytest.mark.parametrize(
    ("index", "commit", "shown"),
    [
        (1, 4, "snapshot ✓"),
        (2, 4, "1: x2 ✓"),  # kept behind its snapshot
        (3, 4, "1: x3 ✓"),
        (4, 4, "1: x4 ✓"),
        (4, 3, "1: x4"),
        (5, 4, ""),
        (5, 9, ""),
    ],
)
def test_what_a_server_has_at_an_index(index: int, commit: int, shown: str) -> None:
    """An entry that is there is shown, even where a snapshot holds it, too."""
    log = a_log("1111").compacted(Snapshot(3, 1, GROUP), 2)
    assert cell(Server("A", Stored(1, "", log, commit)), index) == shown


def test_of_two_leaders_the_newer_one_counts() -> None:
    """Whoever comes first in the order of the names."""
    for terms in ((1, 2), (2, 1)):
        newer = Configuration(members("A B"))
        servers = [
            Server(
                name,
                Stored(term, name, a_log("1").appended(Entry(1, 2, newer if term == 2 else GROUP))),
                Leader(),
            )
            for name, term in zip("AB", terms, strict=True)
        ]
        assert members_in_force(servers) == newer
        state = build("raft", {"nodes": 2, "members": "A B"}).start()
        nodes = (n.but(server=each) for n, each in zip(state.nodes, servers, strict=True))
        leader = first_leader(state.but(nodes=tuple(nodes)))
        assert leader is not None
        assert leader.term == 2
        followers = [replace(each, role=Follower()) for each in servers]
        longer = replace(
            followers[0], stored=Stored(3, "", a_log("113").appended(Entry(3, 4, JOINT)))
        )
        assert members_in_force([*followers, longer]) == JOINT
        assert members_in_force([*servers, longer]) == newer  # of a later term, but leads nobody
    assert first_leader(build("raft", {}).start()) is None


@pytest.mark.parametrize(
    ("message", "short", "full"),
    [
        (say.ReadReply("r", None, "A"), "no read index",
         "the answer that it has no read index to give"),
        (say.ReadReply("r", 0, "A"), "read at 0",
         "the answer that a read must wait for index 0"),
        (say.ReadReply("r", 3, "A"), "read at 3",
         "the answer that a read must wait for index 3"),
        (say.Append(2, 1, 1, 1, (Entry(2, 2, JOINT),)), "append 2:→{B C D}",
         "an append (2:{A B (C)}→{B C D}) after index 1"),
        (say.Append(2, 1, 1, 1, (Entry(2, 2, "a:→b:→c"),)), "append 2:→b:→c",
         "an append (2:a:→b:→c) after index 1"),
        (say.Append(2, 1, 1, 1, (Entry(2, 2, "a→b:x→c"),)), "append 2:→b:x→c",
         "an append (2:a→b:x→c) after index 1"),
        (say.Append(2, 1, 1, 1), "append nothing", "an append (nothing) after index 1"),
    ],
)  # fmt: skip
def test_what_a_message_says(message: Any, short: str, full: str) -> None:
    """In short, and in a sentence."""
    assert words.said(message) == short
    assert words.said(message, fully=True) == full


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ("members A b at C", "to make A (B) the members"),
        ("transfer at A", "to hand over to another server"),
        ("transfer B at A", "to hand over to B"),
        ("read at B", "to read"),
        ("read at B after 0", "to read"),
        ("read at B after 1", "to read all up to index 1"),
        ("read at B after 12", "to read all up to index 12"),
        ("snapshot at B", "to take a snapshot"),
        ("x at A", "to add x"),
        ("x y", "to add x y"),
    ],
)
def test_what_a_client_wants(wish: str, text: str) -> None:
    """By its request."""
    assert words.wish_text(wish) == text


@pytest.mark.parametrize(("count", "refused"), [(2, False), (3, False), (4, True)])
def test_no_more_beginnings_than_nodes(count: int, refused: bool) -> None:
    """One for each, or fewer."""
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
def test_when_servers_are_alike(given: dict[str, Any], alike: bool) -> None:
    """Not where a state names links, or messages that are held back."""
    assert (build("raft", given).symmetry is not None) is alike


def test_tables_give_the_log_in_its_order() -> None:
    """Also once entries were cut and others stored in their place, and behind a snapshot."""
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


@pytest.mark.parametrize(
    ("logs", "rows"),
    [
        ([Log(Snapshot(0, 0, GROUP)), Log()], []),
        ([a_log("11"), Log()], [(1, "entry:1:1", ("1: x1", "")), (2, "entry:2:1", ("1: x2", ""))]),
        (
            [a_log("1111").compacted(Snapshot(3, 1, GROUP)), Log()],
            [(4, "entry:4:1", ("1: x4", ""))],  # who has no log yet needs no row
        ),
        (
            [a_log("1111").compacted(Snapshot(3, 1, GROUP)), a_log("11")],
            [
                (1, "entry:1:1", ("snapshot ✓", "1: x1")),
                (2, "entry:2:1", ("snapshot ✓", "1: x2")),
                (3, "entry:3:1", ("snapshot ✓", "")),
                (4, "entry:4:1", ("1: x4", "")),
            ],
        ),
        (
            [Log(Snapshot(3, 1, GROUP)), a_log("1")],
            [
                (1, "entry:1:1", ("snapshot ✓", "1: x1")),
                (2, "entry:2:0", ("snapshot ✓", "")),  # its term is nowhere any more
                (3, "entry:3:1", ("snapshot ✓", "")),
            ],
        ),
    ],
)
def test_which_indexes_have_a_row(
    logs: list[Log], rows: list[tuple[int, str, tuple[str, ...]]]
) -> None:
    """From the first entry that some log still has up to the last one."""
    model = build("raft", {"nodes": 2, "members": "A B"})
    state = model.start()
    nodes = (
        node.but(server=Server(name, Stored(1, "", log)))
        for name, node, log in zip("AB", state.nodes, logs, strict=True)
    )
    found = entries(model, state.but(nodes=tuple(nodes)))
    assert [(row.index, row.entry, row.cells) for row in found] == rows


@pytest.mark.parametrize(
    ("commits", "last"), [((2, 1), [2]), ((1, 2), [2]), ((0, 1), [1]), ((3, 3), [3]), ((0, 0), [])]
)
def test_the_last_committed_index_is_the_one_that_anybody_knows(
    commits: tuple[int, ...], last: list[int]
) -> None:
    """Others hear of it later; while nothing is committed no index is it."""
    servers = (a_server(name, "111", at) for name, at in zip("AB", commits, strict=True))
    model, state = of_servers({"nodes": 2, "members": "A B"}, *servers)
    assert [row.index for row in entries(model, state) if row.is_last] == last


@pytest.mark.parametrize("clock", [True, False])
def test_who_waits_and_who_is_down(clock: bool) -> None:
    """A clock is of those that wait for somebody; each bit is of its own server."""
    model = build("raft", {"clock": clock, "crashes": 1})
    state = model.start()
    roles = Leader(), Follower("A"), Follower("A")
    nodes = tuple(
        node.but(server=replace(node.server, role=role, elapsed=1, timeout=3))
        for node, role in zip(state.nodes, roles, strict=True)
    )
    waits = "■□□ 1 of 3" * clock
    rows = servers(model, state.but(nodes=nodes, down=0b100))
    assert [(row.name, row.role, row.wait) for row in rows] == [
        ("A", "leader", ""), ("B", "follower", waits), ("C", "down", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("role", "elapsed", "timers"),
    [
        (Follower("B"), 1, ("clock",)),
        (Follower("B"), 2, ("3", "4", "5")),
        (Leader(), 2, ("clock",)),
        (Leader(), 9, ("clock",)),
    ],
)
def test_what_a_tick_decides(role: Any, elapsed: int, timers: tuple[str, ...]) -> None:
    """The next wait is drawn as an election begins; a leader draws none."""
    model = build("raft", {"clock": True, "timeout": 3})
    node = model.start().nodes[0]
    server = replace(node.server, role=role, elapsed=elapsed, timeout=3)
    assert model.timers(node.but(server=server)) == timers


@pytest.mark.parametrize(
    ("machines", "said"),
    [
        (((), (), ()), None),
        ((("1:x",), ("1:x", "1:y"), ()), None),
        ((("1:x", "1:y"), ("1:y",), ()), "A and B have applied different entries"),
        ((("1:x",), ("1:x",), ("1:y",)), "A and C have applied different entries"),
    ],
)
def test_machines_that_differ_are_told(
    machines: tuple[tuple[str, ...], ...], said: str | None
) -> None:
    """One that is behind does not differ."""
    model = build("raft", {})
    state = model.start()
    both = zip(state.nodes, machines, strict=True)
    nodes = tuple(node.but(machine=machine) for node, machine in both)
    assert model.machines_agree(state.but(nodes=nodes)) == said


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ((1, 2, 0), None),
        ((1, 1, 0), "in schema, a term has two leaders"),
        ((2, 0, 2), "in schema, a term has two leaders"),
        ((0, 0, 0), None),
    ],
)
def test_two_leaders_of_a_group_are_told(terms: tuple[int, ...], said: str | None) -> None:
    """Of one term; groups do not matter to each other."""
    model = build("raft_groups", {})
    state = model.start()
    nodes = tuple(
        (
            replace(
                first,
                stored=replace(first.stored, term=term),
                role=Leader() if term else Follower(),
            ),
            replace(second, stored=replace(second.stored, term=1), role=Follower()),
        )
        for term, (first, second) in zip(terms, state.nodes, strict=True)
    )
    assert model.one_leader(state.but(nodes=nodes)) == said


def of_servers(given: dict[str, Any], *servers: Server, **more: Any) -> tuple[Any, Any]:
    """A model, and a state of it whose servers are these."""
    model = build("raft", {"nodes": len(servers), "members": " ".join("ABCDE"[: len(servers)]),
                           **given})  # fmt: skip
    state = model.start()
    both = zip(state.nodes, servers, strict=True)
    return model, state.but(nodes=tuple(node.but(server=each) for node, each in both), **more)


def a_server(name: str, terms: str = "", commit: int = 0, term: int = 0, **more: Any) -> Server:
    """A server with such a log."""
    stored = Stored(term or int(terms[-1:] or 0), "", a_log(terms), commit)
    return Server(name, stored, **more)


@pytest.mark.parametrize(
    ("down", "deaf"), [(0, False), (0b010, False), (0b110, True), (0b001, True)]
)
def test_who_hears_no_majority(down: int, deaf: bool) -> None:
    """Since too many are down, be it itself."""
    model, state = of_servers({"crashes": 1}, *map(a_server, "ABC"), down=down)
    assert model.is_deaf(state, 0) is deaf


@pytest.mark.parametrize(
    ("down", "heard"), [(0, ("A", "A", "")), (0b001, ("A", "", "")), (0b100, ("A", "A", ""))]
)
def test_whom_a_server_takes_for_the_leader_and_hears(down: int, heard: tuple[str, ...]) -> None:
    """C follows B, which does not lead."""
    roles = Leader(), Follower("A"), Follower("B")
    servers = (a_server(name, role=role) for name, role in zip("ABC", roles, strict=True))
    model, state = of_servers({"crashes": 1}, *servers, down=down)
    assert tuple(model.heard_leader(state, node) for node in range(3)) == heard


@pytest.mark.parametrize(
    ("role", "commits", "brought"),
    [
        (Leader(), (2, 2, 2), True),
        (Leader(), (2, 2, 1), False),
        (Leader(), (1, 2, 2), False),
        (Leader(transfer=Transfer("B")), (2, 2, 2), False),
        (Follower(), (2, 2, 2), False),
    ],
)
def test_when_a_leader_has_brought_all(role: Any, commits: tuple[int, ...], brought: bool) -> None:
    """To itself, too; who is to hand over has that to do yet."""
    roles = role, Follower("A"), Follower("A")
    servers = (
        a_server(name, "11", commit, role=role)
        for name, role, commit in zip("ABC", roles, commits, strict=True)
    )
    model, state = of_servers({}, *servers)
    assert model.is_brought(state) is brought


@pytest.mark.parametrize(
    ("before", "after", "breaks"),
    [
        (("11", 1, Leader()), ("111", 1, Leader()), False),
        (("11", 1, Leader()), ("11", 1, Leader()), False),
        (("11", 1, Leader()), ("1", 1, Leader()), True),
        (("12", 2, Leader()), ("11", 2, Leader()), True),
        (("11", 1, Leader()), ("1", 2, Leader()), False),  # it has led, and leads again
        (("11", 1, Leader()), ("1", 1, Follower()), False),
        (("11", 1, Follower()), ("1", 1, Leader()), False),
    ],
)
def test_a_leader_that_loses_entries_is_told(
    before: tuple[str, int, Any], after: tuple[str, int, Any], breaks: bool
) -> None:
    """As long as it leads one term."""
    (model, was), (_, now) = (
        of_servers({}, a_server("A"), a_server("B", terms, 0, term, role=role))
        for terms, term, role in (before, after)
    )
    said = "B leads, but has lost entries from its log" if breaks else None
    assert model.leader_only_appends(was, None, now) == said


@pytest.mark.parametrize(
    ("leads", "other", "breaks"),
    [
        (("1", 0, 2), ("11", 2, 1), True),
        (("1", 0, 2), ("11", 2, 2), True),
        (("1", 0, 2), ("11", 2, 3), False),  # it may have been committed since
        (("1", 0, 2), ("11", 1, 1), False),
        (("12", 0, 2), ("11", 2, 1), True),
        (("11", 0, 2), ("11", 2, 1), False),
    ],
)
def test_a_leader_without_what_is_committed_is_told(
    leads: tuple[str, int, int], other: tuple[str, int, int], breaks: bool
) -> None:
    """By whoever is no later than it."""
    model, state = of_servers({}, a_server("A", *leads, role=Leader()), a_server("B", *other))
    said = "A leads without entry 2, which B has committed" if breaks else None
    assert model.leader_has_all(state) == said


@pytest.mark.parametrize(
    ("request_", "outcome", "stale"),
    [
        ("read at B after 2", "read at 1", True),
        ("read at B after 2", "read at 2", False),
        ("read at B after 2", "refused", False),
        ("read at B after 0", "read at 0", False),
        ("x", "committed at 2", False),
    ],
)
def test_a_read_that_misses_a_write_is_told(request_: str, outcome: str, stale: bool) -> None:
    """One that was answered before the read began; a read that is refused misses nothing."""
    model, state = of_servers({}, a_server("A"), answers=(Answer(request_, outcome),))
    said = "the client that asked to read all up to index 2 sees entries only up to index 1"
    assert model.reads_see_writes(state) == (said if stale else None)


@pytest.mark.parametrize(
    ("terms", "other", "differ"),
    [("112", "112", False), ("11", "12", False), ("11", "112", False), ("122", "222", True),
     ("12", "22", True), ("", "1", False)],
)  # fmt: skip
def test_logs_that_differ_below_what_they_share_are_told(
    terms: str, other: str, differ: bool
) -> None:
    """Whatever comes behind may differ."""
    model, state = of_servers({}, a_server("A", terms), a_server("B", other))
    said = "the logs of A and B differ before an entry that both have" if differ else None
    assert model.logs_match(state) == said


@pytest.mark.parametrize(
    ("stored", "commit", "kept"),
    [
        ("AB", 1, True),  # by the members of its time, although C, D and E are to come
        ("A", 1, False),
        ("ACD", 1, True),  # by those of today
        ("A", 2, False),
        ("ACD", 2, True),
        ("ABC", 2, False),
    ],
)
def test_what_is_committed_is_on_disks(stored: str, commit: int, kept: bool) -> None:
    """A knows it as committed; the entry behind it makes C, D and E the members."""
    first = Log(Snapshot(configuration=GROUP)).appended(Entry(1, 1, "x"))
    log = first.appended(Entry(1, 2, Configuration(members("C D E"))))
    servers = (
        Server(name, Stored(1, "", log if name in stored else Log(), commit * (name == "A")))
        for name in "ABCDE"
    )
    model, state = of_servers({}, *servers)
    said = f"A considers index {commit} committed without a majority"
    assert model.committed_is_kept(state) == (None if kept else said)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ("A B C D", None),
        ("A B", None),
        ("A D E", "{A B C} and {A D E} have majorities that do not overlap"),
        ("D", "{A B C} and {D} have majorities that do not overlap"),
    ],
)
def test_majorities_that_do_not_meet_are_told(names: str, said: str | None) -> None:
    """Of one configuration and the next."""
    log = Log(Snapshot(configuration=GROUP)).appended(Entry(1, 1, Configuration(members(names))))
    model, state = of_servers({}, Server("A", Stored(1, "", log)))
    assert model.majorities_meet(state) == said


@pytest.mark.parametrize(
    ("followers", "said"),
    [
        (2, None),
        (3, "A does not hear from a majority, yet a majority waits for it"),
        (4, "A does not hear from a majority, yet a majority waits for it"),
    ],
)
def test_a_majority_that_waits_for_the_deaf_is_told(followers: int, said: str | None) -> None:
    """Of five three others: what A knows of itself counts for nothing."""
    roles = (Leader(), *[Follower("A")] * followers, *[Follower()] * (4 - followers))
    servers = (a_server(name, role=role) for name, role in zip("ABCDE", roles, strict=True))
    to_a = sum(1 << source * 5 for source in range(1, 5))
    given = {"detector": True, "cuts": 4}
    _, state = of_servers(given, *servers, cut=to_a)
    model: Any = build("raft", {"nodes": 5, "members": "A B C D E", **given}, ("step-down",))
    assert model.nobody_waits_for_the_deaf(state) == said


@pytest.mark.parametrize(
    ("timer", "role", "elapsed", "timeout"),
    [
        ("clock", Follower("B"), 2, 3),
        ("4", Candidate(True, ("A",)), 0, 4),
        ("clock", Leader(), 0, 3),  # it has heard nobody for so long
    ],
)
def test_a_tick_of_the_clock(timer: str, role: Any, elapsed: int, timeout: int) -> None:
    """It only counts, or it is the last one, and the next wait is drawn."""
    model, state = of_servers({"clock": True, "timeout": 3}, *map(a_server, "ABC"))
    leads = isinstance(role, Leader)
    before = role if leads else Follower("B")
    waited = 1 if role == Follower("B") else 2
    waits = a_server("A", role=before, elapsed=waited, timeout=3)
    node, _ = model.rings(state.at(0, server=waits), 0, timer)
    now = node.server
    assert now.role == (Follower() if leads else role)
    assert (now.elapsed, now.timeout) == (elapsed, timeout)


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("transfer B C at A", "B C is not a voter"),
        ("transfer D at A", "D is not a voter"),
        ("x at B", "the client asks B"),
    ],
)
def test_a_request_that_is_refused(what: str, reason: str) -> None:
    """Leadership goes to one server; a client asks the one that it names."""
    model, state = of_servers({}, a_server("A", "1", 1, role=Leader()), *map(a_server, "BC"))
    assert model.requested("A", state.nodes[0], what) == Refusal(reason)


@pytest.mark.parametrize(("down", "first"), [(0b001, "A"), (0b010, "B"), (0b100, "C")])
def test_one_state_stands_for_those_that_differ_in_names(down: int, first: str) -> None:
    """Of three servers that begin alike one is down, and it comes first."""
    model: Any = build("raft", {"crashes": 1})
    state = model.start()
    stands, names = model.symmetry(state.but(down=down))
    assert stands == state.but(down=0b001)
    assert (names[0], {*names}) == (first, {*"ABC"})


def an_election(first: str, second: str, third: str) -> Any:
    """The first asks for votes and has that of the second; the third led, and hears the second."""
    model, state = of_servers({}, *map(a_server, "ABC"))
    votes = Candidate(False, tuple(sorted((first, second))), (third,))
    progress = tuple(Progress(name, at) for name, at in sorted([(first, 1), (second, 2)]))
    roles = {first: votes, second: Follower(third),
             third: Leader(progress, heard=tuple(sorted((second, third))))}  # fmt: skip
    servers = tuple(a_server(name, role=roles[name]) for name in "ABC")
    nodes = (node.but(server=each) for node, each in zip(state.nodes, servers, strict=True))
    sent = [Envelope(first, name, say.VoteRequest(1, 0, 0)) for name in (second, third)]
    sent += [Envelope(second, first, say.VoteReply(1, True)),
             Envelope(third, first, say.Append(1, 0, 0, 0))]  # fmt: skip
    network = replace(state.network, in_flight=tuple(sorted(sent, key=by_content)))
    down = 1 << "ABC".index(third)
    return model, state.but(nodes=tuple(nodes), network=network, down=down)


@pytest.mark.parametrize("names", [*permutations("ABC")])
def test_an_election_is_the_same_under_all_names(names: tuple[str, str, str]) -> None:
    """Names in roles, messages, and sets of names go along, and each set is in order again."""
    (model, state), (_, other) = an_election(*names), an_election("B", "A", "C")
    stands, order = model.symmetry(state)
    assert stands == model.symmetry(other)[0]
    places = {an_election(*each)[1]: each for each in permutations("ABC")}
    assert dict(zip(order, "ABC", strict=True)) == dict(zip(names, places[stands], strict=True))


def test_only_servers_of_one_sort_take_each_others_names() -> None:
    """C, which a request names, keeps its name; and no member takes that of a node which is none.

    Of each sort the oldest term comes first.
    """
    terms = map(a_server, "ABCDE", [""] * 5, [0] * 5, (9, 8, 7, 6, 5))
    model, state = of_servers({"members": "A B C", "requests": ("x at C",)}, *terms)
    stands, order = model.symmetry(state)
    assert order == ("B", "A", "C", "E", "D")
    terms_now = [(n.server.id, n.server.term) for n in stands.nodes]
    assert terms_now == [("A", 8), ("B", 9), ("C", 7), ("D", 5), ("E", 6)]
