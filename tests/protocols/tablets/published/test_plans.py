"""Plans of the balancer and counts of tablets: cases of the published tests, by release."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields, replace

from kit.protocols.group0.rules.releases import RELEASES, Release
from kit.protocols.tablets.rules.balance.cluster import BalancerInput, BalancerNode, balancer_input
from kit.protocols.tablets.rules.balance.planner import BalancePlan, plan
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import TabletReplica, replicas_in
from kit.protocols.tablets.rules.resize import (
    CountOptions,
    TableSize,
    decide_by_count,
    target_counts,
    thresholds,
)
from tests.protocols.tablets.balance.clusters import TARGET
from tests.protocols.tablets.balance.test_why import rows

Maps = Mapping[str, TabletMap]
BEGUN = "allow_write_both_read_old"  # the first stage
MOST = 400  # plans until nothing moves


def cases(name: str) -> list[dict[str, str]]:
    """The lines of a table; those that begin with # are remarks."""
    text = (Path(__file__).parent / name).read_text("utf-8")
    return rows("\n".join(line for line in text.splitlines() if not line.startswith("#")))


def on_releases(line: dict[str, str]) -> list[Release]:
    """The first and the last of the releases that a case is of."""
    first, last = line["releases"].split(" to ")
    return [release for release in RELEASES if release in (first, last)]


def node(text: str) -> BalancerNode:
    """``HOST:SHARDS@DATACENTER/RACK=CAPACITY!ROLE``."""
    text, _, role = text.partition("!")
    text, _, capacity = text.partition("=")
    text, _, place = text.partition("@")
    host, _, shards = text.partition(":")
    datacenter, rack = (place or "dc1/r1").split("/")
    room = int(capacity or shards or 1) * TARGET
    return BalancerNode(host, datacenter, rack, int(shards or 1), room, role or "normal")  # type: ignore[arg-type]  # a role


def table(name: str, text: str, *, merges: bool) -> TabletMap:
    """``COUNT*REPLICA,REPLICA>NEXT,NEXT`` for each tablet."""
    sets: list[str] = []
    for word in text.split():
        count, star, one = word.rpartition("*")
        sets += [one] * (int(count) if star else 1)
    tablets = []
    for last, one in zip(last_tokens(len(sets)), sets, strict=True):
        old, _, new = one.replace(",", " ").partition(">")
        moving = (replicas_in(new), BEGUN, "migration") if new else ((), "", "")
        tablets.append(Tablet(last, replicas_in(old), *moving))
    return TabletMap(name, tuple(tablets), resize_type="merge" if merges else "none")


