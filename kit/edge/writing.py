"""Writing files: one way for all writers.

A file is written beside its place and put there in one step, so that it is always whole: the old
one or the new one. Only a regular file that may be written is ever replaced.
"""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE, S_ISREG

from kit.edge.paths import file_path_of, kind_of, path_of, reason_of, to_read, whole_path
from kit.errors import BadInput

NEW = 0o666  # what the process's own mask then takes away
ALLOWED = "a writable place"


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
        _beside(path, former).unlink()
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
    path = file_path_of(given, field, ALLOWED)
    try:
        data = content.encode("utf-8") if isinstance(content, str) else content
        former = _former(path, field)
        temporary = _beside(path, former, data)
        try:
            temporary.replace(path)
        except BaseException:
            temporary.unlink()
            raise
    except (OSError, UnicodeError) as error:
        raise _unwritable(field, given, error) from None
    return path


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


def _beside(path: Path, former: os.stat_result | None, data: bytes = b"") -> Path:
    """A new file in the same folder, with the permissions of the former one."""
    temporary = path.parent / f".kit-{token_hex(8)}"
    mode = NEW if former is None else 0o600
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as file:
            if former is not None:
                with suppress(PermissionError):
                    os.fchown(handle, former.st_uid, former.st_gid)
                os.fchmod(handle, S_IMODE(former.st_mode))
            file.write(data)
            file.flush()
            os.fsync(handle)
    except BaseException:
        temporary.unlink()
        raise
    return temporary


def _same(former: os.stat_result, other: str) -> bool:
    try:
        return os.path.samestat(former, Path(str(to_read(other))).stat())
    except (OSError, ValueError):
        return False


def _unwritable(field: str, given: object, error: Exception) -> BadInput:
    return BadInput(field, str(given), f"{ALLOWED} ({reason_of(error)})")
