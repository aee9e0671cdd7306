"""Where files may be written: a regular file or a new one, said before any work."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from kit import Timeline, build, export_html
from kit.edge.writing import check_new, check_place, write_whole
from kit.errors import BadInput, BadType
from kit.model import trace
from tests.commands.calling import bad, call

KINDS = {
    "folder": lambda place: place.mkdir(),
    "pipe (FIFO)": os.mkfifo,
    "symbolic link": lambda place: place.symlink_to(place.parent / "other"),
    "device": lambda place: os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 3)),
    "socket": lambda place: socket.socket(socket.AF_UNIX).bind(str(place)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_replaced(kind: str, tmp_path: Path) -> None:
    """A folder, pipe, link, device or socket is named as what it is, and stays."""
    place = tmp_path / "out"
    if kind == "device" and os.geteuid() != 0:
        place = Path(os.devnull)
    else:
        KINDS[kind](place)
    before = place.lstat()
    for refused in (check_place, lambda path: write_whole(path, "new")):
        with pytest.raises(BadInput, match=f"this is a {kind}".replace("(", ".").replace(")", ".")):
            refused(place)
    assert os.path.samestat(before, place.lstat())
    assert not list(tmp_path.glob(".kit-*"))


def test_a_link_stays_a_link_and_its_target_as_it_was(tmp_path: Path) -> None:
    """Not even a link to a regular file is followed."""
    (tmp_path / "target").write_text("old", "utf-8")
    (tmp_path / "out").symlink_to(tmp_path / "target")
    with pytest.raises(BadInput, match="symbolic link"):
        write_whole(tmp_path / "out", "new")
    assert (tmp_path / "target").read_text("utf-8") == "old"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_permissions_are_kept(mode: int, tmp_path: Path) -> None:
    """What only its owner could read is still read by its owner only."""
    place = tmp_path / "out"
    place.write_text("old", "utf-8")
    place.chmod(mode)
    write_whole(place, "new")
    assert stat.S_IMODE(place.stat().st_mode) == mode
    assert place.read_text("utf-8") == "new"


def test_a_file_that_nobody_may_write_stays(tmp_path: Path) -> None:
    """A file without write permission is refused, also when root asks."""
    place = tmp_path / "out"
    place.write_text("old", "utf-8")
    place.chmod(0o444)
    with pytest.raises(BadInput, match="no write permission"):
        check_place(place)
    assert place.read_text("utf-8") == "old"


@pytest.mark.parametrize("given", [None, 5, b"x", object()])
def test_a_place_has_a_name(given: object) -> None:
    """What is neither text nor a path is a BadType, which is a TypeError, too."""
    for refused in (check_place, lambda path: write_whole(path, "")):
        with pytest.raises(TypeError, match="a writable place, as text or a path"):
            refused(given)


def test_a_new_place_is_new(tmp_path: Path) -> None:
    """A link that leads nowhere is something that exists."""
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="does not exist yet"):
        check_new(tmp_path / "out", "folder")
    assert check_new(tmp_path / "new", "folder") == tmp_path / "new"


def test_what_is_no_trace_is_not_written(tmp_path: Path) -> None:
    """Nothing else than a trace becomes a trace file."""
    with pytest.raises(BadType, match="a Trace"):
        trace.write(None, tmp_path / "t.json")  # type: ignore[arg-type]  # that is what is refused
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", ".html", "no/such/place.html"])
def test_an_export_needs_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page is not written to a file without a name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r"^path: got"):
        export_html(Timeline(build("twophase")), name)
    assert not list(tmp_path.iterdir())


def test_commands_refuse_before_they_work(tmp_path: Path) -> None:
    """Nothing is printed, and the input of a command is never its output."""
    given = tmp_path / "run.json"
    assert call("check", "tcm", "--off", "S-05", "--trace", str(given)).status == 1
    text = given.read_bytes()
    assert "a different file from the one" in bad("play", str(given), "--html", str(given))
    link = tmp_path / "link"
    link.symlink_to(given)
    for words in (["check", "tcm"], ["fuzz", "tcm"], ["check", "tcm", "--off", "S-05", "--json"]):
        assert "symbolic link" in bad(*words, "--trace", str(link))
    os.link(given, tmp_path / "hard")
    assert "a different file" in bad("play", str(given), "--html", str(tmp_path / "hard"))
    assert given.read_bytes() == text
