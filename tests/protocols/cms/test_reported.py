"""Each judge of the models of the CMS is reported by a search: a broken variant for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build, entry_of
from kit.protocols.cms.cms import Cms
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.rules.log import Machine
from kit.protocols.cms.rules.members import Members
from kit.protocols.cms.schema import Schema
from tests.quality.breaking import broken, doing, never
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Any]
TWO: dict[str, Any] = {"nodes": 2, "changes": 0}
SMALL: dict[str, Any] = {"nodes": 2, "members": 2, "events": ("drop table t at A",)}
JOINING = {"nodes": 2, "race": "none", "joins": 1}


def without(name: str, off: str, invariant: str = "") -> Broken:
    """A model without a safeguard, where that breaks an invariant, or else the first of its own."""
    [guard] = (guard for guard in entry_of(name).safeguards if guard.name == off)
    return lambda: build(name, guard.breaking(invariant) if invariant else guard.smallest, (off,))


def unchanged(s: Any, action: Any) -> Any:
    """A step without effect."""
    return s


def nobody() -> Any:
    """A CMS whose log names no members, whatever its entries say."""
    model = build("cms", TWO)
    model.machine = Machine(Members(cluster=3), lambda members, entry: members)
    return model


CMS: dict[str, Broken] = {
    "one-event-an-epoch": without("cms", "one-at-a-time", "INV-LOG"),
    "quorums-meet": without("cms", "one-at-a-time", "INV-CMSQI"),
    "informed": without("cms", "log-transfer", "INV-CMSQI"),
    "within": without("cms", "hand-over", "INV-PROGRESS"),
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
COMMIT: dict[str, Broken] = {
    "one-log": without("commit", "promises-bind"),
    "valid": without("commit", "validation"),
    "same-state": without("commit", "apply-in-order"),
    "once": without("commit", "entry-id"),
    "majority": without("commit", "cms-quorum"),
    "committed": lambda: broken(build("commit", SMALL), Commit.answer.struct, doing(unchanged)),
    "all-answered": lambda: broken(build("commit", SMALL), Commit.answer.struct, never),
}
SCHEMA: dict[str, Broken] = {
    "valid": without("schema", "validate-committed", "INV-VALID"),
    "loadable": without("schema", "ordered", "INV-SCHEMA"),
    "one-id": lambda: build("schema", {"nodes": 2, "race": "table"}, ("ordered",)),
    "kept": without("schema", "ordered", "INV-VISIBLE"),
    "same": without("schema", "log-decides", "INV-SAMESTATE"),
    "asked-for": without("schema", "operator-cancel", "INV-CANCEL"),
    "whole-schema": without("schema", "schema-first", "INV-SCHEMA"),
    "streamed": without("schema", "schema-first", "INV-STREAM"),
    "replicated": without("schema", "ranges-stay", "INV-RF"),
    "changed": lambda: broken(build("schema", {"nodes": 2}), Schema.decide.struct, never),
    "refused-one": lambda: build("schema", {"nodes": 2}, ("validate-committed",)),
    "has-joined": lambda: broken(build("schema", JOINING), Schema.finish.struct, doing(unchanged)),
    "agreement": lambda: broken(build("schema", {"nodes": 2}), Schema.catch_up.struct, never),
}


@pytest.mark.parametrize(
    ("table", "judge"),
    [
        pytest.param(table, judge, id=f"{name}-{judge}")
        for name, table in (("cms", CMS), ("commit", COMMIT), ("schema", SCHEMA))
        for judge in table
    ],
)
def test_a_search_reports_every_promise_broken_on_purpose(
    table: dict[str, Broken], judge: str
) -> None:
    """Each promise is judged alone, on a model that was broken for it."""
    assert_reported(table[judge](), judge)


def test_every_property_has_a_broken_variant() -> None:
    """And no other name is in the tables."""
    faults = {"requests": 1, "crashes": 1, "addresses": 1}
    assert set(CMS) == set(judges(build("cms", faults)))
    assert set(COMMIT) == set(judges(build("commit")))
    every = [build("schema", JOINING), build("schema", JOINING, ("ordered",)), build("schema")]
    assert {judge for model in every for judge in judges(model)} == {*SCHEMA}
