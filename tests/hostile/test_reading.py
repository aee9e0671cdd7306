"""What files may be read: regular ones and pipes, up to a size, within a time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from kit.edge import reading
from kit.edge.json_text import parse_json
from kit.edge.reading import read_bytes, read_text
from kit.errors import BadInput
from tests.commands.calling import bad


def pipe(folder: Path) -> Path:
    """A pipe with a name."""
    os.mkfifo(folder / "pipe")
    return folder / "pipe"


def test_a_pipe_with_a_writer_is_read_to_its_end(tmp_path: Path) -> None:
    """Also more than fits into a pipe at once."""
    place, content = pipe(tmp_path), b"0123456789" * 50_000
    writer = threading.Thread(target=place.write_bytes, args=[content])
    writer.start()
    assert read_bytes(place, "file", len(content)) == content
    writer.join()


def test_a_pipe_that_nobody_writes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No writer, a silent one, one that sends too much: one line each."""
    monkeypatch.setattr(reading, "WRITER", 0.05)
    monkeypatch.setattr(reading, "SILENCE", 0.05)
    place = pipe(tmp_path)
    with pytest.raises(BadInput, match="no writer within"):
        read_bytes(place, "file", 10)
    handle = os.open(place, os.O_RDWR)
    with pytest.raises(BadInput, match="nothing came through the pipe for"):
        read_bytes(place, "file", 10)
    os.write(handle, b"x" * 20)
    with pytest.raises(BadInput, match="at most 10 bytes"):
        read_bytes(place, "file", 10)
    os.close(handle)


def test_a_pipe_that_is_closed_is_empty(tmp_path: Path) -> None:
    """A writer that says nothing and goes away wrote an empty text."""
    place = pipe(tmp_path)
    writer = threading.Thread(target=place.write_bytes, args=[b""])
    writer.start()
    assert read_bytes(place, "file", 10) == b""
    writer.join()


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/null", "/dev", "/dev/tty"])
@pytest.mark.parametrize("words", [["ring"], ["play"], ["plan", "decommission", "n1"]])
def test_devices_and_folders_are_refused(name: str, words: list[str]) -> None:
    """A device is not even opened."""
    said = bad(words[0], name, *words[1:])
    assert "a readable file (this is a " in said


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """The size of a file counts, whatever it holds."""
    place = tmp_path / "sparse"
    with place.open("wb") as file:
        file.truncate(2**40)
    assert "at most 268435456 bytes" in bad("ring", str(place))


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16_is_named(code: str, tmp_path: Path) -> None:
    """A file that an editor saved as UTF-16 is told so."""
    place = tmp_path / "ring.json"
    place.write_bytes('{"nodes": []}'.encode(code))
    assert "this is UTF-16" in bad("ring", str(place))
    assert "this is UTF-16" in bad("play", str(place))


def test_the_line_of_a_bad_byte_is_named(tmp_path: Path) -> None:
    """Where the text stops being UTF-8 is said by line."""
    place = tmp_path / "ring.txt"
    place.write_bytes(b"one\ntwo\nth\xffree\n")
    with pytest.raises(BadInput, match="byte 0xff in line 3 is invalid"):
        read_text(place, "file", 100)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1,\n "a": 2}', "got 'a'; allowed: each key once in an object at line 2 column 2"),
        ('[{"x": {"b": "\\"{"}},\n{"c": 1, "b": 2, "c": 3}]', "got 'c'.* at line 2 column 18"),
        ("[1,\n 123456789012345678901234567890]", "at most 20 digits at line 2 column 2"),
        ("[[" + "[" * 62 + "]" * 62 + "],[" + "[" * 63 + "]" * 63 + "]]", "at most 64"),
        ('{"a":' * 70 + "1" + "}" * 70, "at most 64"),
    ],
)
def test_json_is_read_strictly(text: str, said: str) -> None:
    """A key twice, a long number, a deep text: one line, with its place."""
    with pytest.raises(BadInput, match=said):
        parse_json(text, "file")


@pytest.mark.parametrize(
    ("content", "line"), [(b"ab\0", 1), (b"a\nb\n\0c", 3), (b"a" * 9 + b"\0\n", 1)]
)
def test_a_byte_0_is_no_text(tmp_path: Path, content: bytes, line: int) -> None:
    """Wherever it is, also in the gap between two columns: the line is named."""
    place = tmp_path / "ring.txt"
    place.write_bytes(content)
    with pytest.raises(BadInput, match=f"byte 0x00 in line {line}"):
        read_text(place, "file", 100)
