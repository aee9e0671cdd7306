"""What the index says answers a question about Raft is there."""

from __future__ import annotations

import re
from functools import reduce
from importlib import import_module

from tests.house.source import ROOT

NAMED = re.compile(r"`(kit\.protocols\.raft\.[\w.]+)`")


def test_each_function_that_the_index_names_is_there() -> None:
    """A name is a module's, followed by a function, or by a class and its method."""
    names = NAMED.findall((ROOT / "docs/reference/rules.md").read_text("utf-8"))
    assert len(names) > 20
    for name in names:
        module, _, last = name.rpartition(".")
        owner, _, kind = module.rpartition(".")
        within = [kind, last] if kind[0].isupper() else [last]
        named = reduce(getattr, within, import_module(owner if len(within) > 1 else module))
        assert (named.__doc__ or "").strip(), name
