"""What the models of tablets refuse to be built of, each in one clear line."""

from __future__ import annotations

from typing import Any

import pytest

from kit.engine.registry import build
from kit.errors import BadInput


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("tablets", {"tablets": ("A Z",)}, "A Z"),
        ("tablets", {"tablets": ("A A",)}, "no more than one per host"),
        ("tablets", {"tablets": ("A:x",)}, "hosts and shards"),
        ("tablets", {"tablets": ("A:3",)}, "shards below 1"),
        ("tablets", {"tablets": ("",)}, "at least one replica"),
        ("tablets", {"operations": ("jump",)}, "jump"),
        ("tablets", {"moves": -1}, "moves"),
        ("tablets", {"tables": ()}, "tables"),
        ("resize", {"tablets": ("A", "A", "A")}, "power of two"),
        ("resize", {"tablets": ("A", "Q")}, "Q"),
        ("resize", {"size": 0}, "size"),
        ("truncate", {"replicas": ""}, "some of A, B, C"),
        ("truncate", {"replicas": "A Q"}, "some of A, B, C"),
    ],
)
def test_a_bad_parameter_is_named(model: str, given: dict[str, Any], said: str) -> None:
    """The error names the parameter or the value, and what is allowed."""
    with pytest.raises(BadInput) as error:
        build(model, given)
    assert said in str(error.value)
    assert "\n" not in str(error.value)
