"""A real Spark cluster on this machine's loopback: a standalone master, workers, a Connect server.

``python -m kit.spark.cluster start`` prints the address to put into ``KIT_SPARK_MASTER``; ``stop``
ends what ``start`` began, and nothing else. Other users of the machine cannot use it: each process
asks for a secret, which only its owner can read, and there is no REST port, which asks for none.
"""

import argparse
import os
import secrets
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import psutil
import pyspark
from msgspec import Struct

from kit.edge.arguments import whole_number
from kit.errors import BadInput, KitError, one_line
from kit.spark import machine
from kit.spark.machine import LOOPBACK, Address, SparkUnavailable, answers

MOST_WORKERS = 16  # each is a Java that may take 1 GiB
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
FOLDER = "KIT_SPARK_CLUSTER"  # the variable that names another folder than the usual one
CLOSED = {
    "spark.master.rest.enabled": "false",
    "spark.master.ui.decommission.allow.mode": "DENY",
    "spark.ui.killEnabled": "false",
    "spark.ui.filters": "org.apache.spark.ui.JWSFilter",
}
PAGES_KEY = "spark.org.apache.spark.ui.JWSFilter.param.secretKey"
"""Settings of master and workers: their pages, which show what runs, open with the key only."""


class Daemon(Struct, frozen=True):
    """A process that was started: its class of Spark's, its id."""

    role: str
    pid: int


class SparkCluster(Struct, frozen=True):
    """A started cluster: the master's address, the Connect server's, the processes, the secret.

    The Connect server's address holds the secret, too, as its token.
    """

    master: str | None
    remote: str | None
    daemons: tuple[Daemon, ...]
    secret: str


def usual_folder() -> Path:
    """The folder where a cluster keeps its own data: ``KIT_SPARK_CLUSTER`` names another place."""
    usual = Path(tempfile.gettempdir()) / f"kit-spark-cluster-{os.getuid()}"
    return Path(os.environ.get(FOLDER) or usual)


def secret_of(master: str) -> dict[str, str]:
    """Settings with the secret of a cluster that was started here; none for another master."""
    cluster = running()
    return _secret(cluster.secret) if cluster is not None and cluster.master == master else {}


def _secret(secret: str) -> dict[str, str]:
    return {"spark.authenticate": "true", "spark.authenticate.secret": secret}


def start(
    folder: Path | None = None,
    *,
    port: int = 7077,
    workers: int = 2,
    connect: int | None = None,
    only_connect: bool = False,
) -> SparkCluster:
    """Start a master and workers of one core each, and a Connect server when it has a port.

    ``only_connect`` starts the Connect server alone, with an embedded Spark. BadInput when a
    cluster is up already, a port is taken, or others may enter the folder, which holds the secret;
    SparkUnavailable when something does not come up.
    """
    place = folder or usual_folder()
    whole_number("workers", workers, 1, MOST_WORKERS)
    if running(place) is not None:
        raise BadInput("folder", str(place), "a folder without a running cluster: stop it first")
    _close(place)
    secret = secrets.token_hex(32)
    launcher = _Launcher(place, secret)
    master = None if only_connect else f"spark://{LOOPBACK}:{port}"
    try:
        if master is not None:
            _check_free("port", port)
            closed = {**_secret(secret), **CLOSED, PAGES_KEY: secrets.token_urlsafe(32)}
            common = ["--host", LOOPBACK, "--webui-port", "0"]
            common += launcher.settled_by("closed", closed)
            launcher.run(MASTER, [*common, "--port", str(port)])
            launcher.wait(lambda: answers(Address("spark", LOOPBACK, port), 1.0) is None)
            for number in range(workers):
                size = ["-c", "1", "-m", "1g", "-d", str(place / f"worker-{number}")]
                launcher.run(WORKER, [*common, *size, master])
            launcher.wait(lambda: launcher.logs("successfully registered with master") >= workers)
        remote = None
        if connect is not None:
            _check_free("connect", connect)
            launcher.serve(master or "local[2]", workers, connect)
            launcher.wait(lambda: answers(Address("sc", LOOPBACK, connect), 1.0) is None)
            # Spark's clients send a token without TLS to a host of this name only.
            remote = f"sc://localhost:{connect}/;token={secret}"
    except BaseException:
        _end(launcher.daemons)
        raise
    cluster = SparkCluster(master, remote, tuple(launcher.daemons), secret)
    _write_private(place / "cluster.json", msgspec.json.encode(cluster))
    return cluster


def _close(place: Path) -> None:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = place.lstat()
    if stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
        place.chmod(0o700)
        if not place.stat().st_mode & 0o077:
            return
    raise BadInput("folder", str(place), "a folder of yours that nobody else may enter")


