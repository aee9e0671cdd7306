"""The kit as a cluster's workers get it: an archive, in which this is what ``import kit`` finds.

It unpacks the archive beside itself, once for all workers of an executor, and imports the kit from
there.
"""

import os
import shutil
import sys
import tempfile
import zipfile
from importlib import import_module
from pathlib import Path

ARCHIVE = Path(__file__).parents[1]
UNPACKED = ARCHIVE.with_suffix(".unpacked")

if not UNPACKED.is_dir():
    made = tempfile.mkdtemp(dir=ARCHIVE.parent)
    with zipfile.ZipFile(ARCHIVE) as file:
        file.extractall(made)
    try:
        os.rename(made, UNPACKED)  # noqa: PTH104  # all of it at once
    except OSError:  # another worker was quicker
        shutil.rmtree(made)
sys.path.insert(0, str(UNPACKED / "files"))
del sys.modules[__name__]
import_module(__name__)
