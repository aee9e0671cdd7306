"""The published driver against a cluster of the kit: it sees, reads, writes and hears the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cassandra import (
    ConsistencyLevel,
    InvalidRequest,
    OperationTimedOut,
    ReadTimeout,
    Unavailable,
    WriteFailure,
    WriteTimeout,
)
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    default_lbp_factory,
)
from cassandra.metadata import BytesToken
from cassandra.query import BatchStatement, BatchType, SimpleStatement

from kit import Player, build, serve
from kit.clients.server import Served
from kit.console.drill import DrillMoment
from kit.errors import KitError, Refused
from kit.model.family import server_places
from kit.protocols.tcm.facts import moment
from tests.clients.programs import Program, program
from tests.commands.calling import call
from tests.waiting import PATIENCE, until

WRITE = "INSERT INTO ks.items (key, value) VALUES (150, '{}')"
READ = "SELECT value FROM ks.items WHERE key = 150"


@pytest.fixture
def served() -> Iterator[Served]:
    """A cluster of CEP-21 that has rows."""
    with serve("dataplane") as cluster:
        yield cluster


def play(served: Served, until_epoch: int | None = None) -> None:
    """Step to the end, or until an epoch is committed."""
    while until_epoch is None or f"Epoch {until_epoch}:" not in served.timeline.now.say:
        try:
            served.step()
        except Refused:
            return


def placed(served: Served) -> dict[int, set[str]]:
    """The read replicas of each range of the tcm model, by its right end, as addresses."""
    m: Any = served.timeline.here
    s = served.timeline.state
    rows = moment.rows(m, s, "ks")
    return {row.right: {served.addresses[name] for name in row.reads} for row in rows}


@pytest.mark.parametrize("rf", [1, 3])
def test_the_token_map_is_the_models(rf: int) -> None:
    """Before and after a bootstrap each range has the replicas that the model placed it on."""
    with serve(build("tcm", {"rf": rf})) as served, program(served, "A") as one:
        for wanted in (3, 4):
            until(lambda n=wanted: len(one.cluster.metadata.all_hosts()) == n, "hosts")
            until(lambda n=wanted: len(one.cluster.metadata.token_map.ring) == n, "tokens")
            ring = one.cluster.metadata.token_map
            known = placed(served)
            assert sorted(known)[:-1] == [int.from_bytes(t.value, "big") for t in ring.ring]
            for token in range(1, 400, 7):
                replicas = ring.get_replicas("ks", BytesToken(token.to_bytes(8, "big")))
                right = min(each for each in known if token <= each)
                assert {host.address for host in replicas} == known[right]
            play(served)


def test_events_follow_from_the_steps(served: Served) -> None:
    """A node that joins is told once, by every node that knows; nothing else is."""
    with program(served, "K1") as one, program(served, "A") as other:
        play(served, until_epoch=102)
        assert not one.events + other.events
        play(served)
        x = served.addresses["X"]
        for each in (one, other):
            until(lambda p=each: len(p.events) >= 2, "two events")
            assert each.events == [("NEW_NODE", x, ""), ("UP", x, "")]
        until(lambda: len(one.cluster.metadata.all_hosts()) == 5, "X is a host")


def test_a_crash_is_a_status() -> None:
    """Who fails is told to be down, and its own clients are cut off."""
    with serve(build("dataplane", {"crashes": 1})) as served, program(served, "K1") as one:
        served.act("crash B")
        until(lambda: one.events, "an event")
        assert one.events == [("DOWN", served.addresses["B"], "")]
        with pytest.raises(NoHostAvailable):
            Program(served, "B")


def test_a_table_that_is_created_is_told() -> None:
    """The node that is asked tells of a table at once, another one when it has heard of it."""
    with serve("gossip") as served, program(served, "A") as one, program(served, "C") as other:
        play(served)
        for each in (one, other):
            until(lambda p=each: p.events, "an event")
            assert each.events[0] == ("CREATED", "t", "ks")


@pytest.mark.parametrize("level", ["ONE", "QUORUM", "ALL", "LOCAL_ONE"])
def test_writes_are_read(served: Served, level: str) -> None:
    """What one program writes another one reads, through another coordinator and a whole move."""
    with program(served, "K1") as one, program(served, "K2") as other:
        one.ask(WRITE.format("tea"), level)
        play(served)
        assert [row.value for row in other.ask(READ, level)] == ["tea"]
        other.ask("DELETE FROM ks.items WHERE key = 150", level)
        assert one.ask(READ, level) == []


def test_prepared_statements_and_batches(served: Served) -> None:
    """A statement that is prepared takes values; of a batch one write comes."""
    with program(served, "K1") as one:
        insert = one.session.prepare("INSERT INTO ks.items (key, value) VALUES (?, ?)")
        select = one.session.prepare("SELECT value FROM ks.items WHERE key = :k")
        one.session.execute(insert, (150, "o'ne"))
        assert one.session.execute(select, {"k": 150}).one().value == "o'ne"
        batch = BatchStatement()
        batch.add(insert, (150, "two"))
        batch.add("UPDATE ks.items SET value = 'three' WHERE key = 150")
        one.session.execute(batch)
        assert one.session.execute(select, (150,)).one().value == "two"
        served.prepared.clear()
        assert one.session.execute(select, (150,)).one().value == "two"


def test_too_few_live_replicas_are_unavailable() -> None:
    """Nothing is sent where the level cannot be met; the error has the model's numbers."""
    with serve(build("dataplane", {"crashes": 1})) as served, program(served, "K1") as one:
        served.act("crash B")
        with pytest.raises(Unavailable) as told:
            one.ask(WRITE.format("x"), "ALL")
        assert (told.value.required_replicas, told.value.alive_replicas) == (3, 2)
        assert len(served.timeline.moments) == 2
        one.ask(WRITE.format("x"), "QUORUM")


