"""Numbers of reasons in words: those that differ look different, huge ones stay short."""

from __future__ import annotations

import pytest

from kit.protocols.tablets.rules.balance.reasons import (
    Balanced,
    DrainsFirst,
    EvensOut,
    NotEmptier,
    load_said,
    loads_said,
    reason_said,
    sizes_said,
)
from kit.protocols.tablets.rules.resize import AboveSplit, resize_said
from kit.protocols.topology.rules.machines import Edition

GIB = 2**30


@pytest.mark.parametrize(
    ("loads", "said"),
    [
        ((0.0198, 0.002), ("1.98%", "0.20%")),
        ((0.01984, 0.01981), ("1.984%", "1.981%")),
        ((0.5, 0.5), ("50.00%", "50.00%")),
        ((0.1 + 0.2, 0.3), ("30.00%", "30.00%")),
        ((4e6, 4.5), ("4.00e+08%", "450.00%")),
    ],
)
def test_loads_that_differ_look_different(
    loads: tuple[float, float], said: tuple[str, str]
) -> None:
    """With more digits where two would not tell them apart; rounding alone is no difference."""
    assert loads_said("server", *loads) == said


@pytest.mark.parametrize(
    ("edition", "reason", "said"),
    [
        ("server", Balanced(0.5, 0.497, 0.005), "from 49.70% to 50.00%, within 0.50% of"),
        ("server", Balanced(0.5, 0.49999, 0.005), "from 49.999% to 50.000%, within 0.50% of"),
        ("documents", Balanced(1200.0, 1199.0, 1), "from 1,199 to 1,200, within 1 of"),
    ],
)
def test_how_even_is_enough_is_a_load(edition: Edition, reason: Balanced, said: str) -> None:
    """It is written as loads are, with the usual digits: it is not compared with them."""
    assert said in reason_said(reason, edition)


def test_reasons_use_it() -> None:
    """Of moves, and of resizes."""
    assert "has 1.984%, the source 1.981%" in reason_said(NotEmptier(0.01981, 0.01984), "server")
    even = EvensOut(0.5, 0.4, 0.4500001, 0.45)
    assert "50.00000% and 40.00000% become 45.00001% and 45.00000%" in reason_said(even, "server")
    above = resize_said(AboveSplit(10 * GIB + GIB // 50, 10 * GIB), sizes_said)
    assert above == "an average of 10.02 GiB is above 10.00 GiB"
    assert resize_said(AboveSplit(101, 100)) == "an average of 101 % is above 100 %"
    assert sizes_said(GIB, 5 * GIB) == ("1.0 GiB", "5.0 GiB")
    assert load_said(3.0, "documents") == "3"
    assert "A must be emptied first" in reason_said(DrainsFirst("A"), "documents")
