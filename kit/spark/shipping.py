"""Bringing the kit to workers that may not have it: one zip of its sources."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[1]


def archive(folder: Path) -> Path:
    """Write the kit's Python sources into ``kit.zip`` below ``folder``."""
    target = folder / "kit.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(SOURCES.rglob("*.py")):
            file.write(path, Path("kit") / path.relative_to(SOURCES))
    return target


def ship(spark: Any, folder: Path) -> None:
    """Put the kit on the path of a cluster's Python workers; they need numpy, msgspec, pyarrow."""
    path = str(archive(folder))
    if ".connect." in type(spark).__module__:
        spark.addArtifacts(path, pyfile=True)
    else:
        spark.sparkContext.addPyFile(path)
