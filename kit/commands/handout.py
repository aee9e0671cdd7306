"""``handout``: a page to hand out for a notebook, and the page with its answers."""

from __future__ import annotations

from kit.commands.layout import put
from kit.lessons.handouts import write_handout

FINE = 0


def handout(notebook: str, folder: str) -> int:
    """Write both pages into a folder and name them."""
    put("\n".join(str(path) for path in write_handout(notebook, folder)))
    return FINE
