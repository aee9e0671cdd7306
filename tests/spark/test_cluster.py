"""Starting a cluster on loopback, and ending what was started and nothing else."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from kit.errors import BadInput
from kit.spark import cluster
from tests.saying import like, says


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder for a cluster, which is ended whatever happens."""
    yield tmp_path
    cluster.stop(tmp_path)


def test_a_taken_port_is_named(place: Path) -> None:
    """A port on which somebody listens already is refused before anything starts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(BadInput, match=like(f"port | {port} | free")):
            cluster.start(place, port=port)
    assert cluster.running(place) is None


def test_another_process_is_never_ended(place: Path) -> None:
    """A process that got the number of one of ours, long gone, is left alone."""
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        stale = cluster.SparkCluster(
            "spark://127.0.0.1:1", None, (cluster.Daemon("Master", sleeper.pid),), "secret"
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
    """``status`` says that nothing runs, ``stop`` that nothing ended, a bad port is one line."""
    monkeypatch.setattr(cluster, "usual_folder", lambda: place)
    assert cluster.main(["status"]) == 1
    assert cluster.main(["stop"]) == 0
    assert cluster.main(["start", "--port", "99999"]) == 2
    told = capsys.readouterr()
    assert told.out == "no cluster is running\n0 processes ended\n"
    assert says(told.err, "port | 99999 | 1 to 65535")
