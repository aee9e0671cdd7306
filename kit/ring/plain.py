"""Columns of numbers without numpy: the part of its interface that the kit uses, in plain Python.

Named and behaving as in numpy, so that rules are written once; ``kit.ring.columns`` chooses. A
column holds a list of cells, and which of them it shows: what slices show is shared, what is picked
by numbers or by a mask is a copy. Made for a few hundred rows; numbers do not overflow.
"""

from __future__ import annotations

import operator
from array import array as packed
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, product
from math import ceil as _ceil
from math import floor as _floor
from math import inf, prod
from types import SimpleNamespace
from typing import Any

from kit.errors import KitError

MOST = 1 << 20  # cells of a column
Shape = tuple[int, ...]
Positions = Sequence[int]

__all__ = ["inf"]


class Kind:
    """The kind of a column's cells: their rank where kinds meet, their letter as bytes."""

    def __init__(self, rank: int, letter: str, make: Callable[[Any], Any]) -> None:
        self.rank, self.letter, self.make = rank, letter, make

    def __call__(self, value: Any) -> Any:
        """A single value of this kind."""
        return self.make(value)


bool_ = Kind(0, "b", bool)
int8, int16, int32, int64 = (Kind(rank, "bhiq"[rank - 1], int) for rank in range(1, 5))
uint16, uint32 = Kind(5, "H", int), Kind(6, "I", int)
uint64 = Kind(7, "Q", lambda value: int(value) & (1 << 64) - 1)
float64 = Kind(8, "d", float)
object_ = Kind(9, "", lambda value: value)
intp = int64
integer = signedinteger = unsignedinteger = generic = object_
True_ = True
_OF_TYPE = {bool: bool_, int: int64, float: float64}


def _kind_of(cells: Iterable[Any]) -> Kind:
    kinds = {_OF_TYPE.get(type(cell), object_) for cell in cells}
    return max(kinds, key=lambda kind: kind.rank, default=float64)


def _strides(shape: Shape) -> list[int]:
    return list(accumulate(reversed(shape[1:]), operator.mul, initial=1))[::-1] if shape else []


def _spread(shape: Shape, wider: Shape) -> Positions:
    if shape == wider:
        return range(prod(shape))
    full = (1,) * (len(wider) - len(shape)) + shape
    if any(own not in (1, all_) for own, all_ in zip(full, wider, strict=True)):
        raise ValueError(f"columns of shapes {shape} and {wider}")
    at = [0]
    for own, all_, stride in zip(full, wider, _strides(full), strict=True):
        step = stride if own > 1 else 0
        at = [place + step * number for place in at for number in range(all_)]
    return at


def _joint(shapes: Iterable[Shape]) -> Shape:
    given = list(shapes)
    size = max(map(len, given))
    full = [(1,) * (size - len(shape)) + shape for shape in given]
    return tuple(next((n for n in lengths if n != 1), 1) for lengths in zip(*full, strict=True))


