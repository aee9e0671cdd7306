"""One call that gives a Spark session: embedded by default, a cluster's by its URL.

Nothing has to be set up: workers get the interpreter that runs, Java is one of the machine's where
it fits and the packaged one otherwise (see ``kit.spark.machine``), and what Spark has to say goes
to a file. When Spark cannot start, that is one error with one line, and the caller may go on
without.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import tempfile
import threading
import time
import uuid
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial, wraps
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeAlias, runtime_checkable

import msgspec
from msgspec import Struct

from kit.edge.arguments import whole_number
from kit.edge.limits import MOST_TASKS, most_cores
from kit.errors import BadInput, KitError
from kit.spark import machine
from kit.spark.machine import PATIENCE, SparkUnavailable
from kit.views.static import bundle_of


@runtime_checkable
class SparkSession(Protocol):
    """The part that every session has, in this process or over Connect."""

    def stop(self) -> None:
        """End it."""

    def createDataFrame(self, data: Any) -> Any:  # noqa: N802  # Spark's own name
        """A table of rows."""


Spark: TypeAlias = Annotated[Any, SparkSession]
LAST_TASKS = 10.0  # seconds until cancelled tasks have ended
MASTERS = "local, local[N], local[*], spark://HOST:PORT or sc://HOST:PORT"
SESSION = (
    "spark.sql.session.timeZone",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.connect.progress.reportInterval",
)
_OF_TASKS = "spark.sql.shuffle.partitions spark.default.parallelism"
_OF_THREADS = "cores.max driver.cores executor.cores executor.instances task.cpus"
COUNTED = {
    **dict.fromkeys(_OF_TASKS.split(), MOST_TASKS),
    **dict.fromkeys(map("spark.{}".format, _OF_THREADS.split()), most_cores()),
}
"""Settings that are numbers of threads or tasks, and the most of each."""

CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"


class JobCancelled(KeyboardInterrupt):
    """Somebody interrupted a job of Spark's, which is cancelled; in a notebook it is one line."""

    def __str__(self) -> str:
        return "Spark's job is cancelled, and its session can go on"

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {self}"]


class About(Struct, frozen=True):
    """The description of a session, for people: its ``master``, version, and the link to its pages.

    ``engine`` says what runs when there is no session. A stored notebook keeps neither version nor
    link, which differ from run to run.
    """

    master: str
    version: str
    link: str | None
    engine: str = "Spark"

    def __repr__(self) -> str:
        if not self.version:
            return self.engine
        where = f"{self.engine} {self.version} on {self.master}"
        return f"{where}: {self.link}" if self.link else where

    @property
    def lasting(self) -> str:
        """The sentences that hold in every run on this master."""
        return f"{self.engine} on {self.master}" if self.version else self.engine

    def html(self) -> str:
        """The words, with the link to follow."""
        words = escape(repr(msgspec.structs.replace(self, link=None)))
        if self.link is None:
            return words
        link = f'href="{escape(self.link)}" target="_blank" style="text-decoration: underline"'
        return f"{words}: <a {link}>its pages</a>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        widget = import_module("ipywidgets").HTML(self.html())
        return {**bundle_of(widget, **options), "text/plain": self.lasting}


class _Running:
    """The session of this process, and its master; Spark allows one at a time."""

    master: str = ""
    spark: Any = None
    scratch: Any = None


def session(
    master: str | None = None,
    *,
    config: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    patience: float = PATIENCE,
) -> Any:
    """A Spark session, the running one when it has the same master.

    ``master`` is ``local[*]`` unless given here, or in the environment as ``KIT_SPARK_MASTER`` or
    Spark's own ``SPARK_REMOTE`` (``sc://…``: Spark Connect). ``config`` are settings of Spark's
    that take precedence over those that fit the machine. ``patience`` is in seconds. BadInput for a
    master of another form, or while a session of another master runs. SparkUnavailable when there
    is no fitting Java, or nobody answers at that address.
    """
    variables = os.environ if environment is None else environment
    chosen = _master(master, variables)
    for name in COUNTED.keys() & (config or {}).keys():
        said = str((config or {})[name])
        number = int(said) if re.fullmatch("[0-9]{1,12}", said) else said
        whole_number(f"config {name}", number, 1, COUNTED[name])
    if _alive():
        if _Running.master != chosen:
            raise BadInput("master", chosen, f"{_Running.master}, which is running: stop it first")
        return _Running.spark
    where = machine.address(chosen)
    if where is not None:
        reason = machine.answers(where, min(patience, 5.0))
        if reason is not None:
            raise SparkUnavailable(f"no answer at {chosen}: {reason}")
    held = tempfile.TemporaryDirectory(prefix="kit-spark-", ignore_cleanup_errors=True)
    scratch = Path(held.name)
    given = machine.settings(scratch, here=where is None or where.is_here)
    if where is None:
        given |= {"spark.python.daemon.module": "kit.spark.daemon", **machine.sockets(scratch)}
    given |= config or {}
    if where is not None and where.scheme == "sc":
        spark = _connected(chosen, where, given, patience)
    else:
        spark = _started(chosen, where, given, scratch, variables, patience)
    _Running.master, _Running.spark, _Running.scratch = chosen, spark, held
    heed_interrupts(spark.range(0))
    if where is not None:
        ship(spark, scratch)
    return spark


