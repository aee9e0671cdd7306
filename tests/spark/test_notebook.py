"""The lesson on large clusters elsewhere: on a master with workers, over Connect, without Spark."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from kit.errors import BadInput
from kit.model.family import model_places
from kit.protocols.tcm.spark.tables import PLACEMENT_TABLES
from kit.spark import cluster
from kit.spark.machine import LOOPBACK, Address, answers
from tests.house.source import ROOT
from tests.spark import elsewhere, notebook
from tests.spark.notebook import Words


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder for a cluster, which is ended whatever happens."""
    yield tmp_path
    cluster.stop(tmp_path)


def differing(found: Words) -> list[str]:
    """What the outputs say that the stored ones do not."""
    stored = notebook.stored()
    assert [source for source, _ in found] == [source for source, _ in stored]
    return [ours for (_, ours), (_, theirs) in zip(found, stored, strict=True) if ours != theirs]


@pytest.mark.deep
@pytest.mark.spec("H-016", "H-018", "H-020")
def test_a_master_with_two_workers_runs_the_notebook(place: Path) -> None:
    """Every cell says on a standalone master what it says in the stored notebook; only the line
    that names the master differs. Started and ended by us, the cluster leaves nothing.
    """
    found = cluster.start(place, port=free_port())
    assert found.master is not None
    assert len(found.daemons) == 3
    said = notebook.run(KIT_SPARK_MASTER=found.master, KIT_SPARK_CLUSTER=str(place))
    assert differing(said) == [f"Spark on {found.master}"]
    with pytest.raises(BadInput, match="stop it first"):
        cluster.start(place, port=free_port())
    assert cluster.stop(place) == 3
    assert cluster.running(place) is None
    port = int(found.master.rpartition(":")[2])
    assert answers(Address("spark", LOOPBACK, port), 1.0) is not None


@pytest.mark.spec("H-016", "H-020")
def test_over_connect_a_table_is_the_same(place: Path) -> None:
    """A table made on a Connect server, named by Spark's own variable, is the plain engine's. The
    server ends when it is told to.
    """
    seen = over_connect(place, "table")
    assert seen["table"] is True
    assert cluster.stop(place) == 1


@pytest.mark.deep
@pytest.mark.spec("H-016", "H-018", "H-020")
def test_over_connect_spark_says_the_same(place: Path) -> None:
    """So are all placements, what is written of them, and reports over runs."""
    seen = over_connect(place, "placements", "traces")
    assert re.fullmatch(r"same as the plain engine: [\d,]+ rows, 6 reports", seen["same"])
    assert seen["written"] == sorted(schema.name for schema in PLACEMENT_TABLES)
    assert all(seen[report] for report in ("from what was written", "waits", "followed"))
    assert cluster.stop(place) == 1


def over_connect(place: Path, *parts: str) -> Any:
    """What these parts of ``tests.spark.elsewhere`` see on a server of our own."""
    started = cluster.start(place, connect=free_port(), only_connect=True)
    assert started.remote is not None
    seen = seen_elsewhere(*parts, SPARK_REMOTE=started.remote)
    assert seen["about"] == f"Spark on {started.remote.partition('/;')[0]}"
    return seen


def seen_elsewhere(*parts: str, **variables: str) -> Any:
    """What these parts of ``tests.spark.elsewhere`` see with these variables."""
    asked = subprocess.run(
        [sys.executable, "-m", elsewhere.__name__, *parts],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    return json.loads(asked.stdout)


@pytest.mark.spec("H-016", "H-018")
def test_a_cluster_of_two_workers_runs_what_its_owner_asks(place: Path) -> None:
    """A table, reports and walks of every model by its name are the plain engine's on a master with
    two workers. Nobody else can use it: it has no REST port, and its pages open to nobody.
    """
    found = cluster.start(place, port=free_port())
    assert found.master is not None
    variables = {"KIT_SPARK_MASTER": found.master, "KIT_SPARK_CLUSTER": str(place)}
    seen = seen_elsewhere("table", "traces", "models", **variables)
    assert seen.pop("about") == f"Spark on {found.master}"
    assert seen.pop("names") == sorted(model_places())
    assert set(seen.values()) == {True}
    logs = [path.read_text(encoding="utf-8") for path in sorted(place.glob("?.log"))]
    assert not any("rest server" in log.lower() for log in logs)
    pages = re.findall(r"WebUI to .*(http://\S+:\d+)", "\n".join(logs))
    assert len(pages) == len(found.daemons)
    for page in pages:
        with pytest.raises(HTTPError, match="403"):
            urlopen(page)
    assert found.secret not in subprocess.check_output(["ps", "-eww", "-o", "args"], text=True)
    assert not any(path.stat().st_mode & 0o077 for path in (place, place / "cluster.json"))


@pytest.mark.deep
def test_who_does_not_know_the_secret_gets_no_executor(place: Path, tmp_path: Path) -> None:
    """A driver without the secret of a cluster is not answered, over Connect neither."""
    found = cluster.start(place, port=free_port(), connect=free_port())
    strangers = {"KIT_SPARK_CLUSTER": str(tmp_path / "another")}
    for name, address in (
        ("KIT_SPARK_MASTER", found.master),
        ("SPARK_REMOTE", (found.remote or "").partition("token=")[0] + "token=guessed"),
    ):
        asked = subprocess.run(
            [sys.executable, "-c", "from kit import spark; spark.session(patience=20)"],
            env={**os.environ, **strangers, name: str(address)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert "SparkUnavailable" in asked.stderr


def test_a_folder_that_others_may_have_made_is_refused(tmp_path: Path) -> None:
    """A cluster keeps its secret in a folder of its owner's, never behind somebody's link."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    with pytest.raises(BadInput, match="nobody else may enter"):
        cluster.start(tmp_path / "link", port=free_port())


@pytest.mark.deep
@pytest.mark.spec("H-016", "H-018", "H-020")
def test_a_connect_server_runs_the_notebook(place: Path) -> None:
    """The same over Spark Connect, named by Spark's own variable."""
    found = cluster.start(place, connect=free_port(), only_connect=True)
    assert found.remote is not None
    said = notebook.run(SPARK_REMOTE=found.remote)
    assert differing(said) == [f"Spark on {found.remote.partition('/;')[0]}"]
    assert cluster.stop(place) == 1


@pytest.mark.spec("H-020")
@pytest.mark.parametrize("until", ["## 5. ", pytest.param("", marks=pytest.mark.deep)])
def test_the_notebook_runs_without_spark(until: str) -> None:
    """Where no Spark answers, one line says so, and the cells go on with a smaller ring: those on
    its tables, and in deep every one.
    """
    said = notebook.run(until, KIT_SPARK_MASTER=f"spark://127.0.0.1:{free_port()}")
    texts = [text for _, text in said]
    [line] = [text for text in texts if text.startswith("Spark cannot be used here: ")]
    assert line.count("\n") == 1
    assert "A smaller run with the plain engine follows." in line
    assert "the plain engine, in this process" in texts
    assert "same as the plain engine: 761 rows, 6 reports\n" in texts
    assert any(text.startswith("Each of 60 nodes has 16 tokens") for text in texts)
    assert until or any(text.startswith("Epochs behind, over 24 runs\n") for text in texts)