class NDArray:
    """A column, or a table of any number of axes."""

    __slots__ = ("at", "cells", "dtype", "shape")
    __hash__ = None  # type: ignore[assignment]  # as numpy's: two columns are compared cell by cell
    flags = SimpleNamespace(writeable=True)

    def __init__(
        self, cells: list[Any], shape: Shape, dtype: Kind, at: Positions | None = None
    ) -> None:
        if len(cells) > MOST:
            raise KitError(f"{len(cells):,} numbers at once need numpy, which is not installed")
        self.cells, self.shape, self.dtype = cells, shape, dtype
        self.at = range(len(cells)) if at is None else at

    @classmethod
    def __class_getitem__(cls, _kind: object) -> type[NDArray]:
        return cls

    @property
    def flat(self) -> list[Any]:
        """The cells in order, row by row."""
        whole = isinstance(self.at, range)  # places are picked as lists
        return self.cells if whole else [self.cells[place] for place in self.at]

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.at)

    @property
    def nbytes(self) -> int:
        """How many bytes ``tobytes`` gives."""
        return len(self.tobytes())

    def mirrored(self) -> NDArray:
        """The same cells with the axes in reverse."""
        return self._turned(tuple(reversed(range(len(self.shape)))))

    T = property(mirrored)

    def _turned(self, axes: tuple[int, ...]) -> NDArray:
        strides, shape = _strides(self.shape), tuple(self.shape[axis] for axis in axes)
        at = [0]
        for axis in axes:
            at = [p + strides[axis] * number for p in at for number in range(self.shape[axis])]
        return NDArray(self.cells, shape, self.dtype, [self.at[place] for place in at])

    def _places(self, index: Any) -> tuple[Positions, Shape, bool]:
        given = list(index) if isinstance(index, tuple) else [index]
        given = [asarray(each) if isinstance(each, list | range) else each for each in given]
        given = [part for each in given for part in _as_numbers(each)]
        shared = not any(isinstance(each, NDArray) for each in given)
        begin = next((at for at, each in enumerate(given) if each is ...), len(given))
        taken = sum(each is not None and each is not ... for each in given)
        given[begin : begin + 1] = [slice(None)] * (len(self.shape) - taken)
        arrays = [each for each in given if isinstance(each, NDArray)]
        together = _joint(each.shape for each in arrays) if arrays else ()
        strides, axis, made = _strides(self.shape), 0, False
        parts: list[tuple[Shape, list[int]]] = []
        fancy = list[int]()
        for each in given:
            if each is None:
                parts.append(((1,), [0]))
                continue
            length, stride = self.shape[axis], strides[axis]
            axis += 1
            if isinstance(each, slice):
                numbers = range(length)[each]
                parts.append(((len(numbers),), [stride * n for n in numbers]))
            elif isinstance(each, NDArray):
                values = each.flat
                spread = [values[place] for place in _spread(each.shape, together)]
                offsets = [_within(number, length) * stride for number in spread]
                if fancy:  # together with the columns of numbers before it
                    fancy[:] = map(operator.add, fancy, offsets)
                elif not made:
                    fancy, made = offsets, True
                    parts.append((together, fancy))
            else:
                parts.append(((), [_within(operator.index(each), length) * stride]))
        at, shape = [0], Shape()
        for own, places in parts:
            at = [place + offset for place in at for offset in places]
            shape += own
        return [self.at[place] for place in at], shape, shared

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and len(self.shape) == 1:
            return self.cells[self.at[index]]
        at, shape, shared = self._places(index)
        if shared:
            return NDArray(self.cells, shape, self.dtype, at) if shape else self.cells[at[0]]
        return NDArray([self.cells[place] for place in at], shape, self.dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        at, shape, _ = self._places(index)
        given = asarray(value)
        values = given.flat
        while given.shape[:1] == (1,):
            given = NDArray(values, given.shape[1:], given.dtype)
        values = [values[place] for place in _spread(given.shape, shape)]
        for place, each in zip(at, values, strict=True):
            self.cells[place] = self.dtype.make(each)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.flat) if len(self.shape) == 1 else (self[n] for n in range(len(self)))

    def __contains__(self, value: object) -> bool:
        return value in self.flat

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth of a column: ask any() or all()")
        return any(self.flat)

    def __eq__(self, other: object) -> Any:
        return _both(operator.eq, self, other, bool_)

    def __ne__(self, other: object) -> Any:
        return _both(operator.ne, self, other, bool_)

    def __invert__(self) -> NDArray:
        return logical_not(self) if self.dtype is bool_ else self._each(operator.inv)

    def __neg__(self) -> NDArray:
        return self._each(operator.neg)

    def _each(self, change: Callable[[Any], Any]) -> NDArray:
        return NDArray(list(map(change, self.flat)), self.shape, self.dtype)

    def tolist(self) -> list[Any]:
        """The cells as lists in lists."""
        cells: list[Any] = list(self.flat)
        for length in reversed(self.shape[1:]):
            count = len(cells) // length if length else prod(self.shape[:-1])
            cells = [cells[n * length : (n + 1) * length] for n in range(count)]
        return cells

    def item(self, place: int = 0) -> Any:
        """One cell."""
        return self.flat[place]

    def tobytes(self) -> bytes:
        """The cells as numpy would hold them."""
        return packed(self.dtype.letter, self.flat).tobytes()

    def copy(self) -> NDArray:
        """The same with cells of its own."""
        return NDArray(list(self.flat), self.shape, self.dtype)

    def astype(self, dtype: Kind) -> NDArray:
        """The same as another kind."""
        return NDArray([dtype.make(each) for each in self.flat], self.shape, dtype)

    def reshape(self, first: Any, *others: int) -> NDArray:
        """The same cells in another shape; -1 is what is left."""
        shape = first if isinstance(first, tuple) else (first, *others)
        known = prod(n for n in shape if n >= 0)
        whole = tuple(n if n >= 0 else self.size // known for n in shape)
        return NDArray(self.cells, whole, self.dtype, self.at)

    def ravel(self) -> NDArray:
        """One row of all cells."""
        return self.reshape(self.size)

    def take(self, at: Any, axis: int = 0) -> NDArray:
        """The rows, or columns, with these numbers."""
        taken: NDArray = self[(*[slice(None)] * axis, asarray(at))]
        return taken

    def nonzero(self) -> tuple[NDArray, ...]:
        """The places of what is not 0: for each axis the numbers."""
        every = product(*map(range, self.shape))
        places = [place for place, each in zip(every, self.flat, strict=True) if each]
        return tuple(_column([place[axis] for place in places]) for axis in range(len(self.shape)))

    def searchsorted(self, values: Any, side: str = "left") -> Any:
        """``searchsorted`` of it."""
        return searchsorted(self, values, side)

    def argsort(self, axis: int = -1, kind: str = "") -> NDArray:
        """``argsort`` of it."""
        return argsort(self, axis, kind)

    def cumsum(self, dtype: Kind | None = None) -> NDArray:
        """``cumsum`` of it."""
        return cumsum(self, dtype)

    def _reduced(
        self, made_of: Callable[[list[Any]], Any], axis: int | None, dtype: Kind | None = None
    ) -> Any:
        if axis is None:
            return made_of(list(self.flat))
        axis %= len(self.shape)
        rest = tuple(n for n in range(len(self.shape)) if n != axis)
        lanes = self._turned((*rest, axis))
        length, values = self.shape[axis], lanes.flat
        count = prod(lanes.shape[:-1])
        made = [made_of(values[n * length : (n + 1) * length]) for n in range(count)]
        return NDArray(made, lanes.shape[:-1], dtype or self.dtype)

    def sum(self, axis: int | None = None, where: Any = None) -> Any:
        """The sum of the cells, those ``where`` it is so."""
        counted = self if where is None else _where(where, self, 0)
        kind = int64 if self.dtype.rank < float64.rank else self.dtype
        return counted._reduced(sum, axis, kind)

    def mean(self) -> float:
        """Their mean."""
        return float(self.sum() / self.size)

    def any(self, axis: int | None = None) -> Any:
        """Whether one is not 0."""
        return self._reduced(any, axis, bool_)

    def all(self, axis: int | None = None) -> Any:
        """Whether none is 0."""
        return self._reduced(all, axis, bool_)

    def max(self, axis: int | None = None, initial: Any = None) -> Any:
        """The largest."""
        least = () if initial is None else (initial,)
        return self._reduced(lambda lane: max((*lane, *least)), axis)

    def min(self, axis: int | None = None, initial: Any = None) -> Any:
        """The smallest."""
        most = () if initial is None else (initial,)
        return self._reduced(lambda lane: min((*lane, *most)), axis)

    def argmax(self, axis: int | None = None) -> Any:
        """The place of the first largest one."""
        return self._reduced(lambda lane: lane.index(max(lane)), axis, int64)

    def argmin(self, axis: int | None = None) -> Any:
        """The place of the first smallest one."""
        return self._reduced(lambda lane: lane.index(min(lane)), axis, int64)


def _within(number: int, length: int) -> int:
    if not -length <= number < length:
        raise IndexError(f"{number} among {length}")
    return number % length


def _as_numbers(index: Any) -> Iterable[Any]:
    is_mask = isinstance(index, NDArray) and index.dtype is bool_
    return index.nonzero() if is_mask else (index,)


def _column(cells: list[Any], dtype: Kind = int64) -> NDArray:
    return NDArray(cells, (len(cells),), dtype)


def _both(act: Callable[[Any, Any], Any], left: Any, right: Any, kind: Kind | None = None) -> Any:
    first, second = asarray(left), asarray(right)
    if kind is None:
        weak = [each for each in (left, right) if type(each) in (bool, int)]
        kind = max(first.dtype, second.dtype, key=lambda each: each.rank)
        if weak:  # a number of Python's takes the column's kind
            own = first.dtype if right is weak[0] else second.dtype
            kind = own if own is not bool_ or type(weak[0]) is bool else int64
        kind = float64 if act is operator.truediv else kind
    shape = first.shape if first.shape == second.shape else _joint((first.shape, second.shape))
    ours, theirs = (
        each.flat if each.shape == shape else [each.flat[n] for n in _spread(each.shape, shape)]
        for each in (first, second)
    )
    return NDArray([kind.make(each) for each in map(act, ours, theirs)], shape, kind)


def _operators() -> Iterator[tuple[str, Callable[[NDArray, Any], Any]]]:
    def own(act: Callable[[Any, Any], Any], kind: Kind | None) -> Callable[[NDArray, Any], Any]:
        return lambda self, other: _both(act, self, other, kind)

    def other(act: Callable[[Any, Any], Any]) -> Callable[[NDArray, Any], Any]:
        return lambda self, first: _both(act, first, self)

    def placed(act: Callable[[Any, Any], Any]) -> Callable[[NDArray, Any], Any]:
        def change(self: NDArray, second: Any) -> NDArray:
            self[...] = _both(act, self, second)
            return self

        return change

    for name in "lt le gt ge".split():
        yield f"__{name}__", own(getattr(operator, name), bool_)
    for name in "add sub mul truediv floordiv mod and or xor lshift rshift".split():
        act = getattr(operator, f"{name}_" if name in ("and", "or") else name)
        yield f"__{name}__", own(act, None)
        yield f"__r{name}__", other(act)
        yield f"__i{name}__", placed(act)


for _name, _method in _operators():
    setattr(NDArray, _name, _method)


class Ufunc:
    """A function of two columns cell by cell, which also works along one."""

    def __init__(self, act: Callable[[Any, Any], Any]) -> None:
        self.act = act

    def __call__(self, left: Any, right: Any) -> Any:
        """The function, cell by cell."""
        return _both(self.act, left, right)

    def at(self, column: NDArray, places: Any, values: Any) -> None:
        """Change cells one after the other, also those that are named twice."""
        places = asarray(places)
        given = asarray(values)
        for place, n in zip(places.flat, _spread(given.shape, places.shape), strict=True):
            column[place] = self.act(column[place], given.flat[n])

    def accumulate(self, column: NDArray) -> NDArray:
        """The results for the cells up to each."""
        return _column(list(accumulate(column.flat, self.act)), column.dtype)

    def reduceat(self, column: NDArray, starts: Any) -> NDArray:
        """The results for the cells from each start to the next."""
        begins, values = [*asarray(starts).flat], column.flat
        parts = zip(begins, [*begins, len(values)][1:], strict=True)
        lanes = (values[begin : max(end, begin + 1)] for begin, end in parts)
        return _column([[*accumulate(lane, self.act)][-1] for lane in lanes], column.dtype)


add, subtract = Ufunc(operator.add), Ufunc(operator.sub)
maximum, minimum = Ufunc(max), Ufunc(min)


def array(given: Any, dtype: Kind | None = None) -> NDArray:
    """A column of a list, a table of a list of lists."""
    if isinstance(given, NDArray):
        return given.astype(dtype or given.dtype)
    shape, cells = [], [given]
    while cells and isinstance(cells[0], list | tuple | range | NDArray):
        shape.append(len(cells[0]))
        cells = [*chain.from_iterable(cells)]
    kind = dtype or _kind_of(cells)
    return NDArray([kind.make(each) for each in cells], tuple(shape), kind)


def asarray(given: Any, dtype: Kind | None = None) -> NDArray:
    """The column itself where it is one of that kind."""
    same = isinstance(given, NDArray) and dtype in (None, given.dtype)
    return given if same else array(given, dtype)


ascontiguousarray = asarray


def fromiter(given: Iterable[Any], dtype: Kind, _count: int = -1) -> NDArray:
    """A column of what comes."""
    return array(list(given), dtype)


def full(shape: Any, value: Any, dtype: Kind | None = None) -> NDArray:
    """The same value everywhere."""
    whole = tuple(shape) if isinstance(shape, tuple | list) else (int(shape),)
    kind = dtype or _kind_of([value])
    return NDArray([kind.make(value)] * prod(whole), whole, kind)


def zeros(shape: Any, dtype: Kind = float64) -> NDArray:
    """0 everywhere."""
    return full(shape, 0, dtype)


def ones(shape: Any, dtype: Kind = float64) -> NDArray:
    """1 everywhere."""
    return full(shape, 1, dtype)


empty = zeros


def zeros_like(column: NDArray) -> NDArray:
    """0 in the same shape."""
    return zeros(column.shape, column.dtype)


def arange(*bounds: Any, dtype: Kind = int64) -> NDArray:
    """The numbers of a range."""
    return array(range(*map(int, bounds)), dtype)


def repeat(given: Any, counts: Any) -> NDArray:
    """Each cell as often as is said."""
    column = asarray(given)
    often = [asarray(counts).flat[n] for n in _spread(asarray(counts).shape, column.shape)]
    pairs = zip(column.flat, often, strict=True)
    return _column([each for each, count in pairs for _ in range(count)], column.dtype)


def where(condition: Any, left: Any, right: Any) -> NDArray:
    """The cells of one column where it is so, else those of the other."""
    chosen = _both(lambda a, b: (a, b), left, right, object_)
    kind = _both(operator.add, left, right).dtype
    picked = _both(lambda is_so, pair: pair[0 if is_so else 1], asarray(condition), chosen, object_)
    return NDArray(list(map(kind.make, picked.flat)), picked.shape, kind)


_where = where


def concatenate(columns: Iterable[Any], axis: int = 0) -> NDArray:
    """Columns one after the other; tables side by side with ``axis=1``."""
    parts = [asarray(each) for each in columns]
    kind = max((part.dtype for part in parts), key=lambda each: each.rank)
    if axis:
        return concatenate([part.mirrored() for part in parts]).mirrored().copy()
    shape = (sum(map(len, parts)), *parts[0].shape[1:])
    return NDArray([kind.make(c) for part in parts for c in part.flat], shape, kind)


def append(column: Any, more: Any) -> NDArray:
    """A column with more behind it."""
    kinds = [asarray(each).dtype for each in (column, more) if isinstance(each, NDArray)]
    both = concatenate([asarray(column).ravel(), asarray(more).ravel()])
    return both.astype(*kinds) if len(kinds) == 1 else both


def column_stack(columns: Sequence[NDArray]) -> NDArray:
    """A table of columns side by side."""
    return concatenate([column[:, None] for column in columns], axis=1)


def insert(column: NDArray, places: Any, values: Any) -> NDArray:
    """A column with values put in before the cells with these numbers."""
    at = asarray(places)
    given = [asarray(values).flat[n] for n in _spread(asarray(values).shape, at.shape)]
    cells = list(column.flat)
    order = sorted(range(at.size), key=lambda n: at.flat[n])
    for number in reversed(order):
        cells.insert(at.flat[number], column.dtype.make(given[number]))
    return _column(cells, column.dtype)


def nonzero(column: NDArray) -> tuple[NDArray, ...]:
    """The places of what is not 0."""
    return column.nonzero()


def flatnonzero(column: Any) -> NDArray:
    """The same, as if all were one row."""
    return _column([n for n, each in enumerate(asarray(column).flat) if each])


def argwhere(column: NDArray) -> NDArray:
    """The same, a row a place."""
    return column_stack(column.nonzero())


def count_nonzero(column: NDArray) -> int:
    """How many are not 0."""
    return flatnonzero(column).size


def array_equal(left: Any, right: Any) -> bool:
    """Whether two columns have the same cells in the same shape."""
    first, second = asarray(left), asarray(right)
    return first.shape == second.shape and list(first.flat) == list(second.flat)


def searchsorted(column: Any, values: Any, side: str = "left") -> Any:
    """The places of values in an ascending column."""
    line, find = asarray(column).flat, bisect_left if side == "left" else bisect_right
    if not isinstance(values, NDArray | list):
        return find(line, values)
    given = asarray(values)
    return NDArray([find(line, each) for each in given.flat], given.shape, int64)


def _along(
    column: NDArray, axis: int, change: Callable[[list[Any]], list[Any]], kind: Kind
) -> NDArray:
    turned = column.mirrored() if axis == 0 else column
    length, values = turned.shape[-1], turned.flat
    lanes = (values[n * length : (n + 1) * length] for n in range(prod(turned.shape[:-1])))
    made = NDArray([*chain.from_iterable(map(change, lanes))], turned.shape, kind)
    return made if turned is column else made.mirrored()


def sort(column: Any, axis: int = -1, kind: str = "") -> NDArray:
    """The cells in order, along an axis."""
    return _along(asarray(column), axis, sorted, asarray(column).dtype)


def argsort(column: Any, axis: int = -1, kind: str = "") -> NDArray:
    """The numbers of the cells in order; equal ones as they stand."""

    def order(lane: list[Any]) -> list[int]:
        return sorted(range(len(lane)), key=lane.__getitem__)

    return _along(asarray(column), axis, order, int64)


def lexsort(keys: Sequence[Any]) -> NDArray:
    """The numbers in order of the last key, then of those before it."""
    rows = [*zip(*(asarray(key).flat for key in reversed(keys)), strict=True)]
    return _column(sorted(range(len(rows)), key=rows.__getitem__))


def cumsum(column: Any, dtype: Kind | None = None) -> NDArray:
    """The sums up to each cell."""
    given = asarray(column)
    kind = dtype or (given.dtype if given.dtype is float64 else int64)
    return _column(list(accumulate(map(kind.make, given.flat))), kind)


def diff(column: NDArray) -> NDArray:
    """The differences of neighbours."""
    ends = zip(column.flat, column.flat[1:], strict=False)
    return _column([end - begin for begin, end in ends], column.dtype)


def unique(column: Any, return_index: bool = False) -> Any:  # numpy's
    """Each value once, ascending; and where it stands first."""
    given = asarray(column)
    first: dict[Any, int] = {}
    for place, each in enumerate(given.flat):
        first.setdefault(each, place)
    values = sorted(first)
    once = _column(values, given.dtype)
    return (once, _column([first[each] for each in values])) if return_index else once


def union1d(left: NDArray, right: NDArray) -> NDArray:
    """The values of both, each once."""
    return _column(sorted({*left.flat, *right.flat}), left.dtype)


def isin(column: NDArray, values: Any) -> NDArray:
    """Which cells are among some values."""
    known = set(asarray(values).flat)
    return NDArray([each in known for each in column.flat], column.shape, bool_)


def bincount(column: Any, weights: Any = None, minlength: int = 0) -> NDArray:
    """How often, or with what weight together, each number from 0 on stands there."""
    numbers = asarray(column).flat
    size = max([minlength, *(number + 1 for number in numbers)])
    counts: list[Any] = [0 if weights is None else 0.0] * size
    worth = [1] * len(numbers) if weights is None else asarray(weights).flat
    for number, weight in zip(numbers, worth, strict=True):
        counts[number] += weight
    return _column(counts, int64 if weights is None else float64)


def take_along_axis(table: NDArray, at: NDArray, axis: int) -> NDArray:
    """In each row the cells with the numbers of that row; in each column with ``axis=0``."""
    if axis == 0:
        return take_along_axis(table.mirrored(), at.mirrored(), 1).mirrored()
    picked: NDArray = table[arange(len(table))[:, None], at]
    return picked


def put_along_axis(table: NDArray, at: NDArray, values: NDArray, axis: int) -> None:
    """Put values, in each row, where the numbers of that row say."""
    assert axis == 1
    table[arange(len(table))[:, None], at] = values


def logical_not(column: Any) -> NDArray:
    """Which cells are 0."""
    given = asarray(column)
    return NDArray([not each for each in given.flat], given.shape, bool_)


def floor(value: Any) -> float:
    """The next whole number below."""
    return float(_floor(value))


def ceil(value: Any) -> float:
    """The next whole number above."""
    return float(_ceil(value))
