"""The rows of a run of leases: its steps, and who had which number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.protocols.toy.model import Lease
from kit.spark.schemas import RUN, STEP, Makers, Row, table

LEASES = table(
    "leases",
    "a client after a step",
    RUN,
    STEP,
    "client string: the client",
    "number bigint: the number of its newest lease, 0 when it had none",
)


def _leases(run: str, model: Lease, moments: list[Any]) -> Iterator[Row]:
    for step, moment in enumerate(moments):
        for client, number in enumerate(moment.state.numbers):
            yield run, step, f"C{client}", number


ROWS: Makers = {LEASES: _leases}
