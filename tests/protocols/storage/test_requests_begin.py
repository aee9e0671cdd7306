"""How requests begin: nothing is there at the start, nothing of a phase is left in the next."""

from __future__ import annotations

from typing import Any

from kit.model.model import sometimes, step
from kit.model.registry import build
from kit.protocols.storage.rules.requests import NOTHING, REPAIRING, WAITING, Request
from kit.protocols.storage.storage import StorageState
from kit.search.check import check
from tests.protocols.storage.toys import epochs, toy


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


def test_nothing_has_happened_at_the_start() -> None:
    """Everybody is up and knows the first epoch; no crash, no tick is spent; nothing is asked."""
    model = toy(epochs())
    waiting = Request(WAITING, 0, 0, 0, 0, NOTHING, 0, 0)
    assert model.start() == StorageState(
        trail=0, known=(0, 0, 0, 0), cells=(NOTHING, NOTHING), copies=(), requests=(waiting,) * 2,
        down=0, cleaned=0, crashes=0, waited=0,
    )  # fmt: skip
