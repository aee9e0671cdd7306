"""Folders and tar archives of a few files, read into memory by base name; nothing is unpacked.

An archive may be packed by gzip, bzip2 or xz. Its members are looked at one by one: a name that
leads out, a link, a device, an archive within, a name that occurs twice and more than the limits of
``kit.edge.limits`` are refused before anything is used.
"""

from __future__ import annotations

import bz2
import lzma
import re
import tarfile
import zlib
from collections.abc import Callable, Collection, Iterator
from io import BytesIO
from pathlib import Path
from stat import S_ISREG
from typing import Any

from msgspec import Struct

from kit.edge import limits, reading
from kit.edge.paths import HeldFile, kind_of, path_of, reason_of, source_name, to_read
from kit.edge.reading import first_bytes, read_bytes
from kit.errors import BadInput, KitError

ALLOWED = "a folder, or a tar archive, plain or compressed with gzip, bzip2 or xz"
BLOCK = tarfile.BLOCKSIZE
CHUNK = 1 << 20
FIRST_STEP = 1 << 9
"""Bytes of a stream that are given first, then twice as many: of short ones no more is looked at.
"""
XZ_MEMORY = 256 << 20  # bytes that unpacking xz may take
SIGNED_AT, SIGN = 257, b"ustar"  # where a tar archive says that it is one
LISTING = "a folder or archive that holds"
"""The line that begins the listing of names by which a bundle is known."""
_PACKED: dict[bytes, tuple[str, Callable[[], Any]]] = {
    b"\x1f\x8b": ("gzip", lambda: zlib.decompressobj(wbits=31)),
    b"BZh": ("bzip2", bz2.BZ2Decompressor),
    b"\xfd7zXZ\0": ("xz", lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY)),
}
_KINDS = {
    tarfile.LNKTYPE: "a hard link",
    tarfile.SYMTYPE: "a symbolic link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe (FIFO)",
}


class Bundle(Struct, frozen=True):
    """The content of a folder or an archive: files by base name, and the names of all others."""

    source: str
    files: dict[str, HeldFile]
    others: tuple[str, ...] = ()


def is_bundle(given: object) -> bool:
    """Whether something given names a folder, or a file that begins as an archive does."""
    try:
        if path_of(to_read(given), "file", ALLOWED).is_dir():
            return True
    except (OSError, KitError):
        return False
    first = first_bytes(given)
    return first.startswith(tuple(_PACKED)) or _is_tar(first)


def beginning(given: object) -> str:
    """The first text of a file; of a folder or an archive the names of its files, one a line."""
    if not is_bundle(given):
        return reading.beginning(given)
    try:
        bundle = read_bundle(given, "file", ())
    except BadInput:
        return ""
    return "\n".join([LISTING, *bundle.others])


def read_bundle(given: object, field: str, wanted: Collection[str], source: str = "") -> Bundle:
    """The ``wanted`` files of a folder or an archive, by base name.

    ``source`` is how answers name it (empty: as it is called).

    Raises BadInput in one line for what is neither, cannot be read, is cut short, holds more than
    the limits allow, a name that leads elsewhere, a link, a device, an archive, a name twice.
    """
    path = path_of(to_read(given), field, ALLOWED)
    called = source or source_name(path)
    try:
        if path.is_dir():
            members = [*_in_folder(path, field, wanted, called)]
        else:
            members = [*_in_archive(path, field, called)]
    except OSError as error:
        raise BadInput(field, str(given), f"{ALLOWED} ({reason_of(error)})") from None
    files: dict[str, HeldFile] = {}
    others = []
    seen = set()
    for name, content in members:
        if name in seen:
            raise BadInput(f"{field} {called}", name, "each name once across all its folders")
        seen.add(name)
        if name in wanted and content is not None:
            files[name] = HeldFile(f"{called}/{name}", content)
        else:
            others.append(name)
    return Bundle(called, files, tuple(sorted(others)))


Member = tuple[str, bytes | None]
"""A base name, and the content where it is wanted."""


def _in_folder(path: Path, field: str, wanted: Collection[str], called: str) -> Iterator[Member]:
    for number, each in enumerate(sorted(path.iterdir()), 1):
        if number > limits.MOST_MEMBERS:
            raise BadInput(field, str(path), f"at most {limits.MOST_MEMBERS} files in a folder")
        mode = each.lstat().st_mode
        if each.name in wanted and not S_ISREG(mode):
            raise BadInput(f"{field} {called}", each.name, f"a file (this is a {kind_of(mode)})")
        is_read = each.name in wanted
        yield each.name, read_bytes(each, field, limits.MOST_PACKED) if is_read else None


