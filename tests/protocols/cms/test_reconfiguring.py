"""What one sees of the members of the CMS: how many, where, who comes and goes, what is forced."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kit.errors import BadInput, Refusal
from kit.model.registry import build, entries
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.protocols.cms.cms import Cms
from kit.protocols.cms.facts import members as facts
from kit.protocols.cms.rules.members import ASSASSINATE
from kit.views.actions import concerned
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import after, go_on, panel_text, walk

SCENARIOS = [f"cms/{one.name}" for one in entries()["cms"].scenarios]


def by_itself(timeline: Timeline) -> Timeline:
    """The same, as far as it goes with nobody asking for anything."""
    while (action := timeline.model.suggest(timeline.state)) is not None:
        timeline.do(action)
    return timeline


def in_picture(timeline: Timeline) -> str:
    """The nodes that are members, by the words of the picture."""
    lines = panel_text(timeline, "nodes").splitlines()
    return "".join(line.strip()[0] for line in lines if ", member, " in line)


def drawn(timeline: Timeline, name: str) -> str:
    """A panel as it is drawn at the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    return panel.draw(scene_of(timeline, timeline.at)).html()


def row_of(timeline: Timeline, name: str) -> Any:
    """What is known of a node."""
    rows = facts.nodes(timeline.model, timeline.state)
    return next(row for row in rows if row.name == name)


def placed(timeline: Timeline) -> tuple[str, str]:
    """The read set and the write set: there is one row, for the whole range."""
    [(whole, reads, writes)] = facts.placement(timeline.model, timeline.state)
    assert whole == "(MIN, MAX]"
    assert f"(MIN, MAX]: read {reads}; write {writes}" in panel_text(timeline, "placement")
    return reads, writes


@pytest.mark.spec("B-040")
def test_the_first_member_is_the_node_with_the_flag() -> None:
    """Of an upgraded cluster, the node on which its operator initializes the log."""
    for flag in "ABC":
        timeline = Timeline(build("cms", {"flag": flag}))
        assert in_picture(timeline) == flag
        assert facts.log(timeline.model, timeline.state)[0].event == f"initialize {flag}"
    with pytest.raises(BadInput, match="flag"):
        build("cms", {"flag": "D"})
    for node in "AB":
        given = {"edition": "server", "nodes": 2}
        begun = ("upgrade A", "upgrade B", f"initialize {node}")
        timeline = after("migration", given, *begun)
        go_on(timeline, f"answer {node} {'BA'['AB'.index(node)]}", f"begin-log {node}")
        [log] = timeline.state.logs
        assert timeline.model.named(log.members_at(log.top)) == (node,)


@pytest.mark.spec("B-041")
def test_the_plot_of_sizes_marks_the_step_of_the_cluster() -> None:
    """1 for up to 2 nodes, 3 for up to 5, 5 for up to 100, 10 above."""
    sizes = [1, 1, 3, 3, 3, 5]
    for nodes, size in enumerate(sizes, 1):
        timeline = Timeline(build("cms", {"nodes": nodes, "longest": 12}))
        model, state = timeline.model, timeline.state
        assert model.wanted(state, model.newest(state)).bit_count() == size, f"{nodes} nodes"
        lines = [line.strip() for line in panel_text(timeline, "sizes").splitlines()]
        here = [line.endswith(", this cluster") for line in lines]
        steps = [line.removesuffix(", this cluster") for line in lines]
        assert steps == ["1 to 2 nodes: 1", "3 to 5 nodes: 3", "6 to 100 nodes: 5",
                         "101 or more nodes: 10"]  # fmt: skip
        assert here == [nodes <= 2, 2 < nodes <= 5, nodes > 5, False], f"{nodes} nodes"
        picture = drawn(timeline, "sizes")
        assert picture.count("<circle") == 1
        assert picture.count("L") >= 3
        assert picture.index("<circle") > picture.index(f">{size}<")