def test_a_timed_out_write_comes_back(served: Served) -> None:
    """Its client is told how many answered; what was on its way arrives later, and is read."""
    with program(served, "K1") as one, program(served, "K2") as other:
        served.hold("A", "B", "C")
        write = one.begin(WRITE.format("late"))
        until(lambda: "sends write 1" in served.timeline.now.say, "the write is sent")
        served.act("time out write 1")
        with pytest.raises(WriteTimeout) as told:
            write.result()
        assert (told.value.required_responses, told.value.received_responses) == (2, 0)
        read = other.begin(READ)
        until(lambda: "sends read 2" in served.timeline.now.say, "the read is sent")
        served.act("time out read 2")
        with pytest.raises(ReadTimeout):
            read.result()
        served.release()
        assert [row.value for row in other.ask(READ)] == ["late"]


def test_a_stale_coordinator_hears_of_it() -> None:
    """By the answers it catches up, and its client is told that the plan holds no longer."""
    with serve(build("dataplane", {"rf": 1})) as served, program(served, "K1") as one:
        served.hold("K1")
        play(served, until_epoch=103)
        with pytest.raises(WriteFailure) as told:
            one.ask(WRITE.format("stale"))
        assert (told.value.required_responses, told.value.received_responses) == (2, 1)
        served.release()
        one.ask(WRITE.format("fresh"))
        assert [row.value for row in one.ask(READ)] == ["fresh"]
        assert not served.timeline.breaches(served.timeline.at)


def test_a_stale_coordinator_without_its_safeguard() -> None:
    """Its client is told that the write is done, and nobody reads it again."""
    model = build("dataplane", {"rf": 1}, ("epoch-exchange",))
    with serve(model) as served, program(served, "K1") as one, program(served, "K2") as other:
        served.hold("K1")
        play(served, until_epoch=103)
        one.ask(WRITE.format("stale"))
        assert [row.value for row in other.ask(READ)] == ["write 1"]
        broken = served.timeline.breaches(served.timeline.at)
        assert "Every acknowledged write is seen by every later read" in {x.title for x in broken}


OWN = ("write", "read", "apply", "copy", "land", "time", "K")
"""How verbs begin that are no event of the operation."""


def verbs(served: Served) -> list[str]:
    """What may be done now."""
    m, s = served.timeline.here, served.timeline.state
    return [m.verb(action) for action in m.actions(s)]


def test_a_fence_refuses_a_late_write() -> None:
    """A write that was sent before the fence, and arrives after it, is told to have failed."""
    with serve("fence-without-drain") as served, program(served, "K1") as one:
        served.hold("K1", *served.model.history.replicas)
        write = one.begin(WRITE.format("fenced"))
        until(lambda: "sends write 1" in served.timeline.now.say, "the write is sent")
        while "fence_version" not in served.timeline.now.say:
            event = [each for each in verbs(served) if not each.startswith(OWN)]
            served.act((event or [each for each in verbs(served) if "write 1" not in each])[0])
        for name in "BCD":
            while f"apply {name}" in verbs(served):
                served.act(f"apply {name}")
        served.release()
        with pytest.raises(WriteFailure, match="gives up on write 1") as told:
            write.result()
        assert told.value.received_responses == 0


