"""One Spark session for all of this folder: starting one takes longer than most tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from kit.spark.sessions import session, stop


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """An embedded Spark on two cores, with small settings."""
    running = session("local[2]", config={"spark.driver.memory": "1g"}, environment=_java())
    yield running
    stop(running)


def _java() -> dict[str, str]:
    """The variables that choose a Java, and none that choose a cluster."""
    return {name: os.environ[name] for name in ("JAVA_HOME", "PATH") if name in os.environ}
