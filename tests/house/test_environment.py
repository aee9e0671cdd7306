"""The ways to install agree: pyproject.toml, requirements.lock, environment.yml, and the README."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nbformat
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kit.catalogue.course import without_magics
from tests.house.source import ROOT, offenders

# What conda calls differently; what only conda needs, since elsewhere it comes from the system.
CONDA_NAMES = {"graphviz": "python-graphviz"}
CONDA_ONLY = {"graphviz", "openjdk", "pip", "python"}
LOCKED = ("kit", "test", "build")


@cache
def locked() -> dict[str, str]:
    """The versions of requirements.lock by canonical name."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9][a-z0-9.-]*)==(\S+)", text, re.MULTILINE))


@cache
def declared() -> dict[str, list[Requirement]]:
    """The direct dependencies of pyproject.toml: those of the kit, and each extra's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"kit": project["dependencies"], **project["optional-dependencies"]}
    return {name: [Requirement(text) for text in texts] for name, texts in groups.items()}


def direct() -> list[Requirement]:
    """Every direct dependency of what the lock is made for."""
    return [requirement for name in LOCKED for requirement in declared()[name]]


@cache
def conda() -> tuple[dict[str, str], dict[str, str], list[str]]:
    """environment.yml: conda's packages, pip's packages by version, and pip's other lines."""
    content = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    lines = content["dependencies"]
    [pip_lines] = [line["pip"] for line in lines if isinstance(line, dict)]
    packages = {}
    for line in lines:
        if isinstance(line, str) and (found := re.fullmatch(r"([a-z0-9-]+)=?(.*)", line)):
            packages[found[1]] = found[2]
    pinned = dict(line.split("==") for line in pip_lines if "==" in line)
    return packages, pinned, [line for line in pip_lines if "==" not in line]


def test_the_lock_fits_what_is_declared() -> None:
    """Every direct dependency is in the lock, at a version that its range allows."""
    versions = locked()
    assert not [
        str(requirement)
        for requirement in direct()
        if not requirement.specifier.contains(versions[canonicalize_name(requirement.name)])
    ]


def test_the_lock_has_only_versions_and_hashes() -> None:
    """The lock holds exact versions with SHA-256 hashes: no index, no address, no local file."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    blocks = re.split(r"\n(?=[a-z0-9])", text[text.index("\n") :].strip())
    assert all("--hash=sha256:" in block for block in blocks if not block.startswith("#"))
    assert not re.search(r"://|--index|--find-links|--trusted| @ ", text)


def test_the_lock_is_for_linux_and_macos() -> None:
    """Windows goes by WSL, so the lock names no package that only Windows needs."""
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if "win32" in line or "cygwin" in line]


@pytest.mark.spec("H-002")
def test_conda_agrees_with_the_lock() -> None:
    """environment.yml pins every direct dependency at the lock's version, under conda's name."""
    packages, pinned, others = conda()
    expected = {
        CONDA_NAMES.get(name, name): locked()[name]
        for requirement in [*declared()["kit"], *declared()["test"]]
        for name in [canonicalize_name(requirement.name)]
    }
    ours = {name: version for name, version in packages.items() if name not in CONDA_ONLY}
    assert {**ours, **pinned} == expected
    assert packages.keys() >= CONDA_ONLY
    assert others == ["--editable ."]


@pytest.mark.spec("H-002")
def test_what_notebooks_import_is_there() -> None:
    """Notebooks import the kit, Python's own modules, and packages of environment.yml."""
    packages, pinned, _ = conda()
    modules = {"cassandra"}  # of cassandra-driver
    known = {"kit", "ipython", *modules, *packages, *pinned} | {
        canonicalize_name(n) for n in CONDA_NAMES
    }

    def unknown(path: Path) -> Iterator[str]:
        cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
        yield from {name for cell in cells for name in imported(cell.source)} - known
        printed = "from kit.lessons import versions\n\nprint(versions())"
        if [cell.source for cell in cells].count(printed) != 1:
            yield "not one cell prints the versions"

    assert not offenders(sorted((ROOT / "notebooks").glob("*.ipynb")), unknown)


def imported(source: str) -> set[str]:
    """The packages that a cell imports, without Python's own."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(without_magics(source))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    roots = {name.partition(".")[0] for name in names}
    return {canonicalize_name(root) for root in roots - sys.stdlib_module_names}


@pytest.mark.spec("H-002")
def test_the_named_packages_are_there() -> None:
    """environment.yml lists the six packages that the project's card names."""
    packages, _, _ = conda()
    assert packages.keys() >= {
        *("jupyterlab", "ipywidgets", "matplotlib", "graphviz", "pyspark", "nbval")
    }


@pytest.mark.spec("H-002")
def test_every_dependency_has_its_reason() -> None:
    """The README gives a reason for each direct dependency of the kit, its extra and its tests."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", readme, re.MULTILINE))
    names = ["openjdk", *(requirement.name for requirement in direct())]
    assert not [name for name in names if len(table.get(name, "")) <= 20]


def test_the_python_versions_agree() -> None:
    """pyproject.toml, environment.yml and the set-up script accept the same Pythons."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    packages, _, _ = conda()
    assert project["requires-python"] == ">" + packages["python"].removeprefix(">") or (
        project["requires-python"] == packages["python"]
    )
    assert "3.11 | 3.12 | 3.13" in (ROOT / "tools/setup.sh").read_text(encoding="utf-8")
