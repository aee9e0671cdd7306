"""The sizes that drawings share, in pixels; the slots themselves are in ``css/board.css``."""

from __future__ import annotations

SLOT = 380.0
"""How wide a drawing may be that is whole in the smallest slot of a picture, or in a pane."""
LETTER, LINE = 8.4, 15.0
"""How wide a letter is at most, and how high a line, at 13 pixels."""
NAME_LETTER = 9.0
"""How wide a letter of a name is at most, which stands out."""
SMALL = 11
"""Letters beside the arrows of a run."""
