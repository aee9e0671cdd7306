"""``plan --json`` on many rings: several keyspaces, few nodes, datacenters, sizes, odd names."""

from __future__ import annotations

from pathlib import Path

from tests.commands.calling import (
    SIMPLE_2,
    SIMPLE_3,
    TEN,
    Answer,
    call,
    plan,
    ring_of,
    table,
    written,
)

LOCAL, EVERYWHERE = {"class": "LocalStrategy"}, {"class": "EverywhereStrategy"}


def test_several_keyspaces(tmp_path: Path) -> None:
    """Each has its own tables; equal replications have equal ones; local ones have none."""
    spaces = {"a": SIMPLE_3, "own": LOCAL, "b": SIMPLE_2, "all": EVERYWHERE, "c": SIMPLE_3}
    found = plan(written(tmp_path, ring_of(TEN[:4], spaces)), "bootstrap", "x", "--tokens", "250")
    for step in found["steps"]:
        assert list(step["keyspaces"]) == sorted(spaces)
        assert step["keyspaces"]["a"] == step["keyspaces"]["c"]
        assert step["keyspaces"]["own"] == {"reads": [], "writes": []}
    assert found["locks"]["own"] == []
    last = found["steps"][-1]["keyspaces"]["all"]["reads"]
    assert all(sorted(row[2]) == ["n1", "n2", "n3", "n4", "x"] for row in last)
    streams = [s for step in found["steps"] for s in step["streams"]]
    assert list(dict.fromkeys(s["keyspace"] for s in streams)) == ["a", "all", "b", "c"]
    # With a new node in an everywhere keyspace nobody is displaced: a quorum of all streams.
    everywhere = [s["from"] for s in streams if s["keyspace"] == "all"]
    assert {len(givers) for givers in everywhere} == {3}


def test_odd_names(tmp_path: Path) -> None:
    """Names with blanks, quotes, markup, dashes or accents come back as they were given."""
    odd = ["a b", "'", '"', "<img src=x onerror=alert(1)>", "-n", "nö", "\N{SNOWMAN}", "𝄞"]
    nodes = [{"name": name, "tokens": [i], "rack": name} for i, name in enumerate(odd)]
    path = written(tmp_path, ring_of(nodes, {"k ö": SIMPLE_2}))
    for name in odd:
        found = plan(path, "decommission", name)
        assert all(name not in row[2] for row in table(found["steps"][-1], "reads", "k ö"))
    answer: Answer = call(
        "plan", path, "bootstrap", "ø x", "--tokens", "-7", "--rack", "𝄞", "--json"
    )
    assert answer.out.isascii()
    assert answer.json["operation"] == "bootstrap 'ø x' --tokens -7 --rack '𝄞'"
    assert any("ø x" in row[2] for row in table(answer.json["steps"][-1], "reads", "k ö"))
