"""What a student sees of group 0: steps, compare box, retries, votes, in panels and in words."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.group0.panels import timeuuid
from kit.views.panel import Scene
from kit.views.registry import for_model
from tests.protocols.group0.driving import Driven
from tests.saying import line_with

CREATE = "create table ks.t at"
ONE = (f"{CREATE} A",)
BOTH = ("validate A", "validate B", "submit A", "submit B", "commit 4 by A B", "commit 2 by A B")


def raced() -> Driven:
    """A and B decided on one state to create the same table; both commands are committed."""
    steps = (f"{step} {node}" for step in ("barrier", "read", "make-id") for node in "AB")
    return Driven().do(f"{CREATE} A", f"{CREATE} B", *steps, *BOTH)


@pytest.mark.spec("C-015")
def test_without_a_majority_no_command_is_added_to_the_log() -> None:
    """Two of three voters are down: only a restart lets the command be committed."""
    driven = Driven(operations=ONE, crashes=2).submitted(ONE[0]).do("crash B", "crash C")
    assert driven.refused("commit 4 by A") == "no quorum: more than half of the voters must be up"
    assert "1 → 4 “create table ks.t” by A" in driven.part("matrix", "sent:4:0").text()
    log = driven.state.log
    seen, waiting = {driven.state}, [driven.state]
    while waiting:
        state = waiting.pop()
        assert state.log == log
        for action, after in driven.model.successors(state):
            if not driven.model.verb(action).startswith("restart") and after not in seen:
                seen.add(after)
                waiting.append(after)
    driven.do("restart B", "commit 4 by A B")
    assert len(driven.state.log) == len(log) + 1


EARLIER = ("create keyspace ks at A", "create table ks.u at A", "create table ks.v at A")


@pytest.mark.spec("C-047")
@pytest.mark.parametrize("who", ["a new member", "one that was away"])
def test_a_member_that_lacks_dropped_entries_gets_a_snapshot_first(who: str) -> None:
    """C then has the leader's state; what follows the snapshot comes by the log."""
    if who == "a new member":
        driven = Driven(operations=(), earlier=EARLIER, kept=1, newcomers=1)
    else:
        changes = ("create table ks.t at A", "create table ks.w at A")
        driven = Driven(operations=changes, kept=1, crashes=1).do("crash C")
        driven.submitted(changes[0]).do("commit 4 by A B", "apply A", "look-up A")
        driven.submitted(changes[1]).do("commit 7 by A B", "apply A", "look-up A", "restart C")
    assert "has dropped entries up to 2: the node needs a snapshot first" in driven.refused(
        "replicate C"
    )
    driven.do("snapshot C")
    assert driven.flows() == ["A → C: snapshot, the state at index 2"]
    [flow] = driven.scene.flows()
    assert (flow.from_key, flow.to_key) == ("n:A", "n:C")
    assert {"n:A", "n:C"} <= {part.key for part in driven.drawn("matrix").walk()}
    assert "C (voter): stores 2, knows 2 committed, applied 2" in driven.words("matrix")
    driven.do("replicate C", "apply C")
    tables = [driven.model.tables(driven.state, node) for node in (0, 2)]
    assert tables[0] == tables[1]


def test_a_member_without_its_snapshot_stores_no_new_command() -> None:
    """C lacks entries that the leader has dropped, and cannot be part of a majority."""
    driven = Driven(operations=ONE, earlier=EARLIER, kept=1, newcomers=1).submitted(ONE[0])
    assert "needs a snapshot first" in driven.refused("commit 10 by A C")
    driven.do("snapshot C", "commit 10 by A C")


def test_as_many_newcomers_as_half_the_nodes_are_refused() -> None:
    """Nobody could know what was done before."""
    with pytest.raises(BadInput, match="newcomers: got 2"):
        build("group0", {"newcomers": 2})


@pytest.mark.spec("C-026")
def test_the_card_of_a_command_shows_its_change_and_its_old_and_new_state_id() -> None:
    """On its way to the leader."""
    driven = Driven(operations=ONE).submitted(ONE[0])
    assert "1 → 4 “create table ks.t” by A" in driven.part("matrix", "sent:4:0").text()
    [command] = driven.state.in_flight
    assert (command.previous, command.new, command.change.text) == (1, 4, "create table ks.t")
    assert driven.flows() == ["A → A: 1 → 4 “create table ks.t” by A"]


