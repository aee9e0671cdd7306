"""One Spark session for all of this folder: starting one takes longer than most tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from kit.spark.sessions import session, stop

SMALL = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
# Java that lives for a minute need not be optimised: it halves the processor time of these tests.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK)
os.environ.setdefault("SPARK_DAEMON_JAVA_OPTS", QUICK)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """An embedded Spark on two cores, with small settings."""
    running = session("local[2]", config=SMALL, environment=_java())
    yield running
    stop(running)


def _java() -> dict[str, str]:
    """The variables that choose a Java, and none that choose a cluster."""
    return {name: os.environ[name] for name in ("JAVA_HOME", "PATH") if name in os.environ}
