"""Views of the worked example's range, for tests: {A,B,C} becomes {B,C,X}; A to X are 0 to 3."""

from __future__ import annotations

from kit.protocols.storage.rules.view import View

A, B, C, X = 1, 2, 4, 8
OLD, NEW = A | B | C, B | C | X
# epochs 100 to 103, as depths 0 to 3
VIEWS = (
    View(OLD, OLD, OLD, NEW, 0),
    View(OLD, OLD | NEW, OLD, NEW, 1),
    View(NEW, OLD | NEW, OLD, NEW, 2),
    View(NEW, NEW, NEW, NEW, 3),
)
