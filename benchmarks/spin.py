"""SPIN's own search of a model in Promela: generate, compile, run, and what it counts."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from msgspec import Struct


class Searched(Struct, frozen=True):
    """What SPIN found: its counts, the seconds of search, and of making the program it runs."""

    version: str
    states: int
    transitions: int
    errors: int
    search: float
    making: float


def why_not() -> str | None:
    """Why SPIN cannot be run here; None when it can."""
    missing = [name for name in ("spin", "gcc") if shutil.which(name) is None]
    return f"no {' and no '.join(missing)} here (apt: spin, gcc)" if missing else None


def searched(promela: str, rounds: int) -> Searched:
    """Generate, compile once and run SPIN's own search; its time is the best that it tells."""
    with tempfile.TemporaryDirectory(prefix="kit-spin-") as name:
        folder = Path(name)
        (folder / "model.pml").write_text(promela)
        began = time.perf_counter()
        _run(folder, "spin", "-a", "model.pml")
        _run(folder, "gcc", "-O2", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
        making = time.perf_counter() - began
        times = list[float]()
        for _ in range(rounds):
            began = time.perf_counter()
            said = _run(folder, "./pan", "-w24", "-m1000000")
            outside = time.perf_counter() - began
            told = re.search(r"elapsed time ([\d.]+) seconds", said)
            times.append(float(told[1]) if told and float(told[1]) else outside)
        version = _run(folder, "spin", "-V").split()[2]
    return Searched(
        version,
        int(float(_number(r"([\d.e+]+) states, stored", said))),
        int(float(_number(r"([\d.e+]+) transitions", said))),
        int(_number(r"errors: (\d+)", said)),
        min(times),
        making,
    )


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def _number(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, text
    return found[1]
