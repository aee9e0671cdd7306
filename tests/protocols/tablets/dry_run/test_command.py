"""``python -m kit tablets``: words, JSON, exit codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kit.protocols.tablets.commands import ACTIONS
from tests.commands.calling import bad, call
from tests.saying import says

ROOT = Path(__file__).resolve().parents[4]
FIXTURES = ROOT / "tests" / "fixtures" / "tablets"
DUMP = str(FIXTURES / "tablets.csv")
TOPOLOGY = ("--topology", str(FIXTURES / "topology.csv"))
SIZES = ("--sizes", str(FIXTURES / "sizes.csv"))
LOADS = ("--loads", str(FIXTURES / "loads.csv"))
STATUS = ("--status", str(FIXTURES / "status.txt"))
ALL = (*TOPOLOGY, *SIZES, *LOADS)


def host(number: int) -> str:
    """A host id of the fixtures."""
    return f"{number:08x}-0000-4000-8000-{number:012x}"


@pytest.mark.spec("E-056")
def test_a_co_located_table_is_listed_and_served_with_its_base_table() -> None:
    """The group is one line, and a token has the same shards in both."""
    report = call("tablets", DUMP, *ALL, "--json").json
    orders = next(table for table in report["tables"] if table["table"] == "shop.orders")
    assert (orders["tablets"], orders["colocated"]) == (4, ["shop.orders_by_day"])
    served = {one["table"]: one for one in call("tablets", DUMP, "shard", "5", "--json").json}
    base, other = served["shop.orders"], served["shop.orders_by_day"]
    assert {**other, "table": ""} == {**base, "table": ""}


def test_a_dump_as_csv_and_as_select_json_gives_the_same_answer() -> None:
    """Both are what cqlsh prints for a table."""
    csv = call("tablets", DUMP, *ALL, "--json").json
    shown = call("tablets", str(FIXTURES / "tablets.txt"), *ALL, "--json").json
    assert {**csv, "source": ""} == {**shown, "source": ""}


def test_a_node_that_is_down_takes_no_tablets_and_counts_as_lost() -> None:
    """Nodes may be named by their addresses."""
    answer = call("tablets", DUMP, "lose", "10.0.0.1", *STATUS, "--json").json
    assert answer["down"] == [host(1), host(5)]
    assert answer["no_quorum"] == 2
    moves = call("tablets", DUMP, "balance", *STATUS, "--json").json["moves"]
    assert host(5) not in {move["target"][0] for move in moves}


def test_a_dump_alone_says_that_racks_capacities_and_sizes_are_not_known() -> None:
    """The line names the option that would give them."""
    answer = call("tablets", DUMP)
    assert "no file describes the nodes (--topology, --status)" in answer.out
    assert "no capacities (--loads)" in answer.out
    assert "sizes are not known" in call("tablets", DUMP, "resize").out


def test_a_table_given_by_its_numbers_has_tokens_and_a_resize_decision() -> None:
    """No dump is needed, and both editions decide."""
    answer = call("tablets", "--table", "count=8,size=400G,rf=3,shards=16,target=5G", "tokens")
    assert answer.status == 0
    assert "4  (-1, 2305843009213693951]" in answer.out
    assert "24 replicas on 16 shards: 1.50 each" in answer.out
    answer = call("tablets", "--table", "count=8,size=400G,rf=3", "resize", "--json")
    assert (answer.json["decision"], answer.json["average"]) == ("split", 50 * 2**30 // 3)
    empty = call("tablets", "--table", "count=8,size=0", "resize", "--json")
    assert (empty.json["decision"], empty.json["average"]) == ("merge", 0)
    answer = call("tablets", "--table", "count=8,size=40G,rf=3,shards=24", "resize", "--json")
    assert (answer.json["decision"], answer.json["target"]["resize_type"]) == ("split", "split")
    assert answer.json["target"]["rules"]["min_per_shard_tablet_count"] == 80
    seed = call("tablets", "--table", "count=8,size=121G,rf=3", "resize", "--edition", "documents")
    assert "none → split" in seed.out
    assert "none → split" not in call("tablets", "--table", "count=8,size=121G,rf=3", "resize").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "DUMP | nothing | a dump of system.tablets"),
        (["nope"], "dump: got 'nope'; allowed: a readable file"),
        ([DUMP, "drian"], "ACTION | 'drian' | one of drain"),
        ([DUMP, "drain"], "words after drain | nothing | HOST"),
        ([DUMP, "show", "more"], "words after show | 'more' | nothing more"),
        ([DUMP, "drain", "9"], "HOST | '9' | one of"),
        (
            [DUMP, "drain", "0"],
            f"HOST | '0' | a name that fits only one node; this one fits {host(1)}",
        ),
        ([DUMP, "shard", "x"], "TOKEN | 'x' | a signed 64-bit integer"),
        ([DUMP, "shard", "9223372036854775808"], "token | an integer from"),
        ([DUMP, "why", "t", "0"], "words after why | 't 0' | TABLE TABLET HOST:SHARD"),
        ([DUMP, "why", "t", "x", "00000001:0"], "TABLET | 'x' | the number of a tablet"),
        ([DUMP, "why", "t", "0", "00000001"], "HOST:SHARD | '00000001' | a node and one"),
        ([DUMP, "why", "t", "0", "00000001:0"], "table | 't' | a base table"),
        ([DUMP, "why", "shop.orders", "9", "00000001:0"], "tablet | 9 | 0 to 3"),
        ([DUMP, "--target", "5X"], "--target | '5X' | a size in bytes"),
        (["--table", "count=8"], "ACTION | 'nothing' | resize or tokens"),
        (["--table", "count=8", "tokens", *TOPOLOGY], "--topology | nothing beside --table"),
        (["--table", "count=0", "tokens"], "--table count | '0' | a number from 1"),
        (["--table", "count", "tokens"], "--table | 'count' | NAME=NUMBER"),
        (["--table", "cuont=8", "tokens"], "--table | 'cuont' | one of count"),
        (["--table", "rf=3", "tokens"], "--table | 'rf=3' | count too"),
        (["--table", "count=8,count=8", "tokens"], "--table count | each name once"),
        ([DUMP, "--edition", "sever"], "edition | 'sever' | nearest: server"),
        (["/dev/null"], "a readable file (this is a device)"),
        ([DUMP, "--schema"], "--schema: got 'nothing'; allowed: FILE"),
    ],
)
def test_the_tablets_command_refuses_wrong_words_in_one_line(words: list[str], said: str) -> None:
    """The line names the word and what is allowed."""
    line = bad("tablets", *words)
    assert said in line or says(line, said)


@pytest.mark.parametrize("action", [*ACTIONS, "tokens"])
def test_the_help_of_the_tablets_command_lists_each_action(action: str) -> None:
    """Only resize and tokens may be asked without a cluster."""
    assert re.search(rf"^  {action}\b", call("tablets", "--help").out, re.MULTILINE)
    if action in ("resize", "tokens"):
        assert call("tablets", "--table", "count=4,rf=3", action).status == 0
    else:
        assert says(bad("tablets", "--table", "count=4,rf=3", action), "ACTION | resize or tokens")