def stop(spark: Spark | None) -> None:
    """End a session, and the Java that was started for it; nothing for None, or a second time."""
    # Whose session was ended before is not to end that of now.
    if spark is None or (has_ended(spark) and _Running.spark is not spark):
        return
    from kit.spark import driver

    _Running.spark = None
    try:
        if not has_ended(spark):
            spark.stop()
    finally:
        os.environ.pop(CONNECT_MODE, None)
        driver.end()
        _Running.scratch = None  # and with it goes the folder


def has_ended(spark: Spark) -> bool:
    """Whether a session was stopped."""
    return not is_remote(spark) and spark.sparkContext._jsc is None


def living(spark: Spark) -> Spark:
    """A session that was not stopped. Raises KitError for one that was: its frames end with it."""
    if has_ended(spark):
        again = "kit.spark.session() starts another"
        raise KitError(f"this Spark session has ended, and its frames with it; {again}")
    return spark


def about(spark: Spark | None) -> About:
    """The description of a session: version, master, and the link to its pages.

    Raises KitError for one that has ended.
    """
    if spark is None:
        return About("", "", None, "the plain engine, in this process")
    living(spark)
    link = None if is_remote(spark) else spark.sparkContext.uiWebUrl
    master = _Running.master if _Running.spark is spark else str(spark.conf.get("spark.master"))
    shown = master.partition("/;")[0]  # a token is nobody's business
    return About(shown, str(spark.version), link)


def is_remote(spark: Spark) -> bool:
    """Whether a session goes over Spark Connect, which has no context to talk to."""
    return ".connect." in type(spark).__module__


@contextmanager
def ended_with_us(spark: Any) -> Iterator[None]:
    """Let no job of Spark's outlive the work it is for: one that is interrupted is cancelled."""
    tag = f"kit-{uuid.uuid4().hex}"
    if is_remote(spark):
        add, remove, cancel = spark.addTag, spark.removeTag, spark.interruptTag
    else:
        # Of the context, not of the session: what a session's tag stands for is known to one thread
        # of Java's alone, and an interrupt may cut the connection to that one.
        context = spark.sparkContext
        add, remove = context.addJobTag, context.removeJobTag
        cancel = context.cancelJobsWithTag
    heard: list[int] = []

    def stop_it() -> None:
        with suppress(Exception):
            cancel(tag)

    def interrupt(number: int, frame: Any) -> None:
        # PySpark lets an interrupt through when the job has ended, and our own connection to Java
        # may be in the middle of a word: a thread has another one.
        heard.append(number)
        stopping = threading.Thread(target=stop_it, daemon=True)
        stopping.start()
        stopping.join(LAST_TASKS)
        former(number, frame)

    former: Any = signal.getsignal(signal.SIGINT)
    listens = callable(former) and threading.current_thread() is threading.main_thread()
    add(tag)
    try:
        if listens:
            signal.signal(signal.SIGINT, interrupt)
        yield
    except BaseException as error:
        if not (heard or isinstance(error, KeyboardInterrupt)):
            raise
        end = time.monotonic() + LAST_TASKS
        while time.monotonic() < end:
            # The interrupt may have cut a connection to Java in the middle of a word: ask again.
            with suppress(Exception):
                cancel(tag)
                if is_remote(spark) or not _busy(spark):
                    break
            time.sleep(0.05)
        # What PySpark says of its cancelled job is no news.
        raise JobCancelled from None
    finally:
        if listens:
            signal.signal(signal.SIGINT, former)
        with suppress(Exception):
            remove(tag)


ACTIONS = ("collect", "count", "show", "toArrow", "toPandas")
"""What runs the job of a frame, besides what calls one of these."""


