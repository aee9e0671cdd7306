"""Tables on disk: their documented schemas, whole folders, full disks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kit.errors import BadInput
from kit.protocols.tcm.spark.histories import History, history, sample
from kit.protocols.tcm.spark.pipelines import PlainPipeline, pipeline, same_as_engine
from kit.protocols.tcm.spark.tables import PLACEMENT_TABLES
from kit.spark.storing import whole_file, whole_folder
from tests.house.source import ROOT


@pytest.fixture(scope="module")
def planned() -> History:
    """A join and a leave in a ring of twelve nodes."""
    drawn = sample(12, 8)
    return history(drawn.ring, drawn.keyspaces, [drawn.bootstrap(), "decommission n3"])


def everything_below(folder: Path) -> list[str]:
    """All files and folders, hidden ones too."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.spec("H-020")
def test_what_was_written_says_the_same(spark: Any, planned: History, tmp_path: Path) -> None:
    """Every table is in Parquet under its documented schema, and reports made from what was written
    are those of the plain engine.
    """
    job = pipeline(spark, planned, parts=3, sizes={"ks": 10**12})
    job.write(tmp_path / "cluster")
    for schema in PLACEMENT_TABLES:
        stored = spark.read.parquet(str(tmp_path / "cluster" / schema.name))
        kinds = [(column.name, column.type) for column in schema.columns]
        assert stored.dtypes == kinds
        assert pq.read_table(tmp_path / "cluster" / schema.name).num_rows > 0
    told = same_as_engine(job, PlainPipeline(planned, 2, {"ks": 10**12}))
    assert re.fullmatch(r"same as the plain engine: [\d,]+ rows, 6 reports", told)
    assert [path for path in everything_below(tmp_path) if path.startswith(".")] == []


def test_without_spark_the_same_folders_are_written(planned: History, tmp_path: Path) -> None:
    """The plain engine writes the same tables, and keeps off a folder that exists."""
    job = pipeline(None, planned)
    job.write(tmp_path / "cluster")
    assert {p.name for p in (tmp_path / "cluster").iterdir()} == {s.name for s in PLACEMENT_TABLES}
    with pytest.raises(BadInput, match="a folder that does not exist yet"):
        job.write(tmp_path / "cluster")


@pytest.mark.parametrize("more", [(), pytest.param(("again",), marks=pytest.mark.deep)])
def test_a_disk_that_is_really_full(more: tuple[str, ...]) -> None:
    """The system itself refuses to write on, in Java and in Python: one line each, nothing left;
    the session works on. An interrupt leaves no file and no running job either. A Java that died
    is known to; in deep, another takes its place.
    """
    held = {k: v for k, v in os.environ.items() if k not in ("SPARK_REMOTE", "KIT_SPARK_MASTER")}
    command = [sys.executable, "-m", "tests.spark.full_disk", *more]
    # A limit of the last resort: at a load of 26 and low priority 280 seconds were too few once.
    told = subprocess.run(
        command, cwd=ROOT, env=held, capture_output=True, text=True, check=False, timeout=560
    )
    assert told.returncode == 0, f"{told.stdout}\n{told.stderr}"
    found = json.loads(told.stdout)
    for engine in ("spark", "plain"):
        line = found[engine]["line"]
        assert re.fullmatch(
            r"folder: got '\S+'; allowed: a writable place .* \(File too large\)", line
        )
        assert found[engine]["left"] == []
    assert re.fullmatch(r"TMPDIR: got '\S+'; .* \(File too large\)", found["temporary"])
    assert len(found["interrupted"]) == 5
    for ended in found["interrupted"].values():
        line = "Spark's job is cancelled, and its session can go on"
        assert ended == {"line": line, "left": [], "running": 0}, found
    assert found["after"]["line"] == ""
    assert "new/cluster/replicas/_SUCCESS" in found["after"]["left"]
    assert not found["lives"]
    assert found["again"] is (True if more else None)


def test_a_place_that_cannot_be_written(planned: History, tmp_path: Path) -> None:
    """A folder below a file is refused in one line."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(BadInput, match="folder: got"):
        pipeline(None, planned).write(tmp_path / "file" / "cluster")


def test_an_error_of_the_writer_is_not_dressed_up(tmp_path: Path) -> None:
    """What has nothing to do with the disk comes through as it is, and nothing is left."""
    with pytest.raises(ZeroDivisionError), whole_folder(tmp_path / "a" / "b"):
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError), whole_file(tmp_path / "c" / "d"):
        raise ZeroDivisionError
    assert everything_below(tmp_path) == []


@pytest.mark.parametrize(
    ("sizes", "field"), [({"other": 1}, "sizes: got 'other'"), ({"ks": -1}, r"sizes\[ks\]: got -1")]
)
def test_sizes_are_checked(planned: History, sizes: dict[str, int], field: str) -> None:
    """An unknown keyspace and a size below nothing are named."""
    with pytest.raises(BadInput, match=field):
        pipeline(None, planned, sizes=sizes)


def test_streams_add_up(planned: History) -> None:
    """What is streamed to the newcomer is its share of the line, of the bytes of one copy."""
    job = pipeline(None, planned, sizes={"ks": 10**12})
    streams = job.streams()
    to_x = streams[streams["target"] == "x"]
    share = job.ownership(4).set_index("node")["reads_share"]["x"]
    assert abs(int(to_x["bytes"].sum()) - share * 10**12) < len(planned.streams)
    unsized = pipeline(None, planned).streams()
    assert unsized["bytes"].isna().all()
    assert unsized["ranges"].sum() == len([x for s in planned.streams for x in s.sources])
