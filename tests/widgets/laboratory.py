"""A JupyterLab of one's own: a server on a free port, and how a notebook in it is run."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page
from playwright.sync_api import TimeoutError as Late

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180_000
"""How long, in ms, a busy machine may take for what is sure to come."""
SHORT = 10_000
"""How long, in ms, before a press is tried again."""
PLAYER = ".kp-frame"
IDLE = '.jp-Notebook-ExecutionIndicator[data-status="idle"]'


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run JupyterLab on ``folder``; give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    places = {name: str(folder / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    environment = {
        **os.environ,
        **places,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": str(ROOT),
    }
    _settle_settings(folder / "jupyter_config_dir" / "labconfig")
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=t",
        f"--ServerApp.root_dir={folder}", "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = folder / "server.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)
        try:
            address = f"http://127.0.0.1:{port}"
            _answering(f"{address}/api/status?token=t", process, log)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=30)
    shutil.rmtree(folder / ".ipynb_checkpoints", ignore_errors=True)


def _settle_settings(folder: Path) -> None:
    """Keep JupyterLab from asking whether it may fetch news."""
    folder.mkdir(parents=True)
    settings = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false"}}
    (folder / "default_setting_overrides.json").write_text(json.dumps(settings), encoding="utf-8")


def _answering(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE / 1000
    while True:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.1)
            alive = process.poll() is None
            assert alive, log.read_text(errors="replace")
            assert time.monotonic() < end, log.read_text(errors="replace")


def run_all(page: Page, address: str, path: str, ready: str = PLAYER) -> None:
    """Open a notebook and run its cells until ``ready`` can be seen."""

    def press() -> None:
        page.click("text=Run >> nth=0", timeout=SHORT)
        page.click("text=Run All Cells", timeout=SHORT)

    _run(page, address, path, ready, press)


def run_cell(page: Page, address: str, path: str, text: str, ready: str = PLAYER) -> None:
    """Open a notebook and run its first code cell that has ``text`` until ``ready`` can be seen."""

    def press() -> None:
        editor = page.locator(".jp-CodeCell .cm-content", has_text=text).first
        editor.click(timeout=SHORT)
        page.keyboard.press("Control+Enter")

    _run(page, address, path, ready, press)


def _run(page: Page, address: str, path: str, ready: str, press: Callable[[], None]) -> None:
    """Open a notebook and press until ``ready`` can be seen and the kernel is done.

    A JupyterLab that was never used before may ask which kernel to start, forget what it was to run
    before its kernel was connected, or show stored output because its widgets are not loaded yet.
    """
    page.goto(f"{address}/lab/tree/{path}?token=t&reset", timeout=PATIENCE)
    page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=PATIENCE)
    page.wait_for_selector(IDLE, timeout=PATIENCE, state="attached")
    asked = page.locator(".jp-Dialog button.jp-mod-accept")
    for _ in range(10):
        with suppress(Late):
            if asked.count():
                asked.first.click(timeout=SHORT)
                asked.first.wait_for(state="detached", timeout=SHORT)
            _connected(page, address, Path(path).name)
            press()
            page.wait_for_selector(f".jp-Dialog button.jp-mod-accept, {ready}", timeout=30_000)
        if page.locator(ready).count() and not asked.count():
            # What was pressed twice runs twice, and its second output takes the first one's place.
            page.wait_for_selector(IDLE, timeout=PATIENCE, state="attached")
            return
    raise AssertionError(f"JupyterLab never showed {ready}")


def _connected(page: Page, address: str, name: str) -> None:
    """Give the kernel of a notebook a while to be there, and the page to hear it."""
    end = time.monotonic() + SHORT / 1000
    while time.monotonic() < end:
        sessions = page.request.get(f"{address}/api/sessions?token=t").json()
        states = [one["kernel"]["execution_state"] for one in sessions if one["name"] == name]
        if states == ["idle"] and page.locator(IDLE).count():
            return
        page.wait_for_timeout(100)
