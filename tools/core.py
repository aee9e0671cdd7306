"""The Python that runs in a browser, the kit's one compiled package for it, and one of its tests.

They are fetched once, by the usual clients of their registries, into ``build/``, and held against
the digests that are written here. Only ``make site`` and its tests ask for them. Node runs it here
as a browser does.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from kit.errors import KitError

FOLDER = Path(__file__).resolve().parent.parent / "build" / "site-core"
RUN = Path(__file__).with_name("core.mjs")


class Fetched(Struct, frozen=True):
    """A file from a registry: its name, its digest, and the words of the client that brings it."""

    file: str
    sha256: str
    command: tuple[str, ...]


PYODIDE, MSGSPEC, DRAWING = "314.0.7", "0.22.0", "6.155.7"
PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
PYTHON = Fetched(
    f"pyodide-{PYODIDE}.tgz",
    "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0",
    ("npm", "pack", "--silent", f"pyodide@{PYODIDE}"),
)
WHEEL = Fetched(
    f"msgspec-{MSGSPEC}-cp314-cp314-pyemscripten_2026_0_wasm32.whl",
    "a66b1766311e42371e509c996c3933b161c7ae0eabdf361af5316dec197e1022",
    (
        *(*PIP, "--platform", "pyemscripten_2026_0_wasm32"),
        *("--python-version", "3.14", "--implementation", "cp", "--abi", "cp314"),
        f"msgspec=={MSGSPEC}",
    ),
)
HYPOTHESIS = Fetched(
    f"hypothesis-{DRAWING}-py3-none-any.whl",
    "9f634bdb1f9e9b8ab6ba09431cf2deedb750c96978125a6fb3c5a0f6c6db4131",
    (*PIP, f"hypothesis=={DRAWING}"),
)
"""What draws examples, as it was last without compiled parts: for the engine's tests there."""
FILES = (PYTHON, WHEEL, HYPOTHESIS)


def fetch(one: Fetched, folder: Path = FOLDER) -> Path:
    """The file, from the folder or its registry.

    Raises KitError when it cannot be brought, or is not the one whose digest is written here.
    """
    path = folder / one.file
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            subprocess.run(one.command, cwd=folder, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise KitError(f"site: {one.command[0]} is not here, and brings {one.file}") from None
        except subprocess.CalledProcessError as error:
            last = (error.stderr.strip() or "it says nothing").splitlines()[-1]
            raise KitError(f"site: {one.file} could not be fetched: {last}") from None
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != one.sha256:
        path.unlink()
        raise KitError(f"site: {one.file} has the digest {found}, not {one.sha256}")
    return path


def fetched() -> Path | None:
    """The folder with all of them, if they are there."""
    there = all((FOLDER / one.file).exists() for one in FILES)
    return FOLDER if there else None


def unpacked(folder: Path) -> Path:
    """The files of the Python, unpacked into a folder. Raises KitError as ``fetch`` does."""
    with tarfile.open(fetch(PYTHON)) as archive:
        # Debian's Python 3.11.2 has no filters yet; what is unpacked is known by its checksum.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return folder / "package"


def ran(program: str, *folders: Path) -> str:
    """What a Python text prints in the Python of a page, which searches folders for modules.

    They may be written into: ``places`` has where they are there. Raises KitError for a text that
    fails, and where there is no node.
    """
    with TemporaryDirectory() as folder:
        given = (RUN, unpacked(Path(folder)), fetch(WHEEL), *folders)
        command = ["node", *map(str, given)]
        try:
            done = subprocess.run(
                command, input=program, capture_output=True, text=True, check=False
            )
        except FileNotFoundError:
            raise KitError("site: node is not here, and runs the Python of a page") from None
    if done.returncode:
        raise KitError(f"site: {(done.stdout + done.stderr)[-3000:].strip()}")
    return done.stdout
