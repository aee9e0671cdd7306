"""Parameters out of their limits are one clear line each."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.errors import BadInput


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 5}, "low: got 5; allowed: an end of the line only together with members"),
        ({"nodes": 0}, "nodes: got 0; allowed: a number from 1 to 1000"),
        ({"dcs": 4}, "dcs: got 4; allowed: a number from 1 to 3"),
        ({"focus": (3, 3)}, "focus: got (3, 3); allowed: a left bound below a right bound"),
        ({"variant": "round"}, "variant: got 'round'; allowed: "),
        ({"epoch": 2**63}, "epoch: got 9223372036854775808; allowed: "),
    ],
)
def test_a_parameter_out_of_its_limits_is_named(given: dict[str, Any], message: str) -> None:
    """The error names the parameter, its value and what is allowed."""
    with pytest.raises(BadInput) as raised:
        build("tcm", given)
    assert str(raised.value).startswith(message)
