"""The same cells on a real standalone master with two workers, and over Spark Connect."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kit.errors import BadInput
from kit.spark import cluster
from kit.spark.machine import Address, answers
from tests.house.source import ROOT


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder for a cluster, which is ended whatever happens."""
    yield tmp_path
    cluster.stop(tmp_path)


def cells(**variables: str) -> list[str]:
    """What the cells print, run in a process of their own with these variables."""
    held = {k: v for k, v in os.environ.items() if k not in ("SPARK_REMOTE", "KIT_SPARK_MASTER")}
    command = [sys.executable, "-m", "tests.spark.cells"]
    told = subprocess.run(
        command,
        cwd=ROOT,
        env={**held, **variables},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-2000:]
    return told.stdout.splitlines()


def check(lines: list[str], master: str, tasks: int) -> None:
    """The cells ran on that master with so many tasks at least, and all came out equal."""
    assert lines[0] == master
    done, total = map(int, re.findall(r"\d+", lines[1]))
    assert done == total >= tasks
    assert re.fullmatch(r"same as the plain engine: [\d,]+ rows, 6 reports", lines[2])
    assert lines[3] == "True True"


@pytest.mark.spec("H-020")
def test_the_cells_run_on_a_standalone_master(place: Path) -> None:
    """A master with two workers, started and ended by us, runs the cells; nothing is left."""
    found = cluster.start(place, port=cluster.free_port())
    assert found.master is not None
    assert len(found.daemons) == 3
    check(cells(KIT_SPARK_MASTER=found.master), found.master, 6)
    with pytest.raises(BadInput, match="stop it first"):
        cluster.start(place, port=cluster.free_port())
    assert cluster.stop(place) == 3
    assert cluster.running(place) is None
    port = int(found.master.rpartition(":")[2])
    assert answers(Address("spark", "127.0.0.1", port), 1.0) is not None


def test_the_cells_run_over_connect(place: Path) -> None:
    """A Spark Connect server runs the same cells, named by Spark's own variable.

    How many tasks it tells of depends on the time they take: it tells at intervals.
    """
    found = cluster.start(place, connect=cluster.free_port(), only_connect=True)
    assert found.remote is not None
    check(cells(SPARK_REMOTE=found.remote), found.remote, 0)
    assert cluster.stop(place) == 1


def test_a_taken_port_is_named(place: Path) -> None:
    """A port on which somebody listens already is refused before anything starts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(BadInput, match=f"port: got {port}; allowed: a free port"):
            cluster.start(place, port=port)
    assert cluster.running(place) is None


def test_another_process_is_never_ended(place: Path) -> None:
    """A process that got the number of one of ours, long gone, is left alone."""
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        stale = cluster.Cluster(
            "spark://127.0.0.1:1", None, (cluster.Daemon("Master", sleeper.pid),)
        )
        (place / "cluster.json").write_bytes(msgspec.json.encode(stale))
        assert cluster.stop(place) == 0
        assert sleeper.poll() is None
    finally:
        sleeper.kill()
        sleeper.wait()


def test_the_command_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`status` says that nothing runs, `stop` that nothing ended, a bad port is one line."""
    monkeypatch.setattr(cluster, "usual_folder", lambda: place)
    assert cluster.main(["status"]) == 1
    assert cluster.main(["stop"]) == 0
    assert cluster.main(["start", "--port", "99999"]) == 2
    told = capsys.readouterr()
    assert told.out == "no cluster is running\n0 processes ended\n"
    assert told.err == "port: got 99999; allowed: a free port from 1 to 65535\n"
