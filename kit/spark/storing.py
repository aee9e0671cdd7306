"""Writing files and folders so that they are there whole, or not at all; their names for Spark."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kit.edge.writing import check_new
from kit.errors import BadInput, KitError
from kit.spark.sessions import ended_with_us

# What the two engines say when a disk is full or a folder may not be written.
REASONS = re.compile(
    r"No space left on device|Disk quota exceeded|Permission denied|Read-only file system"
    r"|Not a directory|File too large|Mkdirs failed"
)

GLOB = re.compile(r"[][{}*?\\]")


def for_spark(path: Path) -> str:
    """A whole path as Spark takes it: this one alone, and not what it may be a pattern of.

    BadInput where Hadoop has no such way: beside a colon.
    """
    text = str(path)
    if ":" in text and GLOB.search(text):
        allowed = r"a path that Spark can read: with ':' or any of '[]{}*?\', not with both"
        raise BadInput("folder", text, allowed)
    return GLOB.sub(r"\\\g<0>", text)


@contextmanager
def whole_folder(folder: str | Path) -> Iterator[Path]:
    """A temporary folder, put in the place of ``folder`` at the end, or nothing and BadInput."""
    new = check_new(folder, "folder")
    for_spark(new.absolute())
    with _whole("folder", new) as place:
        place.mkdir()
        yield place


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """The same for one file: a temporary path beside ``path`` to write to."""
    with _whole("file", check_new(path, "file")) as place:
        yield place


def write_rows(frame: Any, folder: Path) -> None:
    """Write a table as Parquet into a new or empty folder; Spark's version 2 stores less."""
    if isinstance(frame, pa.Table):
        folder.mkdir(exist_ok=True)
        pq.write_table(frame, folder / "part-0.parquet")
    else:
        with ended_with_us(frame.sparkSession):
            files = frame.write.mode("overwrite").option("parquet.writer.version", "v2")
            files.parquet(str(folder))


@contextmanager
def temporary_room() -> Iterator[None]:
    """BadInput names the folder in which temporary files cannot be written, and its variable."""
    try:
        yield
    except Exception as error:  # Spark says that what it sends cannot be pickled
        reason = REASONS.search(str(error))
        if reason is None:
            raise
        raise _unwritable("TMPDIR", tempfile.gettempdir(), reason.group()) from None


@contextmanager
def _whole(field: str, given: Path) -> Iterator[Path]:
    target = given.absolute()
    missing = [folder for folder in target.parents if not folder.exists()]
    made = missing[-1] if missing else None
    held: Path | None = None
    try:
        try:  # a hidden folder beside the target, on the same disk
            target.parent.mkdir(parents=True, exist_ok=True)
            held = Path(tempfile.mkdtemp(dir=target.parent, prefix=".kit-"))
        except OSError as error:
            raise _unwritable(field, target, error.strerror or str(error)) from None
        yield held / target.name
        (held / target.name).rename(target)
    except BaseException as error:  # also when somebody presses Ctrl-C
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        reason = None if isinstance(error, KitError) else REASONS.search(str(error))
        if reason is None:
            raise
        raise _unwritable(field, given, reason.group()) from None
    finally:
        if held is not None:
            shutil.rmtree(held, ignore_errors=True)


def _unwritable(field: str, given: str | Path, reason: str) -> BadInput:
    return BadInput(field, str(given), f"a writable place with enough room ({reason})")


def scratch() -> Path:
    """A new empty folder for what is only needed today: it goes when this process ends."""
    _SCRATCH.append(tempfile.TemporaryDirectory(prefix="kit-", ignore_cleanup_errors=True))
    return Path(_SCRATCH[-1].name)


_SCRATCH: list[tempfile.TemporaryDirectory[str]] = []
