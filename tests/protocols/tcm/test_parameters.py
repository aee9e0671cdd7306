"""Parameters out of their limits are one clear line each."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from tests.saying import says


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 5}, "low | 5 | end | line | unless"),
        ({"nodes": 0}, "nodes | 0 | 1 to 1000"),
        ({"dcs": 4}, "dcs | 4 | 1 to 3"),
        ({"focus": (3, 3)}, "focus | (3, 3) | left | bound | below"),
        ({"edition": "round"}, "edition | 'round'"),
        ({"epoch": 2**63}, "epoch | 9223372036854775808"),
    ],
)
def test_a_parameter_out_of_its_limits_is_named(given: dict[str, Any], message: str) -> None:
    """The error names the parameter, its value and what is allowed."""
    with pytest.raises(BadInput) as raised:
        build("tcm", given)
    assert says(raised.value, message)
