"""Rings without numpy against rings with it: the same plans, placements and sizes, side by side."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kit.errors import KitError
from kit.ring import plain
from kit.ring.replication import Replication
from kit.ring.topology import Ring
from tests.examples import examples
from tests.ring.draws import changed, replications, rings

NAMES = "applying columns movement natural placements replication sizes tokens topology".split()


@contextmanager
def _without_numpy() -> Iterator[None]:
    """All of ``kit.ring`` is loaded anew inside, and finds no numpy."""
    here = {name: sys.modules.pop(name) for name in [*sys.modules] if name.startswith("kit.ring")}
    kit = sys.modules["kit"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "numpy", None)
        try:
            yield
        finally:
            for name in [name for name in sys.modules if name.startswith("kit.ring")]:
                del sys.modules[name]
            sys.modules.update(here)
            kit.ring = here["kit.ring"]  # type: ignore[attr-defined]  # a package's own attribute


@cache
def bare() -> dict[str, ModuleType]:
    """The modules of ``kit.ring`` as they are without numpy, by their own names."""
    with _without_numpy():
        return {name: import_module(f"kit.ring.{name}") for name in NAMES}


def usual() -> dict[str, ModuleType]:
    """The same as they are here."""
    return {name: import_module(f"kit.ring.{name}") for name in NAMES}


def _ring(kit: dict[str, ModuleType], ring: Ring) -> Any:
    """A ring in one of the two."""
    space = msgspec.to_builtins(ring.space)
    nodes = [
        kit["topology"].Node(node.name, node.tokens, node.dc, node.rack) for node in ring.nodes
    ]
    return kit["topology"].Ring.of(nodes, kit["tokens"].TokenSpace(**space))


def _table(table: Any) -> list[Any]:
    return [[*range_, *codes] for range_, codes in _rows(table)]


def _rows(table: Any) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
    for at in range(len(table)):
        yield (int(table.lefts[at]), int(table.rights[at])), table.codes(at)


def _told(kit: dict[str, ModuleType], before: Ring, after: Ring, replication: Replication) -> Any:
    """All that a plan says, and the placement after each of its steps, as plain data."""
    old, new = _ring(kit, before), _ring(kit, after)
    kinds = kit["replication"].Replication
    rule = msgspec.convert(msgspec.to_builtins(replication), kinds)
    plan = kit["movement"].movement(old, new, rule)
    deltas = [plan.split, plan.add, plan.switch, plan.drop, plan.merge]
    now = kit["placements"].stable_placement(old, rule)
    shown: list[Any] = []
    for delta in deltas:
        now = kit["applying"].apply(now, delta)
        settled = kit["applying"].settle(now, new, rule, plan.area)
        shown.append([[_table(each.reads), _table(each.writes)] for each in (now, settled)])
        shown.append([int(row) for row in now.apart])
    stored = kit["sizes"].Stored(tuple((name, 1000 + n) for n, name in enumerate(old.names)))
    known = kit["sizes"].sizes_of(stored, old, [kit["replication"].Keyspace("ks", rule)])
    said = [deltas, plan.locked, plan.affected, plan.streams, old.digest]
    return [msgspec.to_builtins(said), shown, {n: str(s) for n, s in known.densities.items()}]


@examples(60)
@given(st.data(), rings(), replications())
def test_a_ring_without_numpy_is_the_same(
    data: st.DataObject, before: Ring, replication: Replication
) -> None:
    """Every strategy, over every change of members: plan, locks, streams, placements, sizes."""
    after = data.draw(changed(before))
    assert bare()["columns"].PLAIN
    told = _told(bare(), before, after, replication)
    assert told == _told(usual(), before, after, replication)


def test_a_larger_ring_says_what_it_needs() -> None:
    """Without numpy a ring has up to 1,024 ranges; one more, and it says so."""
    kit = bare()
    nodes = [kit["topology"].Node(f"n{i}", (i + 1,)) for i in range(1025)]
    space = kit["tokens"].small(5000)
    assert len(kit["topology"].Ring.of(nodes[:1024], space).tokens) == 1024
    needs = "a ring of 1,025 ranges needs numpy, which is not installed. Without it, the limit is"
    with pytest.raises(KitError, match=needs):
        kit["topology"].Ring.of(nodes, space)


NUMBERS = st.lists(st.integers(-3, 9), max_size=9)
TABLES = st.integers(0, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(-2, 6), min_size=width, max_size=width), min_size=1, max_size=5
    )
)
Act = Callable[..., Any]
OF_ONE: dict[str, Act] = {
    "sorts": lambda np, a: (np.sort(a), np.argsort(a, kind="stable"), np.unique(a)),
    "first of each": lambda np, a: np.unique(a, return_index=True),
    "sums": lambda np, a: (np.cumsum(a), a.sum(), np.diff(a) if len(a) else a),
    "places": lambda np, a: (np.flatnonzero(a), *np.nonzero(a > 2), np.argwhere(a > 2)),
    "mask": lambda np, a: (a[a > 2], a[~(a > 2)], np.where(a > 2, a, -a), -a, (a > 2) ^ (a < 5)),
    "every": lambda np, a: ((a > 0).any(), (a > 0).all(), a.max(initial=3), a.min(initial=0)),
    "counts": lambda np, a: (
        np.bincount(np.maximum(a, 0), minlength=4),
        np.bincount(np.maximum(a, 0), a * 0.5, 4),
        np.count_nonzero(a),
    ),
    "searches": lambda np, a: (np.sort(a).searchsorted(a), np.searchsorted(np.sort(a), a, "right")),
    "inserts": lambda np, a: np.insert(a, np.minimum(np.maximum(a, 0), len(a)), a),
    "appends": lambda np, a: (np.append(a, 7), np.append(a, a), np.concatenate((a, a[1:]))),
    "repeats": lambda np, a: (np.repeat(a, 2), np.repeat(a, np.maximum(a, 0))),
    "sets": lambda np, a: (np.union1d(a, a + 1), np.isin(a, [1, 2]), np.array_equal(a, a + 0)),
    "kinds": lambda np, a: (a.astype(np.float64) / 4, (a / 2).astype(np.int64), a // 3, a % 3),
    "bytes": lambda np, a: (list(a.astype(np.int32).tobytes()), a.nbytes, list(a.copy().tobytes())),
    "wraps": lambda np, a: a.astype(np.uint64) - (a + 5).astype(np.uint64),
    "reaches": lambda np, a: np.maximum.accumulate(a) if len(a) else a,
    "order": lambda np, a: np.lexsort((a, a % 2)),
    "beside a number": lambda np, a: [
        (both, both.nbytes // max(len(a), 1))
        for kind in (np.int8, np.int32, np.int64, np.uint64)
        for column in (a.astype(kind),)
        for both in (column - 1, 1 - column, column + True, True + column, column & 6, 6 | column)
    ],
    "from the left": lambda np, a: (
        *(10 - a, 3 * a, 2 + a, 7 // (a * a + 1), 7 % (a * a + 1), 4 / (a * a + 1)),
        *(6 & a, 1 | a, 3 ^ a, 1 << (a * a % 5), 99 >> (a * a % 5)),
    ),
}
OF_TABLE: dict[str, Act] = {
    "axes": lambda np, t: (t.sum(axis=0), t.sum(axis=1), (t > 1).any(axis=1), (t > 1).all(axis=0)),
    "turned": lambda np, t: (t.T, t[:, ::-1], t[1:], t[-1], t.ravel(), t[None].shape, t.shape),
    "shaped": lambda np, t: (
        (t.reshape(-1), t.reshape(t.shape), t.T.reshape(t.shape[0], -1)) if t.size else t
    ),
    "lanes": lambda np, t: (np.sort(t, axis=1), np.sort(t, axis=0), np.argsort(t, 1, "stable")),
    "taken": lambda np, t: np.take_along_axis(t, np.argsort(t, 1, "stable"), axis=1),
    "rows": lambda np, t: (
        t[[0, -1]],
        t.take([0, 0], axis=0),
        np.column_stack((t.sum(1), t.sum(1))),
    ),
    "cells": lambda np, t: (t[np.nonzero(t > 1)], t[t > 1], np.argwhere(t > 1)),
    "pairs": lambda np, t: (t[:, None, :] == t[None, :, :]).sum(axis=2),
    "beside": lambda np, t: np.concatenate((t, t + 1), axis=1),
    "where": lambda np, t: (t * 2).sum(1, where=t > 1),
}


def _changed_parts(np: Any, t: Any) -> Any:
    """Parts are written: slices show what they are of, what is picked is changed at its place."""
    t[:, :1] = 9
    t[0] += 1
    t[t > 5] = -1
    t[-1:][t[-1:] < 0] = 4
    rows = np.arange(len(t))
    if t.shape[1]:
        t[rows, rows * 0] = rows
        np.add.at(t[0], np.array([0, 0]), np.array([2, 3]))
        best = t.argmax(axis=1), t.argmin(axis=1)
        return t, best
    return t


def _plainly(value: Any) -> Any:
    """A result as lists and numbers of Python's."""
    if isinstance(value, tuple | list):
        return [_plainly(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _same(act: Act, given: list[Any]) -> None:
    with_numpy = act(np, np.array(given, np.int64))
    assert _plainly(act(plain, plain.array(given, plain.int64))) == _plainly(with_numpy)


@examples(200)
@example([0, 3, 9], "beside a number")
@given(NUMBERS, st.sampled_from([*OF_ONE]))
def test_what_is_done_to_a_column_is_what_numpy_does(given: list[int], name: str) -> None:
    """Each function that the kit uses gives what numpy's gives."""
    _same(OF_ONE[name], given)


@examples(200)
@given(TABLES, st.sampled_from([*OF_TABLE, ""]))
def test_what_is_done_to_a_table_is_what_numpy_does(given: list[list[int]], name: str) -> None:
    """The same of rows and columns, and of what is written into parts of them."""
    _same(OF_TABLE.get(name, _changed_parts), given)
