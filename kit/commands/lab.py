"""Opens JupyterLab on a lesson, or the first: ``python -m kit lab``, and what ``make lab`` calls.

Needs nothing but the Python packages: no Java, no ``dot``, and where there is no browser it prints
the address to open. From a checkout it serves the checkout; after a plain ``pip install`` it first
copies the notebooks that came with the package into ``kit-notebooks/`` of the current folder.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from kit.catalogue.course import lesson
from kit.commands.parsing import Parser
from kit.errors import BadInput, KitError, one_line

LESSON = "a lesson to open, by its name (default: the first)"
START = Path("notebooks/00-start-here.ipynb")
FIRST_PORT = 8888
PORTS_TRIED = 50


def main(argv: Sequence[str] | None = None) -> int:
    """Open JupyterLab and stay until it is stopped; returns its exit status.

    Raises KitError when JupyterLab is not installed, no port is free, or the folder to serve
    cannot be written.
    """
    parser = Parser(prog="python -m kit lab", description="Open JupyterLab on a notebook.")
    parser.add_argument("lesson", nargs="?", help=LESSON)
    parser.add_argument("--port", help=f"first port to try (default {FIRST_PORT})")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    options = parser.parse_args(argv)
    if find_spec("jupyterlab") is None:
        raise KitError("JupyterLab is not installed here; run pip install kit-cluster-metadata")
    first = START if options.lesson is None else START.with_name(lesson(options.lesson).file)
    wanted = FIRST_PORT if options.port is None else port_number(options.port)
    if (port := choose_port(wanted)) != wanted:
        _say(f"port {wanted} is taken; using {port}")
    root = serving_root(Path(__file__).resolve().parent.parent, Path.cwd())
    window = not options.no_browser and has_window(os.environ, sys.platform)
    if not window:
        _say("open the address below in a browser")
    if _is_root():
        _say("running as root: JupyterLab has been told to allow this")
    _say(f"opening {root / first} on port {port}; stop with Ctrl-C")
    command = lab_command(root, port, first, window=window, as_root=_is_root())
    try:
        return subprocess.run(command, check=False, env=lab_environment(os.environ)).returncode
    except KeyboardInterrupt:
        return 0


def run(argv: Sequence[str] | None = None) -> int:
    """Call ``main`` and turn its errors into one line on stderr and status 2."""
    try:
        return main(argv)
    except KitError as error:
        print(f"kit lab: {error}", file=sys.stderr)
        return 2


def port_number(text: str) -> int:
    """Read a port. Raises BadInput for what is none."""
    if text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535:
        return int(text)
    raise BadInput("--port", text, "an integer from 1 to 65535")


def choose_port(first: int) -> int:
    """Find the first port from ``first`` upwards that nothing on this machine listens on."""
    last = min(first + PORTS_TRIED, 65536)
    for port in range(first, last):
        if _is_free(port):
            return port
    raise KitError(f"ports {first} to {last - 1} are all taken: choose another with --port")


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do, so that a port whose last connections are still closing counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def serving_root(package: Path, here: Path) -> Path:
    """Find the folder to serve, the one that holds ``notebooks/``.

    ``package`` is the folder of the imported kit; in a checkout its parent has the notebooks. After
    a plain install they lie in ``package/shipped`` and are copied below ``here``; a file that is
    there already is the reader's own work and stays as it is.
    """
    checkout = package.parent
    if (checkout / START).exists():
        return checkout
    shipped = package / "shipped"
    if not (shipped / START).exists():
        raise KitError(f"the start notebook is missing: {checkout / START} and {shipped / START}")
    target = here / "kit-notebooks"
    try:
        for file in sorted(shipped.rglob("*")):
            place = target / file.relative_to(shipped)
            if file.is_file() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)
    except OSError as error:
        raise KitError(f"cannot write the notebooks to {target}: {error.strerror}") from error
    return target


def has_window(environment: Mapping[str, str], platform: str) -> bool:
    """Tell whether a browser window can open here: a desktop, or Windows below WSL."""
    if platform == "darwin":
        return True
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"))


def lab_command(
    root: Path, port: int, first: Path = START, *, window: bool, as_root: bool
) -> list[str]:
    """Build the command line: this Python's JupyterLab, on loopback, without news or updates."""
    command = [
        *(sys.executable, "-P", "-m", "jupyterlab"),
        f"--ServerApp.root_dir={root}",
        f"--LabApp.default_url=/lab/tree/{first.as_posix()}",
        *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"),
        # Somebody may take the port before JupyterLab has begun: then it takes another and says so.
        f"--ServerApp.port_retries={PORTS_TRIED}",
        "--LabApp.news_url=",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]
    return command + ["--no-browser"] * (not window) + ["--allow-root"] * as_root


def lab_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Let this Python's kernels and programs win over others that the user has installed."""
    programs = Path(sys.executable).parent
    return {
        **environment,
        "PATH": f"{programs}{os.pathsep}{environment.get('PATH', os.defpath)}",
        "JUPYTER_PREFER_ENV_PATH": "1",
    }


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _say(text: str) -> None:
    print(f"kit lab: {one_line(text)}", flush=True)


if __name__ == "__main__":
    sys.exit(run())