def _in_archive(path: Path, field: str, called: str) -> Iterator[Member]:
    packed = read_bytes(path, field, limits.MOST_PACKED)
    data = _unpacked(packed, field, str(path))
    if not _is_tar(data):
        why = "this file holds no tar archive; unpack one that is compressed alone"
        raise BadInput(field, str(path), f"{ALLOWED} ({why})")
    for name, content in _members(data, f"{field} {called}"):
        if content.startswith(tuple(_PACKED)) or _is_tar(content):
            allowed = "files that are not archives themselves"
            raise BadInput(f"{field} {called}", name, allowed)
        yield name, content


def _is_tar(data: bytes) -> bool:
    return data[SIGNED_AT : SIGNED_AT + len(SIGN)] == SIGN


def _unpacked(packed: bytes, field: str, value: str) -> bytes:
    which = next((sign for sign in _PACKED if packed.startswith(sign)), None)
    if which is None:
        if len(packed) > limits.MOST_UNPACKED:
            raise BadInput(field, value, f"at most {limits.spoken(limits.MOST_UNPACKED)}")
        return packed
    name, begin = _PACKED[which]
    most = limits.most_unpacked(len(packed))
    parts: list[bytes] = []
    size, rest, part = 0, b"", b""
    at, step, whole = 0, FIRST_STEP, len(packed.rstrip(b"\0"))
    reader = begin()
    try:
        while True:
            # What fills a chunk may not be all, though nothing is left to give.
            if not rest and len(part) < CHUNK and getattr(reader, "needs_input", True):
                rest = packed[at : at + step]
                at, step = at + len(rest), min(2 * step, CHUNK)
                if not rest:
                    break
            part = reader.decompress(rest, CHUNK)
            rest = getattr(reader, "unconsumed_tail", b"")
            size += len(part)
            parts.append(part)
            if size > most:
                raise BadInput(field, value, f"at most {limits.spoken(most)} unpacked, by its size")
            if reader.eof:
                at -= len(reader.unused_data)
                # What else is packed the same way goes on; zeros may fill up the end.
                if at >= whole:
                    break
                reader, rest, part, step = begin(), b"", b"", FIRST_STEP
    except BadInput:
        raise
    except (zlib.error, lzma.LZMAError, OSError, ValueError, EOFError) as error:
        raise BadInput(field, value, f"{name} that can be unpacked ({error})") from None
    if not reader.eof:
        raise BadInput(field, value, f"a whole archive (this {name} is cut short)")
    limits.check_room(field, value, 2 * size)
    return b"".join(parts)


def _members(data: bytes, field: str) -> Iterator[tuple[str, bytes]]:
    """The regular files of a tar archive. Raises BadInput for all that a snapshot does not have."""
    most = limits.MOST_MEMBERS
    for count, member in enumerate(_headers(data, field), 1):
        name, begin, end = member.name, member.offset_data, member.offset_data + member.size
        if count > most:
            raise BadInput(field, f"more than {most}", f"at most {most} members")
        if not begin <= end <= len(data):
            size = f"{name[:60]} has {member.size} bytes, but the archive ends earlier"
            raise BadInput(field, f"{len(data)} bytes", f"a whole archive: {size}")
        _check_name(name, field)
        if member.issparse() or not (member.isreg() or member.isdir()):
            kind = _KINDS.get(member.type, "a member of an unknown kind")
            what = "a sparse file" if member.issparse() else kind
            raise BadInput(field, name, f"regular files and folders (this is {what})")
        if member.isreg() and not name.endswith("/"):
            yield name.rpartition("/")[2], data[begin:end]


def _headers(data: bytes, field: str) -> Iterator[tarfile.TarInfo]:
    """The members of a tar archive up to the block of zeros that ends it."""
    at, is_wrong = 0, False
    try:
        with tarfile.open(fileobj=BytesIO(data), mode="r:", encoding="utf-8") as archive:
            for member in archive:
                at = archive.offset
                yield member
            at = archive.offset
    except (tarfile.TarError, ValueError, OverflowError, IndexError):
        is_wrong = True
    block = data[at : at + BLOCK]
    if len(block) < BLOCK:
        raise BadInput(field, f"{len(data)} bytes", "a whole archive (this one is cut short)")
    if is_wrong or block.strip(b"\0"):
        raise BadInput(field, f"block {at // BLOCK}", "a tar header with its checksum")


def _check_name(name: str, field: str) -> None:
    if name.startswith("/") or re.match("[A-Za-z]:", name) or "\\" in name:
        raise BadInput(field, name, "names below the archive's own folder, not absolute ones")
    if ".." in name.split("/"):
        raise BadInput(field, name, "names below the archive's own folder, without ..")
    if not name.isprintable():
        raise BadInput(field, name, "names in printable UTF-8")
