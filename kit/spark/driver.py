"""The Java process that drives a session: started with a log of its own, ended with the session."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

T = TypeVar("T")


class _Java:
    """The gateway to the Java that we started, if any."""

    now: Any = None


def start(master: str, given: Mapping[str, str], secret: Mapping[str, str], log: Path) -> Any:
    """A session with a Java of its own, which writes to ``log`` whatever it has to say.

    Every user of the machine sees what it is ``given``, and only Java what is ``secret``.
    """
    end()  # what is left of one that died
    conf = SparkConf(loadDefaults=False).setMaster(master).setAppName("kit")
    for name, value in given.items():
        conf.set(name, value)
    launch: Any = launch_gateway
    with log.open("wb") as file:
        _Java.now = launch(conf, {"stdout": file, "stderr": file})
    for name, value in secret.items():
        conf.set(name, value)
    spark = SparkSession(SparkContext(conf=conf, gateway=_Java.now))
    if master.startswith("spark://"):
        spark.range(1).count()  # waits for the first executor
    return spark


def lives() -> bool:
    """Whether the Java that we started still runs."""
    return _Java.now is not None and _Java.now.proc.poll() is None


def end() -> None:
    """End the Java we started, so that the next session begins with settings of its own."""
    gateway, _Java.now = _Java.now, None
    if gateway is None:
        return
    process = gateway.proc
    with suppress(Exception):  # it may be gone already
        gateway.shutdown()
    with suppress(OSError):
        process.stdin.close()
    process.kill()
    process.wait()
    held: Any = SparkContext
    held._gateway = held._jvm = held._active_spark_context = None


@contextmanager
def variables(values: Mapping[str, str], unset: tuple[str, ...] = ()) -> Iterator[None]:
    """Environment variables for processes started meanwhile; those of ``unset`` are taken away."""
    former = {name: os.environ.get(name) for name in (*values, *unset)}
    for name in unset:
        os.environ.pop(name, None)
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in former.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of the work, or TimeoutError when it takes longer; it is then left alone."""
    results: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not results:
        raise TimeoutError(f"no answer in {seconds:.0f} seconds")
    return results[0]
