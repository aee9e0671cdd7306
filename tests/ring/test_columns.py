"""Plain columns beside numpy's, function by function: value, kind, shape, or that it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kit.ring import plain

Act = Callable[..., Any]
KINDS = "bool_ int8 int16 int32 int64 uint16 uint32 uint64 float64".split()
OF_PLAIN = {getattr(plain, kind): kind for kind in KINDS}
OF_NUMPY = {np.dtype(getattr(np, kind)): kind for kind in KINDS}
REFUSED = (IndexError, ValueError, ZeroDivisionError, TypeError, AssertionError)
COLUMNS: list[tuple[str, list[Any]]] = [
    ("int64", []),
    ("int64", [3]),
    ("int64", [0]),
    ("int64", [2, 2, 2]),
    ("int64", [-1, 4, 2, 2, 0, 9]),
    ("int32", [5, -3, 1]),
    ("int8", [1, 0, 7]),
    ("uint64", [6, 5, 5, 8]),
    ("bool_", []),
    ("bool_", [True]),
    ("bool_", [False, True, True]),
    ("float64", []),
    ("float64", [2.5, -0.5, 2.5, 0.0]),
]
TABLES: list[tuple[str, list[Any]]] = [
    ("int64", [[]]),
    ("int64", [[], []]),
    ("int64", [[4]]),
    ("int64", [[3, 1, 2]]),
    ("int64", [[3], [-1], [3]]),
    ("int64", [[2, -1], [5, 0], [5, 2]]),
    ("int16", [[[1, 2, 0], [3, 4, 4]], [[5, 6, -1], [7, 8, 9]]]),
    ("int32", [[0, 3, 1, 1], [6, -2, 2, 0]]),
    ("bool_", [[True, False], [False, False], [True, True]]),
    ("float64", [[0.5, 2.0], [-1.5, 2.0]]),
]


def _in_place(np: Any, a: Any) -> list[Any]:
    """A column after each change, and a slice that shares its cells."""
    a = a.astype(np.int64)
    part = a[1:]
    changes: tuple[Callable[[Any], Any], ...] = (
        *(lambda c: c.__iadd__(2), lambda c: c.__isub__(1), lambda c: c.__imul__(3)),
        *(lambda c: c.__ifloordiv__(2), lambda c: c.__imod__(7), lambda c: c.__iand__(6)),
        *(lambda c: c.__ior__(8), lambda c: c.__ixor__(3), lambda c: c.__ilshift__(2)),
        *(lambda c: c.__irshift__(1), lambda c: c.__iadd__(c.copy())),
    )
    return [(change(a).copy(), part.copy()) for change in changes]


def _put_in(np: Any, a: Any) -> Any:
    ends = np.array([len(a), 0])
    return (
        *(np.insert(a, ends, [7, 8]), np.insert(a, ends, 7), np.insert(a, ends, a[:1])),
        *(
            np.insert(a, ends[:1], 1),
            np.insert(a, [0, 0], [7, 8]),
            np.insert(a, ends[:0], ends[:0]),
        ),
    )


OF_COLUMNS: dict[str, Act] = {
    "itself": lambda np, a: a,
    "a copy": lambda np, a: (a.copy(), np.array(a), np.array(a, np.float64), np.asarray(a)),
    "as a kind": lambda np, a: [a.astype(getattr(np, kind)) for kind in KINDS[:5]],
    "single values": lambda np, a: (a[0], a[-1], a[len(a) - 1], a.item(0), a[-1:].item()),
    "beyond the end": lambda np, a: a[len(a)],
    "beyond the end of numbers": lambda np, a: a[[len(a)]],
    "before the start": lambda np, a: a[[-len(a) - 1]],
    "at both ends": lambda np, a: a[[-len(a), len(a) - 1]],
    "slices": lambda np, a: (a[:], a[1:], a[:-1], a[::-1], a[1:3], a[9:], a[...]),
    "slices of slices": lambda np, a: (a[1:][1:], a[::-1][:2], a[1:][::2].copy(), a[2:].size),
    "widened": lambda np, a: (a[:, None], a[None], a[None, :]),
    "widened more": lambda np, a: a[None, :, None] if a.size else 0,
    "by numbers": lambda np, a: (a[[0, 0]], a[np.array([[0], [-1]])], a[range(1)]),
    "by no numbers": lambda np, a: a[np.array([], np.int64)],
    "by a mask": lambda np, a: (a[a > 1], a[a == 2], a[a < -8]),
    "each": lambda np, a: ([*a], len(a), a.size, a.shape, a.tolist()),
    "within": lambda np, a: (2 in a, 7 in a, 2.5 in a),
    "truth": lambda np, a: bool(a),
    "bytes": lambda np, a: (a.tobytes(), a.nbytes),
    "compared": lambda np, a: (a == 2, a != 2, a < 2, a <= 2, a > 2, a >= 2, a == a[::-1]),
    "sums of two": lambda np, a: (a + 3, 3 + a, a + a, a + True, a + 0.5, 0.5 + a, a + a[:1]),
    "products": lambda np, a: (a * 2, 2 * a, a * a, a * 0.5),
    "quotients": lambda np, a: (a / 2, a / 4.0, 6 / (a * a + 1)),
    "negative and inverse": lambda np, a: (-(a + 0), ~(a > 1), np.logical_not(a)),
    "in place": _in_place,
    "sums": lambda np, a: (a.sum() if a.size else a.sum() == 0, np.cumsum(a), a.cumsum()),
    "sums as a kind": lambda np, a: [
        (np.cumsum(a, dtype=kind), a.cumsum(dtype=kind)) for kind in (np.int64, np.float64)
    ],
    "sums of some": lambda np, a: a.sum(where=a > 1) if a.size else 0,
    "means": lambda np, a: a.mean() if a.size else 0,
    "any and all": lambda np, a: (a.any(), a.all(), (a > 1).any(), (a > -9).all()),
    "largest": lambda np, a: (a.max(), a.argmax()),
    "smallest": lambda np, a: (a.min(), a.argmin()),
    "largest of all": lambda np, a: (a.max(initial=3), a.min(initial=1)),
    "places": lambda np, a: (a.nonzero(), np.nonzero(a), np.flatnonzero(a), np.argwhere(a)),
    "counted places": lambda np, a: (np.count_nonzero(a), np.count_nonzero(a > 2)),
    "sorted": lambda np, a: (np.sort(a), np.argsort(a, kind="stable"), a.argsort(kind="stable")),
    "sorted by two": lambda np, a: (np.lexsort((a, a > 2)), np.lexsort([a > 2, a, a == 2])),
    "searched": lambda np, a: _searched(np, np.sort(a), a),
    "each once": lambda np, a: (np.unique(a), np.unique(a, return_index=True)),
    "of both": lambda np, a: (np.union1d(a, a[:1]), np.union1d(a[1:], a[:2])),
    "among": lambda np, a: (np.isin(a, [2, 5]), np.isin(a, a[1:]), np.isin(a, [])),
    "equal": lambda np, a: (
        *(np.array_equal(a, a.copy()), np.array_equal(a, a[1:]), np.array_equal(a, a[::-1])),
        np.array_equal(a, a[:, None]),
    ),
    "chosen": lambda np, a: (np.where(a > 1, a, a[::-1]), np.where(a > 1, a, 0)),
    "chosen of fractions": lambda np, a: (np.where(a > 1, 0.5, a), np.where([True], a, 0.5)),
    "chosen anywhere": lambda np, a: (np.where(True, a, a * 3), np.where(a > 1, 1, 2)),
    "joined": lambda np, a: (np.concatenate((a, a)), np.concatenate([a[:1], a[::-1], a[9:]])),
    "joined with others": lambda np, a: [
        np.concatenate(pair)
        for kind in ("int8", "int64", "bool_", "float64")
        for other in (np.array([1, 0], getattr(np, kind)),)
        for pair in ((a, other), (other, a))
    ],
    "behind": lambda np, a: (np.append(a, a), np.append(a, a > 2), np.append(a, a[:, None])),
    "put in": _put_in,
    "repeated": lambda np, a: (
        np.repeat(a, 2),
        np.repeat(a, 0),
        np.repeat(a, [3]),
        np.repeat(a, np.arange(len(a))),
    ),
    "differences": lambda np, a: np.diff(a + 0),
    "alike": lambda np, a: (np.zeros_like(a), np.zeros_like(a[1:])),
    "shaped": lambda np, a: (a.reshape(-1), a.reshape(-1, 1), a.reshape((1, -1)), a.ravel()),
    "turned": lambda np, a: (a.T, a[:, None].T),
    "taken": lambda np, a: (a.take([0, -1]), a.take(np.array([0])), a.take([[0]])),
    "side by side": lambda np, a: np.column_stack((a, a[::-1])),
    "counts": lambda np, a: np.bincount(np.maximum(a, 0)),
    "counts at least": lambda np, a: [
        np.bincount(np.maximum(a, 0), minlength=least) for least in (0, 1, 5, 10, 11)
    ],
    "weights": lambda np, a: [
        np.bincount(np.maximum(a, 0), worth, 4) for worth in ((a * 0.5, a) if a.size else ())
    ],
    "larger": lambda np, a: (np.maximum(a, 2), np.maximum(a, a[::-1]), np.maximum(3, a)),
    "smaller": lambda np, a: (np.minimum(a, 2), np.minimum(a, a[::-1]), np.minimum(3, a)),
    "so far": lambda np, a: (np.maximum.accumulate(a), np.minimum.accumulate(a)),
    "in parts": lambda np, a: [
        (np.maximum.reduceat(a, starts), np.minimum.reduceat(a, np.array(starts)))
        for starts in ([0], [0, 1], [1, 0], [0, 0, 2], [2, 1, 1])
    ],
    "sums in parts": lambda np, a: [
        np.add.reduceat(a, starts) for starts in ([0], [0, 1], [1, 0], [0, 0, 2], [2, 1, 1])
    ],
    "no parts": lambda np, a: np.add.reduceat(a, np.array([], np.int64)),
    "a part beyond": lambda np, a: np.add.reduceat(a, [len(a)]),
    "whole": lambda np, a: (a // 2, a % 3, 7 // (a * a + 1), 7 % (a * a + 1)),
    "bits": lambda np, a: (a & 6, 6 & a, a | 1, 1 | a, a ^ 3, 3 ^ a, a & a, a | a, a ^ a),
    "shifts": lambda np, a: (a << 1, a >> 1, 1 << (a & 3), 99 >> (a & 3), a << (a & 3)),
    "inverse of bits": lambda np, a: ~a,
    "less": lambda np, a: (a - 1, 9 - a, a - a, a - 0.5, 0.5 - a),
}


APART: dict[str, str] = {
    "negative and inverse": "uint64",
    "sums": "uint64",
    "sums as a kind": "uint64",
    "largest of all": "bool_ float64",
    "joined with others": "uint64",
    "differences": "uint64",
    "counts": "float64",
    "counts at least": "float64",
    "weights": "float64",
    "sums in parts": "int8 int32 bool_",
    "no parts": "int8 int32 bool_",
    "bits": "float64",
    "shifts": "float64",
    "inverse of bits": "uint64 float64",
    "less": "bool_",
}
"""Kinds that plain columns treat otherwise, or do not refuse: the kit does none of it with them."""


def _searched(np: Any, line: Any, values: Any) -> Any:
    return (
        *(np.searchsorted(line, values), np.searchsorted(line, values, "right")),
        *(line.searchsorted(values, side="left"), line.searchsorted(values, side="right")),
        *(np.searchsorted(line, 2), np.searchsorted(line, 2, side="right"), line.searchsorted(-9)),
        *(np.searchsorted(line, [2, 7]), np.searchsorted([1, 2], values)),
        np.searchsorted(line, values[:, None], "right"),
    )


def _changed(np: Any, t: Any) -> list[Any]:
    """A table after each change of some of its cells."""
    shown = []
    for index, value in (
        *(
            (0, 1),
            (-1, t[0] + 0),
            (slice(None), t[:1] + 0),
            (..., t[None] + 0),
            (np.array([0, -1]), t[0] + 0),
        ),
        *((t > 1, 5), ((slice(None), 0), 2), ((0, 0), 7.0), ((slice(None), [0, -1]), t[0, 0])),
        *(((np.arange(len(t)), 0), np.arange(len(t))), (slice(1, None), [[3]])),
    ):
        changed = t.copy()
        changed[index] = value
        shown.append(changed)
    return shown


def _changed_when_picked(np: Any, t: Any) -> list[Any]:
    """A table after a change of what was taken from it: slices share its cells, picks do not."""
    shown = []
    for index in (0, slice(1), [0], (slice(None), [0]), ([0], slice(1)), t > -9, (0, None)):
        changed = t.copy()
        part = changed[index]
        part[...] = 7
        shown.append(changed)
    return shown


OF_TABLES: dict[str, Act] = {
    "itself": lambda np, t: (t, t.shape, t.size, len(t), t.tolist(), t.ravel(), t.copy()),
    "rows": lambda np, t: (t[0], t[-1], [*t], t[::-1], t[1:], t[...]),
    "a row beyond": lambda np, t: t[len(t)],
    "a row before": lambda np, t: t[-len(t) - 1],
    "columns": lambda np, t: (t[:, :1], t[:, ::-1], t[1:, 1:], t[:, 1:][:, :1]),
    "a column": lambda np, t: (t[:, 0], t[:, -1], t[0, 0], t[-1, -1]),
    "a column beyond": lambda np, t: t[:, t.shape[1]],
    "picked": lambda np, t: (t[[0, -1]], t[[0], [-1]], t[[0, -1], 0], t[:, [0, 0]]),
    "picked with a slice": lambda np, t: (t[[0], :1], t[:1, [-1, 0]], t[None, [0]], t[[-1], None]),
    "picked together": lambda np, t: t[np.arange(len(t))[:, None], np.array([[0, -1]])],
    "picked by a mask": lambda np, t: (t[t > 1], t[t[:, 0] > 1], t[t[:, 0] > 1, 0]),
    "turned": lambda np, t: (t.T, t.T[0], t.T[:, :1], t.T.copy(), t.T.tolist(), t.T.T),
    "shaped": lambda np, t: (t.reshape(t.size), t.T.ravel(), t.T.reshape(-1), t[::-1].ravel()),
    "shaped by what is left": lambda np, t: (t.reshape(-1, t.shape[-1]), t.reshape((1, -1))),
    "sums": lambda np, t: (t.sum(), t.sum(axis=0), t.sum(axis=1), t.sum(axis=-1), t.sum(0)),
    "sums of some": lambda np, t: (t.sum(axis=1, where=t > 1), t.sum(where=t > 1)),
    "mean": lambda np, t: t.mean() if t.size else 0,
    "any and all": lambda np, t: [
        (t.any(axis=axis), t.all(axis=axis), (t > 1).any(axis), (t > 1).all(axis))
        for axis in (None, 0, 1, -1)
    ],
    "largest": lambda np, t: [
        (t.max(axis=axis), t.min(axis=axis), t.argmax(axis=axis), t.argmin(axis=axis))
        for axis in (None, 0, 1, -1)
    ],
    "largest of all": lambda np, t: (t.max(axis=1, initial=2), t.min(axis=0, initial=1)),
    "places": lambda np, t: (t.nonzero(), np.nonzero(t > 1), np.flatnonzero(t), np.argwhere(t)),
    "counted": lambda np, t: (np.count_nonzero(t), np.count_nonzero(t > 1)),
    "sorted": lambda np, t: (np.sort(t), np.sort(t, axis=-1), np.sort(t, axis=1)),
    "sorted upright": lambda np, t: np.sort(t, axis=0),
    "numbers in order": lambda np, t: [
        np.argsort(t, axis=axis, kind="stable") for axis in (-1, len(t.shape) - 1)
    ],
    "numbers in order upright": lambda np, t: t.argsort(0, "stable"),
    "among": lambda np, t: (np.isin(t, [2, 5]), np.isin(t, t[0])),
    "beside a number": lambda np, t: (t + 1, 2 * t, t == 2, t > 1, t / 2),
    "beside a row": lambda np, t: (t + t[0], t[0] + t, t == t[:, :1], t[0] * t[0]),
    "beside each other": lambda np, t: t[:, None] == t[None, :],
    "not beside": lambda np, t: t + np.arange(7),
    "chosen": lambda np, t: (np.where(t > 1, t, 0), np.where(t > 1, t[:1], t), np.where(t, 1, t)),
    "below each other": lambda np, t: (np.concatenate((t, t)), np.concatenate([t, t[:1]], axis=0)),
    "side by side": lambda np, t: np.concatenate((t, t[:, :1]), axis=1),
    "other kinds side by side": lambda np, t: np.concatenate((t > 1, t), axis=1),
    "taken": lambda np, t: (t.take([0, -1], axis=0), t.take([0, 0], axis=1), t.take([[0]], 0)),
    "along": lambda np, t: (
        np.take_along_axis(t, np.argsort(t, axis=1, kind="stable"), axis=1),
        np.take_along_axis(t, np.argsort(t, axis=0, kind="stable"), axis=0),
        np.take_along_axis(t, np.zeros((len(t), 1), np.int64), axis=1),
    ),
    "put along": lambda np, t: _put_along(np, t.copy()),
    "alike": lambda np, t: (np.zeros_like(t), np.logical_not(t), ~(t > 1), -(t + 0)),
    "bytes": lambda np, t: (t.tobytes(), t.nbytes, t.T.tobytes()),
    "equal": lambda np, t: (
        *(np.array_equal(t, t.copy()), np.array_equal(t, t[::-1]), np.array_equal(t, t.ravel())),
        np.array_equal(t, t[:, ::-1]),
    ),
    "appended": lambda np, t: np.append(t, t[0]),
    "changed": _changed,
    "changed when picked": _changed_when_picked,
    "truth": lambda np, t: bool(t),
}


FLAT = {
    "picked by a mask",
    "sorted",
    "sorted upright",
    "numbers in order upright",
    "side by side",
    "other kinds side by side",
    "put along",
}
"""What plain columns do along one of two axes, not of three."""


def _put_along(np: Any, t: Any) -> Any:
    np.put_along_axis(t, np.zeros((len(t), 1), np.int64), t[:, -1:].copy(), axis=1)
    return t


def _at(np: Any) -> list[Any]:
    """A column after changes at places of which some are named twice."""
    shown = []
    for act in (np.add, np.subtract, np.maximum, np.minimum):
        for places, values in (([0, 0, 2], [1, 5, -2]), ([1, 1], 4), ([], []), ([-1], [[9]])):
            column = np.array([3, 1, 2])
            act.at(column, np.array(places, np.int64), np.array(values, np.int64))
            shown.append(column)
    return shown


def _into(np: Any) -> list[Any]:
    """What a function writes into a column that is there, and gives back."""
    out = np.zeros(3, np.int64)
    shown = [np.add(np.array([1, 2, 3]), 1, out=out).copy(), out.copy()]
    return [*shown, np.subtract(np.array([[1], [2]]), np.array([5, 7]))]


SINGLE: dict[str, Act] = {
    "of nothing": lambda np: (np.array([]), np.array([[]]), np.array([[], []])),
    "of numbers": lambda np: (
        np.array(3).shape,
        np.array(3).item(),
        np.array([3]),
        np.array([[3, 4]]),
        np.array((1, 2)),
    ),
    "of a range": lambda np: (np.array(range(3)), np.asarray(range(2), np.int32)),
    "of mixed numbers": lambda np: (np.array([1, 2.5]), np.array([True, 2]), np.array([True])),
    "of columns": lambda np: np.array([np.array([1, 2]), np.array([3, 4])]),
    "as kinds": lambda np: (np.array([1.9, -1.9, 0], np.int64), np.array([0, 2, -1], np.bool_)),
    "below nothing": lambda np: np.array([-1, -3, 2], np.int64).astype(np.uint64),
    "as it is": lambda np: [np.asarray(a) is a for a in (np.array([1]), np.array([[0.5]]))],
    "as another kind": lambda np: np.asarray(np.array([1, 0]), np.bool_),
    "a new one": lambda np: [np.array(a) is a for a in (np.array([1]),)],
    "one value": lambda np: (np.int64(7.9), np.int8(-3), np.bool_(2), np.float64(3), np.uint64(9)),
    "contiguous": lambda np: np.ascontiguousarray(np.array([[1, 2], [3, 4]]).T),
    "of what comes": lambda np: (np.fromiter((n * n for n in range(3)), np.int64), _counted(np)),
    "everywhere": lambda np: (np.full(3, 7), np.full((2, 1), 0.5), np.full(2, 1, np.int8)),
    "nowhere": lambda np: (np.full(0, 7), np.full((0, 2), True), np.zeros((2, 0)), np.ones(0)),
    "everywhere 0": lambda np: (np.zeros(2), np.zeros(2, np.int64), np.zeros((2, 3), np.bool_)),
    "everywhere 1": lambda np: (np.ones(2), np.ones(2, np.int64), np.ones((2, 3), np.bool_)),
    "unset": lambda np: (np.empty(2, np.int32).shape, np.empty((2, 0)), np.empty(1).dtype),
    "ranges": lambda np: (np.arange(3), np.arange(0), np.arange(2, 5), np.arange(9, 0, -4)),
    "ranges of a kind": lambda np: (np.arange(3, dtype=np.int32), np.arange(2, dtype=np.float64)),
    "wholes": lambda np: [
        (np.floor(n), np.ceil(n)) for n in (0.0, 2.0, 2.5, -2.5, -0.5, 1e300, np.float64(1.25))
    ],
    "endless": lambda np: (np.inf, -np.inf, bool(np.True_)),
    "bytes of each kind": lambda np: [
        (column.tobytes(), column.nbytes, column + column, np.append(column, column))
        for kind in KINDS
        for column in (np.array([1, 0, 7], getattr(np, kind)),)
    ],
    "a single value has no rows": lambda np: np.array(3)[0],
    "a single value is no row": lambda np: next(iter(np.array(3))),
    "several at once": _at,
    "into another": _into,
    "wrapped": lambda np: [
        np.array([0, 3], np.uint64) - np.array([1, 3], np.uint64),
        np.array([3], np.uint64) * np.array([2**63], np.uint64),
    ],
    "kinds that meet": lambda np: [
        (one(np.array([1], getattr(np, left)), np.array([1], getattr(np, right))))
        for left in ("bool_", "int8", "int32", "int64", "float64")
        for right in ("bool_", "int8", "int32", "int64", "float64")
        for one in (lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a > b, lambda a, b: a / b)
    ],
    "kinds beside numbers": lambda np: [
        (column + 1, 1 + column, column * True, column + 0.5, np.maximum(column, 1))
        for kind in ("bool_", "int8", "int32", "int64", "uint64", "float64")
        for column in (np.array([1, 0], getattr(np, kind)),)
    ],
    "one behind": lambda np: [
        np.append(np.array([1], getattr(np, kind)), more)
        for kind in ("int8", "int32", "int64")
        for more in (
            getattr(np, kind)(1),
            np.array([2], np.int8),
            np.array([2], np.int64),
            np.array([], np.int32),
        )
    ],
    "behind a list": lambda np: (np.append([1, 2], 3), np.append([1], np.array([2], np.int64))),
    "put in order": lambda np: (
        np.insert(np.array([1, 2, 3]), [2, 0, 2], [7, 8, 9]),
        np.insert(np.array([1, 2, 3], np.int32), np.array([3]), np.array([4])),
    ),
    "put in beside": lambda np: np.insert(np.array([1, 2]), [0, 1], [1, 2, 3]),
    "repeated wrongly": lambda np: np.repeat(np.array([1, 2]), [1, 2, 3]),
    "counted wrongly": lambda np: np.bincount(np.array([1, 2]), [0.5]),
    "not beside": lambda np: np.array([1, 2]) + np.array([1, 2, 3]),
    "of no columns": lambda np: np.concatenate([]),
    "tables beside tables": lambda np: (
        np.array([[[1], [2]]]) + np.array([[10, 20, 30]]),
        np.zeros((2, 1, 3)) + np.ones((4, 1)),
    ),
    "both masks": lambda np: np.array([[1, 2], [3, 4]])[
        np.array([True, False]), np.array([False, True])
    ],
    "hashed": lambda np: hash(np.array([1])),
    "written": lambda np: np.array([1]).flags.writeable,
}


def _counted(np: Any) -> Any:
    return np.fromiter([True, False], np.bool_, 2)


def _said(value: Any) -> Any:
    """A result as plain data: of a column its kind, its shape, and its cells."""
    if isinstance(value, plain.NDArray):
        return (OF_PLAIN[value.dtype], value.shape, repr(value.tolist()))
    if isinstance(value, np.ndarray):
        return (OF_NUMPY[value.dtype], value.shape, repr(value.tolist()))
    if isinstance(value, tuple | list):
        return [_said(each) for each in value]
    if isinstance(value, plain.Kind | np.dtype):
        return OF_PLAIN[value] if isinstance(value, plain.Kind) else OF_NUMPY[value]
    value = value.item() if isinstance(value, np.generic) else value
    return (type(value).__name__, value)


def _done(act: Act, module: Any, *given: Any) -> Any:
    try:
        return _said(act(module, *given))
    except REFUSED:
        return "refused"


def _column(module: Any, kind: str, cells: list[Any]) -> Any:
    return module.array(cells, getattr(module, kind))


@pytest.mark.parametrize("name", OF_COLUMNS)
def test_a_column_does_as_in_numpy(name: str) -> None:
    """Of each kind: none, one, equal, negative, and unsorted cells."""
    for kind, cells in COLUMNS:
        if kind in APART.get(name, "").split():
            continue
        one, other = (_done(OF_COLUMNS[name], m, _column(m, kind, cells)) for m in (plain, np))
        assert one == other, (kind, cells)


@pytest.mark.parametrize("name", OF_TABLES)
def test_a_table_does_as_in_numpy(name: str) -> None:
    """Of one, two, and three axes, of which some have no cells."""
    for kind, rows in TABLES:
        if (name in FLAT and kind == "int16") or kind in APART.get(name, "").split():
            continue
        one, other = (_done(OF_TABLES[name], m, _column(m, kind, rows)) for m in (plain, np))
        assert one == other, (kind, rows)


@pytest.mark.parametrize("name", SINGLE)
def test_what_is_made_anew_is_as_in_numpy(name: str) -> None:
    """How columns are made, where kinds meet, and what is refused."""
    assert _done(SINGLE[name], plain) == _done(SINGLE[name], np)


def test_annotations_of_columns_are_columns() -> None:
    """Also where Python works one out."""
    assert plain.NDArray[plain.int64] is plain.NDArray
