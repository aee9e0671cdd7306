"""Each judge of the model is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build, entry_of
from kit.protocols.cms.schema import Schema
from tests.quality.breaking import broken, doing, never
from tests.quality.reporting import assert_reported, judges

Broken = Callable[[], Any]
GUARDS = {guard.name: guard for guard in entry_of("schema").safeguards}
JOINING = {"nodes": 2, "race": "none", "joins": 1}


def unchanged(s: Any, action: Any) -> Any:
    """A step without effect."""
    return s


def without(off: str, invariant: str) -> Broken:
    """The model without a safeguard, where an invariant needs it."""
    return lambda: build("schema", GUARDS[off].breaking(invariant), (off,))


SCHEMA: dict[str, Broken] = {
    "valid": without("validate-committed", "INV-VALID"),
    "loadable": without("ordered", "INV-SCHEMA"),
    "one-id": lambda: build("schema", {"nodes": 2, "race": "table"}, ("ordered",)),
    "kept": without("ordered", "INV-VISIBLE"),
    "same": without("log-decides", "INV-SAMESTATE"),
    "asked-for": without("operator-cancel", "INV-CANCEL"),
    "whole-schema": without("schema-first", "INV-SCHEMA"),
    "streamed": without("schema-first", "INV-STREAM"),
    "replicated": without("ranges-stay", "INV-RF"),
    "changed": lambda: broken(build("schema", {"nodes": 2}), Schema.decide.struct, never),
    "refused-one": lambda: build("schema", {"nodes": 2}, ("validate-committed",)),
    "has-joined": lambda: broken(build("schema", JOINING), Schema.finish.struct, doing(unchanged)),
    "agreement": lambda: broken(build("schema", {"nodes": 2}), Schema.catch_up.struct, never),
}


@pytest.mark.parametrize("judge", SCHEMA)
def test_a_broken_variant_is_reported(judge: str) -> None:
    """The search names the judge that the variant breaks."""
    assert_reported(SCHEMA[judge](), judge)


def test_no_judge_is_left_out() -> None:
    """The tables name all judges, and no other."""
    every = [build("schema", JOINING), build("schema", JOINING, ("ordered",)), build("schema")]
    assert {judge for model in every for judge in judges(model)} == {*SCHEMA}
