"""Each promise of Paxos breaks where it is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.model import Model
from kit.model.registry import build, entry_of
from kit.protocols.paxos.paxos import Paxos
from tests.quality.breaking import broken, never
from tests.quality.reporting import assert_reported

SMALL: dict[str, Any] = {"members": 2, "values": ("x at A",), "ballots": 1}


def without(name: str) -> Callable[[], Model[Any, Any]]:
    """Paxos without a safeguard, in its smallest configuration."""
    [guard] = [each for each in entry_of("paxos").safeguards if each.name == name]
    return lambda: build("paxos", guard.smallest, (name,))


def swapped() -> Model[Any, Any]:
    """A member proposes something else than its client asks for."""
    model = Paxos(Paxos.Parameters(**SMALL))
    proposing = model.proposing
    vars(model)["proposing"] = lambda *to: proposing(*to[:3], "z")
    return model


PAXOS = {
    "one-log": without("promises-bind"),
    "proposed-only": swapped,
    "stored": without("persist-first"),
    "decided": lambda: broken(build("paxos", SMALL), Paxos.deliver.struct, never),
}


@pytest.mark.parametrize("name", PAXOS)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, it is broken by what was broken for it."""
    assert_reported(PAXOS[name](), name)
