"""What the models of tablets refuse to be built of, each in one clear line."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("tablets", {"tablets": ("A Z",)}, "A Z"),
        ("tablets", {"tablets": ("A A",)}, "no more than one per host"),
        ("tablets", {"tablets": ("A:x",)}, "hosts and shards"),
        ("tablets", {"tablets": ("A:3",)}, "shards below 1"),
        ("tablets", {"tablets": ("A:1",)}, "shards below 1"),
        ("tablets", {"keyspaces": ("",)}, "at least one datacenter"),
        ("tablets", {"keyspaces": ("x dc1=1",), "tables": ("b.t", "b.u")}, "one of b"),
        ("tablets", {"tables": ("b.t", "b.u", "a.t")}, "co-located tables of one keyspace"),
        ("tablets", {"tables": ("a.t", "a.u", "a.u")}, "each once"),
        ("tablets", {"tablets": ("",)}, "at least one replica"),
        ("tablets", {"operations": ("jump",)}, "jump"),
        ("tablets", {"moves": -1}, "moves"),
        ("tablets", {"tables": ()}, "tables"),
        ("tablets", {"tablets": ("A", "B"), "operations": ("removenode B",)}, "a dead replica"),
        ("tablets", {"tablets": ("B",), "operations": ("replace E B",)}, "on another node"),
        (
            "tablets",
            {"tablets": ("B C",), "operations": ("replace E B", "removenode C")},
            "B C'; allowed: a replica on another node, or a dead replica cannot be rebuilt",
        ),
        (
            "tablets",
            {"tablets": ("B C",), "operations": ("removenode B",), "ignored": ("C",)},
            "B C",
        ),
        (
            "tablets",
            {"edition": "server", "tablets": ("B",), "operations": ("removenode B",)},
            "cannot be rebuilt",
        ),
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
