"""Each judge of the members of the CMS is reported by a search: a broken variant for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build, entry_of
from kit.protocols.cms.cms import Cms
from kit.protocols.cms.rules.log import Machine
from kit.protocols.cms.rules.members import Members
from tests.quality.breaking import broken, never
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Any]
GUARDS = {guard.name: guard for guard in entry_of("cms").safeguards}
TWO: dict[str, Any] = {"nodes": 2, "changes": 0}


def without(off: str, invariant: str) -> Broken:
    """The model without a safeguard, where that breaks an invariant."""
    return lambda: build("cms", GUARDS[off].breaking(invariant), (off,))


def nobody() -> Any:
    """A CMS whose log names no members, whatever its entries say."""
    model = build("cms", TWO)
    model.machine = Machine(Members(cluster=3), lambda members, entry: members)
    return model


CMS: dict[str, Broken] = {
    "one-event-an-epoch": without("one-at-a-time", "INV-LOG"),
    "quorums-meet": without("one-at-a-time", "INV-CMSQI"),
    "informed": without("log-transfer", "INV-CMSQI"),
    "within": without("hand-over", "INV-PROGRESS"),
    "commits": lambda: broken(build("cms", {**TWO, "crashes": 1}), Cms.restart.struct, never),
    "alike": lambda: broken(build("cms", TWO), Cms.catch_up.struct, never),
    "changes-members": lambda: broken(build("cms", TWO), Cms.advance.struct, never),
    "serves-without": lambda: broken(
        build("cms", {**TWO, "crashes": 1, "requests": 1}), Cms.serve_request.struct, never
    ),
    "somebody": nobody,
    "finds-again": lambda: broken(
        build("cms", {**TWO, "edition": "server", "addresses": 1}), Cms.register.struct, never
    ),
}


@pytest.mark.parametrize("name", CMS)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(CMS[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties of the model."""
    faults = {"requests": 1, "crashes": 1, "addresses": 1}
    assert set(CMS) == set(judges(build("cms", faults)))
