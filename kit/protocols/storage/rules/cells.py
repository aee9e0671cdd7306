"""Cells: last write wins, deletions are written too, and their marks are collected some day.

A cell is a small number: twice its timestamp, plus one for a tombstone; 0 is no cell at all. Of
two cells the one with the higher timestamp stays. The timestamp of a request's mutation is its
place in the workload, from 1 up.
"""

from __future__ import annotations

NOTHING = 0


def written(timestamp: int) -> int:
    """The cell that a write leaves."""
    return 2 * timestamp


def tombstone(timestamp: int) -> int:
    """The cell that a deletion leaves."""
    return 2 * timestamp + 1


def newest(version: int, other: int) -> int:
    """The cell that wins: the later one."""
    return max(version, other)


def is_tombstone(cell: int) -> bool:
    """Whether the cell is the mark of a deletion."""
    return cell % 2 == 1


def timestamp(cell: int) -> int:
    """When the cell was written; 0 for no cell."""
    return cell // 2


def value(cell: int) -> int:
    """What a client sees: the timestamp of the live write, 0 where there is none."""
    return 0 if is_tombstone(cell) else timestamp(cell)
