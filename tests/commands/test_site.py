"""``python -m kit site``: the pages, served on this machine."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path
from urllib.request import urlopen

import pytest

from kit.commands.site import LOOPBACK, server, site
from kit.errors import BadInput


def test_a_folder_without_pages_is_named(tmp_path: Path) -> None:
    """One line says which folder, and what makes one."""
    with pytest.raises(BadInput, match=r"folder: .*index\.html: `make site` builds it"):
        site([str(tmp_path)])


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