def _write_private(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:  # noqa: PTH123  # of a number
        file.write(content)


def running(folder: Path | None = None) -> SparkCluster | None:
    """The cluster that was started with a folder, while any of its processes lives."""
    path = (folder or usual_folder()) / "cluster.json"
    try:
        cluster = msgspec.json.decode(path.read_bytes(), type=SparkCluster)
    except (OSError, msgspec.DecodeError):
        return None
    return cluster if any(_is_ours(daemon) for daemon in cluster.daemons) else None


def stop(folder: Path | None = None) -> int:
    """End the processes of the cluster that was started with a folder; how many there were."""
    place = folder or usual_folder()
    cluster = running(place)
    ended = _end(cluster.daemons if cluster is not None else ())
    (place / "cluster.json").unlink(missing_ok=True)
    return ended


class _Launcher:
    """Starts Spark's own programs, each with a log of its own."""

    def __init__(self, place: Path, secret: str) -> None:
        java = machine.find_java()
        self.place, self.secret = place, secret
        self.daemons: list[Daemon] = []
        self._home = Path(pyspark.__file__).parent
        self._logs: list[Path] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._variables = {
            **os.environ,
            **machine.spark_environment(java),
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": LOOPBACK,
        }
        for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "KIT_SPARK_MASTER"):
            self._variables.pop(name, None)

    def run(self, role: str, arguments: list[str], program: str = "spark-class") -> None:
        log = self.place / f"{len(self.daemons)}.log"
        what = [role] if program == "spark-class" else ["--class", role]
        command = [str(self._home / "bin" / program), *what, *arguments]
        with log.open("wb") as file:
            process = subprocess.Popen(
                command,
                env=self._variables,
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        self._logs.append(log)
        self._processes.append(process)
        self.daemons.append(Daemon(role, process.pid))

    def settled_by(self, name: str, given: Mapping[str, str]) -> list[str]:
        file = self.place / f"{name}.conf"
        _write_private(file, "".join(f"{key} {value}\n" for key, value in given.items()).encode())
        return ["--properties-file", str(file)]

    def serve(self, master: str, cores: int, port: int) -> None:
        given = {
            **machine.settings(self.place),
            **_secret(self.secret),
            "spark.connect.authenticate.token": self.secret,
            "spark.cores.max": str(max(1, cores // 2)),  # the others are for other sessions
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": str(port),
            # Every two seconds, the usual interval, is too seldom for a progress bar.
            "spark.connect.progress.reportInterval": "100ms",
        }
        self.run(CONNECT, ["--master", master, *self.settled_by("connect", given)], "spark-submit")

    def logs(self, words: str) -> int:
        texts = (log.read_text(encoding="utf-8", errors="replace").lower() for log in self._logs)
        return sum(words in text for text in texts)

    def wait(self, up: Callable[[], bool]) -> None:
        end = time.monotonic() + machine.PATIENCE
        while not up():
            gone = [at for at, each in enumerate(self._processes) if each.poll() is not None]
            if gone or time.monotonic() > end:
                at = gone[0] if gone else -1
                what = f"{self.daemons[at].role} ended" if gone else "it took too long"
                log = self._logs[at]
                raise SparkUnavailable(f"the cluster did not start: {what}; see {log}")
            time.sleep(0.1)


def _check_free(field: str, port: int) -> None:
    if not 0 < port < 2**16 or answers(Address("", LOOPBACK, port), 0.5) is None:
        raise BadInput(field, port, "a free port from 1 to 65535")


def _is_ours(daemon: Daemon) -> bool:
    """Whether that process is still the one we started, and not another with its number."""
    try:
        process = psutil.Process(daemon.pid)
        return process.status() != psutil.STATUS_ZOMBIE and daemon.role in process.cmdline()
    except psutil.Error:
        return False


def _end(daemons: Sequence[Daemon]) -> int:
    ours = [psutil.Process(daemon.pid) for daemon in reversed(daemons) if _is_ours(daemon)]
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for process in ours:
            with suppress(psutil.NoSuchProcess):
                end(process)
        psutil.wait_procs(ours, timeout=10)
    return len(ours)


def main(words: list[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m kit.spark.cluster", description=__doc__)
    parser.add_argument("what", choices=["start", "stop", "status"])
    parser.add_argument("--port", type=int, default=7077, help="the master's port")
    help_ = "how many workers, each with one core"
    parser.add_argument("--workers", type=int, default=2, help=help_)
    parser.add_argument("--connect", type=int, help="also start a Connect server on this port")
    given = parser.parse_args(words)
    try:
        if given.what == "stop":
            print(f"{stop()} processes ended")
            return 0
        cluster = running() if given.what == "status" else None
        if given.what == "start":
            cluster = start(port=given.port, workers=given.workers, connect=given.connect)
    except KitError as error:
        print(one_line(str(error)), file=sys.stderr)
        return 2
    if cluster is None:
        print("no cluster is running")
        return 1
    print(f"{len(cluster.daemons)} processes; use it with")
    print(f"  export KIT_SPARK_MASTER={cluster.master}")
    if cluster.remote is not None:
        print(f"or over Spark Connect with\n  export SPARK_REMOTE={cluster.remote}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
