"""A copy of the checkout to change and try things in, and programs that run there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Container
from pathlib import Path

from tests.house.source import ROOT, project_files


def copied(folder: Path, without: Container[str] = ()) -> Path:
    """Copy the checkout into a folder, but for some top folders; what is compiled goes along."""
    for path in project_files():
        name = path.relative_to(ROOT)
        if name.parts[0] not in without:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / name)
            _copy_compiled(path, folder, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder


def _compiled_of(folder: Path) -> str:
    """The folder beside a copy for what is compiled of it."""
    return f"{folder}-compiled"


def _copy_compiled(source: Path, folder: Path, copy: Path) -> None:
    """Copy what is compiled of a module already: it is the same, for the times of both are."""
    compiled = Path(importlib.util.cache_from_source(str(source)))
    if source.suffix == ".py" and compiled.is_file():
        target = Path(f"{_compiled_of(folder)}{copy.parent}", compiled.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(compiled, target)


def ran(folder: Path, *command: str, status: int = 0, typed: str = "") -> str:
    """What a program says in a copy; its errors, too, when it ends with another status."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    compiled = {"PYTHONPYCACHEPREFIX": _compiled_of(folder), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        command,
        cwd=folder,
        input=typed,
        env={**os.environ, "PATH": programs, "PYTHONPATH": str(folder), **compiled},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