def test_a_tablet_moves_under_a_program() -> None:
    """Each version of the map serves it; who is no replica any more ends without the row."""
    write, read = (text.replace("150", "1") for text in (WRITE, READ))
    with serve("tablet") as served, program(served, "K1") as one, program(served, "K2") as other:
        for number in range(4):
            one.ask(write.format(number))
            assert [row.value for row in other.ask(read)] == [str(number)]
            wanted = ("allow_write_both", "write_both_read_new", "end_migration", "no such stage")
            while wanted[number] not in served.timeline.now.say:
                try:
                    served.step()
                except Refused:
                    break
        here: Any = served.timeline.here
        assert here.views(served.timeline.state)[-1].reads == 0b1110  # B, C and D
        assert not served.timeline.breaches(served.timeline.at)
        assert one.cluster.metadata.keyspaces["ks"].replication_strategy.name.startswith("Network")


@pytest.mark.parametrize("name", ["dataplane", "vnodes", "tablet"])
def test_no_request_takes_the_place_of_another(name: str) -> None:
    """Three are open at a coordinator while its replicas are held: each is answered in the end."""
    with serve(name) as served, program(served, "K1") as one:
        key = served.tools.key(served.now(0))
        served.hold(*served.model.history.replicas)
        text = WRITE.replace("150", str(key))
        writes = []
        for number in range(3):
            writes.append(one.begin(text.format(number)))
            until(lambda n=number: len(served.waiting) == n + 1, "it is known")
        served.release()
        for write in writes:
            write.result()


def test_a_batch_is_one_write_or_none(served: Served) -> None:
    """A wrong statement in it is refused, wherever it stands; the greatest value stays."""
    with program(served, "K1") as one:
        good, other = WRITE.format("a"), WRITE.format("z")
        for wrong in (WRITE.replace("150", "7").format("x"), "INSERT INTO ks.nope (a) VALUES (1)"):
            batch = BatchStatement(consistency_level=ConsistencyLevel.QUORUM)
            for text in (wrong, good):
                batch.add(SimpleStatement(text))
            with pytest.raises(Exception, match=r"follows only that row|ks\.nope"):
                one.session.execute(batch)
        assert len(served.timeline.moments) == 1
        for texts, stays in (
            ((other, good), ["z"]),
            ((good, "DELETE FROM ks.items WHERE key = 150", other), []),
        ):
            batch = BatchStatement(consistency_level=ConsistencyLevel.QUORUM)
            for text in texts:
                batch.add(SimpleStatement(text))
            one.session.execute(batch)
            assert [row.value for row in one.ask(READ)] == stays


def test_a_bound_null_is_no_condition(served: Served) -> None:
    """Of any table, as servers say it; what writes a null column is told what this model has."""
    with program(served, "K1") as one:
        for table, name in (("ks.items", "key"), ("system.local", "key")):
            select = one.session.prepare(f"SELECT * FROM {table} WHERE {name} = ?")
            with pytest.raises(InvalidRequest, match="null value in condition for column key"):
                one.session.execute(select, (None,))
        insert = one.session.prepare("INSERT INTO ks.items (key, value) VALUES (?, ?)")
        with pytest.raises(InvalidRequest, match="column value: a row of this model always has"):
            one.session.execute(insert, (150, None))
        with pytest.raises(InvalidRequest, match="LIMIT"):
            one.session.execute(one.session.prepare("SELECT * FROM ks.items LIMIT ?"), (None,))
        assert len(served.timeline.moments) == 1


def test_a_batch_of_counters_is_refused(served: Served) -> None:
    """No table has any, which one error says; nothing is written."""
    with program(served, "K1") as one:
        batch = BatchStatement(batch_type=BatchType.COUNTER)
        batch.add(SimpleStatement(WRITE.format("x")))
        with pytest.raises(InvalidRequest, match="BATCH: no table here has counters"):
            one.session.execute(batch)
        reads = BatchStatement()
        reads.add(SimpleStatement(READ))
        with pytest.raises(InvalidRequest, match="BATCH: got 'SELECT'; allowed: only statements"):
            one.session.execute(reads)
        assert len(served.timeline.moments) == 1


