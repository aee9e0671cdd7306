"""What is said of each of the eight steps of a guard, and what travels in it."""

from __future__ import annotations

import pytest

from tests.protocols.group0.driving import FIRST_SIX, Driven

TABLE = "create table ks.t at"
STEPS = [
    (f"{TABLE} A", "A client asks A to create table ks.t. A takes its local lock.",
     [("request", "op:0", "n:A", "create table ks.t", "client → A: create table ks.t", 0)]),
    (f"{TABLE} B", "A client asks B to create table ks.t. B takes its local lock.",
     [("request", "op:1", "n:B", "create table ks.t", "client → B: create table ks.t", 0)]),
    ("barrier A",
     "A leads, still has a majority, and knows that index 1 is committed. A has applied it.", []),
    ("barrier B", "B learns from the leader that index 1 is committed. B has applied it.",
     [("request", "n:B", "n:A", "barrier", "B → A: read barrier", 0),
      ("answer", "n:A", "n:B", "index 1", "A → B: committed up to index 1", 1)]),
    ("read A", "A reads its newest state id: 1.", []),
    ("make-id A", "A creates a greater state id: 4.", []),
    ("read B", "B reads its newest state id: 1.", []),
    ("make-id B", "B creates a greater state id: 2.", []),
    ("validate A", "A finds that the change makes sense and builds its command.", []),
    ("validate B", "B finds that the change makes sense and builds its command.", []),
    ("submit B", "B submits its command: state 1 → 2.",
     [("entry", "n:B", "sent:2:0", "command", "B → A: 1 → 2 “create table ks.t” by B", 0)]),
    ("submit A", "A submits its command: state 1 → 4.",
     [("entry", "n:A", "sent:4:0", "command", "A → A: 1 → 4 “create table ks.t” by A", 0)]),
    ("commit 4 by A B", None, None),
    ("commit 2 by A B", None, None),
    ("apply A", None, None),
    ("look-up A", "A finds state 4 in its history: the change took effect.",
     [("answer", "n:A", "op:0", "success", "A → client: success", 0)]),
    ("replicate B", None, None),
    ("apply B", None, None),
    ("apply B", None, None),
    ("look-up B",
     "B finds no state 2: the command was a no-op. The node starts again from step 1.", []),
    ("barrier B", "B learns from the leader that index 3 is committed. B has applied it.",
     [("request", "n:B", "n:A", "barrier", "B → A: read barrier", 0),
      ("answer", "n:A", "n:B", "index 3", "A → B: committed up to index 3", 1)]),
    ("read B", "B reads its newest state id: 4.", []),
    ("make-id B", "B creates a greater state id: 5.", []),
    ("validate B", "B answers its client: table ks.t already exists. It submits nothing.",
     [("answer", "n:B", "op:1", "error", "B → client: error", 0)]),
]  # fmt: skip
"""Of two nodes that build on one state the second begins again, and its change makes no sense."""


def test_what_a_race_says_and_sends() -> None:
    """Step by step; of the log's own steps nothing is told here."""
    driven = Driven(operations=(f"{TABLE} A", f"{TABLE} B"))
    for verb, said, sent in STEPS:
        driven.do(verb)
        if said is not None:
            assert driven.timeline.now.say == said
            flows = [
                (f.kind, f.from_key, f.to_key, f.label, f.text, f.leg) for f in driven.scene.flows()
            ]
            assert flows == sent
    assert driven.state.answers == ("success", "error")


def test_an_outcome_that_is_too_old_is_unknown() -> None:
    """An hour after B's command the next one takes its row away, before B has looked it up."""
    operations = (f"{TABLE} B", "create table ks.u at A")
    driven = Driven(operations=operations, edition="server", hours=1).submitted(operations[0])
    driven.do("commit 2 by A B", "pass an hour", "apply A").submitted(operations[1])
    driven.do("commit 4 by A B", "replicate B", "apply B", "apply B", "look-up B")
    said = "B finds no state 2, and rows that old have expired: the outcome is unknown."
    assert (driven.timeline.now.say, driven.flows()) == (said, ["B → client: unknown"])


def test_a_node_holds_one_lock() -> None:
    """For the change that it works on; one that is down takes none."""
    operations = (f"{TABLE} A", "create table ks.u at A", "create table ks.v at B")
    driven = Driven(operations=operations, crashes=1).do(operations[0])
    assert driven.refused(operations[1]) == (
        "A holds the lock for another change: create table ks.t"
    )
    driven.do("crash B")
    assert driven.refused(operations[2]) == "B is down"


@pytest.mark.parametrize(("elected", "deposed"), [("B", "A"), ("BC", "AB"), ("BA", "B")])
def test_a_leader_that_was_deposed_gets_no_answer(elected: str, deposed: str) -> None:
    """It believes that it leads: no barrier comes to an end there."""
    operations = [f"{TABLE} {name}" for name in "ABC"]
    driven = Driven(operations=tuple(operations), elections=2)
    driven.do(*operations, *(f"elect {name}" for name in elected))
    for name in deposed:
        said = f"{name} believes that it leads, but no majority answers it"
        assert driven.refused(f"barrier {name}") == said
    driven.do(*(f"barrier {name}" for name in sorted({*"ABC"} - {*deposed})))


@pytest.mark.parametrize(
    ("steps", "sent"),
    [
        (("submit B",), "sent:2:0"),
        (("submit A", "submit B"), "sent:2:0"),  # A's, of state 4, is on its way, too
        (("submit B", "elect C", "retry B"), "sent:2:1"),  # the first one may still arrive
        (("submit A", "submit B", "elect C", "retry B"), "sent:2:1"),
    ],
)
def test_a_command_goes_where_it_is_on_its_way(steps: tuple[str, ...], sent: str) -> None:
    """Beside those of others, and beside itself where it was sent before."""
    operations = (f"{TABLE} A", f"{TABLE} B")
    looked = (f"{word} {name}" for word in FIRST_SIX[:-1] for name in "AB")
    driven = Driven(operations=operations, elections=1).do(*operations, *looked, *steps)
    assert [(flow.from_key, flow.to_key) for flow in driven.scene.flows()] == [("n:B", sent)]


@pytest.mark.parametrize("applied", [1, 2])
def test_a_barrier_waits_until_all_is_applied(applied: int) -> None:
    """What was committed when the node asked."""
    driven = Driven(operations=(f"{TABLE} A", "create table ks.u at B")).submitted(f"{TABLE} A")
    driven.do("commit 4 by A B", "create table ks.u at B", "replicate B")
    if applied == 1:
        assert driven.refused("barrier B") == "B has applied 1 of 2 committed commands"
    else:
        driven.do("apply B", "barrier B")
