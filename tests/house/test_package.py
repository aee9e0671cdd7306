"""What is handed out: as source the whole checkout, as a wheel the kit with its lessons."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.house.source import ROOT, project_files

FILES = {path.relative_to(ROOT).as_posix() for path in project_files()}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both packages, built from this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


def test_the_source_package_is_the_whole_checkout(packages: Path) -> None:
    """Whoever unpacks the source package can set up, test and measure as from a clone."""
    [archive] = packages.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    assert not FILES - held
    assert not {name for name in held - FILES if not name.startswith("PKG-INFO")}


def test_the_wheel_holds_the_kit_and_its_lessons(packages: Path) -> None:
    """Every file of the kit is in the wheel, and the notebooks with the pictures they show."""
    [archive] = packages.glob("*.whl")
    with zipfile.ZipFile(archive) as opened:
        held = set(opened.namelist())
    assert not {name for name in FILES if name.startswith("kit/")} - held
    for place in ("jupyter_nbconvert_config.json", "jupyter_server_config.d/kit.json"):
        assert [name for name in held if name.endswith(f"/etc/jupyter/{place}")]
    assert not [name for name in held if name.endswith("/jupyter_config.json")]
    shipped = {name for name in FILES if name.startswith(("notebooks/", "images/"))}
    assert not {f"kit/shipped/{name}" for name in shipped} - held