@pytest.mark.spec("C-027", "C-028")
def test_the_history_lists_state_ids_in_growing_order() -> None:
    """Each is above the one below, and so are their TIMEUUIDs."""
    three = ("create table ks.t at B", "create table ks.u at A", "create table ks.v at C")
    driven = Driven(operations=three)
    for text, new in zip(three, (2, 4, 6), strict=True):  # C has given none yet
        driven.submitted(text)
        assert [command.new for command in driven.state.in_flight] == [new]
        driven.do(f"commit {new} by A B", "apply A", "replicate B", "apply B")
        driven.do("replicate C", "apply C")
    driven = Driven().submitted(f"{CREATE} B").do("commit 2 by A B", "replicate B", "apply B")
    rows = [part for part in driven.drawn("history").walk() if (part.key or "")[:8] == "history:"]
    assert [row.text() for row in rows] == [
        "2 create table ks.t by B 1 row on B",
        "1 create keyspace ks by A 0 row on A, B, C",
    ]
    shown = [timeuuid(state_id, 3) for state_id in range(40)]
    assert shown == sorted(shown)
    assert shown[2] == "00000002-0000-1000-8000-000000000002"
    assert (
        driven.drawn("history")
        .text()
        .endswith(f"State id 2 corresponds to the TIMEUUID {shown[2]}.")
    )


def test_the_history_shows_the_step_that_a_change_has_reached() -> None:
    """Of eight, with the node and what the step found."""
    driven = Driven(operations=ONE).submitted(ONE[0])
    rows = [part for part in driven.drawn("history").walk() if (part.key or "")[:5] == "held:"]
    assert [row.text() for row in rows] == ["A create table ks.t 6 submitted 1 → 4"]


@pytest.mark.spec("C-029")
def test_a_change_waits_for_the_lock_of_its_node() -> None:
    """The guard's tab shows who holds it."""
    driven = Driven(operations=(*ONE, "drop keyspace ks at A")).do(ONE[0])
    assert driven.refused("drop keyspace ks at A") == (
        "A holds the lock for another change: create table ks.t"
    )
    assert line_with(driven.drawn("guards").text(), "A 🔒 create table ks.t", "1 of 8")


@pytest.mark.spec("C-030")
def test_a_read_barrier_waits_until_the_node_has_applied_the_log() -> None:
    """B lags: its pill says how far it is, and a line whether it knows more."""
    driven = Driven().submitted(ONE[0]).do("commit 4 by A C", f"{CREATE} B")
    assert line_with(driven.refused("barrier B"), "B", "applied", "1 of 2")
    assert "stores 1, knows 1 committed, applied 1" in driven.part("matrix", "n:B").text()
    driven.do("replicate B")
    assert "knows 2 committed, applied 1" in driven.part("matrix", "n:B").text()
    driven.do("apply B", "barrier B")
    assert "knows 2 committed, applied 2" in driven.part("matrix", "n:B").text()
    assert driven.flows() == ["B → A: read barrier", "A → B: committed up to index 2"]


@pytest.mark.spec("C-031")
def test_the_guard_shows_the_id_read_and_the_greater_id_made() -> None:
    """As steps 3 and 4, done."""
    driven = Driven(operations=ONE).do(ONE[0], "barrier A", "read A", "make-id A")
    assert driven.part("guards", "guard:A:3").text() == "✓ read the newest state id : 1"
    assert driven.part("guards", "guard:A:4").text() == "✓ make a greater one : 4"
    assert driven.part("guards", "guard:A:5").get("class") == "next"


@pytest.mark.spec("C-032")
def test_a_statement_with_an_objection_is_an_error_before_anything_is_sent() -> None:
    """A keyspace that exists: the client is told at step 5, the log is as it was."""
    driven = Driven(operations=("create keyspace ks at C",))
    driven.do("create keyspace ks at C", "barrier C", "read C", "make-id C", "validate C")
    assert "create keyspace ks at C: error" in driven.part("matrix", "op:0").text()
    assert line_with(driven.scene.say, "keyspace ks", "exists")
    assert driven.flows() == ["C → client: error"]
    assert (len(driven.state.log), driven.state.in_flight) == (1, ())


@pytest.mark.spec("C-033", "C-038")
def test_the_second_command_on_the_same_state_is_struck_out_as_a_no_op() -> None:
    """On each node that compares the ids."""
    driven = raced().do("apply A")
    assert line_with(driven.scene.say, "A applies “create table ks.t”", "1", "4")
    driven.do("replicate A" if driven.state.indexes[0].commit < 3 else "apply A")
    assert line_with(driven.scene.say, "state 1", "4", "no-op")
    second = driven.part("history", "history:3")
    assert second.get("class") == "no-op moved"
    assert second.text() == "2 create table ks.t by B 1 no-op on A"
    assert driven.part("history", "history:2").get("class") is None


@pytest.mark.spec("C-034", "C-037")
def test_a_submitter_answers_only_after_applying_its_own_command() -> None:
    """A no-op leads B back to step 1."""
    driven = raced()
    assert line_with(driven.refused("look-up B"), "B", "not applied")
    driven.do("replicate B", "apply B")
    assert line_with(driven.refused("look-up B"), "B", "not applied")
    driven.do("apply B", "look-up B")
    assert line_with(driven.scene.say, "B", "again", "step 1")
    assert line_with(driven.drawn("guards").text(), "B 🔒 create table ks.t", "1 of 8")