@pytest.mark.spec("B-042")
def test_the_cms_grows_and_shrinks_with_the_cluster() -> None:
    """By itself, and by hand on a node's card."""
    for nodes, members in ((2, "A"), (3, "ABC"), (5, "ABC"), (6, "ABCDE")):
        timeline = by_itself(Timeline(build("cms", {"nodes": nodes, "longest": 12})))
        assert in_picture(timeline) == members, f"{nodes} nodes"
    timeline = after("cms", {"newcomers": 1}, "bootstrap A C A")
    assert in_picture(by_itself(timeline)) == "ABC"
    timeline = after("cms", {"members": 3, "longest": 12}, "decommission A C A B")
    assert len(in_picture(by_itself(timeline))) == 1
    timeline = after("cms", {"nodes": 2, "longest": 12})
    [adds] = [each for each in timeline.model.actions(timeline.state)
              if isinstance(each, Cms.choose) and each.node == "B"]  # fmt: skip
    assert "B" in concerned(timeline.model, adds)
    timeline.do(adds)
    assert in_picture(by_itself(timeline)) == "AB"
    timeline = after("cms", {"nodes": 3, "members": 3, "longest": 12}, "choose A C A B")
    assert in_picture(by_itself(timeline)) == "AB"


@pytest.mark.spec("B-043")
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_member_has_the_whole_metadata_keyspace(name: str) -> None:
    """From MIN to MAX, at each step."""
    timeline = walk(name)
    for at in range(len(timeline.moments)):
        timeline.goto(at)
        reads, _ = placed(timeline)
        assert reads.replace(", ", "") == in_picture(timeline), f"moment {at}"


@pytest.mark.spec("B-044")
@pytest.mark.spec("B-045")
def test_a_new_member_is_read_only_after_it_has_the_log() -> None:
    """First the write set, then the log, then the read set."""
    timeline = after("cms", {"newcomers": 1}, "bootstrap A C A", "advance A A", "catch-up B A")
    go_on(timeline, "advance A A B", "advance A A B")
    assert (placed(timeline), row_of(timeline, "C").share) == (("A, B", "A, B, C"), 0)
    assert "has 0% of the log so far" in panel_text(timeline, "nodes")
    held = timeline.model.why_not(timeline.state, Cms.advance("A", ("A", "B")))
    assert isinstance(held, Refusal)
    assert held.reason == "C does not have the log up to epoch 5"
    go_on(timeline, "catch-up C A")
    assert row_of(timeline, "C").share == 1
    assert "has 100% of the log so far" in panel_text(timeline, "nodes")
    go_on(timeline, "advance A A B")
    assert (placed(timeline), row_of(timeline, "C").share) == (("A, B, C", "A, B, C"), None)


@pytest.mark.spec("B-045")
def test_the_second_event_of_an_addition_waits_for_a_majority_that_knows_the_first() -> None:
    """C has the log; of A and B only A is up to answer."""
    given = {"members": 2, "crashes": 1}
    timeline = after("cms", given, "advance A A B", "catch-up C A", "crash B")
    [(why, missing)] = {
        (held.reason, held.missing)
        for each, held in scene_of(timeline, timeline.at).options()
        if isinstance(each, Cms.advance) and held
    }
    assert (why, missing) == ("a majority of the CMS must know epoch 2 first", ("B",))


@pytest.mark.spec("B-046")
def test_a_new_reader_is_repaired_before_the_next_change() -> None:
    """D lacks the epoch that made it count. The promises that a repair brings are in ``paxos``."""
    given = {"nodes": 4, "members": 3, "longest": 9}
    timeline = after("cms", given, "decommission A A A B", "advance A A B", "catch-up D A")
    go_on(timeline, "catch-up C A", "advance A A B C")
    rows = facts.accepted(timeline.model, timeline.state)
    assert rows == (*((name, (4,), ()) for name in "ABC"), ("D", (), (4,)))
    assert "D  –  4" in panel_text(timeline, "placement")
    held = timeline.model.why_not(timeline.state, Cms.advance("A", ("A", "B", "C")))
    assert isinstance(held, Refusal)
    assert (held.reason, held.missing) == ("a Paxos repair comes first", ("D",))
    go_on(timeline, "repair D")
    rows = facts.accepted(timeline.model, timeline.state)
    assert rows == tuple((name, (4,), ()) for name in "ABCD")
    assert "D  4  –" in panel_text(timeline, "placement")
    go_on(timeline, "advance A A B C")
    assert placed(timeline) == ("B, C, D", "A, B, C, D")


@pytest.mark.spec("B-047")
def test_a_member_leaves_only_after_handing_its_part_over() -> None:
    """A is refused until B is the only member, read and written."""
    timeline = open_file(files()["cms/hand-over"])
    for at, moment in enumerate(timeline.moments):
        timeline.goto(at)
        full = in_picture(timeline) == "B" and placed(timeline) == ("B", "B")
        tries = {
            held is None
            for each, held in scene_of(timeline, at).options()
            if isinstance(each, Cms.complete_leave)
        }
        if isinstance(moment.action, Cms.complete_leave):
            assert full, f"moment {at}"
        elif timeline.model.known(moment.state, 0).leaving:
            assert tries == {full}, f"moment {at}"