def test_shards_are_no_servers() -> None:
    """A tablet that moves within its node has nobody that programs can connect to."""
    with pytest.raises(Refused, match="shards of one node"):
        serve(build("tablet", {"kind": "intranode_migration"}))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("SELECT nope FROM ks.items", "nope"),
        ("SELECT * FROM ks.nope", "ks.nope"),
        ("SELECT * FROM items", "a keyspace first"),
        ("INSERT INTO ks.items (key, value) VALUES (7, 'x')", "follows only that row"),
        ("INSERT INTO ks.items (key, value) VALUES (150, 7)", "a value of type text"),
        ("INSERT INTO ks.items (key) VALUES (150)", "column value: a row of this model"),
        ("UPDATE ks.items SET value = null WHERE key = 150", "column value: a row of this model"),
        ("INSERT INTO ks.items (key, value) VALUES (null, 'x')", "null value .* for column key"),
        (
            "SELECT * FROM ks.items WHERE key = null",
            "Invalid null value in condition for column key",
        ),
        ("INSERT INTO ks.items (key, value) VALUES (150)", "2 columns and 1 value: each column"),
        ("INSERT INTO ks.items (key, key) VALUES (150, 150)", "a column is in the statement twice"),
        (
            "SELECT * FROM ks.items WHERE key = 150 AND key = 7",
            "column key is in the statement twice",
        ),
        (
            f"{WRITE} IF NOT EXISTS",
            r"\[Invalid query\] message=\"IF: not modelled here: conditional",
        ),
        (f"{WRITE} USING TTL 5", "USING: not modelled here: timestamps and a time to live"),
        (f"BEGIN BATCH {WRITE}; APPLY BATCH", "BEGIN: send a batch as such"),
        ("SELECT * FROM t WHERE k = 'it''s' x", r"x is not understood after: SELECT .* 'it''s' \("),
        ("SELECT * FROM t WHERE k = 'it's'", "no closing quote .*: SELECT .* k = 'it's'\""),
        ("SELECT * FROM ks.items WHERE value = 'x' ALLOW FILTERING", "WHERE: got 'value'; allowed"),
        ("INSERT INTO ks.items (value) VALUES ('x')", "column key: a key is needed"),
        ("--", "the statement is empty"),
        ('SELECT * FROM "t', 'a name has no closing quote .*: SELECT .* "t"'),
        ("SELECT * FROM", "the statement ends too early: SELECT \\* FROM"),
        ("UPDATE ks.items SET key = 5, value = 'x' WHERE key = 150", "the key of a row stays"),
        ("UPDATE system.local SET rack = 'x' WHERE key = 'local'", "read-only"),
        ("CREATE TABLE ks.t (a int PRIMARY KEY)", "SELECT columns FROM table"),
        ("USE nope", "nope"),
        ("DESCRIBE nope", "nope"),
    ],
)
def test_what_is_not_understood_is_one_error(served: Served, text: str, wrong: str) -> None:
    """It names what is wrong and what is allowed; the history stays as it was."""
    with program(served, "K1") as one:
        with pytest.raises((InvalidRequest, Exception), match=wrong):
            one.ask(text)
        assert len(served.timeline.moments) == 1


def test_a_player_shows_what_programs_do() -> None:
    """Programs and a person act on one history; another one answers nobody of the first."""
    player = Player("dataplane")
    with serve(player) as served, program(served, "K1") as one:
        one.ask(WRITE.format("tea"))
        assert "tells its client: write 1 is done" in player.timeline.now.say
        player.step()
        assert [row.value for row in one.ask(READ)] == ["tea"]
        served.hold("A", "B", "C")
        write = one.begin(WRITE.format("lost"))
        until(lambda: "sends write" in player.timeline.now.say, "the write is sent")
        player.reset()
        with pytest.raises((WriteFailure, OperationTimedOut)):
            write.result()
        player.step()
        player.back()
        with pytest.raises(Exception, match="at an earlier step"):
            one.ask(READ)


