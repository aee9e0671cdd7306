"""Writing a folder of tables so that it is there whole, or not at all."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.errors import BadInput

# What the two engines say when a disk is full or a folder may not be written.
REASONS = re.compile(
    r"No space left on device|Disk quota exceeded|Permission denied|Read-only file system"
    r"|Not a directory|File too large|Mkdirs failed"
)


@contextmanager
def whole_folder(folder: str | Path) -> Iterator[Path]:
    """A temporary folder to fill beside ``folder``; put in its place in one step at the end.

    Raises:
        BadInput: when ``folder`` exists, or cannot be written; then nothing is left behind.
    """
    target = Path(folder).absolute()
    if target.exists():
        raise BadInput("folder", str(folder), "a folder that does not exist yet")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(dir=target.parent, prefix=".kit-"))
    except OSError as error:
        raise BadInput("folder", str(folder), f"a writable place ({error.strerror})") from None
    try:
        place.chmod(0o755)
        yield place
        place.rename(target)
    except Exception as error:
        found = REASONS.search(str(error))
        if found is None:
            raise
        allowed = f"a place with enough room to write ({found.group()})"
        raise BadInput("folder", str(folder), allowed) from None
    finally:
        shutil.rmtree(place, ignore_errors=True)
