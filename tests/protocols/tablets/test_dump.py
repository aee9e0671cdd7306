"""What a cluster's tables tell: which tablets a keyspace has, what cannot be."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.model.registry import build


def test_a_model_is_built_of_a_dump_that_fits() -> None:
    """As many members as have shards, and as many tablets as are written."""
    given = {"nodes": 3, "tablets": ("A", "B"), "tables": ("ks.t",)}
    dump = {"shards": (1, 1, 1), "tables": ({"name": "ks.t", "tablets": 2},)}
    assert build("tablets", {**given, "dump": dump}).layout.shards == (1, 1, 1)
    for wrong, field in (({"shards": (1, 1)}, "shards"), ({"sizes": ((1,),)}, "sizes")):
        with pytest.raises(BadInput, match=f"dump.{field}"):
            build("tablets", {**given, "dump": {**dump, **wrong}})
