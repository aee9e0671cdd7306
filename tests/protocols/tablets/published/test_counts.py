"""How many tablets tables have in the end: cases of the published tests, by release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import fields, replace

from kit.protocols.group0.rules.releases import Release
from kit.protocols.tablets.rules.resize import (
    CountOptions,
    TableSize,
    decide_by_count,
    target_counts,
    thresholds,
)
from tests.protocols.tablets.balance.clusters import TARGET
from tests.protocols.tablets.published.test_plans import cases, on_releases

OPTIONS = {field.name for field in fields(CountOptions)}
MOST = 40  # resizes until nothing changes


TABLE = re.compile(r"(?:(\d+)\*)?(\w+)=(\d+):(\d+)(?:\[([^]]*)\])?")


def tables(text: str) -> Iterator[tuple[TableSize, CountOptions, dict[str, Any]]]:
    """``N*NAME=TABLETS:SIZE[OPTION=VALUE ...]`` for each: its size, its options, its factors."""
    for number, name, count, size, words in TABLE.findall(text):
        yield from alike(number, name, int(count), int(size), words)


def alike(
    number: str, name: str, count: int, size: int, words: str
) -> Iterator[tuple[TableSize, CountOptions, dict[str, Any]]]:
    """So many tables, which have their number in their name."""
    given = dict(each.split("=") for each in words.split())
    options = {key: int(value) for key, value in given.items() if key in OPTIONS}
    if "pow2_count" in options:
        options["pow2_count"] = bool(options["pow2_count"])
    factors = {
        key: int(value) if value.isdecimal() else tuple(value.split(","))
        for key, value in given.items()
        if key.startswith("dc")
    } or {"dc1": 1}
    for each in range(int(number or 1)):
        table = TableSize(f"{name}{each}" if number else name, count, 1, size * TARGET // 100)
        table = replace(table, tables=int(given.get("tables", 1)), growing="growing" in given)
        yield table, CountOptions(**options), factors


EACH = [(line, release) for line in cases("counts.txt") for release in on_releases(line)]


@pytest.mark.parametrize(
    ("line", "release"), EACH, ids=lambda each: each if isinstance(each, str) else each["test"]
)
def test_where_counts_end(line: dict[str, str], release: Release) -> None:
    """Decision after decision, each of which doubles a count or halves it."""
    every = list(tables(line["tables"]))
    sizes = {table.table: table for table, _, _ in every}
    options = {table.table: asked for table, asked, _ in every}
    factors = {table.table: factor for table, _, factor in every}
    shards: dict[str, dict[str, int]] = {}
    for word in line["shards"].split():
        place, count = word.split("=")
        datacenter, rack = place.split("/")
        shards.setdefault(datacenter, {})[rack] = int(count)
    given = {key: Fraction(value) for key, value in (w.split("=") for w in line["server"].split())}
    limits = replace(thresholds("server", release, TARGET), **given)
    for _ in range(MOST):
        targets = target_counts(sizes, options, factors, shards, limits)
        kinds = {
            name: decide_by_count(size, limits, targets[name]).resize_type
            for name, size in sizes.items()
        }
        if {*kinds.values()} == {"none"}:
            break
        becomes = {"split": lambda n: 2 * n, "merge": lambda n: -(-n // 2), "none": lambda n: n}
        sizes = {
            name: replace(size, count=becomes[kinds[name]](size.count))
            for name, size in sizes.items()
        }
    ends = {name: str(size.count) for name, size in sizes.items()}
    wanted = dict(word.split("=") for word in line["then"].split())
    assert {name: ends[name] for name in wanted} == wanted