def heed_interrupts(frame: Any) -> None:
    """Have Ctrl-C end the job of every frame of this kind: PySpark waits for it, on its own."""
    kind = type(frame)
    logging.getLogger().addFilter(_is_news)
    warnings.filterwarnings("ignore", "(?s).*SPARK_JOB_CANCELLED")
    for name in ACTIONS:
        act = getattr(kind, name)
        if not vars(act).get("is_heeding"):
            setattr(kind, name, _heeding(act))


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line of a log says more than that somebody pressed Ctrl-C, as Py4J does."""
    return not str(record.msg).startswith("KeyboardInterrupt")


def _heeding(act: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(act)
    def acting(frame: Any, *given: Any, **options: Any) -> Any:
        with ended_with_us(frame.sparkSession):
            return act(frame, *given, **options)

    vars(acting)["is_heeding"] = True
    return acting


def arrow_of(frame: Any) -> Any:
    """The rows of a table of Spark's as Arrow has them; Ctrl-C ends Spark's job, too."""
    heed_interrupts(frame)
    return frame.toArrow()


def _busy(spark: Any) -> bool:
    """Whether any job or task is still running; a task may outlive its cancelled job."""
    context = spark.sparkContext
    if context.statusTracker().getActiveJobsIds():
        return True
    executors = context._jsc.sc().statusTracker().getExecutorInfos()
    return any(executor.numRunningTasks() for executor in executors)


def _alive() -> bool:
    spark = _Running.spark
    if spark is None:
        return False
    if is_remote(spark):
        return not spark.is_stopped
    from kit.spark import driver

    return driver.lives() and spark.sparkContext._jsc is not None


def _master(given: str | None, environment: Mapping[str, str]) -> str:
    named = (environment.get(name) for name in ("KIT_SPARK_MASTER", "SPARK_REMOTE"))
    chosen = given or next(filter(None, named), "local[*]")
    local = re.fullmatch(r"local(?:\[(\*|[0-9]{1,12})\])?", chosen)
    if local is None and machine.address(chosen) is None:
        raise BadInput("master", chosen, MASTERS)
    if local and local[1] not in (None, "*") and not 0 < int(local[1]) <= most_cores():
        allowed = f"local[N] with N from 1 to {most_cores()} on this machine"
        raise BadInput("master", chosen, allowed)
    return chosen


def _started(
    master: str,
    where: machine.Address | None,
    given: Mapping[str, str],
    scratch: Path,
    environment: Mapping[str, str],
    patience: float,
) -> Any:
    if find_spec("pyspark") is None:
        raise SparkUnavailable("the package pyspark is not installed")
    java = machine.find_java(environment)
    from kit.spark import driver
    from kit.spark.cluster import secret_of

    loopback = {"SPARK_LOCAL_IP": machine.LOOPBACK} if where is None or where.is_here else {}
    log = scratch / "spark.log"
    # Spark reads these whenever it starts a worker, so they stay.
    os.environ.update(machine.spark_environment(java))
    with driver.variables(loopback, unset=("SPARK_REMOTE", CONNECT_MODE)):
        try:
            begin = partial(driver.start, master, given, secret_of(master), log)
            return driver.within(patience, begin)
        except Exception as error:
            # The log's last error, or else what Python saw of it, which may ask the Java that ends.
            seen = str(error).strip().splitlines() or [type(error).__name__]
            driver.end()
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
            telling = re.findall(".*(?:Exception|Error|ERROR).*", said)
            began = f"Spark did not start on {master} with Java {java.version}"
            why = telling[-1].strip() if telling else seen[0]
            raise SparkUnavailable(f"{began}: {why}") from None


def _connected(url: str, where: machine.Address, given: Mapping[str, str], patience: float) -> Any:
    if find_spec("pyspark") is None or find_spec("grpc") is None:
        raise SparkUnavailable("the package pyspark[connect] is not installed")
    import grpc
    from pyspark.sql.connect.session import SparkSession

    from kit.spark import driver

    if "use_ssl=true" not in url and "token=" not in url:  # else only Spark knows how to ask
        with grpc.insecure_channel(f"{where.host}:{where.port}") as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=min(patience, 10.0))
            except grpc.FutureTimeoutError:
                why = f"the server at {url} is not a Spark Connect server"
                raise SparkUnavailable(why) from None
    os.environ[CONNECT_MODE] = "1"
    try:
        spark = driver.within(patience, lambda: SparkSession.builder.remote(url).getOrCreate())
        for name in SESSION:
            if spark.conf.isModifiable(name):
                spark.conf.set(name, given[name])
    except Exception as error:
        os.environ.pop(CONNECT_MODE, None)
        raise SparkUnavailable(f"no session at {url}: {error}") from None
    return spark


SOURCES = Path(__file__).resolve().parents[1]


def ship(spark: Any, folder: Path) -> None:
    """Put the kit on the path of a cluster's Python workers; they need numpy, msgspec, pyarrow.

    Spark sends one archive. A worker's first import of it unpacks the files, for families are found
    in folders, and tables and texts lie beside the modules that read them.
    """
    archive = folder / "kit.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(Path(__file__).with_name("shipped.py"), "kit/__init__.py")
        for path in sorted(SOURCES.rglob("*")):
            if path.is_file() and path.suffix not in (".js", ".css", ".pyc"):
                file.write(path, Path("files", "kit") / path.relative_to(SOURCES))
    if is_remote(spark):
        spark.addArtifacts(str(archive), pyfile=True)
    else:
        spark.sparkContext.addPyFile(str(archive))
