"""A scratch copy of the kit for each test that spoils one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.quality.scratching import KIT


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder with a copy of the kit that may be spoiled."""
    shutil.copytree(KIT, tmp_path / "kit", ignore=shutil.ignore_patterns("__pycache__", "widgets"))
    return tmp_path
