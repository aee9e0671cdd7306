"""Two-phase commit in Harmony, written from the protocol's description, and how it searches it.

One thread takes every step, each chosen at random in one atomic move, so that Harmony sees the
states that the kit sees (and two of its own). The package compiles its engine when it is installed,
into an environment of its own that is thrown away.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

PACKAGE = "harmony==1.2.4126"
LONGEST_MAKING = 180  # seconds
OWN_STATES = 2
MODEL = """\
const N = 3

rm = ["working",] * N
ready = {}
heard = {}
tm = "undecided"

def everybody():
    while True:
        atomically:
            let what = choose({ 0..4 * N + 1 })
            let i = what % N:
                if what >= 4 * N:
                    if tm == "undecided":
                        if what == 4 * N:
                            tm = "aborted"
                        elif heard == { 0..N - 1 }:
                            tm = "committed"
                elif what < N:
                    if rm[i] == "working":
                        rm[i] = "prepared"
                        ready |= { i }
                elif what < 2 * N:
                    if rm[i] == "working":
                        rm[i] = "aborted"
                elif what < 3 * N:
                    if (tm == "undecided") and (i in ready):
                        heard |= { i }
                elif tm != "undecided":
                    rm[i] = tm

invariant not (("committed" in rm) and ("aborted" in rm))

spawn eternal everybody()
"""


class Searched(Struct, frozen=True):
    """What Harmony found: its states, whether all is well, the seconds of search alone."""

    states: int
    clean: bool
    search: float


class Harmony(Struct, frozen=True):
    """An installed Harmony, and the seconds that installing it took."""

    program: str
    making: float

    def searched(self, rms: int) -> Searched:
        """Search the model for so many resource managers."""
        with tempfile.TemporaryDirectory(prefix="kit-harmony-") as folder:
            (Path(folder) / "model.hny").write_text(MODEL)
            options = ["--noweb", "-s", "-W", "-R", "-T", "-c", f"N={rms}"]
            said = subprocess.run(
                [self.program, *options, "model.hny"],
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        found = re.search(r"\* (\d+) states \(time ([\d.]+)s", said)
        assert found is not None, said
        return Searched(int(found[1]), "No issues found" in said, float(found[2]))


@contextmanager
def installed() -> Iterator[Harmony | str]:
    """Harmony, in an environment of its own; or why it cannot be had here."""
    if shutil.which("gcc") is None:
        yield "no gcc here, which compiles it"
        return
    with tempfile.TemporaryDirectory(prefix="kit-harmony-") as folder:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, check=True)
        bin_folder = Path(folder) / "bin"
        done = subprocess.run(
            [str(bin_folder / "python"), "-m", "pip", "install", "--quiet", PACKAGE],
            capture_output=True,
            check=False,
            timeout=LONGEST_MAKING,
        )
        if done.returncode != 0:
            yield f"{PACKAGE} cannot be installed here"
            return
        yield Harmony(str(bin_folder / "harmony"), time.perf_counter() - began)
