"""Names of files as they are given, and what kind of thing a file is."""

import os
import stat
from pathlib import Path

from msgspec import Struct

from kit.errors import BadInput, BadType

KINDS = {
    stat.S_IFREG: "regular file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "symbolic link",
    stat.S_IFIFO: "pipe (FIFO)",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def path_of(given: object, field: str, allowed: str) -> Path:
    """A path that was given as text or as a path; ``allowed`` is what it should name.

    Raises BadInput for an empty name or one with a zero byte; BadType for another type.
    """
    if not isinstance(given, str | os.PathLike):
        raise BadType(field, given, f"{allowed}, as text or a path")
    try:
        text = os.fspath(given)
    except (TypeError, ValueError):  # it only says that it is a path
        raise BadType(field, given, f"{allowed}, as text or a path") from None
    try:
        os.fsencode(text)
    except UnicodeError:
        raise BadInput(field, text, f"{allowed} (a name that the system supports)") from None
    if not isinstance(text, str) or not text or "\0" in text:
        raise BadInput(field, text, f"{allowed} (a nonempty name without zero bytes)")
    return Path(text)


STDIN = "/dev/stdin"


def to_read(given: object) -> object:
    """The file to be read: ``-`` is standard input, as it is for other tools."""
    return STDIN if isinstance(given, str | Path) and str(given) == "-" else given


class HeldFile(Struct, frozen=True):
    """A file that is read already, as it stood in a folder or an archive; ``name`` is its source.

    What reads files takes one as it takes a path.
    """

    name: str
    content: bytes

    def __str__(self) -> str:
        return self.name


Readable = str | Path | HeldFile
"""What names a file to read, or is one."""


def source_name(given: Readable) -> str:
    """A file as answers name it: without its folder, unless it is one of the system's pipes.

    ``<(nodetool ring)`` is ``/dev/fd/63``: the number alone would say nothing.
    """
    if isinstance(given, HeldFile):
        return given.name
    path = Path(given)
    return str(path) if path.parts[:2] in {("/", "dev"), ("/", "proc")} else path.name


def file_path_of(given: object, field: str, allowed: str) -> Path:
    """As ``path_of``, for a file: a name that ends as a folder's does is none.

    Raises BadInput also for such a name; what stands before its end would be another place.
    """
    path = path_of(given, field, allowed)
    if os.fspath(given).endswith(("/", "/.")):  # type: ignore[call-overload]  # path_of has looked
        raise BadInput(field, str(given), f"{allowed} (this is the name of a folder)")
    return path


def whole_path(given: object, field: str, allowed: str) -> Path:
    """As ``path_of``, from the root on; whether anything is there does not matter.

    Raises BadInput also for a name that the system refuses, being too long or a loop of links.
    """
    try:
        whole = path_of(given, field, allowed).resolve()
        whole.stat()
    except (FileNotFoundError, NotADirectoryError):
        return whole
    except (OSError, RuntimeError) as error:  # pathlib tells of a loop by the latter
        raise BadInput(field, str(given), f"{allowed} ({reason_of(error)})") from None
    return whole


def kind_of(mode: int) -> str:
    """The kind that a mode of ``os.stat`` stands for: ``regular file``, ``device`` and so on."""
    return KINDS.get(stat.S_IFMT(mode), "file of an unknown kind")


def reason_of(error: Exception) -> str:
    """Why the system refused, in its own words."""
    return str(getattr(error, "strerror", None) or error)
