"""What this machine has, and the Spark settings that fit it: memory, loopback only, quiet."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path

from msgspec import Struct

from kit.edge.limits import limits

GIB = 2**30
LEAST_HEAP, MOST_HEAP = 1, 4  # GiB
HEAP_SHARE = 6  # one part in so many of the machine's memory is the JVM's heap
BATCH_ROWS = 65_536
LOOPBACK = "127.0.0.1"
LONGEST_SOCKET = 103  # bytes of the path of a socket, where systems allow least
SOCKET_NAME = 42  # bytes that Spark adds to the folder's path: a slash, a dot, a UUID, ".sock"
QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %p %c{1}: %m%n
"""


class Address(Struct, frozen=True):
    """Where a Spark of somebody else's listens."""

    scheme: str
    host: str
    port: int

    @property
    def is_here(self) -> bool:
        """Whether it is this machine, over loopback."""
        return self.host in (LOOPBACK, "localhost", "::1")


def memory() -> int:
    """The machine's memory in bytes, as far as this process may use it."""
    return limits().resident


def heap(whole: int) -> int:
    """The JVM's heap in GiB on a machine with so many bytes."""
    return max(LEAST_HEAP, min(MOST_HEAP, whole // GIB // HEAP_SHARE))


def settings(scratch: Path, *, here: bool = True) -> dict[str, str]:
    """Spark's configuration for this machine; ``scratch`` is a folder for its temporary files.

    Unless the workers are elsewhere, the driver is to be reached over loopback only.
    """
    quiet = scratch / "log4j2.properties"
    quiet.write_text(QUIET, encoding="utf-8")
    loopback = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return {
        **(loopback if here else {}),
        "spark.driver.memory": f"{heap(memory())}g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet.as_uri()}",
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        "spark.port.maxRetries": "64",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
        "spark.connect.progress.reportInterval": "200ms",
        "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "true",
    }


def sockets(scratch: Path) -> dict[str, str]:
    """Let Java and the Python workers that it starts here talk over sockets in a folder of ours.

    Over loopback TCP each task waits 40 ms for the acknowledgement of a small packet. Nobody else
    may enter ``scratch``, and such a socket asks for no password. Nothing for a path too long.
    """
    folder = str(scratch)
    if len(os.fsencode(folder)) + SOCKET_NAME > LONGEST_SOCKET:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": folder,
    }


def address(url: str) -> Address | None:
    """The host and port of ``spark://…`` or ``sc://…``; None for anything else."""
    parts = re.fullmatch(r"(spark|sc)://(\[[^\]]+\]|[^:/;,]+)(?::(\d{1,5}))?([/;,].*)?", url)
    if parts is None:
        return None
    scheme, host, port, _ = parts.groups()
    usual = 7077 if scheme == "spark" else 15002
    return Address(scheme, host.strip("[]"), int(port or usual))


def answers(where: Address, seconds: float) -> str | None:
    """Why nobody answers at an address within ``seconds``; None when somebody does."""
    try:
        socket.create_connection((where.host, where.port), seconds).close()
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None
