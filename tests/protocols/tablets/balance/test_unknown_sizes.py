"""What the server plans while it lacks sizes or capacities: cases worked out from its rule.

Source: published ``make_plan`` of the tablet allocator, and its tests of incomplete statistics
(from release 2026.1, as ``system.tablet_sizes`` is).
"""

from __future__ import annotations

import pytest

from kit.model.registry import build
from kit.protocols.tablets.rules.balance.cluster import BalancerInput, BalancerNode, gathered
from kit.protocols.tablets.rules.balance.planner import plan
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, last_tokens
from kit.protocols.tablets.rules.replica_sets import replicas_in
from kit.search.check import check
from tests.protocols.tablets.balance.clusters import GIB, TARGET

CASES = """
case                   |nodes                        |tablets            |lacks|moves|waits|out
one-size-is-missing    |A B C                        |16*B               |B    |-    |-    |B
all-are-known          |A B C                        |16*B               |-    |B    |-    |-
documents-count-tablets|A B C                        |16*B               |B    |B    |-    |-
others-go-on           |A B C D                      |8*B 8*C            |C    |B    |-    |C
leaving-both-lack      |A B!leaving                  |8*A 8*B            |A B  |-    |A B  |-
leaving-target-lacks   |A B!leaving                  |8*A 8*B            |A    |-    |A    |-
leaving-one-itself     |A B!leaving                  |8*A 8*B            |B    |-    |B    |-
leaving-a-third-lacks  |A B!leaving C                |8*A 8*B 8*C        |C    |-    |C    |-
leaving-down-lacks     |A B!leaving C!down           |8*A 8*B 8*C        |C    |-    |C    |-
leaving-given-up-lacks |A B!leaving C!excluded       |8*A 8*B 8*C        |C    |B    |-    |-
removed-itself         |A B!removing C               |8*A 8*B            |B    |B    |-    |-
removed-target-lacks   |A B!removing C               |8*A 8*B            |A B  |-    |A    |-
left-by-a-replace      |A B!left C                   |8*A 8*B            |A    |-    |A    |-
drained-already        |A B!leaving C                |8*A                |A    |-    |-    |A
far-datacenter         |A B!leaving X@dc2/r1 Y@dc2/r1|4*A 4*B 4*X        |X    |B    |-    |X
same-rack-named        |A B!leaving C@dc1/r2         |4*A 4*B 4*C        |A    |C    |A    |-
far-rack-named         |A B!leaving C@dc1/r2         |4*A 4*B 4*C        |C    |B    |-    |C
migration-has-no-size  |A B C                        |B>A 16*B           |A    |B    |-    |-
migration-off-unknown  |A B C                        |B>A 16*B           |A B  |B    |-    |A
rebuild-has-no-size    |A B C D                      |A+B>A+C:rebuild 8*A|C    |A    |-    |-
capacity-is-missing    |A B C=0                      |16*B               |-    |B    |-    |C
leaving-no-capacity    |A B!leaving C=0              |8*A 8*B            |-    |-    |C    |-
"""


def rows(text: str) -> list[dict[str, str]]:
    """The lines of a table by its heading."""
    heading, *lines = ([*map(str.strip, line.split("|"))] for line in text.strip().splitlines())
    return [dict(zip(heading, line, strict=True)) for line in lines]


def given(line: dict[str, str]) -> BalancerInput:
    """The balancer's view of a case; of the first tablet of a node that lacks, no size is known."""
    nodes = []
    for text in line["nodes"].split():
        word, _, role = text.partition("!")
        name, _, place = word.partition("@")
        host, _, capacity = name.partition("=")
        datacenter, rack = (place or "dc1/r1").split("/")
        room = 0 if capacity else 2**40
        nodes.append(BalancerNode(host, datacenter, rack, 2, room, role or "normal"))
    sets = []
    for word in line["tablets"].split():
        count, star, text = word.rpartition("*")
        way, _, kind = text.partition(":")
        sets += [(*way.split(">"), "", kind)] * (int(count) if star else 1)
    tablets = []
    for last, (old, new, *kind) in zip(last_tokens(len(sets)), sets, strict=True):
        before, after = (replicas_in(each.replace("+", " ")) if each else () for each in (old, new))
        moving = ("streaming", kind[-1] or "migration") if new else ("", "")
        tablets.append(Tablet(last, before, after, *moving))
    sizes, lacking = [], set(line["lacks"].split()) - {"-"}
    for tablet in tablets:
        hosts = {place.host for place in tablet.replicas}
        sizes.append({host: GIB for host in hosts if host not in lacking})
        lacking -= {place.host for place in tablet.sets.both}
    one = {"ks.t": TabletMap("ks.t", tuple(tablets))}
    named = frozenset({("ks.t", "dc1")} if "named" in line["case"] else ())
    return gathered(nodes, one, {"ks.t": sizes}, target_size=TARGET, rack_lists=named)


@pytest.mark.parametrize("line", rows(CASES), ids=lambda line: line["case"])
def test_who_is_left_out_and_what_a_drain_waits_for(line: dict[str, str]) -> None:
    """Which nodes the plan moves tablets off, which ones it waits for, which it leaves out."""
    edition = "documents" if line["case"].startswith("documents") else "server"
    found = plan(given(line), edition)
    sources = sorted({move.source.host for move in found.moves})
    waits, out = sorted(found.waits_for), sorted(found.left_out)
    assert not found.failures
    assert [" ".join(each) or "-" for each in (sources, waits, out)] == [
        *(line["moves"], line["waits"], line["out"])
    ]


def test_a_drain_goes_on_once_sizes_are_reported() -> None:
    """Model ``balance``: the only step is a report, and every run ends with A empty."""
    words = {"edition": "server", "nodes": 3, "tablets": ("A", "A", "B"), "leaving": ("A",)}
    m = build("balance", words | {"unreported": ("B", "C")})
    s = m.start()
    assert m.plan(s).waits_for == ("B", "C")
    assert not m.is_even(s)
    assert {type(action).__name__ for action, _ in m.successors(s)} == {"Report"}
    result = check(m)
    assert result.violation is None
