"""Two-phase commit searched by a plain loop: what the same work costs without a kit.

No model, no properties but one assertion, no way back to a run: tuples, frozen sets, a set of
what was seen. It makes the same states and takes the same steps as ``kit.protocols.twophase``.
"""

from __future__ import annotations

from typing import Any


def explore(rms: int) -> tuple[int, int]:
    """The unique states of ``rms`` resource managers, and the steps between them."""
    start: Any = (("working",) * rms, "undecided", frozenset(), frozenset())
    seen, frontier, steps = {start}, [start], 0
    while frontier:
        found = []
        for rm, tm, heard, sent in frontier:
            assert not ("committed" in rm and "aborted" in rm)
            after = []
            if tm == "undecided":
                if len(heard) == rms:
                    after.append((rm, "committed", heard, sent | {"commit"}))
                after.append((rm, "aborted", heard, sent | {"abort"}))
            for i in range(rms):
                if tm == "undecided" and ("prepared", i) in sent and i not in heard:
                    after.append((rm, tm, heard | {i}, sent))
                if rm[i] == "working":
                    now = (*rm[:i], "prepared", *rm[i + 1 :])
                    after.append((now, tm, heard, sent | {("prepared", i)}))
                    after.append(((*rm[:i], "aborted", *rm[i + 1 :]), tm, heard, sent))
                if "commit" in sent and rm[i] != "committed":
                    after.append(((*rm[:i], "committed", *rm[i + 1 :]), tm, heard, sent))
                if "abort" in sent and rm[i] != "aborted":
                    after.append(((*rm[:i], "aborted", *rm[i + 1 :]), tm, heard, sent))
            steps += len(after)
            for state in after:
                if state not in seen:
                    seen.add(state)
                    found.append(state)
        frontier = found
    return len(seen), steps
