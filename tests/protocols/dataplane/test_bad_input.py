"""Parameters of the data plane that make no sense are refused, each with one clear line."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from tests.saying import says


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"token": 5000}, "token | 5000 | token | above | 0"),
        ({"token": -1}, "token | -1 | token | above | 0"),
        ({"requests": ("A write QUORUM",)}, "requests | 'A' | coordinator | no"),
        ({"requests": ("K1@dc9 read",)}, "requests | 'dc9' | datacenter | range"),
        ({"requests": ()}, "requests | 0 | 1 | 6 | lines"),
        ({"operations": ("decommission Q",)}, "node | 'Q' | A, B, C"),
        ({"nodes": 5, "operations": ("assassinate B",)}, "| moves | replicas"),
        ({"rf": 3, "operations": ("move B --tokens 250",)}, "| moves | replicas"),
        ({"crashes": 9}, "crashes | 9 | 0 to 8"),
        ({"mode": "rumour"}, "mode | 'rumour' | gossip, log"),
        ({"ring_delay": 0}, "ring_delay | 0 | 1 to 100"),
        ({"exchange": "epochs"}, "exchange | 'epochs' | epoch"),
        ({"acknowledgement": "both"}, "acknowledgement | 'both' | joint"),
        ({"rf": 0}, "rf | 0 | from 1"),
        ({"edition": "sever"}, "edition | 'sever' | server, documents"),
        ({"repair": "yes"}, "repair | 'yes' | answered, blocking, mismatch"),
    ],
)
def test_bad_parameters(given: dict[str, Any], said: str) -> None:
    """The line names the field, the value and what is allowed."""
    with pytest.raises(BadInput) as error:
        build("dataplane", given)
    assert says(error.value, said)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("model", ["dataplane", "coordinator", "replica"])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rf": 1, "operations": ("removenode B",)}, "rf | 1 | 2 or more | dead | removenode B"),
        ({"rf": 1, "operations": ("replace C X",)}, "rf | 1 | 2 or more | dead | replace C"),
        ({"nodes": 2, "operations": ("decommission B",)}, "| moves replicas | only 1 node is left"),
        ({"rf": 3, "operations": ("move B --tokens 250",)}, "| moves replicas | here none moves"),
    ],
)
def test_what_no_range_can_be_followed_through_is_refused(
    model: str, given: dict[str, Any], said: str
) -> None:
    """Nobody has the data of a dead only replica, and what cannot begin moves nothing: the reason
    is the model's own.
    """
    with pytest.raises(BadInput) as error:
        build(model, given)
    assert says(error.value, said)


@pytest.mark.parametrize("given", [{"rf": 9}, {"nodes": 1}, {"strategy": "everywhere"}])
def test_odd_clusters_are_no_error(given: dict[str, Any]) -> None:
    """More replicas than nodes, a ring of one, replicas everywhere: a model all the same."""
    model = build("dataplane", {**given, "requests": ("K1 write", "K2 read")})
    state = model.start()
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
