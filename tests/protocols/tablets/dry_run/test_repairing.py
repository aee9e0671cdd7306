"""Which resizes of a dump wait for a later round."""

from __future__ import annotations

from pathlib import Path

from kit.protocols.tablets.dry_run.report import resizes
from tests.commands.calling import call
from tests.protocols.tablets.dry_run.test_command import FIXTURES, SIZES, TOPOLOGY
from tests.protocols.tablets.dry_run.test_opening import opened
from tests.protocols.tablets.dry_run.test_player import joined_by


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
