"""Moments of the model as dumps of its tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from kit.protocols.topology.rules.columns import store
from kit.protocols.topology.topology import Topology
from tests.operators.topology_printing import uuid


def dump(folder: Path, at: int, model: Topology, state: Any) -> str:
    """The tables of a state of the model, as JSON."""
    hosts = tuple(uuid(number) for number in range(1, len(model.names) + 1))
    cells = msgspec.to_builtins(store(state.topology, hosts)[0])
    statics = {name: value for name, value in cells.items() if name != "rows"}
    path = folder / f"{at:02}.json"
    plain = ("session", "global_topology_request_id", "global_requests", "request_id")
    generations = [name for name in cells if "generation" in name]
    rows = [
        {
            **{
                name: value
                for name, value in {**statics, **row}.items()
                if name not in (*plain, *generations)
            },
            "key": "topology",
            "tokens": [str(number)] if row["tokens"] else None,
        }
        for number, row in enumerate(cells["rows"], 1)
    ]
    path.write_text(json.dumps(rows), "utf-8")
    return str(path)
