"""How a request begins a phase: nothing of an earlier one is left."""

from __future__ import annotations

from typing import Any

from kit.engine.check import check
from kit.engine.model import sometimes, step
from kit.engine.registry import build
from kit.protocols.storage.rules.requests import REPAIRING


def test_a_write_back_begins_with_no_answer_void() -> None:
    """Answers that lapsed were those of the read; what is written back counts from the start."""
    model: Any = build("dataplane", {"rf": 1, "repair": "blocking"})

    def kept(before: Any, action: Any, after: Any) -> str | None:
        pairs = zip(before.requests, after.requests, strict=True)
        begun = [now for was, now in pairs if was.phase != REPAIRING == now.phase]
        return "an answer is void" if any(now.invalidated for now in begun) else None

    judges = (
        step("begins", "A write back begins anew", kept),
        sometimes("back", "A read writes back", lambda s: s.requests[1].phase == REPAIRING),
    )
    found = check(model, judges, monitors=())
    assert (found.violation, found.unreached, found.complete) == (None, (), True)
