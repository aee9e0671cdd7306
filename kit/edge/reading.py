"""Reading files from outside: regular files and pipes, up to a size, within a time.

A pipe is what a shell makes of ``<(nodetool ring)`` or ``| kit ring -``. Devices are never opened;
a pipe is read as long as its writer does not fall silent. It can be read only once: who may have to
look twice does so within ``pipes_kept``.
"""

import os
import select
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from stat import S_ISFIFO, S_ISREG
from time import monotonic

from kit.edge.paths import HeldFile, file_path_of, kind_of, reason_of, to_read
from kit.errors import BadInput, KitError

ALLOWED = "a readable file"
CHUNK = 1 << 20
FIRST_BYTES = 100_000  # a file shows its kind in these
WRITER = 2.0  # seconds until somebody must have opened the other end of a pipe
SILENCE = 20.0  # seconds that a writer may be silent
LONGEST = 300.0  # seconds that a pipe may take in all
MOST_KEPT = 256 << 20  # bytes
_PIPES: ContextVar[dict[tuple[int, int], bytes] | None] = ContextVar("pipes", default=None)
"""What was read, by device and number of the pipe."""


@contextmanager
def pipes_kept() -> Iterator[None]:
    """Let all who read the same pipe inside get what the first of them read."""
    before = _PIPES.set({} if (kept := _PIPES.get()) is None else kept)
    try:
        yield
    finally:
        _PIPES.reset(before)


def read_bytes(given: object, field: str, most: int) -> bytes:
    """The content of a file of at most ``most`` bytes.

    Raises BadInput for what is neither file nor pipe, cannot be read, is too large or too slow.
    """
    if isinstance(given, HeldFile):
        return given.content
    path = file_path_of(to_read(given), field, ALLOWED)
    kept = _PIPES.get()
    try:
        status = path.stat()
        mode, pipe = status.st_mode, (status.st_dev, status.st_ino)
        if not (S_ISREG(mode) or S_ISFIFO(mode)):
            raise BadInput(field, str(path), f"{ALLOWED} (this is a {kind_of(mode)})")
        if S_ISFIFO(mode) and kept and pipe in kept and len(kept[pipe]) <= most:
            return kept[pipe]
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if os.fstat(handle).st_size > most:
                raise BadInput(field, str(path), f"at most {most} bytes")
            content = _pipe(handle, most) if S_ISFIFO(mode) else _file(handle, most)
        finally:
            os.close(handle)
    except OSError as error:
        raise BadInput(field, str(path), f"{ALLOWED} ({reason_of(error)})") from None
    if len(content) > most:
        raise BadInput(field, str(path), f"at most {most} bytes")
    if S_ISFIFO(mode) and kept is not None:
        kept[pipe] = content
    return content


def read_text(given: object, field: str, most: int) -> str:
    """As ``read_bytes``, as text, without a byte order mark. Raises BadInput also for no UTF-8."""
    return text_of(read_bytes(given, field, most), field, str(given))


def beginning(given: object) -> str:
    """The first text of a file, or of a pipe that is kept; empty where none can be read."""
    return first_bytes(given).removeprefix(BOM_UTF8).decode("utf-8", "ignore")


def first_bytes(given: object) -> bytes:
    """The first bytes of a file, or of a pipe that is kept; none where none can be read."""
    if isinstance(given, HeldFile):
        return given.content[:FIRST_BYTES]
    try:
        path = file_path_of(to_read(given), "file", ALLOWED)
        if path.is_file():
            # Some files of the system itself wait for more, though they are called regular.
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                first = file.read(FIRST_BYTES) or b""
        else:
            first = b"" if _PIPES.get() is None else read_bytes(given, "file", MOST_KEPT)
        return first[:FIRST_BYTES]
    except (OSError, KitError):
        return b""


def text_of(content: bytes, field: str, value: object) -> str:
    """Bytes as text, a byte order mark left out.

    Raises BadInput naming UTF-16 as such, a second mark, else the line and the byte that is no
    UTF-8.
    """
    if content.startswith(BOM_UTF8 * 2):
        raise BadInput(field, value, "text in UTF-8 with one byte order mark (this has two)")
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or b"\0" in content[:2]:
        raise BadInput(field, value, "text in UTF-8 (this is UTF-16, or not text at all)")
    if (at := content.find(b"\0")) >= 0:
        line = content.count(b"\n", 0, at) + 1
        raise BadInput(field, value, f"text in UTF-8 (byte 0x00 in line {line} is invalid)")
    try:
        return content.removeprefix(BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"byte 0x{content[error.start]:02x} in line {line} is invalid"
        raise BadInput(field, value, f"text in UTF-8 ({what})") from None


def _file(handle: int, most: int) -> bytes:
    parts, size = [], 0
    while size <= most and (part := os.read(handle, min(CHUNK, most + 1 - size))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _pipe(handle: int, most: int) -> bytes:
    """The bytes that a writer sends until it closes the pipe, or one more than ``most``."""
    waiting = select.poll()
    waiting.register(handle, select.POLLIN | select.POLLHUP)
    parts, size, end = [], 0, monotonic() + LONGEST
    opened = False
    while size <= most:
        try:
            part = os.read(handle, min(CHUNK, most + 1 - size))
            if part:
                parts.append(part)
                size += len(part)
                opened = True
                if monotonic() > end:
                    raise TimeoutError(f"the pipe has not ended within {LONGEST:g} s")
                continue
            if opened:
                break
            # Nothing so far: either nobody has opened the other end yet, or it is closed already.
            events = waiting.poll(WRITER * 1000)
            if not events:
                raise TimeoutError(f"the pipe got no writer within {WRITER:g} s")
            opened = True
        except BlockingIOError:
            if not waiting.poll(SILENCE * 1000):
                raise TimeoutError(f"nothing came through the pipe for {SILENCE:g} s") from None
            opened = True
    return b"".join(parts)
