"""A table that is imagined on the command line: ``count=8,rf=3,size=400G,shards=16,target=5G``."""

from __future__ import annotations

import re

from msgspec import Struct

from kit.engine.registry import one_of
from kit.errors import BadInput
from kit.protocols.tablets.dry_run.report import ResizeLine, resize_line
from kit.protocols.tablets.rules.maps import first_token, last_tokens
from kit.protocols.tablets.rules.resize import (
    TARGET_SIZE,
    THRESHOLDS,
    TableSize,
    Thresholds,
    target_counts,
)
from kit.protocols.topology.rules.machines import Edition

MOST = {"count": 2**20, "rf": 1000, "shards": 10**6, "size": 2**62, "target": 2**62}
FORM = "NAME=NUMBER pairs with commas between them: count=8,rf=3,size=400G,shards=16,target=5G"
_POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_SIZE = re.compile(r"([0-9]{1,19}(?:\.[0-9]{1,6})?)([KMGT]?)(?:i?B)?", re.ASCII)


class TokenLine(Struct, frozen=True):
    """A tablet's tokens: those after ``after`` up to ``last_token``."""

    tablet: int
    after: int
    last_token: int


class ImaginedTable(Struct, frozen=True):
    """A table of so many tablets: the bytes of all its replicas, how many shards there are."""

    count: int
    rf: int
    size: int | None
    shards: int | None
    limits: Thresholds
    edition: Edition

    def resize(self) -> ResizeLine:
        """The decision on it; with shards also what the published server's rules ask for."""
        size = TableSize("table", self.count, self.rf, self.size)
        target = None
        if self.shards is not None and self.edition == "server":
            shards = {"dc1": {"r1": self.shards}}
            factors = {size.table: {"dc1": self.rf}}
            target = target_counts({size.table: size}, {}, factors, shards, self.limits)["table"]
        return resize_line(size, self.limits, target=target)

    def tokens(self) -> tuple[TokenLine, ...]:
        """The tokens of each tablet."""
        lasts = last_tokens(self.count)
        return tuple(
            TokenLine(number, first_token(number, lasts), last) for number, last in enumerate(lasts)
        )


def parse_size(field: str, given: str) -> int:
    """Bytes, as ``5368709120``, ``5G`` or ``2.5T``.

    Raises:
        BadInput: for what is no such size, or more than a signed 64-bit integer holds.
    """
    words = _SIZE.fullmatch(given)
    size = 0 if words is None else round(float(words[1]) * (1 << _POWERS[words[2]]))
    if words is None or not 0 < size <= MOST["size"]:
        raise BadInput(field, given, "a size in bytes above 0, such as 5368709120 or 5G")
    return size


def imagined(given: str, edition: Edition) -> ImaginedTable:
    """The table that the words of ``--table`` describe.

    Raises:
        BadInput: naming the word that is wrong.
    """
    values: dict[str, int] = {}
    for pair in given.split(","):
        name, is_pair, value = pair.partition("=")
        if not is_pair:
            raise BadInput("--table", pair, FORM)
        if name not in MOST:
            raise BadInput("--table", name, one_of(name, list(MOST)))
        if name in values:
            raise BadInput(f"--table {name}", value, "each name once")
        values[name] = _value(name, value)
    if "count" not in values:
        raise BadInput("--table", given, "also count, the number of tablets")
    usual = THRESHOLDS[edition]
    limits = Thresholds(values.get("target", TARGET_SIZE), usual.split_percent, usual.merge_percent)
    return ImaginedTable(
        values["count"],
        values.get("rf", 1),
        values.get("size"),
        values.get("shards"),
        limits,
        edition,
    )


def _value(name: str, given: str) -> int:
    if name == "size" and re.fullmatch("0+", given):
        return 0
    if name in ("size", "target"):
        return parse_size(f"--table {name}", given)
    if re.fullmatch(r"[0-9]{1,9}", given, re.ASCII) and 1 <= int(given) <= MOST[name]:
        return int(given)
    raise BadInput(f"--table {name}", given, f"a number from 1 to {MOST[name]}")
