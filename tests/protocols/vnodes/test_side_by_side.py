"""One storage model under two protocols: where both have a safeguard, both need it for the same.

CEP-21 moves a range by epochs and majorities, the topology coordinator by versions and drains; what
clients are promised, and what breaks it, is the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build, entry_of
from kit.protocols.storage.storage import Storage
from kit.search.check import check

# what each operation is under either protocol, small enough for each landing
OPERATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "bootstrap": ({"rf": 1}, {"nodes": 3, "rf": 1}),
    "replace": (
        {"nodes": 4, "rf": 3, "operations": ("replace B X",)},
        {"rf": 3, "operation": "replace"},
    ),
    "decommission": (
        {"nodes": 3, "rf": 1, "operations": ("decommission B",)},
        {"nodes": 3, "rf": 1, "operation": "decommission"},
    ),
    "removenode": (
        {"nodes": 4, "rf": 2, "operations": ("removenode B",)},
        {"rf": 2, "operation": "removenode"},
    ),
}
IDS = {
    name: {guard.id: guard for guard in entry_of(name).safeguards}
    for name in ("dataplane", "vnodes")
}
SHARED = sorted(set(IDS["dataplane"]) & set(IDS["vnodes"]))


def verdict(name: str, parameters: dict[str, Any], *off: str) -> str | None:
    """Which promise a search finds broken; None when it is complete and finds none."""
    model: Any = build(name, parameters, off)
    found = check(model)
    assert found.violation is not None or found.complete
    return found.violation.property if found.violation else None


def test_both_are_the_same_model() -> None:
    """Each adds the history of its range; requests, replicas and promises are shared."""
    assert isinstance(build("dataplane"), Storage)
    assert isinstance(build("vnodes"), Storage)
    assert SHARED == ["S-05", "S-06", "S-07", "S-08", "S-57"]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_with_its_safeguards_either_keeps_every_write(operation: str) -> None:
    """The same operation on the same ring, searched whole under both."""
    epochs, versions = OPERATIONS[operation]
    assert verdict("dataplane", epochs) is verdict("vnodes", versions) is None


@pytest.mark.sweep(3)
@pytest.mark.parametrize("id_", SHARED)
def test_without_one_either_breaks_the_same_promise(id_: str) -> None:
    """The safeguard off, each on its smallest configuration: the same property is broken first."""
    broken = {
        verdict(name, dict(guards[id_].smallest), guards[id_].name) for name, guards in IDS.items()
    }
    assert len(broken) == 1
    assert None not in broken
