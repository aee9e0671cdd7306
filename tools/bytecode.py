"""In the Python of a page, when the site is built: compiles what every page would compile else.

That is the whole kit, and what has been loaded of the library by the time a story is live; the rest
of it stays text. A module's text goes with it only where something reads that.
"""

from __future__ import annotations

import sys
from pathlib import Path
from py_compile import PycInvalidationMode
from py_compile import compile as compile_module

from kit.site.worker import Engine

LIBRARY, KIT = "library", "kit"
"""Folders of the sources: of that Python's library, and of the kit."""
PLACE = "/kit"
"""Where a page has the kit's folder."""
STORY = "twophase/one-gives-up"
READ = "TYPE_CHECKING"
"""Modules in whose text this stands are read by ``kit.edge.arguments``."""


def compile_sources(folder: str) -> None:
    """Compile in place what is below a folder of sources."""
    Engine(STORY, b"", lambda said: None)
    loaded = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}
    archive = next(each for each in sys.path if each.endswith(".zip"))
    library = Path(folder, LIBRARY)
    for path in [*library.rglob("*.py")]:
        name = f"{archive}/{path.relative_to(library)}"
        if name in loaded:
            _compile(path, name, is_read=False)
    for path in [*Path(folder, KIT).rglob("*.py")]:
        is_family = path.name == "family.py"  # they are found by their files
        is_read = is_family or READ in path.read_text(encoding="utf-8")
        _compile(path, f"{PLACE}/{path.relative_to(folder)}", is_read=is_read)


def _compile(path: Path, name: str, *, is_read: bool) -> None:
    """Put byte code beside the text of a module, or in its place."""
    beside = path.parent / "__pycache__" / f"{path.stem}.{sys.implementation.cache_tag}.pyc"
    place = beside if is_read else path.with_suffix(".pyc")
    mode = PycInvalidationMode.UNCHECKED_HASH
    compile_module(str(path), str(place), name, doraise=True, invalidation_mode=mode)
    if not is_read:
        path.unlink()
