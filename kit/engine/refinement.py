"""Two grains of one protocol: a finer model that does what a coarser one does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from kit.engine.model import Model


class Refinement(Struct, frozen=True):
    """A finer model that does what a coarser one does, some of its steps changing nothing there.

    ``project`` maps a fine state to a coarse one; ``image(before, action, after)`` gives the
    coarse actions of a fine step, none for a stutter. Replaying them from ``project(before)``
    must give ``project(after)``; ``kit.engine.check.check_refinement`` verifies it on every
    reachable fine step.
    """

    fine: Model[Any, Any]
    coarse: Model[Any, Any]
    project: Callable[[Any], Any]
    image: Callable[[Any, Any, Any], tuple[Any, ...]]

    def mismatch(self, before: Any, action: Any, after: Any) -> str | None:
        """Why this fine step is not its coarse image; None when it is."""
        state = self.project(before)
        for coarse in self.image(before, action, after):
            refusal = self.coarse.refusal(state, coarse)
            if refusal is not None:
                return f"{self.coarse.verb(coarse)} is refused there: {refusal.reason}"
            state = self.coarse.apply(state, coarse)
        if state != self.project(after):
            return f"{self.fine.verb(action)} leads elsewhere than its image"
        return None
