"""A fresh Python that refuses to import what a page's Python does not have."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.house.source import ROOT

ABSENT = (
    "numpy pandas pyarrow pyspark resource ipywidgets anywidget traitlets matplotlib IPython "
    "multiprocessing"
).split()
_BEGINNING = f"""
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ImportError(f"{{name}} is not there", name=name)

sys.meta_path.insert(0, Absent())
"""


def told(program: str, *, bare: bool = True) -> Any:
    """What a program prints as JSON in its last line, without what is absent, or with it."""
    text = _BEGINNING * bare + "import json\n" + program
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])
