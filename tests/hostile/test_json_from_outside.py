"""JSON from outside is read by one decoder: whatever it holds, the answer is one line."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kit.classroom.room import Said
from kit.edge.json_text import decoded
from kit.errors import BadInput, KitError
from kit.lessons.handouts import read_lesson
from kit.lessons.progress import names_in
from kit.lessons.teachers import teacher_of
from kit.model.registry import build
from kit.model.trace import loads
from kit.playing.links import run_of
from kit.site.parts import Parts
from tests.hostile.judging import kit_error

DEPTH = 60_000


def linked(content: bytes) -> str:
    """What an address has of some content."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = deflate.compress(content) + deflate.flush()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def filed(read: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    """A reader of a file, as one of its content."""

    def reads(content: bytes, folder: Path) -> Any:
        path = folder / "given.json"
        path.write_bytes(content)
        return read(path)

    return reads


READERS: dict[str, Callable[[bytes, Path], Any]] = {
    "link": lambda content, _: run_of(linked(content), build("twophase")),
    "trace": lambda content, _: loads(content),
    "seat": lambda content, _: decoded(content, Said, "seat"),
    "part of a page": lambda content, _: Parts(print).open(
        1, content.decode("utf-8", "surrogateescape"), b""
    ),
    "progress": filed(lambda path: names_in(path, "file")),
    "notebook": filed(read_lesson),
    "teacher": lambda content, folder: filed(lambda path: teacher_of(path, folder))(
        content, folder
    ),
}
TEXTS = {
    "deep lists": b"[" * DEPTH + b"]" * DEPTH,
    "deep lists that do not end": b"[" * DEPTH,
    "deep objects": b'{"a":' * DEPTH + b"1" + b"}" * DEPTH,
    "deep within": b'{"cells":[],"say":"enter","code":' + b"[" * DEPTH + b"]" * DEPTH + b"}",
    "a little too deep": b"[" * 70 + b"]" * 70,
    "a key twice": b'{"cells":[1],"cells":[],"say":"enter","say":"leave"}',
    "a long integer": b"[[" + b"7" * 5000 + b"]]",
    "no number": b'{"cells":[NaN]}',
    "half a pair": rb'["\ud800"]',
    "half a pair in a key": rb'{"say":"enter","code":"\udfff"}',
    "no UTF-8": b'["\xff"]',
    "nothing": b"",
    "null": b"null",
    "of numbers": b'{"cells":[1,2],"format":[],"say":{}}',
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("reader", READERS)
def test_what_is_malformed_gets_one_line(reader: str, text: str, tmp_path: Path) -> None:
    """Too deep, a key twice, half a character, another type: each reader refuses it."""
    with pytest.raises(KitError) as caught:
        READERS[reader](TEXTS[text], tmp_path)
    assert kit_error(caught.value) is None


def test_a_depth_that_is_allowed_is_read() -> None:
    """Up to the limit, and not one more."""
    assert decoded("[" * 64 + "]" * 64, Any, "x")
    with pytest.raises(BadInput, match="at most 64"):
        decoded("[" * 65 + "]" * 65, Any, "x")


def test_a_text_that_is_too_long_is_not_read() -> None:
    """The size is said, and what is allowed."""
    with pytest.raises(BadInput, match=r"x: got '12 characters'; allowed: at most 10"):
        decoded(json.dumps("1234567890"), str, "x", most=10)
