"""Dumps of ``system.topology`` one after the other, explained by the model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import kit
from kit.errors import BadInput
from kit.model.timeline import Timeline
from kit.protocols.topology.topology import CrashMember, MakeRequest, Topology
from tests.commands.calling import bad, call
from tests.operators.topology_printing import as_csv, node, table, timeuuid, uuid
from tests.protocols.topology.dry_run.moments import dump
from tests.saying import says

NORMAL = tuple(node(number) for number in (1, 2, 3))
RUNS: tuple[dict[str, Any], ...] = (
    {},
    {"edition": "server"},
    {"edition": "server", "operations": ("decommission C",)},
    {"edition": "server", "nodes": 4, "operations": ("removenode C", "bootstrap E")},
    {"edition": "server", "operations": ("replace D C",)},
    {"edition": "server", "operations": ("new_cdc_generation", "bootstrap D")},
    {"edition": "server", "operations": ("bootstrap D --zero-token",)},
    {"edition": "server", "operations": ("replace D C --zero-token",), "zero_tokens": ("C",)},
    {"edition": "server", "operations": ("rebuild B",)},
    {"edition": "server", "operations": ("bootstrap D",), "failures": 1},
)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("parameters", RUNS, ids=str)
def test_moments_of_a_run_are_explained(
    parameters: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    """Dumps of some moments of a run of the model, whatever happened between them."""
    model, chance = Topology(**parameters), random.Random(seed)
    timeline = Timeline(model)
    while timeline.forward() is not None:
        pass
    moments = [timeline.moments[at] for at in timeline.path()]
    chosen = sorted(chance.sample(range(len(moments)), min(4, len(moments))))
    files = [dump(tmp_path, at, model, moments[at].state) for at in chosen]
    answers = kit.explain(files, edition=model.edition)
    assert answers.verdict == "explained", answers


@pytest.mark.parametrize("later", ["removenode C", "replace F C"])
@pytest.mark.parametrize("first", ["bootstrap E", "decommission B"])
def test_a_node_dies_after_other_operations(first: str, later: str, tmp_path: Path) -> None:
    """Until then it has answered like the others."""
    model = Topology(edition="server", nodes=4, operations=(first, later), down=(), crashes=1)
    timeline = Timeline(model)
    files = [dump(tmp_path, 0, model, timeline.state)]
    while timeline.forward() is not None:
        pass
    files.append(dump(tmp_path, 1, model, timeline.state))
    timeline.do(CrashMember("C"))
    while timeline.forward() is not None:
        if timeline.state.topology.transition:
            files.append(dump(tmp_path, len(files), model, timeline.state))
    files.append(dump(tmp_path, len(files), model, timeline.state))
    answers = kit.explain(files, edition="server")
    assert answers.verdict == "explained", answers


@pytest.mark.parametrize("down", [(), ("C", "D")], ids=["leave", "are removed"])
@pytest.mark.parametrize("order", [("D", "C"), ("C", "D")])
def test_two_wait_and_dumps_show_who_comes_first(
    order: tuple[str, str], down: tuple[str, ...], tmp_path: Path
) -> None:
    """Whatever the order of their names is."""
    kind = "removenode" if down else "decommission"
    operations = tuple(f"{kind} {name}" for name in order)
    model = Topology(edition="server", nodes=6, operations=operations, down=down, ignored=down)
    timeline = Timeline(model)
    for _ in operations:
        may = [action for action, _ in model.successors(timeline.state)]
        timeline.do(next(each for each in may if type(each) is MakeRequest))
    files = [dump(tmp_path, 0, model, timeline.state)]
    while timeline.forward() is not None:
        if timeline.state.topology.transition:
            files.append(dump(tmp_path, len(files), model, timeline.state))
    assert timeline.state.made == len(operations)
    for taken in (files, [files[0], files[len(files) // 3]]):
        answers = kit.explain(taken, edition="server")
        assert answers.verdict == "explained", answers


@pytest.mark.parametrize(
    ("operations", "ignored"),
    [
        (("removenode C", "removenode D"), ("D",)),
        (("removenode C", "removenode D"), ("C", "D")),
        (("replace F C", "replace G D"), ("D",)),
        (("removenode D",), ("A",)),
        (("replace F D",), ("A",)),
    ],
)
def test_who_is_ignored_is_down_from_the_beginning(
    operations: tuple[str, ...], ignored: tuple[str, ...], tmp_path: Path
) -> None:
    """So it is with ``--ignore-dead-nodes``."""
    down = {*ignored, *(each.split()[-1] for each in operations)}
    given: Any = {"operations": operations, "ignored": ignored, "down": tuple(sorted(down))}
    model = Topology(edition="server", nodes=5, **given)
    timeline = Timeline(model)
    files = [dump(tmp_path, 0, model, timeline.state)]
    while timeline.forward() is not None:
        if timeline.state.topology.transition:
            files.append(dump(tmp_path, len(files), model, timeline.state))
    files.append(dump(tmp_path, len(files), model, timeline.state))
    assert timeline.state.made == len(operations)
    answers = kit.explain(files, edition="server")
    assert answers.verdict == "explained", answers


def series(folder: Path, *tables: tuple[list[dict[str, Any]], dict[str, Any]]) -> list[str]:
    """Dumps with these nodes beside three normal ones, and these static columns."""
    files = []
    for at, (nodes, statics) in enumerate(tables):
        path = folder / f"{at:02}.csv"
        path.write_text(as_csv(table([*NORMAL, *nodes], **statics)), "utf-8")
        files.append(str(path))
    return files


def leaver(state: str = "decommissioning") -> dict[str, Any]:
    """The fourth node, which leaves."""
    tokens = {} if state != "left" else {"tokens": None, "num_tokens": None}
    return node(4, node_state=state, request_id=None, **tokens)


NEW, OLD = "write both read new", "write both read old"


def test_a_state_that_no_rule_leads_to_is_refuted(tmp_path: Path) -> None:
    """A leaving node is read again by the old owners: at that dump, with what stands against it."""
    files = series(
        tmp_path,
        ([leaver()], {"transition_state": OLD, "version": 14, "fence_version": 13}),
        ([leaver()], {"transition_state": NEW, "version": 15, "fence_version": 14}),
        ([leaver()], {"transition_state": OLD, "version": 16, "fence_version": 15}),
    )
    answer = call("explain", *files, "--json")
    found = answer.json["parts"]["tables"]
    assert (answer.status, found["verdict"], found["where"]) == (1, "refuted", "02.csv")
    assert found["explained"] == 2
    assert kit.explain(files[:2]).verdict == "explained"


@pytest.mark.parametrize(("tokens", "status"), [(2, 0), (0, 1)])
def test_a_node_without_tokens_joins_without_a_switch(
    tokens: int, status: int, tmp_path: Path
) -> None:
    """So a write state amid its join is refuted, which another node passes."""
    own = {"num_tokens": tokens, **({} if tokens else {"tokens": None})}
    files = series(
        tmp_path,
        ([], {"version": 13, "fence_version": 13}),
        ([node(4, node_state="bootstrapping", **own)], {"transition_state": OLD, "version": 15}),
        ([node(4, **own)], {"version": 19, "fence_version": 18}),
    )
    assert call("explain", *files).status == status


def test_who_is_gone_without_a_word_left_or_was_removed(tmp_path: Path) -> None:
    """Both are tried; the run that is found names a request of it."""
    files = series(tmp_path, ([node(4)], {"version": 14}), ([leaver("left")], {"version": 19}))
    answers = kit.explain(files)
    assert answers.verdict == "explained"
    assert answers.first is not None
    assert {"leave 00000004", "remove 00000004"} & {*answers.first.as_plain()["steps"]}


def test_where_nothing_changes_there_is_nothing_to_explain(tmp_path: Path) -> None:
    """It is said so."""
    answer = call("explain", *series(tmp_path, ([], {}), ([], {})))
    assert answer.status == 0
    assert "nothing to explain" in answer.out


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ((([], {"version": 14}), ([], {"version": 13})), "01.csv version: got 13; allowed: dumps"),
        (
            (
                ([], {"version": 14}),
                ([node(4, node_state="left", tokens=None, num_tokens=None)], {
                    "version": 15, "global_topology_request": "truncate_table",
                    "global_topology_request_id": timeuuid(0x40),
                    "transition_state": "truncate table",
                }),
            ),
            "global_topology_request: got 'truncate_table'; allowed: cleanup or new_cdc_generation",
        ),
        ((([], {"transition_state": "quite another"}),), "transition_state"),
        (
            (([], {}), ([], {"transition_state": "snapshot tables"})),
            "01.csv transition_state: got 'snapshot_tables'; allowed: a modelled state",
        ),
    ],
)  # fmt: skip
def test_what_is_no_series_is_refused(tables: tuple[Any, ...], said: str, tmp_path: Path) -> None:
    """A version that goes back, a request or a state that this model does not play."""
    assert said in bad("explain", *series(tmp_path, *tables))


@pytest.mark.parametrize("words", ["decommission C", "removenode C"])
def test_who_drains_its_tablets_has_some(words: str, tmp_path: Path) -> None:
    """They move before the next state; where no dump is of ``tablet_draining`` there are none."""
    nodes = 3 + words.startswith("remove")
    model = Topology(edition="documents", nodes=nodes, operations=(words,), on_tablets=("C",))
    timeline = Timeline(model)
    files = {"": dump(tmp_path, 0, model, timeline.state)}
    while timeline.forward() is not None:
        state = timeline.state.topology.transition or "idle"
        if state not in files:
            files[state] = dump(tmp_path, len(files), model, timeline.state)
    for drains in (True, False):
        shown = [file for state, file in files.items() if drains or state != "tablet_draining"]
        answers = kit.explain(shown, edition="documents")
        assert answers.verdict == "explained", answers
        assert answers.first is not None
        assert answers.first.as_plain()["steps"].count("move tablets") == drains


def test_another_cluster_is_refused(tmp_path: Path) -> None:
    """No node is in both."""
    files = series(tmp_path, ([], {}))
    other = tmp_path / "other.csv"
    other.write_text(as_csv(table([node(7), node(8)])), "utf-8")
    with pytest.raises(BadInput, match="they have no node in common"):
        kit.explain([*files, str(other)])


def test_a_replace_in_the_middle_is_explained_by_the_node_it_names(tmp_path: Path) -> None:
    """In the second dump 6 replaces 5, which is a member still: just that replace is found."""
    nodes = [
        node(4), node(5),
        node(6, node_state="replacing", replaced_id=uuid(5), request_id=None),
    ]  # fmt: skip
    before = [node(4), node(5)]
    files = series(
        tmp_path,
        (before, {"version": 14}),
        (nodes, {"transition_state": OLD, "version": 16, "fence_version": 15}),
    )
    answers = kit.explain(files)
    assert answers.verdict == "explained", answers
    assert answers.first is not None
    assert "replace 00000006 00000005" in answers.first.as_plain()["steps"]


def test_a_replace_has_to_name_whose_place_is_taken(tmp_path: Path) -> None:
    """Where all members stay and no row names one of them, nobody can be meant."""
    asks = node(4, node_state="none", topology_request="replace", tokens=None, request_id=None)
    files = series(tmp_path, ([], {}), ([asks], {}))
    wanted = f"replaced_id of node {uuid(4)} | None | another node in this table"
    assert says(bad("explain", *files), wanted)


def test_who_asks_first_may_be_carried_out_last(tmp_path: Path) -> None:
    """C asks to leave, then E to join, whose request no dump shows: the server prefers joins."""
    operations = ("decommission C", "bootstrap E")
    model = Topology(edition="server", nodes=4, operations=operations)
    timeline = Timeline(model)
    timeline.do(MakeRequest(0))
    files = [dump(tmp_path, 0, model, timeline.state)]
    timeline.do(MakeRequest(1))
    while timeline.forward() is not None:
        if timeline.state.topology.transition:
            files.append(dump(tmp_path, len(files), model, timeline.state))
    assert timeline.state.topology.nodes[4].state == "normal"
    answers = kit.explain([files[0], files[1], files[-1]], edition="server")
    assert answers.verdict == "explained", answers
    assert answers.first is not None
    steps = answers.first.as_plain()["steps"]
    asked = [each for each in steps if each.split()[0] in ("leave", "join")]
    assert [each.split()[0] for each in asked] == ["leave", "join"]


def test_a_leave_that_ends_where_it_began_has_failed(tmp_path: Path) -> None:
    """The node is normal again: something failed. Where it is gone in the end nothing did."""
    files = series(
        tmp_path,
        ([node(4)], {"version": 14}),
        ([leaver()], {"transition_state": OLD, "version": 15, "fence_version": 14}),
        ([node(4, request_id=None)], {"version": 17, "fence_version": 16}),
        ([leaver("left")], {"version": 19, "fence_version": 18}),
    )
    for taken, fails in ((files[:3], True), ([*files[:2], files[3]], False)):
        answers = kit.explain(taken)
        assert answers.verdict == "explained", answers
        assert answers.first is not None
        assert any("fail" in each for each in answers.first.as_plain()["steps"]) is fails


def test_a_member_does_not_come_back(tmp_path: Path) -> None:
    """It may have left, but whoever has left is no member again without a request."""
    files = series(
        tmp_path,
        ([node(4)], {"version": 14}),
        ([leaver("left")], {"version": 19}),
        ([node(4)], {"version": 20}),
    )
    found = call("explain", *files, "--json").json["parts"]["tables"]
    assert (found["verdict"], found["where"]) == ("refuted", "02.csv")