class Played:
    """A case on a release: its first plan, and the cluster when nothing moves any more."""

    def __init__(self, line: dict[str, str], release: Release) -> None:
        self.how, self.release = line["how"].split(), release
        self.nodes = [node(text) for text in line["nodes"].split()]
        self.places = {each.host: (each.datacenter, each.rack) for each in self.nodes}
        texts = line["tablets"].split(";")
        self.maps: Maps = {
            f"ks.t{number}": table(f"ks.t{number}", text, merges="merge" in self.how and not number)
            for number, text in enumerate(texts)
        }
        percents = next((word[7:] for word in self.how if word.startswith("tablet=")), "100")
        parts = percents.split(",") * len(texts)
        self.size = {
            name: TARGET * int(part) // 100 for name, part in zip(self.maps, parts, strict=False)
        }
        self.first = plan(self.given())
        self.settle(self.first)

    def given(self) -> BalancerInput:
        """The balancer's view of the cluster as it is now."""
        unknown = [
            word.removeprefix("unknown=") for word in self.how if word.startswith("unknown=")
        ]
        sizes = {}
        for name, each in self.maps.items():
            sizes[name] = known = []
            for tablet in each.tablets:
                hosts = {place.host for place in tablet.sets.both}
                known.append({host: self.size[name] for host in hosts if host not in unknown})
                unknown = [host for host in unknown if host not in hosts]
        racks = {(name, node.datacenter) for name in self.maps for node in self.nodes}
        return balancer_input(
            self.nodes,
            self.maps,
            sizes,
            target_size=TARGET,
            enabled="off" not in self.how,
            rack_lists=frozenset(racks if "racks" in self.how else ()),
            release=self.release,
        )

    def settle(self, step: BalancePlan) -> None:
        """Do all moves, or begin them, plan by plan."""
        for _ in range(MOST):
            if not step.moves:
                break
            for move in step.moves:
                for number in move.tablets:
                    self._change(move.table, number, move.source, move.target, move.kind)
            step = plan(self.given())
        else:
            raise AssertionError(f"no end after {MOST} plans")
        self.tablets = [tablet.sets.new for each in self.maps.values() for tablet in each.tablets]

    def _change(
        self, name: str, number: int, source: TabletReplica, target: TabletReplica, kind: str
    ) -> None:
        one = self.maps[name]
        tablet = one.tablets[number]
        then = tuple(target if place == source else place for place in tablet.replicas)
        changed = replace(tablet, replicas=then)
        if "begun" in self.how:
            changed = replace(tablet, new_replicas=then, stage=BEGUN, transition=kind)
        every = (*one.tablets[:number], changed, *one.tablets[number + 1 :])
        self.maps = {**self.maps, name: replace(one, tablets=every)}

    def wrong(self, then: str) -> Iterator[str]:
        """What is not so, of all that a case says."""
        per_host = Counter(place.host for replicas in self.tablets for place in replicas)
        per_shard = Counter(place for replicas in self.tablets for place in replicas)
        moves = self.first.moves
        first = next(iter(self.maps.values())).tablets
        holds = {
            "moves": bool(moves),
            "nothing": not moves and not self.first.failures,
            "fails": bool(self.first.failures),
            "even": all(
                max(held) - min(held) <= 1
                for node in self.nodes
                for held in [[per_shard[TabletReplica(node.host, n)] for n in range(node.shards)]]
            ),
            "apart": all(
                len({self.places[place.host] for place in replicas}) == len(replicas)
                for replicas in self.tablets
            ),
            "together": all(
                set(even.sets.new) == set(odd.sets.new)
                for even, odd in zip(first[::2], first[1::2], strict=False)
            ),
        }
        for word in then.split():
            name, _, value = word.partition("=")
            if not value:
                right = holds[name]
            elif name in ("from", "to", "kind", "first"):
                found = {
                    "from": {move.source.host for move in moves},
                    "to": {move.target.host for move in moves},
                    "kind": {move.kind for move in moves},
                    "first": {str(len(moves))},
                }[name]
                right = found == {value}
            else:
                least, _, most = value.partition("..")
                right = int(least) <= per_host[name] <= int(most or least)
            if not right:
                yield f"{word}: {dict(per_host)}, {[str(move) for move in moves[:4]]}"


EACH = [(line, release) for line in cases("plans.txt") for release in on_releases(line)]


@pytest.mark.parametrize(
    ("line", "release"), EACH, ids=lambda each: each if isinstance(each, str) else each["test"]
)
def test_a_published_balancing_case_gives_its_first_plan_and_its_end(
    line: dict[str, str], release: Release
) -> None:
    """On the first and the last release that the case is of."""
    assert not list(Played(line, release).wrong(line["then"]))


OPTIONS = {field.name for field in fields(CountOptions)}
MOST_RESIZES = 40  # resizes until nothing changes
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


COUNTS = [(line, release) for line in cases("counts.txt") for release in on_releases(line)]


@pytest.mark.parametrize(
    ("line", "release"), COUNTS, ids=lambda each: each if isinstance(each, str) else each["test"]
)
def test_a_published_count_case_ends_at_its_tablet_counts(
    line: dict[str, str], release: Release
) -> None:
    """Each decision doubles or halves a count."""
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
    for _ in range(MOST_RESIZES):
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