@pytest.mark.spec("C-035", "C-039")
def test_a_retried_command_takes_effect_once() -> None:
    """The leader died with its answer: two entries in the log, a single row in the history."""
    driven = Driven(operations=(f"{CREATE} B",), elections=1, crashes=1).submitted(f"{CREATE} B")
    driven.do("commit 2 by A B", "crash A")
    assert line_with(driven.refused("look-up B"), "B", "not applied")
    driven.do("elect B", "retry B", "commit 2 by B C", "apply B", "apply B")
    assert len(driven.state.log) == 3
    assert driven.model.tables(driven.state, 1).history.rows == (1, 2)
    assert driven.part("history", "history:3").get("class") == "no-op moved"


@pytest.mark.spec("C-039")
@pytest.mark.parametrize("fails", ["the leader", "the network"])
@pytest.mark.parametrize("committed", [True, False])
def test_without_an_answer_the_outcome_is_unknown(fails: str, committed: bool) -> None:
    """In the same words, whether the command is in the log or not; B cannot look it up yet."""
    driven = Driven(operations=(f"{CREATE} B",), elections=1, crashes=1, losses=1)
    driven.submitted(f"{CREATE} B")
    waits = "6 of 8 steps done; no answer: outcome unknown"
    assert waits not in driven.drawn("guards").text()
    if committed:
        driven.do("commit 2 by A B")
    if fails == "the leader":
        driven.do("crash A")
    elif committed:
        driven.do("elect B")
    else:
        driven.do("lose 2")
        assert line_with(driven.scene.say, "lost", "no node is told")
    assert waits in driven.drawn("guards").text()
    assert "steps done; no answer: outcome unknown" in driven.words("guards")
    assert line_with(driven.refused("look-up B"), "B", "not applied")


@pytest.mark.spec("C-036", "C-039")
def test_a_submitter_finds_the_outcome_in_its_own_history() -> None:
    """The leader crashed; B finds its state id, and answers its client."""
    driven = Driven(operations=(f"{CREATE} B",), elections=1, crashes=1).submitted(f"{CREATE} B")
    driven.do("commit 2 by A B", "crash A", "elect B", "apply B", "look-up B")
    assert line_with(driven.scene.say, "B finds state 2", "history")
    assert driven.flows() == ["B → client: success"]


@pytest.mark.spec("C-009")
@pytest.mark.parametrize("shards", [1, 2, 4])
@pytest.mark.parametrize("nodes", [2, 5])
def test_a_restarted_node_runs_group_0_on_its_first_shard_from_its_applied_index(
    nodes: int, shards: int
) -> None:
    """The configuration lists every node with its server and shards; off while it is down."""
    last, where = "ABCDE"[nodes - 1], f"shard 0 of {shards}"
    driven = Driven(nodes=nodes, shards=shards, crashes=1)
    boxes = " ".join(["0★", *(f"{i}·" for i in range(1, shards))])

    def seen() -> tuple[str, str]:
        return driven.words("configuration"), driven.drawn("configuration").text()

    assert all(text.count(f"on {where}") == nodes for text in seen())
    assert " ".join(seen()[1].split()).count(boxes) == nodes
    driven.do(f"crash {last}")
    assert all(text.count(f"off; starts on {where}") == 1 for text in seen())
    assert f"{last}  voter, down  " in seen()[0]
    assert " ".join(seen()[1].split()).count(boxes) == nodes - 1
    driven.do(f"restart {last}")
    assert driven.scene.say == (
        f"{last} is up again. Its shard 0 starts group 0's server from the last index "
        "it had applied: 1."
    )
    assert f"{last}  voter  {boxes}  on {where}  " in seen()[0]
    assert all(text.count(f"on {where}") == nodes and "off;" not in text for text in seen())


def test_a_deposed_leader_cannot_read_until_it_steps_down() -> None:
    """The badge says that A is deposed."""
    driven = Driven(operations=ONE, elections=1).do(ONE[0], "elect B")
    assert driven.flows() == ["A → B: vote"]
    assert "A believes that it leads" in driven.refused("barrier A")
    assert "A deposed" in driven.drawn("status").text()
    driven.do("step-down A", "barrier A")
    assert "deposed" not in driven.drawn("status").text()


def test_a_node_that_lacks_a_committed_command_is_not_elected() -> None:
    """No majority votes for C."""
    driven = Driven(operations=ONE, elections=1).submitted(ONE[0]).do("commit 4 by A B")
    assert line_with(driven.refused("elect C"), "C", "1 of 2", "committed")


def test_at_most_five_nodes_vote_in_edition_server() -> None:
    """Of seven in two datacenters; in edition documents all vote."""
    assert Driven(nodes=7, dcs=2, edition="server").words("configuration").count("no vote") == 2
    assert "no vote" not in Driven(nodes=7, dcs=2).words("configuration")


def test_the_question_at_a_commit_expects_the_no_op() -> None:
    """At the start there is no question."""
    driven = raced()
    ask = for_model(driven.model).question
    question = ask(driven.scene)
    assert question is not None
    assert question.right == ("it does nothing on any node",)
    assert line_with(question.because, "newest", "4", "state 1")
    assert ask(Scene(driven.model, driven.model.start())) is None
