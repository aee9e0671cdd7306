"""Each judge of the models is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.storage.rules.history import RangeHistory
from kit.protocols.storage.solo import Replica
from kit.protocols.storage.storage import TimeOut
from kit.search.check import Result, check
from tests.protocols.dataplane.runs import DELETED, THREE
from tests.protocols.storage.toys import A, epoch, history


class Idle(Replica):
    """A replica that no epoch names."""

    replica = "X"

    def placement_history(self) -> RangeHistory:
        """A range that stays with another one."""
        return history(epoch(1, A, A))


# what is reported -> parameters, the safeguard that is off
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "consistency-level": ({"rf": 1}, "plan-revalidation"),
    "owners-store": ({"rf": 1, "requests": ("K1 write QUORUM",)}, "membership-check"),
    "owners-serve": ({"rf": 1}, "membership-check"),
    "streamed": ({"rf": 1}, "streams-before-switch"),
    "quorums-in-use": ({"rf": 1}, "write-before-read"),
    "visible": ({"rf": 1}, "progress-barrier"),
    "no-resurrection": ({"rf": 1, "requests": DELETED}, "progress-barrier"),
    "linearizable": ({"rf": 1, "requests": THREE, "together": True}, ""),
}
# what is never reached -> parameters: no replicas for the level, a range that does not move
UNREACHED: dict[str, dict[str, Any]] = {
    "answered": {"rf": 1, "requests": ("K1 write THREE", "K2 read THREE")},
    "moved": {"rf": 1, "token": 250},
}
# what the models of one role judge: each is broken in a test of its own below
SOLO = {
    "coordinator": {"consistency-level", "succeeded", "failed"},
    "replica": {"owners-store", "took", "refused"},
}


def judges(model: Any) -> set[str]:
    """The names of all that is judged."""
    return {judge.name for judge in (*model.properties, *model.monitors)}


def reported(found: Result) -> tuple[str | None, tuple[str, ...]]:
    """The property that is broken, and those that are never reached, in the alphabet's order."""
    return found.violation and found.violation.property, tuple(sorted(found.unreached))


def test_every_judge_has_a_broken_variant() -> None:
    """The two tables name all properties and monitors that a model of requests can have."""
    whole = build("dataplane", {"requests": DELETED, "together": True})
    assert judges(whole) == {*BROKEN, *UNREACHED}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", BROKEN)
def test_a_search_reports_what_is_broken(name: str) -> None:
    """With all judges looking, the one that the variant breaks is the one that is reported."""
    given, off = BROKEN[name]
    broken, _ = reported(check(build("dataplane", given, (off,) * bool(off))))
    assert broken == name


@pytest.mark.parametrize("name", UNREACHED)
def test_a_search_reports_what_is_never_reached(name: str) -> None:
    """It is complete, nothing is broken, and the one thing is named."""
    found = check(build("dataplane", UNREACHED[name]))
    assert found.complete
    assert reported(found) == (None, (name,))


def test_the_judges_of_a_coordinator_alone() -> None:
    """Success below the level, no success at all, and no failure: each is reported."""
    whole = build("coordinator")
    assert judges(whole) == SOLO["coordinator"]
    assert reported(check(build("coordinator", {}, ("plan-revalidation",))))[0] == (
        "consistency-level"
    )
    few = build("coordinator", {"rf": 1, "request": "K1 write THREE"})
    assert reported(check(few)) == (None, ("succeeded",))
    patient: Any = build("coordinator", {"rf": 1}, ("plan-revalidation",))
    patient.rules = tuple(rule for rule in patient.rules if rule.action is not TimeOut)
    reachable = tuple(one for one in patient.properties if one.kind == "sometimes")
    assert reported(check(patient, reachable)) == (None, ("failed",))


def test_the_judges_of_a_replica_alone() -> None:
    """What is not its own, no success, and no refusal: each is reported."""
    whole = build("replica")
    assert judges(whole) == SOLO["replica"]
    assert reported(check(build("replica", {}, ("membership-check",))))[0] == "owners-store"
    assert reported(check(build("replica", {"replica": "B"}))) == (None, ("refused",))
    assert reported(check(Idle())) == (None, ("refused", "took"))
