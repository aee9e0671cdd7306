"""Opening JupyterLab: which folder, which port, which words; and once for real."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import BadStatusLine
from pathlib import Path

import pytest

from kit.commands import lab
from kit.errors import KitError
from tests.house.source import ROOT
from tests.waiting import PATIENCE, until


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that something listens on, below those that the system gives to whoever calls out:
    else a caller might hold the next one, even this test's own while it waits for an answer. Runs
    side by side begin at places of their own.
    """
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", lab.choose_port(10_000 + os.getpid() * 60 % 20_000)))
        server.listen()
        yield server.getsockname()[1]


def test_a_taken_port_is_stepped_over(taken: int) -> None:
    """The next free port above a taken one is chosen."""
    assert taken < lab.choose_port(taken) < taken + lab.PORTS_TRIED


def test_no_free_port_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """When all ports that were tried are taken, the message names them and the option."""
    monkeypatch.setattr(lab, "_is_free", lambda port: False)
    with pytest.raises(KitError, match=r"ports 8888 to 8937 are all taken: .*--port"):
        lab.choose_port(8888)


@pytest.mark.parametrize("value", ["0", "65536", "-1", "x", "1" * 5000, "٣"])
def test_a_bad_port_is_refused(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A port that is none ends with status 2 and says what is allowed, in one line."""
    assert lab.run([f"--port={value}"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("kit lab: --port: got")
    assert said.endswith("an integer from 1 to 65535\n")
    assert said.count("\n") == 1


def test_a_checkout_is_served_itself(tmp_path: Path) -> None:
    """Beside ``notebooks/``, the kit serves that folder and copies nothing."""
    start = tmp_path / lab.START
    start.parent.mkdir()
    start.touch()
    assert lab.serving_root(tmp_path / "kit", tmp_path) == tmp_path


def test_an_installed_kit_copies_its_notebooks_once(tmp_path: Path) -> None:
    """After a plain install the notebooks are copied, and a reader's own changes are kept."""
    shipped = tmp_path / "site" / "kit" / "shipped"
    (shipped / "notebooks").mkdir(parents=True)
    (shipped / lab.START).write_text("as shipped")
    (shipped / "images").mkdir()
    (shipped / "images" / "ring.svg").write_text("<svg/>")
    here = tmp_path / "here"
    here.mkdir()
    root = lab.serving_root(shipped.parent, here)
    assert root == here / "kit-notebooks"
    assert (root / "images" / "ring.svg").read_text() == "<svg/>"
    (root / lab.START).write_text("changed by a reader")
    lab.serving_root(shipped.parent, here)
    assert (root / lab.START).read_text() == "changed by a reader"


def test_missing_notebooks_are_said(tmp_path: Path) -> None:
    """Without any start notebook, one line names the places that were looked at."""
    with pytest.raises(KitError, match="start notebook is missing"):
        lab.serving_root(tmp_path / "kit", tmp_path)


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """Where the notebooks cannot be copied, one line says where and why."""
    shipped = tmp_path / "kit" / "shipped"
    (shipped / "notebooks").mkdir(parents=True)
    (shipped / lab.START).touch()
    (tmp_path / "kit-notebooks").write_text("a file is in the way")
    with pytest.raises(KitError, match="cannot write the notebooks"):
        lab.serving_root(shipped.parent, tmp_path)


@pytest.mark.parametrize(
    ("environment", "platform", "window"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WSL_DISTRO_NAME": "Debian"}, "linux", True),
        ({}, "darwin", True),
    ],
)
def test_a_window_is_opened_only_where_there_is_one(
    environment: dict[str, str], platform: str, window: bool
) -> None:
    """A machine without a desktop gets the address only, not a text browser in the terminal."""
    assert lab.has_window(environment, platform) is window


def test_root_is_allowed_only_as_root() -> None:
    """JupyterLab's consent to run as root is given only when needed."""
    commands = [lab.lab_command(ROOT, 8888, window=True, as_root=root) for root in (True, False)]
    assert ["--allow-root" in command for command in commands] == [True, False]


def test_a_missing_jupyterlab_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without JupyterLab, the command says what to install and ends with status 2."""
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert lab.run([]) == 2
    assert capsys.readouterr().err.startswith("kit lab: JupyterLab is not installed")


def test_the_lab_opens_on_the_start_notebook(taken: int) -> None:
    """The real server comes up beside a taken port, says so, and serves the start notebook."""
    environment = {**os.environ, "JUPYTER_TOKEN": "secret", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "kit.commands.lab", f"--port={taken}", "--no-browser"]
    server = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert server.stdout
        first = server.stdout.readline()
        assert first.startswith(f"kit lab: port {taken} is taken; using ")
        port = int(first.split()[-1])
        body_at(f"http://127.0.0.1:{port}/api/status?token=secret", server)
        start = f"http://127.0.0.1:{port}/api/contents/{lab.START.as_posix()}?token=secret"
        assert b"00-start-here.ipynb" in body_at(start, server)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/?token=secret") as answer:
            assert answer.geturl().split("?")[0].endswith(f"/lab/tree/{lab.START.as_posix()}")
    finally:
        if server.poll() is None:
            os.killpg(server.pid, signal.SIGTERM)
        server.communicate()


def body_at(address: str, server: subprocess.Popen[str]) -> bytes:
    """The body at an address of this machine, once the server is up."""
    bodies: list[bytes] = []

    def answered() -> bool:
        assert server.poll() is None, "the lab has ended by itself"
        try:
            with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
                bodies.append(bytes(answer.read()))
        except urllib.error.HTTPError:
            raise
        except (urllib.error.URLError, ConnectionError, BadStatusLine):
            # The last: before anybody listens, the system may connect a caller to itself.
            return False
        return True

    until(answered, address)
    return bodies[0]
