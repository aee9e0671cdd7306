"""A JupyterLab of one's own: a server on a free port, and how a notebook in it is run.

The page hands out its application (``window.jupyterapp``), so that what is waited for can be asked:
whether its parts are there, whether the notebook's kernel is connected, whether a cell has ended.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import nbformat
from playwright.sync_api import Page

from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180_000
"""How long, in ms, a busy machine may take for what is sure to come."""
ENDING = 30.0
"""How long, in seconds, JupyterLab may take to end before it is ended."""
PLAYER = ".kp-frame"

NOTEBOOK = """(path) => {
  const panel = window.jupyterapp?.shell.currentWidget;
  return panel?.context?.path === path ? panel : null;
}"""
# Nothing else is open then, and no kernel of another notebook runs.
OPEN_ALONE = """async (path) => {
  const { allPluginsActivated, commands, restored, serviceManager, shell } = window.jupyterapp;
  for (const promise of [restored, allPluginsActivated]) await promise;
  for (const widget of [...shell.widgets("main")]) widget.dispose();
  await serviceManager.sessions.shutdownAll();
  const panel = await commands.execute("docmanager:open", { path });
  for (const promise of [panel.revealed, panel.sessionContext.ready]) await promise;
}"""
CONNECTED = f"""(path) => {{
  const kernel = ({NOTEBOOK})(path)?.sessionContext.session?.kernel;
  return kernel?.connectionStatus === "connected" && kernel.status === "idle";
}}"""
RUN_ALL = """() => { window.jupyterapp.commands.execute("notebook:run-all-cells"); }"""
RUN_CELL = f"""([path, text]) => {{
  const book = ({NOTEBOOK})(path).content;
  const {{ commands }} = window.jupyterapp;
  book.activeCellIndex = book.widgets.findIndex(
    (cell) => cell.model.type === "code" && cell.model.sharedModel.getSource().includes(text));
  commands.execute("notebook:clear-cell-output");
  commands.execute("notebook:run-cell");
}}"""
# What the page has asked and no kernel has answered yet. What is used in a widget is not answered
# in turn with the cells: JupyterLab gives it a subshell, which is a thread of its own.
ASKED = f"""(path) => {{
  const {{ session }} = ({NOTEBOOK})(path).sessionContext;
  window.asked = new Set();
  session.anyMessage.connect((_, {{ direction, msg }}) => {{
    if (direction === "send" && msg.channel === "shell") window.asked.add(msg.header.msg_id);
    if (msg.header.msg_type === "status" && msg.content.execution_state === "idle")
      window.asked.delete(msg.parent_header.msg_id);
  }});
}}"""
# All is answered, what the answers themselves made the page ask, too; and the page has shown it: it
# hears what the kernel says in turn, and the empty request last.
ANSWERED = f"""async (path) => {{
  const {{ kernel }} = ({NOTEBOOK})(path).sessionContext.session;
  const once = (signal) => new Promise((resolve) => {{
    const heard = () => {{ signal.disconnect(heard); resolve(); }};
    signal.connect(heard);
  }});
  do {{
    while (window.asked.size) await once(kernel.anyMessage);
    await kernel.requestExecute({{ code: "", silent: true }}).done;
  }} while (window.asked.size);
}}"""
ENDED = f"""(path) => {{
  const panel = ({NOTEBOOK})(path);
  return panel.sessionContext.session.kernel.status === "idle"
    && panel.content.widgets.every((cell) => cell.model.executionState !== "running");
}}"""


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Run JupyterLab on ``folder``; give its address."""
    kinds = ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    places = {name: str(folder / name.lower()) for name in kinds}
    environment = {
        **os.environ,
        **places,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": str(ROOT),
    }
    _settle_settings(folder / "jupyter_config_dir" / "labconfig")
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        "--port=0", "--IdentityProvider.token=t", "--LabApp.expose_app_in_browser=True",
        f"--ServerApp.root_dir={folder}", "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    log = folder / "server.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)
        try:
            yield _address(folder / "jupyter_runtime_dir", process, log)
        finally:
            _end(process)
    shutil.rmtree(folder / ".ipynb_checkpoints", ignore_errors=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the server; its kernels end when they miss it.

    Asked to end, JupyterLab first shuts its kernels down; on a busy machine it once had not ended
    after ten minutes, all tests being done.
    """
    process.terminate()
    try:
        process.wait(ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _settle_settings(folder: Path) -> None:
    """The settings that the installed kit brings."""
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "tools/lab/settings.json", folder / "default_setting_overrides.json")


def _address(runtime: Path, process: subprocess.Popen[bytes], log: Path) -> str:
    """The address at which the server answers; it has written down which port it got."""

    def answering() -> list[str]:
        assert process.poll() is None, log.read_text(errors="replace")
        with suppress(URLError, OSError, ValueError, StopIteration):
            told = json.loads(next(runtime.glob("jpserver-*.json")).read_text(encoding="utf-8"))
            address = f"http://127.0.0.1:{told['port']}"
            with urlopen(f"{address}/api/status?token=t", timeout=PATIENCE / 1000):
                return [address]
        return []

    until(answering, "JupyterLab answers")
    return answering()[0]


def write_notebook(path: Path, *cells: str) -> None:
    """Write a notebook of these code cells, which names its kernel so that nobody is asked."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    made.cells = [nbformat.v4.new_code_cell(text) for text in cells]
    nbformat.write(made, path)


def run_all(page: Page, address: str, path: str, ready: str = PLAYER) -> None:
    """Open a notebook and run its cells until they have ended and ``ready`` can be seen."""
    open_notebook(page, address, path)
    run_opened(page, path, ready=ready)


def run_cell(page: Page, address: str, path: str, text: str, ready: str = PLAYER) -> None:
    """Open a notebook and run its first code cell that has ``text``; wait as for all cells."""
    open_notebook(page, address, path)
    run_opened(page, path, text, ready)


def run_opened(page: Page, path: str, text: str | None = None, ready: str = PLAYER) -> None:
    """Run the cells of a notebook that is open, or the first one that has ``text``; wait for it."""
    if text is None:
        page.evaluate(RUN_ALL)
    else:
        page.evaluate(RUN_CELL, [path, text])
    page.wait_for_selector(ready, timeout=PATIENCE)
    page.wait_for_function(ENDED, arg=path, timeout=PATIENCE, polling=50)


def open_notebook(page: Page, address: str, path: str) -> None:
    """Open a notebook alone and wait until its kernel is connected and has nothing to do.

    Where the page shows JupyterLab already, that goes on: loading it takes longer than the rest.
    """
    if not page.url.startswith(address):
        page.goto(f"{address}/lab?token=t&reset", timeout=PATIENCE)
    page.wait_for_function("window.jupyterapp !== undefined", timeout=PATIENCE, polling=50)
    page.evaluate(OPEN_ALONE, path)
    page.wait_for_function(CONNECTED, arg=path, timeout=PATIENCE, polling=50)
    page.evaluate(ASKED, path)
