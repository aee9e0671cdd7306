"""What repairs leave out on a dump, and which resizes wait for a later round."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kit.protocols.tablets.dry_run.report import resizes
from kit.protocols.tablets.dry_run.what_if import GRACE, repair_plan
from kit.protocols.tablets.rules.availability import primary_replica
from tests.commands.calling import bad, call
from tests.protocols.tablets.dry_run.test_command import DUMP, FIXTURES, SIZES, TOPOLOGY, host
from tests.protocols.tablets.dry_run.test_opening import edited, opened
from tests.protocols.tablets.dry_run.test_player import joined_by

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.spec("E-035")
def test_tablets_whose_primary_replica_has_left_are_passed_over(tmp_path: Path) -> None:
    """Of every table, those of co-located ones too; none while all are there."""
    assert not any(line.skipped for line in repair_plan(opened(), NOON).tables)
    cluster = opened(topology=edited(tmp_path, "topology", 1, node_state="left", tokens=""))
    report = repair_plan(cluster, NOON)
    assert report.left == (host(2),)
    places = {node.host: (node.datacenter, node.rack) for node in cluster.nodes}
    for line in report.tables:
        given = cluster.maps[cluster.maps[line.table].base_table or line.table]
        assert line.skipped == tuple(
            tablet
            for tablet in range(given.count)
            if primary_replica(given, tablet, places).host == host(2)
        )
    assert any(line.skipped for line in report.tables)


@pytest.mark.spec("E-036")
def test_what_was_not_repaired_within_the_grace_is_warned_of(tmp_path: Path) -> None:
    """In mode timeout: on the second that ends the grace not yet, on the next one."""
    text = (FIXTURES / "tablets.csv").read_text("utf-8").splitlines()
    rows = [f"{text[0]},repair_time", *(f"{line}," for line in text[1:])]
    rows[2] += "2026-01-31 12:00:00.000+0000"
    dump, schema = tmp_path / "tablets.csv", tmp_path / "schema.cql"
    dump.write_text("\n".join([*rows, ""]), "utf-8")
    described = (FIXTURES / "schema.cql").read_text("utf-8")

    def late(mode: str, seconds: int) -> tuple[int, ...]:
        more = f"AND tombstone_gc = {{'mode': '{mode}'}} AND gc_grace_seconds = 60 AND comment"
        schema.write_text(described.replace("AND comment", more), "utf-8")
        report = repair_plan(opened(tablets=dump, schema=schema), NOON + timedelta(seconds=seconds))
        [orders] = [line for line in report.tables if line.table == "shop.orders"]
        assert (orders.never, orders.gc_grace_seconds, orders.gc_mode) == (3, 60, mode)
        return orders.late

    assert late("timeout", 60) == (0, 2, 3)
    assert late("timeout", 61) == (0, 1, 2, 3)
    assert late("repair", 61) == ()


def test_words_of_a_repair() -> None:
    """The moment is told, and what nothing tells of; a moment that is none is refused."""
    answer = call("tablets", DUMP, "repair", "2026-01-31T12:00:00Z", *TOPOLOGY)
    assert answer.status == 1
    assert "10 not repaired within the grace period at 2026-01-31T12:00:00+00:00" in answer.out
    assert f"{GRACE:,} s" in answer.out
    assert "MOMENT" in bad("tablets", DUMP, "repair", "soon", *TOPOLOGY)


def test_resizes_that_wait_for_a_later_round(tmp_path: Path) -> None:
    """Both tables are to be split; the nodes have not the shards for both at once."""
    dump = tmp_path / "tablets.csv"
    text = (FIXTURES / "tablets.csv").read_text("utf-8").replace(",5,merge,", ",5,none,")
    dump.write_text(text, "utf-8")
    lines = {line.table: line for line in resizes(opened(tablets=dump))}
    assert {line.decision for line in lines.values()} == {"split"}
    assert lines["shop.orders"].later is None
    waits = lines["shop.items"].later
    assert waits is not None
    assert (waits.waits_for, waits.taken, waits.needs, waits.limit) == ("shards", 12, 4, 10)
    answer = call("tablets", str(dump), "resize", *TOPOLOGY, *SIZES)
    said = "begins in a later round: this round already resizes 12 replicas, this table has 4, and "
    assert f"{said}there are 10 shards" in " ".join(answer.out.split())
    joins = joined_by(tmp_path, node_state="none", tokens="")  # it owns no tokens yet
    joining = {line.table: line for line in resizes(opened(tablets=dump, topology=joins))}
    assert joining["shop.items"].later == waits
    as_written = resizes(opened(tablets=dump, edition="documents"))
    assert [(line.later, line.target) for line in as_written] == [(None, None)] * len(lines)