@pytest.mark.spec("B-047")
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_on_the_server_nodes_of_a_change_may_not_begin_to_leave(edition: str) -> None:
    """D takes A's place: B, C, D wait for that and E does not. In the documents no node waits."""
    given = {"nodes": 5, "members": 3, "orders": 3, "longest": 12, "edition": edition}
    timeline = after("cms", given, "decommission A A A B")

    def held_back(*by: str) -> str:
        """The nodes whose leave is refused, for one reason, if A proposes it."""
        leaves = {node: Cms.decommission("A", node, by) for node in "BCDE"}
        whys = {node: timeline.model.why_not(timeline.state, leaves[node]) for node in leaves}
        held = {node: why.reason for node, why in whys.items() if isinstance(why, Refusal)}
        assert {*held.values()} <= {"a change of the CMS has to end first"}
        return "".join(held)

    all_of = "BCD" if edition == "server" else ""
    assert held_back("A", "B") == all_of
    go_on(timeline, "catch-up C A", "advance A A B", "catch-up C A", "catch-up D A")
    assert held_back("A", "B", "C") == all_of
    timeline = by_itself(timeline)
    assert in_picture(timeline) == "BCD"
    assert not timeline.model.why_not(timeline.state, Cms.decommission("B", "C", ("B", "C")))


@pytest.mark.spec("B-048")
@pytest.mark.parametrize("name", SCENARIOS)
def test_memberships_before_and_after_an_epoch_share_a_quorum(name: str) -> None:
    """A node joins or leaves each set at a time, but by force."""
    timeline = by_itself(walk(name, **({} if "override" in name else {"longest": 12})))
    for at in range(len(timeline.moments)):
        timeline.goto(at)
        rows = facts.quorums(timeline.model, timeline.state).values()
        forced = "! forced" in panel_text(timeline, "log")
        assert forced or not any("! nobody" in shared.values() for shared in rows), f"moment {at}"
    log = timeline.model.longest_log(timeline.state)
    server = timeline.model.edition == "server"
    if not log.snapshots:
        events = [each.event for each in log.entries][1:]
        for event, (was, now) in zip(
            events, pairwise(timeline.model.memberships(log)), strict=True
        ):
            sets = was.readers ^ now.readers, was.writers ^ now.writers
            if "force" not in event:
                assert max(each.bit_count() for each in sets) <= 1, event
                assert not all(sets) or server or event.startswith(ASSASSINATE), event


@pytest.mark.spec("B-053")
def test_an_operator_forces_an_event_or_a_state_on_chosen_nodes() -> None:
    """An event on C alone, without a quorum; or a whole state on each node, with buttons."""
    given = {"nodes": 4, "members": 3, "crashes": 0, "losses": 2, "longest": 8}
    timeline = after("cms", given, "lose A", "lose B", "open-override")
    picker = drawn(timeline, "override")
    for verb in ("force C", "force D", "load-snapshot C", "load-snapshot D"):
        assert f">{verb}</button>" in picker
    go_on(timeline, "force C")
    assert [row.epoch for row in facts.nodes(timeline.model, timeline.state)] == [1, 1, 2, 1]
    timeline = after("cms", given, "lose A", "lose B", "open-override", "load-snapshot C")
    assert timeline.state.nodes[2].log.snapshots
    assert not timeline.state.nodes[3].log.snapshots
    go_on(timeline, "load-snapshot D", "resume")
    assert timeline.state.nodes[2].log == timeline.state.nodes[3].log


@pytest.mark.spec("B-056")
def test_an_override_is_confirmed_first_and_its_entry_stays_marked() -> None:
    """In the log, and on the disk of the node that has it."""
    given = {"nodes": 4, "members": 3, "crashes": 0, "losses": 2, "longest": 8}
    timeline = after("cms", given)
    assert "enough members can come back" in drawn(timeline, "override")
    go_on(timeline, "lose A", "lose B")
    forcing = (Cms.force_member.struct, Cms.load_snapshot.struct)
    assert not [each for each in timeline.model.actions(timeline.state) if type(each) in forcing]
    assert "You have to confirm it first" in panel_text(timeline, "override")
    assert ">open-override</button>" in drawn(timeline, "override")
    assert "forced" not in drawn(timeline, "nodes")
    go_on(timeline, "open-override", "force C", "resume", "submit C C")
    assert drawn(timeline, "log").count('class="badge alarm"') == 1
    assert drawn(timeline, "nodes").count("tile forced") == 1


