"""Writing files: one way for all writers.

A file is written beside its place and put there in one step, so that it is always whole: the old
one or the new one. Only a regular file that may be written is ever replaced. Until then it has no
name, where the system can do that; and what a killed process left is taken away by the next one.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE, S_ISREG
from typing import Any

from kit.edge.paths import file_path_of, kind_of, path_of, reason_of, to_read, whole_path
from kit.errors import BadInput

try:
    import fcntl
except ImportError:  # a page's Python: nobody else is there
    fcntl = None  # type: ignore[assignment]  # looked at where it is used

NEW = 0o666  # what the process's own mask then takes away
ALLOWED = "a writable place"
MOST_LOOKED_AT = 1000
"""Names in a folder that are looked at for files that a killed process left."""
_LEFT = re.compile(r"\.kit-[0-9a-f]{16}")


def check_place(given: object, field: str = "file", *, inputs: tuple[str, ...] = ()) -> Path:
    """The path to write to, refused before any work when nothing could or should be put there.

    ``inputs`` are files that the same call reads: none of them is ever written over.

    Raises BadInput for a folder, device, pipe, socket or symbolic link, a file without write
    permission, an input, a folder that is missing or may not be written, a page without a name.
    """
    path = file_path_of(given, field, ALLOWED)
    if path.name == ".html":
        raise BadInput(field, str(given), "a name before .html")
    try:
        former = _former(path, field)
        if former is not None and any(_same(former, name) for name in inputs):
            raise BadInput(field, str(given), "a different file from the one being read")
        with _beside(path, former):
            pass
    except OSError as error:
        raise _unwritable(field, given, error) from None
    return path


def check_apart(given: object, other: object, field: str) -> None:
    """Refuse to write two things to one place. Raises BadInput where both are the same path."""
    if whole_path(given, field, ALLOWED) == whole_path(other, field, ALLOWED):
        raise BadInput(field, str(given), "a different file from the one written next to it")


def check_new(given: object, field: str) -> Path:
    """The path of something new. Raises BadInput for what is there, be it a link to nowhere."""
    path = path_of(given, field, ALLOWED)
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return path
    except OSError as error:
        raise _unwritable(field, given, error) from None
    raise BadInput(field, str(given), f"a {field} that does not exist yet")


def write_whole(given: object, content: str | bytes, field: str = "file") -> Path:
    """Write ``content`` beside a place, then put it there in one step; permissions are kept.

    Raises BadInput when the place cannot be written, or the text cannot be stored as UTF-8.
    """
    return write_all([(given, content)], field)[0]


def write_all(contents: Iterable[tuple[object, str | bytes]], field: str) -> tuple[Path, ...]:
    """As ``write_whole``, several files: all of them or, where one cannot be written, none.

    Raises BadInput as ``write_whole``.
    """
    ready: dict[Path, Path] = {}
    given: object = None
    try:
        with ExitStack() as stack:
            for given, content in contents:
                path = file_path_of(given, field, ALLOWED)
                data = content.encode("utf-8") if isinstance(content, str) else content
                ready[path] = stack.enter_context(_beside(path, _former(path, field), data))
            for given, temporary in ready.items():
                temporary.replace(given)
    except (OSError, UnicodeError) as error:
        raise _unwritable(field, given, error) from None
    return tuple(ready)


@contextmanager
def held(given: object, first: bytes, field: str) -> Iterator[Path]:
    """Hold a file of one's own while it is read and written again: others wait until that is done.

    Where there is none, ``first`` is in it. A process that ends holds it no longer.

    Raises BadInput as ``check_place``.
    """
    path = check_place(given, field)
    while True:
        try:
            if not path.exists():
                with _beside(path, None, first) as temporary:
                    # Somebody was first, or the system has no hard links, nor has a page's Python.
                    with suppress(AttributeError, OSError):
                        os.link(temporary, path)
                    if not path.exists():
                        temporary.replace(path)
            file = os.fdopen(os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
        except OSError as error:
            raise _unwritable(field, given, error) from None
        with file:
            with suppress(OSError):  # a file system that cannot
                _lock(file, waits=True)
            if _same(os.fstat(file.fileno()), str(path)):  # else another one is there by now
                yield path
                return


def _former(path: Path, field: str) -> os.stat_result | None:
    try:
        former = path.lstat()
    except FileNotFoundError:
        return None
    if not S_ISREG(former.st_mode):
        what = f"this is a {kind_of(former.st_mode)}, which is never overwritten"
        raise BadInput(field, str(path), f"{ALLOWED} ({what})")
    # Root may write anything; a file that nobody may write is nevertheless meant to stay.
    if not former.st_mode & 0o222 or not os.access(path, os.W_OK):
        raise BadInput(field, str(path), f"{ALLOWED} (this file has no write permission)")
    return former


@contextmanager
def _beside(path: Path, former: os.stat_result | None, data: bytes = b"") -> Iterator[Path]:
    """A new file in the same folder, with the permissions of the former one; it goes at the end."""
    _take_away(path.parent)
    mode = NEW if former is None else 0o600
    temporary = path.parent / f".kit-{token_hex(8)}"
    try:
        handle = os.open(path.parent, os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, mode)
        is_named = False
    except (AttributeError, OSError):
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        is_named = True
    try:
        with suppress(OSError):
            _lock(handle)  # by which others see that it is still wanted
        with os.fdopen(handle, "wb", closefd=False) as file:
            if former is not None:
                with suppress(PermissionError):
                    os.fchown(handle, former.st_uid, former.st_gid)
                os.fchmod(handle, S_IMODE(former.st_mode))
            file.write(data)
        os.fsync(handle)
        if not is_named:
            os.link(f"/proc/self/fd/{handle}", temporary, src_dir_fd=handle, follow_symlinks=True)
        yield temporary
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


def _lock(file: Any, *, waits: bool = False) -> None:
    """Hold an open file, as nobody else does then. Raises OSError where somebody else holds it."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)


def _take_away(folder: Path) -> None:
    with suppress(OSError), os.scandir(folder) as names:
        left = [each.path for each in islice(names, MOST_LOOKED_AT) if _LEFT.fullmatch(each.name)]
        for path in left:
            with suppress(OSError), open(path, "rb") as file:  # noqa: PTH123  # held until it is gone
                _lock(file)
                os.unlink(path)  # noqa: PTH108  # as scandir names it


def _same(former: os.stat_result, other: str) -> bool:
    try:
        return os.path.samestat(former, Path(str(to_read(other))).stat())
    except (OSError, ValueError):
        return False


def _unwritable(field: str, given: object, error: Exception) -> BadInput:
    return BadInput(field, str(given), f"{ALLOWED} ({reason_of(error)})")
