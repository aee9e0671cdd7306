"""Recorded runs: what Apalache, Quint and TLC write is read exactly, and ours is read by all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_itf
from kit.errors import BadInput
from kit.formats.itf import parse, plain, words
from kit.formats.recorded import RecordedRun, itf_of
from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.search.fuzz import Walker
from tests.examples import examples, share_of
from tests.saying import like

FIXTURES = Path(__file__).parents[1] / "fixtures" / "itf"


def opened(name: str) -> tuple[RecordedRun, Timeline]:
    """A recorded run of a fixture."""
    timeline = read_itf(FIXTURES / name)
    assert isinstance(timeline.model, RecordedRun)
    return timeline.model, timeline


# -- what others write -----------------------------------------------------------------------------


def test_a_trace_of_quint_is_read() -> None:
    """Names of actions with what was picked, numbers of any size, variants, nodes by their maps."""
    model, timeline = opened("quint.itf.json")
    assert (timeline.at, len(timeline.moments)) == (0, 3)
    labels = [model.label(moment.state, moment.action) for moment in timeline.moments]
    assert labels == ["mint (amount = 7)", "send", "read on"]
    assert timeline.moments[1].say == "mint (amount = 7). Changed: balances, leader, votes."
    last = timeline.moments[2].state
    assert model.trace.states[2] == {
        "balances": {
            "#map": [["alice", {"#bigint": "20086964742617499085873481662929437057"}], ["bob", -3]]
        },
        "epochs": {
            "#map": [
                ["alice", {"epoch": 2, "peers": {"#set": ["bob"]}}],
                ["bob", {"epoch": 1, "peers": {"#set": []}}],
            ]
        },
        "leader": {"tag": "Some", "value": "alice"},
        "votes": {"#set": []},
    }
    assert model.title == timeline.story == "tokens.qnt"
    assert model.nodes == ("alice", "bob")
    table = model.table(last)
    assert (table["alice", "epochs.peers"], table["bob", "balances"]) == ("{bob}", "-3")
    assert {node for node, _ in table} == {"alice", "bob"}, "not the tag of the leader"
    assert model.readable(last)["leader"] == "Some(alice)"


def test_a_trace_of_apalache_is_read() -> None:
    """Its example, with a parameter that only the first state tells, and a loop."""
    model, timeline = opened("apalache.itf.json")
    start, first = timeline.moments
    assert first.say == (
        "Cross. Changed: bank_of_boat, who_is_on_bank, _action. "
        "From step 0, the run repeats itself."
    )
    assert model.readable(first.state) == {
        "Capacity": "2",
        "bank_of_boat": "W",
        "who_is_on_bank": {
            "E": "{c1_OF_PERSON, m1_OF_PERSON}",
            "W": "{c2_OF_PERSON, m2_OF_PERSON}",
        },
        "_action": {"boat": "W", "tag": "Cross"},
    }
    assert model.nodes == ("E", "W")
    refusal = model.refusal(first.state, first.action)
    assert refusal is not None
    assert refusal.reason == "From step 0, the run repeats itself."
    assert model.readable(start.state)["Capacity"] == "2"


def test_what_tlc_prints_is_read() -> None:
    """Records, sequences, functions, texts, values over several lines, a loop."""
    model, timeline = opened("tlc.txt")
    assert model.trace.names == ("", "Timeout(n1)", "Vote")
    assert model.trace.states[2] == {
        "log": [
            {"term": 1, "value": 'say "hi"'},
            {"term": -2, "value": {"#set": [True, {"#set": [1, 2, 3]}]}},
        ],
        "role": {"#map": [["n1", "leader"], ["n2", "leader"]]},
        "term": {"#map": [["n1", 1], ["n2", 1]]},
    }
    assert model.nodes == ("n1", "n2")
    milestones = [moment.milestone for moment in timeline.moments]
    assert milestones == [None, "the loop begins", None]
    assert model.ends == "From step 1, the run repeats itself."
    repeats = [moment.say.endswith(model.ends) for moment in timeline.moments]
    assert repeats == [False, False, True], "it is told at the end, not where the loop begins"


def test_nodes_are_found_where_maps_name_them() -> None:
    """Keys that several variables share, else those of the only map whose keys never change; of two
    such maps the one that others name; else nobody knows.
    """

    def nodes(**variables: Any) -> tuple[str, ...]:
        text = json.dumps({"vars": [*variables], "states": [variables]})
        return RecordedRun(parse(text)).nodes

    one, other = {"#map": [["a", 1], ["b", 1]]}, {"#map": [["x", 1], ["y", 1], ["z", 1]]}
    assert nodes(p=one, q=other, r={"a": 1, "b": 2}) == ("a", "b")
    assert nodes(p=other, q=3) == ("x", "y", "z")
    assert nodes(p=one, q=other) == ()
    assert nodes(p={"a": 1}, q=3) == ()
    assert nodes(p={"#map": []}) == ()
    tens = {"#map": [["n10", 1], ["n9", 1]]}
    assert nodes(p=tens) == ("n9", "n10")
    assert nodes(p=one, q=other, r={"#set": ["b"]}) == ("a", "b")
    assert nodes(p=one, q=other, r={"#tup": ["y", "b"]}) == ()
    assert nodes(p=one, q=one, r=other, s=["x"], t=["y"]) == ("a", "b"), "two share them"
    assert nodes(p={"x": 1}, q={"x": 2}, r=one, s=one) == ("a", "b"), "of as many shares the most"
    assert nodes(p={"#map": [[{"#tup": ["a", 1]}, 1]]}, q={"#map": []}) == ("(a, 1)",)


def test_tlc_prints_intervals() -> None:
    """``1..3`` is a set of three; one that ends before it begins is empty."""
    block = "/\\ x = 1..3\n/\\ y = <<-1..1, 2..1>>"
    trace = parse(f"State 1: <Initial predicate>\n{block}\n\n")
    assert trace.states[0]["x"] == {"#set": [1, 2, 3]}
    assert words(trace.states[0]["y"]) == "[{-1, 0, 1}, {}]"


# -- out, and in again -----------------------------------------------------------------------------


def test_a_run_is_written_as_others_read_it() -> None:
    """To the letter as in a file that was written by hand after ADR-015."""
    timeline = Timeline(build("twophase", {"rms": 2}))
    timeline.do(timeline.model.find(timeline.state, "prepare RM1")[0])
    assert itf_of(timeline) == (FIXTURES / "twophase.itf.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["quint.itf.json", "apalache.itf.json", "tlc.txt"])
def test_what_was_read_is_written_again(name: str) -> None:
    """The same states, names and loop; of a part of a run there is no loop to tell."""
    model, timeline = opened(name)
    again = parse(itf_of(timeline))
    assert (again.states, again.loop) == (model.trace.states, model.trace.loop)
    assert ('"loop"' in itf_of(timeline)) is (model.trace.loop is not None)
    timeline.fork()
    assert parse(itf_of(timeline)).loop is None


@pytest.mark.parametrize("name", entries())
def test_a_run_of_any_model_comes_back(name: str) -> None:
    """Out and in: the same states and names; and once more out, the same text."""
    model = build(name)
    for seed in range(share_of(2)):
        timeline = Timeline(model)
        timeline.run(Walker(model, steps=12, properties=(), monitors=()).walk(seed).actions)
        text = itf_of(timeline)
        trace = parse(text)
        assert len(trace.states) == len(timeline.moments)
        assert trace.names[1:] == tuple(model.verb(m.action)[:100] for m in timeline.moments[1:])
        assert len({m.state for m in timeline.moments}) == len({*map(repr, trace.states)})
        again = parse(itf_of(RecordedRun(trace).read_through()))
        assert (again.states, again.names, again.loop) == (trace.states, trace.names, None)


VALUES = st.recursive(
    st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=5),
    lambda inner: st.tuples(inner, inner) | st.frozensets(st.integers(), max_size=3)
    | st.dictionaries(st.integers(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.lists(VALUES, min_size=1, max_size=4))
@examples(60)
def test_whatever_a_state_holds_comes_back(values: list[Any]) -> None:
    """One form for all that mean the same: reading what was read changes nothing; all has words."""
    states = [{"x": plain(value)} for value in values]
    trace = parse(json.dumps({"vars": ["x"], "states": states}))
    again = parse(json.dumps({"vars": ["x"], "states": [*trace.states]}))
    assert again.states == trace.states
    assert all(isinstance(words(state["x"]), str) for state in trace.states)
    by_value: dict[str, Any] = {}
    for value, state in zip(values, trace.states, strict=True):
        assert by_value.setdefault(json.dumps(state), value) == value


# -- what is refused -------------------------------------------------------------------------------


def itf(value: str = "1", *, more: str = "", names: str = '"x"', state: str = "") -> str:
    """A trace of one state, with a value, or one that is spoiled elsewhere."""
    return f'{{"vars": [{names}], "states": [{{"x": {value}{state}}}]{more}}}'


HOSTILE: dict[str, tuple[str, str]] = {
    "empty": ("", "trace | 'the end of the text' | ITF"),
    "not JSON": ("hello", "trace | 'hello' | ITF"),
    "a list": ("[]", "trace | [] | a map"),
    "null": ("null", "trace | None | ITF"),
    "no vars": ('{"states": [{}]}', "trace | `vars`"),
    "no states": ('{"vars": []}', "trace | `states`"),
    "an empty list of states": ('{"vars": [], "states": []}', "states | [] | length >= 1"),
    "a state that is a list": ('{"vars": [], "states": [[]]}', "states[0] | [] | a map"),
    "too many states": (
        '{"vars": [], "states": [' + "{}," * 10_000 + "{}]}",
        "states | length <= 10000",
    ),
    "vars that are a text": ('{"vars": "x", "states": [{}]}', "vars | 'x' | a list"),
    "a number as a name": (itf(names="1"), "vars[0] | 1 | a string"),
    "an empty name": (itf(names='""'), "vars[0] | ''"),
    "a name that a terminal obeys": (itf(names='"\\u001b[2J"'), "vars[0] | x1b"),
    "a name with a line end": (itf(names='"x\\n"'), "vars[0]"),
    "a long name": (itf(names=f'"{"x" * 201}"'), "vars[0] | length <= 200"),
    "a name that begins with #": (itf(names='"#x"'), "vars[0] | '#x'"),
    "a name that is there twice": (itf(names='"x", "x"'), "vars | 'x' | each name once"),
    "a parameter that is a variable": (itf(more=', "params": ["x"]'), "vars | 'x' | once"),
    "a parameter without a value": (itf(more=', "params": ["N"]'), "states[0] | N has none"),
    "a variable without a value": (itf(names='"x", "y"'), "states[0] | ['x'] | y has none"),
    "an unknown variable": (itf(state=', "xx": 1'), "states[0] | 'xx' | ['x', '#meta']"),
    "an unknown # in a state": (itf(state=', "#x": 1'), "states[0] | '#x' | ['x', '#meta']"),
    "a #meta that is a text": (itf(state=', "#meta": "a"'), "states[0].#meta | 'a' | an object"),
    "a #meta of all that is a list": (itf(more=', "#meta": []'), "#meta | [] | an object"),
    "an unknown field": (itf(more=', "loops": 0'), "trace | unknown field `loops`"),
    "a key that is there twice": (itf(state=', "x": 2'), "trace | 'x' | each key once"),
    "a loop beyond the end": (itf(more=', "loop": 1'), "loop | 1 | from 0 to 0"),
    "a loop before the start": (itf(more=', "loop": -1'), "loop | -1 | from 0 to 0"),
    "a loop that is true": (itf(more=', "loop": true'), "loop | True | a whole number"),
    "a broken number": (itf("1.5"), "states[0].x | 1.5 | a whole number"),
    "no number": (itf("NaN"), "trace | 'NaN' | numbers valid in JSON"),
    "an endless number": (itf("1e999"), "states[0].x | inf | a whole number"),
    "null as a value": (itf("null"), "states[0].x | None | a whole number"),
    "a number too large for JSON": (itf("9007199254740992"), "states[0].x | #bigint"),
    "many digits": (itf("9" * 5000), "trace | at most 20 digits"),
    "a bigint that is a number": (
        itf('{"#bigint": 1}'),
        "states[0].x.#bigint | 1 | a whole number as a string",
    ),
    "a bigint in hexadecimal": (itf('{"#bigint": "0x10"}'), "x.#bigint | '0x10'"),
    "a bigint with a line end": (itf('{"#bigint": "1\\n"}'), "x.#bigint | a whole number"),
    "a bigint in other digits": (itf('{"#bigint": "٣"}'), "x.#bigint | a whole number"),
    "a huge bigint": (itf(f'{{"#bigint": "{"9" * 1001}"}}'), "x.#bigint | 1000 digits"),
    "an unknown #": (itf('{"#sett": []}'), "states[0].x | ['#sett'] | #set"),
    "two #": (itf('{"#set": [], "#tup": []}'), "states[0].x | one of #bigint | alone"),
    "a # among fields": (itf('{"a": 1, "#set": []}'), "states[0].x | alone"),
    "a set that is an object": (itf('{"#set": {}}'), "x.#set | {} | a list"),
    "equal members": (itf('{"#set": [1, {"#bigint": "1"}]}'), "x.#set[1] | 1 | each member once"),
    "equal sets in a set": (
        itf('{"#set": [{"#set": [1, 2]}, {"#set": [2, 1]}]}'),
        "x.#set[1] | each member once",
    ),
    "equal records in a set": (
        itf('{"#set": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}'),
        "x.#set[1] | each member once",
    ),
    "a map that is an object": (itf('{"#map": {"a": 1}}'), "x.#map | {'a': 1} | a list"),
    "a pair of three": (itf('{"#map": [[1, 2, 3]]}'), "x.#map[0] | [1, 2, 3] | a list of two"),
    "a pair that is a text": (itf('{"#map": ["ab"]}'), "x.#map[0] | 'ab' | a list"),
    "equal keys": (itf('{"#map": [[1, 2], [1, 3]]}'), "x.#map[1] | [1, 3] | each key once"),
    "a tuple that is a text": (itf('{"#tup": "ab"}'), "x.#tup | 'ab' | a list"),
    "what terminals obey": (itf('{"#unserializable": "\\u0007"}'), "#unserializable | printable"),
    "a long text": (itf(f'"{"x" * 10_001}"'), "states[0].x | at most 10,000 characters"),
    "deep nesting": (itf("[" * 70 + "]" * 70), "trace | nested deeply: at most 64"),
    "a deep name": (itf('{"a": [{"b": null}]}'), "states[0].x.a[0].b | None"),
    "half a pair of letters": (itf('"\\ud800"', names='"x", "x"'), "vars | once"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_spoiled_trace_is_refused_in_a_line(kind: str) -> None:
    """The field, the value and what is allowed; nothing else ever comes of it."""
    text, told = HOSTILE[kind]
    with pytest.raises(BadInput, match=like(told)) as refused:
        RecordedRun(parse(text))
    assert str(refused.value).isprintable()


TLC: dict[str, tuple[str, str]] = {
    "an open set": ("x = {1, 2", "State 1 | TLC"),
    "another bracket": ("x = <<1}", "State 1 | TLC"),
    "an operator": ("x = 1 + 1", "State 1 | TLC"),
    "a call of Python": ('x = __import__("os").system("id")', "State 1 | TLC"),
    "no value": ("x =", "State 1 | TLC"),
    "a value alone": ("{1}", "State 1 | TLC"),
    "a variable twice": ("/\\ x = 1\n/\\ x = 2", "State 1 | 'x' | once"),
    "a field twice": ("x = [a |-> 1, a |-> 2]", "State 1 | 'a' | once"),
    "equal members": ("x = {1, 1}", "states[0].x.#set[1] | 1 | once"),
    "half a text": ('x = "abc', "State 1 | TLC"),
    "half an empty text": ('x = "', "State 1 | TLC"),
    "an interval of too many": ("x = 1..99999", "State 1 | 'x = 1..99999' | TLC"),
    "what became of it": ("x = {1, #}", "State 1 | 'x = {1, #}' | TLC"),
    "many digits": (f"x = {'9' * 5000}", "states[0].x.#bigint | 1000 digits"),
    "deep nesting": (f"x = {'<<' * 70}{'>>' * 70}", "State 1 | nested deeply"),
}


@pytest.mark.parametrize("kind", TLC)
def test_spoiled_text_of_tlc_is_refused(kind: str) -> None:
    """It is read, never evaluated; the state is named."""
    block, told = TLC[kind]
    with pytest.raises(BadInput, match=like(told)):
        RecordedRun(parse(f"State 1: <Initial predicate>\n{block}\n\n"))
