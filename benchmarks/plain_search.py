"""A plain loop over any model: what visiting and judging its states costs without a search engine.

A set of what was seen and a list of what comes next; no way back to a run, no goals, no bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kit.model.model import Model


def explore(model: Model[Any, Any], *, symmetry: bool = False) -> tuple[int, int]:
    """The unique states (with what monitors remember) and the steps between them.

    Every state is judged by the *always* properties, every step by the *step* properties. With
    ``symmetry`` states count as the model's symmetry joins them; its monitors, if any, watch no
    more then.
    """
    monitors = () if symmetry else model.monitors
    always = [prop.check for prop in model.properties if prop.kind == "always"]
    of_steps = [prop for prop in model.properties if prop.kind == "step"]
    key = _key(model) if symmetry else tuple
    start = (model.start(), *(monitor.begin() for monitor in monitors))
    seen, frontier, steps = {key(start)}, [start], 0
    while frontier:
        following = []
        for before, *memories in frontier:
            for action, after in model.successors(before):
                steps += 1
                assert not any(prop.of_step(before, action, after) for prop in of_steps)
                watched = zip(monitors, memories, strict=True)
                node = (after, *(m.after(memory, before, action, after) for m, memory in watched))
                stands_for = key(node)
                if stands_for not in seen:
                    seen.add(stands_for)
                    following.append(node)
                    assert not any(check(after) for check in always)
        frontier = following
    return len(seen), steps


def _key(model: Model[Any, Any]) -> Callable[[tuple[Any, ...]], Any]:
    """From a state to the one that stands for it."""
    canonical = model.symmetry
    assert canonical is not None, f"{model.name} has no symmetry"
    return lambda node: canonical(node[0])[0]
