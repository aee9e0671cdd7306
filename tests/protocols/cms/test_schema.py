"""A schema in the log and the same one by gossip: races, a joiner, restarts, injected messages."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import Flow, flows
from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.protocols.cms.facts.schema import OUTPUT, changes, gossip, known_rows
from kit.protocols.cms.panels.schema import VIEWS
from kit.protocols.cms.schema import RACES, Schema
from kit.protocols.gossip.facts import schemas
from kit.protocols.gossip.rules import version_of
from kit.search.check import check, check_refinement
from kit.views.panel import scene_of
from tests.views.frames import go_on

GUARDS = {guard.name: guard for guard in entries()["schema"].safeguards}
BY_GOSSIP = ("ordered",)
JOINING = {"nodes": 2, "race": "none", "joins": 1}


def played(parameters: dict[str, Any], off: tuple[str, ...], *script: str) -> Timeline:
    """The run of these verbs."""
    timeline = Timeline(build("schema", parameters, off))
    go_on(timeline, *script)
    return timeline


def both(race: str) -> tuple[str, str]:
    """The lines of the two changes of a race."""
    first, second = RACES[race][1]
    return first, second


def witness(timeline: Timeline) -> dict[str, str]:
    """What is broken, by property."""
    return {each.name: each.witness for each in timeline.verdicts() if each.witness}


def travelled(timeline: Timeline) -> tuple[Flow, ...]:
    """What travelled in the last step."""
    return flows(timeline.model, timeline.before, timeline.now.action, timeline.state)


@pytest.mark.spec("B-074")
@pytest.mark.parametrize("race", [race for race in RACES if len(RACES[race][1]) == 2])
def test_the_log_commits_the_first_of_two_changes_and_rejects_the_other(race: str) -> None:
    """In either order: the second is told the epoch that it lost to."""
    orders = [both(race), both(race)[::-1]][
        : 1 + (race != "column")
    ]  # a table may be dropped later
    for order in orders:
        decides = (f"decide {line}" for line in order)
        timeline = played({"nodes": 2, "race": race}, (), *both(race), *decides)
        first, second = ({row.text: row.became for row in changes(timeline.model, timeline.state)}[
            line] for line in order)  # fmt: skip
        newest = timeline.model.newest(timeline.state)
        assert first == f"✓ epoch {newest}"
        assert second == f"! rejected: lost to epoch {newest}"
        assert not witness(timeline)
        [panel] = [panel for panel in VIEWS.panels if panel.name == "schemas"]
        page = panel.draw(scene_of(timeline, timeline.at)).html()
        assert f'class="badge">{first}<' in page
        assert f'class="badge busy">{second}<' in page


@pytest.mark.parametrize(
    ("race", "orphan"),
    [
        ("type", "table ks.t using type ks.ud"),
        ("function", "aggregate ks.a using function ks.f"),
        ("view", "view ks.v using table ks.t"),
    ],
)
@pytest.mark.spec("B-072")
def test_by_gossip_a_node_with_a_raced_schema_cannot_restart(race: str, orphan: str) -> None:
    """The two clients heard that their changes are done."""
    parameters = {"nodes": 2, "race": race, "restarts": 1}
    timeline = played(parameters, BY_GOSSIP, *both(race), "learn A B", "stop A", "start-again A")
    assert {row.became for row in changes(timeline.model, timeline.state)} == {
        "✓ done, according to its node"
    }
    assert timeline.state.nodes[0].health == "failed"
    assert timeline.now.say == f"A cannot start: it has {orphan}, which it cannot load."
    assert "loadable" in witness(timeline)


@pytest.mark.spec("B-073")
def test_by_gossip_a_table_gets_two_ids_and_loses_a_write() -> None:
    """When the newer id wins, what is under the other one is lost."""
    given = {"race": "table", "writes": 1}
    timeline = played(given, BY_GOSSIP, *both("table"))
    rows = {what: tuple(said) for _, what, *said in schemas(timeline.model, timeline.state)}
    assert rows["table ks.t"] == ("id 2@A", "id 3@B", "")
    learnt = ("learn A C", "write A", "learn A B", "learn A C")
    timeline = played(given, BY_GOSSIP, *both("table"), *learnt)
    rows = {what: tuple(said) for _, what, *said in schemas(timeline.model, timeline.state)}
    assert rows["table ks.t"] == ("id 3@B",) * 3
    assert witness(timeline)["kept"] == "write 1 is under id 2@A, but A reads ks.t under id 3@B"


@pytest.mark.spec("B-076")
def test_by_gossip_a_joiner_lacks_a_write_of_a_node_unaware_of_the_join() -> None:
    """B wrote after the joiner had streamed; with the log it lacks nothing."""
    given = {"race": "none", "joins": 1, "writes": 1}
    start = ("ask-seed X A", "bootstrap X", "learn A X", "stream X A")
    timeline = played(given, BY_GOSSIP, *start)
    assert [row.missing for row in known_rows(timeline.model, timeline.state)] == [0, 0, 0, 0]
    timeline = played(given, BY_GOSSIP, *start, "write B", "joined X")
    assert [row.missing for row in known_rows(timeline.model, timeline.state)] == [0, 0, 0, 1]
    assert witness(timeline)["streamed"] == "X has joined, but lacks write 1"
    learnt = played(
        given, (), *("ask-seed X A", "bootstrap X", "learn X A", "stream X A", "write B")
    )
    assert [row.missing for row in known_rows(learnt.model, learnt.state)] == [0, 0, 0, 0]


def test_a_run_of_the_log_continues_by_gossip_as_a_branch() -> None:
    """Without S-80 what was rejected is done, and the schema cannot be loaded."""
    lines = both("type")
    timeline = played({"nodes": 2}, (), *lines, *(f"decide {line}" for line in lines), "learn B A")
    by_log = timeline.at
    left_out = timeline.again(build("schema", {"nodes": 2}, BY_GOSSIP), by_log)
    assert len(left_out) == 3  # the two decisions, and what B would fetch
    timeline.do(Schema.catch_up("A", "B"))
    assert timeline.model_at(by_log) is not timeline.here
    assert "loadable" in witness(timeline)
    timeline.goto(by_log)
    assert not witness(timeline)


RF = "alter keyspace ks rf 2 at A"
LOCKED = {
    "nodes": 3,
    "race": "replication",
    "joins": 1,
    "operations": 1,
    "cancels": 1,
    "restarts": 1,
}
# Of each operation: how it begins, and how it ends; each may be cancelled in between instead.
LOCKS = {
    "join of X": (("ask-seed X A", "bootstrap X"), ("learn X A", "stream X A", "joined X")),
    "decommission of B": (("decommission B",), ("complete B",)),
    "move of B": (("move B",), ("complete B",)),
    "replacement of B": (("stop B", "replace B"), ("complete B",)),
}


@pytest.mark.parametrize("ends", ["ends", "is cancelled"])
@pytest.mark.parametrize("what", LOCKS)
def test_a_change_of_replication_is_rejected_while_ranges_are_locked(what: str, ends: str) -> None:
    """Another operation is refused, a table is not; afterwards the change is committed."""
    begins, finish = LOCKS[what]
    more = ("create table ks.u at A", f"{RF.replace('rf 2', 'rf 3')}")
    timeline = played(LOCKED | {"changes": more}, (), RF, *begins, f"decide {RF}", more[0],
                      f"decide {more[0]}")  # fmt: skip
    rows = {row.text: row.became for row in changes(timeline.model, timeline.state)}
    assert rows[RF].startswith("! rejected: lost to epoch 3")
    assert rows[more[0]] == "✓ epoch 4"
    model = timeline.model
    refused = {model.verb(each): why.reason for each, why in model.options(timeline.state) if why}
    assert refused[more[1]] == f"it changes replication, and the {what} has locked ranges"
    others = [verb for verb in refused if verb.split()[0] in ("decommission", "move", "replace")]
    assert {refused[verb] for verb in others if verb != "decommission A"} <= {
        f"the {what} has locked the same ranges"
    }
    go_on(timeline, *(finish if ends == "ends" else (f"cancel {what[-1]}",)), more[1],
          f"decide {more[1]}")  # fmt: skip
    rows = {row.text: row.became for row in changes(model, timeline.state)}
    assert rows[more[1]].startswith("✓")


@pytest.mark.parametrize("what", [what for what in LOCKS if "join" not in what])
def test_without_locks_data_is_placed_for_the_former_replication(what: str) -> None:
    """The statement is committed in the middle of the operation."""
    begins, finish = LOCKS[what]
    timeline = played(LOCKED, ("ranges-stay",), *begins, RF, f"decide {RF}", *finish)
    [judge] = (each for each in timeline.model.properties if each.name == "replicated")
    assert (
        judge.of_step(timeline.before, timeline.now.action, timeline.state)
        == "B streamed ks for replication factor (RF) 1, but its RF is now 2"
    )


@pytest.mark.parametrize(
    ("given", "states"), [({"restarts": 1, "cancels": 1}, 1_014), ({"operations": 2}, 806)]
)
def test_operations_break_no_promise(given: dict[str, Any], states: int) -> None:
    """One leaves, moves or is replaced beside a change of replication; the search is complete."""
    result = check(build("schema", {"nodes": 2, "race": "replication", "operations": 1} | given))
    assert (result.violation, result.complete, result.states) == (None, True, states)


@pytest.mark.deep
def test_a_join_beside_another_operation_breaks_no_promise() -> None:
    """X joins while a member leaves or moves, and an operator cancels."""
    given = {"nodes": 2, "race": "replication", "joins": 1, "operations": 1, "cancels": 1}
    result = check(build("schema", given))
    assert (result.violation, result.complete, result.states) == (None, True, 26_274)


@pytest.mark.spec("B-075")
def test_a_joiner_streams_only_with_the_schema_of_its_start() -> None:
    """Streaming is refused until X has applied epoch 3."""
    given = {**JOINING, "writes": 1}
    timeline = played(given, (), "ask-seed X A", "bootstrap X")
    x = known_rows(timeline.model, timeline.state)[-1]
    assert (x.applied, x.phase) == ("no epoch", "joining")
    stream = Schema.stream("X", "A")
    refusal = timeline.model.refusal(timeline.state, stream)
    assert refusal is not None
    assert refusal.reason == "X has not applied epoch 3, at which it began"
    timeline = played(given, (), "ask-seed X A", "bootstrap X", "learn X A")
    assert known_rows(timeline.model, timeline.state)[-1].applied == "epoch 3"
    assert {said[1] for said in schemas(timeline.model, timeline.state)} == {
        "keyspace ks", "table ks.t", "column ks.t.pk"
    }  # fmt: skip
    assert {said[0] for said in schemas(timeline.model, timeline.state)} == {"="}
    assert stream in list(timeline.model.actions(timeline.state))


@pytest.mark.spec("B-061")
def test_by_gossip_a_node_drops_a_silent_joiner_alone() -> None:
    """B drops it and A does not, so their tables differ until they gossip."""
    start = ("ask-seed X A", "bootstrap X", "learn A X", "learn A B")
    given = {**JOINING, "cuts": 1}

    def joining(*more: str) -> list[tuple[str, ...]]:
        timeline = played(given, BY_GOSSIP, *start, *more)
        return [row.joining for row in known_rows(timeline.model, timeline.state)]

    assert joining() == [("X",)] * 3
    assert joining("cut-off B", "time-out B") == [("X",), (), ("X",)]
    assert joining("cut-off B", "time-out B", "learn A B") == [("X",)] * 3


def test_in_the_log_only_an_operator_drops_a_silent_joiner() -> None:
    """The timeout is refused; after the cancel all tables are equal."""
    start = ("ask-seed X A", "bootstrap X", "learn B A", "cut-off B")
    timeline = played({**JOINING, "cuts": 1, "cancels": 1}, (), *start)
    refusal = timeline.model.refusal(timeline.state, Schema.time_out("B"))
    assert refusal is not None
    assert refusal.reason == "silence cancels nothing: only an operator can cancel"
    timeline.run([Schema.cancel("X"), Schema.catch_up("B", "A")])
    assert [row.joining for row in known_rows(timeline.model, timeline.state)] == [()] * 3
    assert not witness(timeline)


@pytest.mark.spec("B-062")
def test_an_injected_gossip_message_changes_no_table_of_the_log() -> None:
    """In every state of a search: owners and schema stay, what gossip shows does not."""
    model = build("schema", {"race": "type", "injections": 2, "nodes": 2})
    injected = 0
    states, seen = [model.start()], {model.start()}
    while states:
        state = states.pop()
        for action, after in model.successors(state):
            if isinstance(action, Schema.inject):
                injected += 1
                assert known_rows(model, after) == known_rows(model, state), (state, action)
                assert schemas(model, after) == schemas(model, state), (state, action)
                assert gossip(model, after) != gossip(model, state), (state, action)
            if after not in seen:
                seen.add(after)
                states.append(after)
    assert injected > 50


def test_by_gossip_an_injected_message_takes_a_node_out_of_the_tables() -> None:
    """Out of those of the node that heard it, while another node keeps it."""
    timeline = played({"nodes": 2, "injections": 1}, BY_GOSSIP, "inject A B")
    assert [row.owners for row in known_rows(timeline.model, timeline.state)] == [
        ("A",),
        ("A", "B"),
    ]


@pytest.mark.spec("B-063")
def test_gossipinfo_changes_when_a_node_applies_an_epoch() -> None:
    """On the node itself and on the joiner; not before."""
    start = ("ask-seed X A", "bootstrap X")
    given = {"nodes": 2, "joins": 1}

    def said(node: str, *more: str) -> str:
        timeline = played(given, (), *start, *more)
        return str(OUTPUT["gossipinfo"](timeline.model, timeline.state, node))

    assert "/X" not in said("B")
    assert "/X\n  generation:1\n  STATUS:1:BOOT" in said("A")
    assert "/X\n  generation:1\n  STATUS:1:BOOT" in said("B", "learn B A")
    joined = ("learn X A", "stream X A", "joined X")
    assert "/X\n  generation:1\n  STATUS:2:NORMAL" in said("A", *joined)
    line = both("type")[0]
    before, after = said("A"), said("A", line, f"decide {line}")
    committed = played(given, (), *start, line, f"decide {line}")
    assert [line for line in after.splitlines() if line not in before.splitlines()] == [
        f"  SCHEMA:3:{version_of(committed.state.nodes[0].cells)}"
    ]


def test_a_client_is_answered_by_the_node_that_took_its_change() -> None:
    """In the log by way of the CMS; by gossip at once."""
    first, second = both("type")
    timeline = played({"nodes": 2, "race": "type"}, (), first, second, f"decide {first}")
    assert [(f.kind, f.from_key, f.to_key) for f in travelled(timeline)] == [
        ("answer", "n:A", "c1")
    ]  # fmt: skip
    timeline = played({"nodes": 2, "race": "type"}, (), first, second, f"decide {first}",
                      f"decide {second}")  # fmt: skip
    assert [(f.kind, f.from_key, f.to_key) for f in travelled(timeline)] == [
        ("refusal", "n:A", "n:B"), ("refusal", "n:B", "c2")
    ]  # fmt: skip
    by_gossip = played({"nodes": 2, "race": "type"}, BY_GOSSIP, first)
    assert [(f.from_key, f.to_key) for f in travelled(by_gossip)] == [("c1", "n:A"), ("n:A", "c1")]


@pytest.mark.spec("B-064")
def test_a_joiner_asks_a_seed_for_the_cms_and_fetches_the_log_from_a_member() -> None:
    """From no other node at first; by gossip it asks for states."""
    given = {**JOINING, "nodes": 3}
    timeline = played(given, (), "ask-seed X C")
    assert [(f.from_key, f.to_key, f.label) for f in travelled(timeline)] == [
        ("n:X", "n:C", "which nodes are the CMS?"), ("n:C", "n:X", "A")
    ]  # fmt: skip
    fetches = [a for a in timeline.model.actions(timeline.state) if isinstance(a, Schema.catch_up)]
    assert fetches == [Schema.catch_up("X", "A")]
    timeline.run(fetches)
    assert [(f.from_key, f.to_key) for f in travelled(timeline)] == [
        ("n:X", "n:A"), ("n:A", "n:X")
    ]  # fmt: skip
    by_gossip = played(given, BY_GOSSIP, "ask-seed X C")
    assert [f.label for f in travelled(by_gossip)] == ["shadow round", "states"]


@pytest.mark.spec("B-065")
def test_a_restarted_node_learns_the_new_members_from_any_peer() -> None:
    """B starts with the list on its disk, and asks A or C."""
    given = {"race": "none", "restarts": 1, "reconfigurations": 1}
    timeline = played(given, (), "stop B", "reconfigure C", "start-again B")
    row = known_rows(timeline.model, timeline.state)[1]
    assert (row.phase, row.members) == ("back", ("A",))
    checks = [a for a in timeline.model.actions(timeline.state) if isinstance(a, Schema.check_list)]
    assert {check.peer for check in checks} == {"A", "C"}
    timeline.run([Schema.check_list("B", "A")])
    assert [(f.from_key, f.to_key) for f in travelled(timeline)] == [
        ("n:B", "n:A"), ("n:A", "n:B")
    ]  # fmt: skip
    assert known_rows(timeline.model, timeline.state)[1].members == ("A", "C")


def test_a_member_of_the_cms_that_is_down_applies_nothing() -> None:
    """A and B are a majority of three, and go on without C."""
    given = {"race": "column", "restarts": 1, "reconfigurations": 2}
    line, _ = both("column")
    steps = "reconfigure B", "reconfigure C", "stop C", line, f"decide {line}"
    timeline = played(given, (), *steps)
    applied = [row.applied for row in known_rows(timeline.model, timeline.state)]
    assert applied == ["epoch 5", "epoch 5", "epoch 2"]


@pytest.mark.spec("B-065")
@pytest.mark.parametrize(
    "given",
    [
        {"restarts": 3},
        {"nodes": 2, "restarts": 2},
        {"nodes": 2, "race": "none", "restarts": 2, "reconfigurations": 1},
        {"nodes": 2, "race": "none", "restarts": 2, "operations": 1},
        {"nodes": 2, "race": "none", "restarts": 2, "joins": 1},
    ],
)
def test_every_node_can_stop_and_start_again(given: dict[str, Any]) -> None:
    """In any order, with no promise broken."""
    found = check(build("schema", given))
    assert (found.violation, found.complete) == (None, True)


PAIRS = [(name, invariant) for name, guard in GUARDS.items() for invariant in guard.protects]


@pytest.mark.parametrize(("name", "invariant"), PAIRS)
def test_each_safeguard_is_enough_where_it_is_needed(name: str, invariant: str) -> None:
    """The configurations are those of test_protects, in which a promise breaks without it."""
    found = check(build("schema", GUARDS[name].breaking(invariant)))
    assert found.complete, found
    assert found.violation is None, found


@pytest.mark.parametrize(
    "faults", [{"cuts": 1, "cancels": 1, "writes": 1}, {"restarts": 1, "reconfigurations": 1}]
)
def test_a_join_in_the_log_keeps_every_promise_under_faults(faults: dict[str, int]) -> None:
    """Two nodes and a joiner: a cut, a cancel and a write; or a stop and another CMS."""
    found = check(build("schema", {**JOINING, **faults}))
    assert found.complete, found
    assert found.violation is None, found


@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 2},
        {**JOINING, "writes": 1, "cancels": 1},
        {"nodes": 2, "reconfigurations": 1, "restarts": 1},
        {"nodes": 2, "operations": 1},
    ],
)
def test_each_step_refines_the_log_of_tcm(given: dict[str, Any]) -> None:
    """Changes, joins and members of the CMS."""
    refinement = entries()["schema"].refinement
    assert refinement is not None
    result = check_refinement(refinement(build("schema", given).parameters))
    assert (result.violation, result.complete) == (None, True)
