"""Files of traces: read back, replaced at once, whole after every failure."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from kit.edge.writing import write_whole
from kit.engine.trace import Trace, dumps, is_trace, read, write
from kit.errors import BadInput
from tests.engine.recorded import a_run, plain
from tests.saying import like


def test_what_looks_like_a_trace() -> None:
    """Its beginning is enough, with any space before; each of the first names has to be there."""
    text = dumps(a_run().save())
    assert is_trace(text)
    assert is_trace(f"\n  {text[:200]}")
    for name in ("format", "kit", "model"):
        assert not is_trace(text.replace(f'"{name}"', '"other"'))
    assert is_trace(text.replace('"off"', '"other"'))
    assert not is_trace(f"[{text}]")


def test_a_file_is_read_back(tmp_path: Path) -> None:
    """What was written to a file is read from it; a mark that some editors put first is no harm."""
    file = tmp_path / "run.json"
    saved = a_run().save()
    write(saved, file)
    assert json.loads(file.read_text(encoding="utf-8")) == plain()
    again = read(file)
    assert isinstance(again, Trace)
    assert dumps(again) == dumps(saved)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert read(str(file)) == again


@pytest.mark.parametrize("name", ["missing.json", ".", "a\0b", "x/y/z", "n" * 300])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    """A missing file, a folder, an impossible name: one line with the path and the reason."""
    with pytest.raises(BadInput, match=like("file | readable | file")):
        read(tmp_path / name)


@pytest.mark.parametrize("name", [".", "a\0b", "x/y/z", "n" * 300])
def test_a_place_that_cannot_be_written_is_named(name: str, tmp_path: Path) -> None:
    """Where nothing can be written, one line says so, and nothing is left behind."""
    with pytest.raises(BadInput, match=like("file | writable | place")):
        write(a_run().save(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_writing_replaces_the_old_file_at_once(tmp_path: Path) -> None:
    """The new text takes the place of the old file, readable by all, with nothing beside it."""
    file = tmp_path / "run.json"
    file.write_text("old", encoding="utf-8")
    write_whole(file, "new ✓")
    assert file.read_text(encoding="utf-8") == "new ✓"
    assert list(tmp_path.iterdir()) == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


FAILURES = {
    "the disk is full": ("os.fsync", OSError(28, "No space left on device")),
    "it cannot be moved": ("pathlib.Path.replace", OSError(1, "Operation not permitted")),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_write_that_fails_keeps_the_old_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When writing fails half way, the old file is whole and no other file is left."""
    where, error = FAILURES[name]
    file = tmp_path / "run.json"
    file.write_text("old", encoding="utf-8")

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(where, fail)
        with pytest.raises(BadInput, match=f"a writable place .{error.strerror}"):
            write_whole(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_write_that_is_interrupted_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt while writing goes on as an interrupt, and leaves the old file alone."""
    file = tmp_path / "run.json"
    file.write_text("old", encoding="utf-8")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_whole(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_text_that_has_no_bytes_is_no_file(tmp_path: Path) -> None:
    """Text with half a character cannot be written; the old file stays."""
    file = tmp_path / "run.json"
    file.write_text("old", encoding="utf-8")
    with pytest.raises(BadInput, match="a writable place"):
        write_whole(file, "\ud800")
    assert file.read_text(encoding="utf-8") == "old"
