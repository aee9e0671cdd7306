"""Linearizability of one key: is there one order of the requests that every client could have seen?

A history is what clients saw, in time: a request starts, a request ends. An order is good when no
request comes before one that had ended before it started, and every read gives the newest mutation
before it. A mutation that failed, or has no answer yet, may have taken effect or not.
Source: M. Herlihy and J. Wing, "Linearizability" (1990).
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

NEVER = 1 << 30


class RegisterOperation(Struct, frozen=True):
    """One request as its client saw it.

    ``began`` and ``ended`` are places in the history (``NEVER``: no answer that says success).
    ``writes`` says that it is a mutation; ``outcome`` is the number that it leaves, or that a read
    returned. A deletion leaves 0.
    """

    began: int
    ended: int
    writes: bool
    outcome: int


@lru_cache(1 << 14)
def linearizable(operations: tuple[RegisterOperation, ...], value: int = 0) -> bool:
    """Whether such an order exists; ``value`` is what the key holds before.

    Reads without an answer promise nothing and are to be left out.
    """
    must = [operation for operation in operations if operation.ended != NEVER]
    if not must:
        return True
    first_end = min(operation.ended for operation in must)
    for i, operation in enumerate(operations):
        if operation.began > first_end:
            continue  # something had ended before this one began
        rest = (*operations[:i], *operations[i + 1 :])
        if operation.writes and linearizable(rest, operation.outcome):
            return True
        if not operation.writes and operation.outcome == value and linearizable(rest, value):
            return True
    return False
