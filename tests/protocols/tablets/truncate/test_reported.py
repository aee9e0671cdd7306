"""Each property of a truncate is reported by a search: a broken variant for every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kit.model.registry import build
from kit.protocols.tablets.truncate import Truncate
from tests.quality.breaking import broken, doing, never, unguarded
from tests.quality.reporting import assert_reported, judges


def late() -> Any:
    """A late RPC is carried out whatever its session."""
    [guard] = Truncate.safeguards
    return build("truncate", guard.smallest, (guard.name,))


REPORTED: dict[str, Callable[[], Any]] = {
    "rows-kept": late,
    "in-session": late,
    "rows-gone": lambda: broken(build("truncate"), Truncate.close_session.struct, unguarded),
    "moves-apart": lambda: broken(build("truncate", {"moves": 1}), Truncate.move.struct, unguarded),
    "done": lambda: broken(
        build("truncate"), Truncate.close_session.struct, doing(lambda s, action: s)
    ),
    "ends": lambda: broken(build("truncate"), Truncate.pass_barrier.struct, never),
}


@pytest.mark.parametrize("name", REPORTED)
def test_a_search_reports_it(name: str) -> None:
    """Judged alone, each promise is broken by what was broken for it."""
    assert_reported(REPORTED[name](), name)


def test_every_judge_has_a_broken_variant() -> None:
    """The table names all properties."""
    assert set(REPORTED) == set(judges(build("truncate")))
