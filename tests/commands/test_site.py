"""``python -m kit site``: the pages, served on this machine."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path
from urllib.request import urlopen

import pytest

from kit.commands.site import LOOPBACK, server, site
from kit.errors import BadInput, KitError


def test_a_folder_without_pages_is_named(tmp_path: Path) -> None:
    """One line says which folder, and what makes one."""
    with pytest.raises(BadInput, match=r"folder: .*index\.html: `make site` builds it"):
        site([str(tmp_path)])


def test_a_story_that_is_not_there_is_named(tmp_path: Path) -> None:
    """One line says where they are, and nothing is written; files of elsewhere are none."""
    (tmp_path / "index.html").touch()
    (tmp_path / "stories").mkdir()
    for name in ("twophase/none", "../index"):
        with pytest.raises(BadInput, match=f"story: got '{name}'; allowed: one of those in "):
            site([str(tmp_path), "--single", name, str(tmp_path / "out.html")])
    assert not (tmp_path / "out.html").exists()


def test_a_page_of_another_kit_is_told(tmp_path: Path) -> None:
    """A page that does not lead to its style, module and pack makes no file."""
    (tmp_path / "index.html").touch()
    story = tmp_path / "stories" / "a" / "b.html"
    story.parent.mkdir(parents=True)
    story.write_text('<link rel="stylesheet" href="../../gone.css">', encoding="utf-8")
    with pytest.raises(KitError, match=r"b\.html and the files next to it differ"):
        site([str(tmp_path), "--single", "a/b", str(tmp_path / "out.html")])


@pytest.mark.parametrize(
    "path", ["%00", "a%00b/", "%ed%a0%80", "%ed%a0%80/", "%ff", "a" * 5000, "..%2f..%2fx%00"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_can_name_no_file_is_not_found(
    method: str, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A zero byte, half a character, a very long name: not found, and nothing is printed."""
    with server(tmp_path) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        with socket.create_connection((LOOPBACK, pages.server_port)) as line:
            line.sendall(f"{method} /{path} HTTP/1.0\r\n\r\n".encode())
            assert b" 404 " in line.recv(100)
        pages.shutdown()
    assert capsys.readouterr().err == ""


def test_who_leaves_early_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A browser goes before it has all of a file: nothing is printed, and others are served."""
    (tmp_path / "large").write_bytes(bytes(1 << 24))
    (tmp_path / "small").write_text("there", encoding="utf-8")
    with server(tmp_path) as pages:
        pages.daemon_threads = False  # closing waits for whoever still sends
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        with socket.create_connection((LOOPBACK, pages.server_port)) as gone:
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            gone.sendall(b"GET /large HTTP/1.0\r\n\r\n")
            assert gone.recv(64)
        with urlopen(f"http://{LOOPBACK}:{pages.server_port}/small") as answer:
            assert answer.read() == b"there"
        pages.shutdown()
    assert capsys.readouterr().err == ""
