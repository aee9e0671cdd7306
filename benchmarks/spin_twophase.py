"""Two-phase commit in Promela, written from the protocol's description, and how SPIN searches it.

One process takes every step, each in one atomic move, so that SPIN sees the states that the kit
sees: which managers prepared, were heard, committed, aborted, and what was decided.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from msgspec import Struct

_HEAD = """\
#define ALL {everybody}
short prepared, heard, committed, aborted;
byte tm; /* 0 undecided, 1 committed, 2 aborted */
#define OPEN(bit) (!((committed | aborted) & bit))
#define SOUND assert(!(committed && aborted))

active proctype world() {{
end:
  do
  :: d_step {{ tm == 0 && heard == ALL -> tm = 1; SOUND }}
  :: d_step {{ tm == 0 -> tm = 2; SOUND }}
"""
_MANAGER = """\
  :: d_step {{ OPEN({bit}) && !(prepared & {bit}) -> prepared = prepared | {bit}; SOUND }}
  :: d_step {{ OPEN({bit}) && !(prepared & {bit}) -> aborted = aborted | {bit}; SOUND }}
  :: d_step {{ tm == 0 && (prepared & {bit}) && !(heard & {bit}) -> heard = heard | {bit}; SOUND }}
  :: d_step {{ tm == 1 && OPEN({bit}) -> committed = committed | {bit}; SOUND }}
  :: d_step {{ tm == 2 && OPEN({bit}) -> aborted = aborted | {bit}; SOUND }}
"""
_TAIL = """\
  od
}
"""


class Searched(Struct, frozen=True):
    """What SPIN found: its counts, the seconds of search, and of making the program it runs."""

    version: str
    states: int
    transitions: int
    errors: int
    search: float
    making: float


def promela(rms: int) -> str:
    """The model for so many resource managers."""
    managers = "".join(_MANAGER.format(bit=1 << i) for i in range(rms))
    return _HEAD.format(everybody=(1 << rms) - 1) + managers + _TAIL


def why_not() -> str | None:
    """Why SPIN cannot be run here; None when it can."""
    missing = [name for name in ("spin", "gcc") if shutil.which(name) is None]
    return f"no {' and no '.join(missing)} here (apt: spin, gcc)" if missing else None


def searched(rms: int) -> Searched:
    """Generate, compile and run SPIN's own search; its time is what the program itself tells."""
    with tempfile.TemporaryDirectory(prefix="kit-spin-") as name:
        folder = Path(name)
        (folder / "model.pml").write_text(promela(rms))
        began = time.perf_counter()
        _run(folder, "spin", "-a", "model.pml")
        _run(folder, "gcc", "-O2", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
        making = time.perf_counter() - began
        began = time.perf_counter()
        said = _run(folder, "./pan", "-w24")
        outside = time.perf_counter() - began
        version = _run(folder, "spin", "-V").split()[2]
    told = re.search(r"elapsed time ([\d.]+) seconds", said)
    return Searched(
        version,
        int(float(_number(r"([\d.e+]+) states, stored", said))),
        int(float(_number(r"([\d.e+]+) transitions", said))),
        int(_number(r"errors: (\d+)", said)),
        float(told[1]) if told and float(told[1]) else outside,
        making,
    )


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def _number(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[1]