@pytest.mark.parametrize("source", ["dataplane", "vnodes", "tablet"])
def test_the_usual_policy_of_a_driver_finds_who_answers(source: str) -> None:
    """From whichever node it begins: a replica hands its request on to a coordinator."""
    for node in ("B", "K1"):
        with serve(source) as served:
            rows: Any = served.rows
            key = rows.key(served.now(0))
            policy = default_lbp_factory()
            usual = ExecutionProfile(load_balancing_policy=policy, request_timeout=PATIENCE)
            profiles = {EXEC_PROFILE_DEFAULT: usual}
            host = served.addresses[node]
            driver = Cluster([host], port=served.port, execution_profiles=profiles)
            try:
                session = driver.connect()
                session.execute(f"INSERT INTO ks.items (key, value) VALUES ({key}, 'tea')")
                found = session.execute(f"SELECT value FROM ks.items WHERE key = {key}")
                assert [row.value for row in found] == ["tea"]
            finally:
                driver.shutdown()


def test_a_program_of_seventy_requests_is_answered() -> None:
    """More than one history has: each read finds what was written last."""
    with serve("vnodes") as served, program(served, "K1") as one:
        rows: Any = served.rows
        key = rows.key(served.now(0))
        one.ask(f"INSERT INTO ks.items (key, value) VALUES ({key}, 'tea')")
        for _ in range(70):
            found = one.ask(f"SELECT value FROM ks.items WHERE key = {key}")
            assert [row.value for row in found] == ["tea"]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", server_places())
def test_every_cluster_with_tools_can_be_connected_to(name: str) -> None:
    """All its tables are read as their columns say, at the start and at the end."""
    with serve(name) as served:
        for _ in range(2):
            up = [n for at, n in enumerate(served.addresses) if served.is_up(at)]
            with program(served, up[0]) as one:
                for keyspace in one.cluster.metadata.keyspaces.values():
                    for table in () if keyspace.name == "ks" else keyspace.tables:
                        one.ask(f"SELECT * FROM {keyspace.name}.{table}")
            play(served)


def test_tables_answer_as_in_a_notebook(served: Served) -> None:
    """A driver and the tools of a drill read the same rows of the same node."""
    play(served)
    with program(served, "A") as one:
        found = one.ask("SELECT epoch, kind FROM system_views.cluster_metadata_log")
    now: Any = served.now(0)
    assert isinstance(now, DrillMoment)
    given = {"table": "system_views.cluster_metadata_log", "columns": ("epoch", "kind")}
    told = served.tools.read(now, 0, given)
    assert [tuple(row) for row in found] == [(row["epoch"], row["kind"]) for row in told.rows]
    assert len(found) == 4


@pytest.mark.parametrize("name", ["topology", "tablets", "recovery/majority-is-lost"])
def test_what_is_read_from_a_served_cluster_is_a_dump(name: str, tmp_path: Path) -> None:
    """The commands of operators take the rows, as OPERATORS.md has them saved."""
    saved = {"topology": "SELECT JSON * FROM system.topology"}
    with serve(name) as served, program(served, next(iter(served.addresses))) as one:
        if name.startswith("recovery"):
            key = "raft_group0_id"
            group = one.ask(f"SELECT value FROM system.scylla_local WHERE key = '{key}'")[0].value
            columns = "group_id, disposition, server_id, can_vote"
            text = f"SELECT JSON {columns} FROM system.raft_state WHERE group_id = {group}"
            saved["voters"] = text
        for file, text in saved.items():
            rows = ",\n".join(row[0] for row in one.ask(text))
            (tmp_path / file).write_text(f"[{rows}]")
    dump = str(tmp_path / "topology")
    answer = call("topology", dump)
    assert (answer.status, answer.err) == (0, "")
    if "voters" in saved:
        answer = call("recover", dump, "--raft-state", str(tmp_path / "voters"))
        assert (answer.status, answer.err) == (0, "")


def test_pages_of_rows(served: Served) -> None:
    """A program that wants two rows at once gets them all, two by two."""
    with program(served, "K1") as one:
        whole = one.ask("SELECT * FROM system_schema.columns")
        one.session.default_fetch_size = 2
        assert one.ask("SELECT * FROM system_schema.columns") == whole
        assert len(one.ask("SELECT * FROM system_schema.columns LIMIT 3")) == 3


def test_a_port_that_is_taken(served: Served) -> None:
    """It is named, and nothing is left open."""
    with pytest.raises(KitError, match=f"port {served.port}"):
        serve("dataplane", port=served.port)