def quorum(timeline: Timeline, what: str) -> str:
    """What the picture says of a quorum."""
    [said] = re.findall(f"<title>({what}: any [^<]+)</title>", drawn(timeline, "nodes"))
    return said


@pytest.mark.spec("B-001")
@pytest.mark.parametrize("after_steps", range(8))
def test_the_picture_encloses_the_members_and_counts_both_quorums_as_they_change(
    after_steps: int,
) -> None:
    """An event is committed at any step of the change, too."""
    timeline = walk("cms/three-of-four", longest=12)
    model: Any = timeline.model
    seen, submitted = [in_picture(timeline)], 0
    for number in range(40):
        if number == after_steps:
            submits = (a for a in model.actions(timeline.state) if model.kind(a) == "submit")
            timeline.do(next(submits))
            submitted = len(facts.log(model, timeline.state))
        elif timeline.forward() is None:
            break
        members = "".join(model.named(model.newest(timeline.state).readers))
        assert in_picture(timeline) == members, f"step {number}"
        inside = re.findall("<title>CMS: ([A-Z, ]+)</title>", drawn(timeline, "nodes"))
        assert "".join(inside).replace(", ", "") == members, f"step {number}"
        newest = model.newest(timeline.state)
        for what, group in (("read", newest.readers), ("write", newest.writers)):
            names = ", ".join(model.named(group))
            most = group.bit_count() // 2 + 1
            said = quorum(timeline, what)
            assert said.startswith(f"{what}: any {most} of {names};"), f"step {number}"
        seen.append(members)
    assert submitted
    assert list(dict.fromkeys(seen)) == ["ABC", "ABCD", "BCD"]
    assert facts.log(model, timeline.state)[submitted - 1].event == "change"


@pytest.mark.parametrize(
    ("lost", "removed", "stuck"), [("C", "B", True), ("B", "B", False), ("A", "A", False)]
)
def test_shrinking_may_keep_a_lost_member_too_long(lost: str, removed: str, stuck: bool) -> None:
    """A lost member that is last leaves no quorum; assassinated first, that does no harm."""
    given = {"nodes": 3, "members": 3, "edition": "server", "crashes": 0, "losses": 1, "orders": 2}
    survivor = "A" if lost != "A" else "B"
    others = " ".join(name for name in "ABC" if name != lost)
    timeline = after("cms", given, f"lose {lost}", f"reconfigure {survivor} 1 {others}")
    by_itself(timeline)
    events = [row.event for row in facts.log(timeline.model, timeline.state)]
    assert next(each for each in events if "removal" in each) == f"removal of {removed}"
    assert timeline.model.has_quorum(timeline.state) is not stuck
    safe = after("cms", given, f"lose {lost}", f"assassinate {survivor} {lost} {others}")
    go_on(by_itself(safe), f"reconfigure {survivor} 1 {others}")
    assert by_itself(safe).model.has_quorum(safe.state)


ROWS = Path(__file__).with_name("nodes_that_go.txt").read_text(encoding="utf-8").splitlines()
GOING = [
    tuple(cell.strip() for cell in line.split("|"))
    for line in ROWS
    if line.startswith(("server", "documents"))
]


@pytest.mark.parametrize("case", GOING, ids=" | ".join)
def test_a_member_that_goes_leaves_the_cms_first(case: tuple[str, ...]) -> None:
    """Each row: what is asked for, and what is committed then, or the reason of the refusal."""
    edition, nodes, members, down, submitted, log = case
    faults = [f"crash {name}" for name in down.split() if name != "-"]
    given = {"edition": edition, "nodes": int(nodes), "members": int(members), "longest": 12}
    given |= {
        "crashes": len(faults),
        "changes": 0,
        "orders": 2,
        "up_to": ["9"],
        "sizes": [members, "9"],
    }
    timeline = after("cms", given, *faults)
    model: Any = timeline.model
    for act in submitted.split("; "):
        kind, what = act.split()
        fits = [each for each, _ in model.options(timeline.state)
                if (words := model.verb(each).split())[0] == kind and words[2] == what]  # fmt: skip
        action = min(fits, key=lambda each: model.refusal(timeline.state, each) is not None)
        if why := model.refusal(timeline.state, action):
            assert why.reason == log
            return
        timeline.do(action)
    by_itself(timeline)
    events = [row.event for row in facts.log(model, timeline.state)][1:]
    assert ", ".join(events) == log
