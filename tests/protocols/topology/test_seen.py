"""What a student sees of an operation: diagrams, the table, the queue, barriers and sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import RFC_4122, UUID

import pytest

from kit.errors import BadInput
from kit.model.flows import as_timeuuid, flows
from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology import topology as act
from kit.protocols.topology.rules.machines import (
    EDITIONS,
    GLOBAL_REQUESTS,
    NODE_STATES,
    TRANSITION_STATES,
    Edition,
)
from kit.views.fragment import Frag
from kit.views.frame import frame_text
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import classed, go_on, part

SWITCH = ("write_both_read_old", "write_both_read_new")


def starting(*words: str, edition: str = "documents", **given: Any) -> Timeline:
    """A cluster before these requests."""
    return Timeline(build("topology", {"operations": words, "edition": edition, **given}))


def seen(timeline: Timeline) -> dict[str, list[str]]:
    """The lines of each panel at the moment that is shown, by the panel's title."""
    panels = for_model(timeline.model).panels
    text = frame_text(scene_of(timeline, timeline.at), panels)
    titles = {panel.title for panel in panels}
    parts: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if line in titles:
            title = line
        parts.setdefault(title, []).append(line)
    return parts


def character(timeline: Timeline, name: str) -> Frag:
    """How the picture draws a node."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == "stage"]
    found = part(panel.draw(scene_of(timeline, timeline.at)), f"n:{name}")
    assert found is not None, name
    return found


def until(timeline: Timeline, there: Callable[[Any], bool]) -> Timeline:
    """The default schedule, as far as a state."""
    while not there(timeline.state):
        assert timeline.forward() is not None
    return timeline


def in_state(name: str) -> Callable[[Any], bool]:
    """The condition that the cluster is in a transition state."""
    return lambda state: state.topology.transition == name


def press(timeline: Timeline, verb: str) -> Timeline:
    """Do an action by its verb."""
    go_on(timeline, verb)
    return timeline


def ended(timeline: Timeline) -> Timeline:
    """The default schedule to its end."""
    return played_out(timeline)


def way(timeline: Timeline) -> list[str]:
    """The states that the picture lights as taken so far, the last one as that of now."""
    return seen(timeline)["Transition"][1].split(" → ")[1:]


PATHS = {
    "join D": ("join_group0", "commit_cdc_generation", *SWITCH, "normal"),
    "replace D C": ("join_group0", "tablet_draining", *SWITCH, "normal"),
    "leave C": ("tablet_draining", *SWITCH, "left_token_ring", "left"),
    "remove C": ("tablet_draining", *SWITCH, "left"),
    "join D --zero-token": ("join_group0", "normal"),
}


@pytest.mark.spec("D-006", "D-007", "D-008", "D-009", "D-026", "D-036")
@pytest.mark.parametrize("words", PATHS)
def test_the_diagram_lights_the_path_to_the_present_state(words: str) -> None:
    """At each step, and the whole path at the end."""
    timeline = starting(words)
    while timeline.forward() is not None:
        transition = timeline.state.topology.transition
        assert not transition or way(timeline)[-1] == transition
    assert tuple(way(timeline)) == PATHS[words]


@pytest.mark.spec("D-001", "D-002", "D-005")
def test_the_diagram_has_every_node_state() -> None:
    """A newcomer is in none, without tokens; a leave of it is refused."""
    timeline = starting("join D", "leave D")
    timeline.forward()
    shown = seen(timeline)
    assert all(any(state in line for line in shown["States of the node"]) for state in NODE_STATES)
    assert "  D: none, asks for join" in shown["Nodes"]
    row = [line for line in shown["system.topology"] if "D." in line]
    assert any("D.node_state = none" in line for line in row)
    assert not any("D.tokens" in line for line in row)
    until(timeline, in_state("join_group0"))
    refusal = timeline.model.refusal(timeline.state, act.MakeRequest(1))
    assert refusal is not None
    assert refusal.reason == "the node is not normal"


BACK = {
    "join D": (("join_group0", "commit_cdc_generation", SWITCH[0]), "left_token_ring", "left"),
    "replace D C": (("join_group0", "tablet_draining", SWITCH[0]), "left_token_ring", "left"),
    "leave C": (("tablet_draining", SWITCH[0]), "tablet_migration", "normal"),
    "remove C": (("tablet_draining", SWITCH[0]), "tablet_migration", "normal"),
}


def path_of(timeline: Timeline) -> tuple[Any, ...]:
    """The actions so far."""
    return tuple(timeline.moments[moment].action for moment in timeline.path()[1:])


def failed_in(words: str, state: str) -> Timeline:
    """The operation's run in which that state's work fails, once to some effect, to its end."""
    tablets = {"on_tablets": ("C",)} if state == "tablet_draining" else {}
    timeline = until(starting(words, failures=1, **tablets), in_state(state))
    while True:
        tried = Timeline.along(timeline.model, path_of(timeline))
        if tried.model.refusal(tried.state, act.FailWork()) is None:
            ended(press(tried, "fail"))
            if tried.state.topology.requests[0].error:
                return tried
        assert timeline.forward() is not None
        assert timeline.state.topology.transition == state


@pytest.mark.spec("D-010", "D-011", "D-012", "D-013", "D-014", "D-022")
@pytest.mark.parametrize("words", BACK)
def test_a_failed_step_lights_the_way_back_before_the_read_switch(words: str) -> None:
    """To the node's last state; after the switch failing is refused."""
    states, through, becomes = BACK[words]
    node = words.split()[1]
    for state in states:
        timeline = failed_in(words, state)
        assert way(timeline)[-1] == becomes, state
        assert way(timeline)[-2] in (through, state)
        shown = seen(timeline)
        assert any(line.startswith(f"  {node}: {becomes}") for line in shown["Nodes"]), state
        assert any(f"{node}.node_state = {becomes}" in x for x in shown["system.topology"]), state
    switched = until(starting(words, failures=1), in_state("write_both_read_new"))
    refusal = switched.model.refusal(switched.state, act.FailWork())
    assert refusal is not None
    assert refusal.reason == "no failure of work would make a difference now"


@pytest.mark.spec("D-003")
def test_a_node_that_has_left_stays_grey_in_picture_and_table() -> None:
    """To the end of the next operation."""
    timeline = until(
        starting("leave C", "rebuild A"), lambda s: s.topology.nodes[2].state == "left"
    )
    left = timeline.at
    ended(timeline)
    assert timeline.at > left + 1
    for at in range(left, timeline.at + 1):
        timeline.goto(at)
        shown = seen(timeline)
        assert any(line.startswith("  C: left") for line in shown["Nodes"]), at
        assert any("C.node_state = left" in line for line in shown["system.topology"]), at
        assert character(timeline, "C").get("class") == "character gone h-c", at


@pytest.mark.spec("D-028")
def test_publishing_a_generation_empties_its_list_and_leaves_the_join_alone() -> None:
    """The join keeps its state, and ends whether the generation is published early or late."""
    timeline = until(starting("join D", publishing=True), in_state("write_both_read_old"))
    [line] = [x for x in seen(timeline)["system.topology"] if "unpublished" in x]
    assert line.endswith("static.unpublished_cdc_generations = {(t5, 2)}")
    before = way(timeline)
    press(timeline, "publish")
    shown = seen(timeline)
    assert "* static.unpublished_cdc_generations = null" in shown["system.topology"]
    assert way(timeline) == before == [*PATHS["join D"][:3]]
    unheard = until(starting("join D", publishing=True), in_state("write_both_read_old"))
    until(unheard, in_state("write_both_read_new"))
    assert any("{(t5, 2)}" in line for line in seen(unheard)["system.topology"])
    press(unheard, "publish")
    for each in (timeline, unheard):
        assert tuple(way(ended(each))) == PATHS["join D"]


@pytest.mark.spec("D-015", "D-017")
def test_a_row_shows_the_replaced_node_and_the_tokens_once_assigned() -> None:
    """Tokens come to a bootstrap on leaving join_group0."""
    replaces = until(starting("replace D C"), in_state("write_both_read_old"))
    assert any("D: replacing" in x and "replaces C" in x for x in seen(replaces)["Nodes"])
    assert any("D.replaced_id = C" in line for line in seen(replaces)["system.topology"])
    joins = until(starting("join D"), in_state("join_group0"))
    later = until(starting("join D"), in_state("commit_cdc_generation"))
    assert not any("D.tokens" in line for line in seen(joins)["system.topology"])
    assert any("D.tokens" in line for line in seen(later)["system.topology"])
    drains = until(starting("replace D C"), in_state("tablet_draining"))
    assert not any("D.tokens = {t:D}" in line for line in seen(drains)["system.topology"])


@pytest.mark.spec("D-018")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("words", ["join D", "new_cdc_generation", "bootstrap E"])
def test_a_generation_is_used_once_its_commit_is_applied(edition: Edition, words: str) -> None:
    """On each node; a generation that is only prepared has no time."""
    timeline = until(starting(words, edition=edition), in_state("commit_cdc_generation"))

    def rows() -> list[str]:
        lines = (line.strip() for line in seen(timeline)["CDC generations"])
        return [line for line in lines if line[:1].isdigit()]

    users = "A, B, C" + {"join D": ", D", "bootstrap E": ", E"}.get(words, "")
    assert rows() == [f"1  before the run  committed  {users}", "2  null  prepared"]
    table = seen(timeline)["system.topology"]
    assert any(line.endswith("static.new_cdc_generation_data_uuid = 2") for line in table)
    until(timeline, lambda s: s.topology.generations == 2)
    at, first, used = timeline.state.state_id, *rows()
    leader = "ABC"[timeline.state.coordinator]
    assert used == f"2  t{at}  committed  {leader}"
    assert leader not in first.rpartition("committed")[2]
    table = seen(timeline)["system.topology"]
    assert any(f"committed_cdc_generations = {{1, (t{at}, 2)}}" in line for line in table)
    assert not any("new_cdc_generation_data_uuid = 2" in line for line in table)
    for name in "BC":
        press(timeline, f"apply {name}")
        assert timeline.now.say.endswith("It writes CDC logs for generation 2.")
        assert name in rows()[1].rpartition("committed")[2]


@pytest.mark.spec("D-018")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_generation_is_not_used_when_its_join_rolls_back(edition: Edition) -> None:
    """All go on with the first generation."""
    timeline = starting("join D", edition=edition, failures=1)
    until(timeline, in_state("commit_cdc_generation"))
    press(timeline, "fail")
    until(timeline, in_state("left_token_ring"))
    [line] = [x for x in seen(timeline)["CDC generations"] if x.strip()[:1].isdigit()]
    assert line.strip() == "1  before the run  committed  A, B, C, D"


@pytest.mark.spec("D-021", "D-024", "D-043", "D-045")
def test_the_barrier_shows_what_each_node_still_runs() -> None:
    """The work behind it waits for the last answer."""
    timeline = press(starting("join D", edition="server", clients=1), "begin B")
    until(timeline, lambda s: in_state("write_both_read_old")(s) and s.attempted.answered)
    lines = seen(timeline)["Barrier by node"]
    assert "  barrier_and_drain: 1 of 4 have answered" in lines
    assert any("B  version 1  1 request at version 1  –  … a request" in line for line in lines)
    assert "version 2" in seen(timeline)["Status"][1]
    refusal = timeline.model.refusal(timeline.state, act.DoWork())
    assert refusal is not None
    assert refusal.reason == "no work of this kind comes next"


@pytest.mark.spec("D-021")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_leaving_node_is_shut_down_before_it_is_removed_from_group_0(edition: Edition) -> None:
    """After the others have answered that they write to it no more."""
    leaves = until(starting("leave C", edition=edition), in_state("left_token_ring"))
    told: list[str] = []
    while (moment := leaves.forward()) is not None:
        before = leaves.moments[moment.parent].state
        told += [flow.text for flow in flows(leaves.model, before, moment.action, moment.state)]
        members = [line.strip()[:1] for line in seen(leaves)["Group 0 configuration"][2:] if line]
        if members != ["A", "B", "C"]:
            break
        assert before.topology.transition == "left_token_ring"
    assert members == ["A", "B"]
    assert [text for text in told if text.endswith("shut_down")] == ["coordinator → C: shut_down"]
    drained = max(i for i, text in enumerate(told) if "drained" in text)
    answered = {text[0] for text in told if "drained" in text}
    assert answered >= {"A", "B"}
    assert told.index("coordinator → C: shut_down") > drained


@pytest.mark.spec("D-042", "D-046")
def test_a_barrier_shows_ignored_nodes_as_not_asked_and_dead_ones_as_deaf() -> None:
    """As not asked, and as not receiving the barrier."""
    timeline = starting("remove C", nodes=5, ignored=("B",), down=("B", "C"))
    until(timeline, lambda s: in_state("write_both_read_old")(s) and s.attempted.answered)
    assert "  B  version 1  –  –  not asked" in seen(timeline)["Barrier by node"]
    assert any("B: normal" in line and "ignored" in line for line in seen(timeline)["Nodes"])
    dies = until(starting("join D", crashes=1, failures=1), in_state("write_both_read_old"))
    press(dies, "crash C")
    assert (
        "  C  version 1  –  –  … the node does not receive the barrier"
        in seen(dies)["Barrier by node"]
    )


@pytest.mark.spec("D-023", "D-027", "D-031", "D-033", "D-034")
def test_the_queue_says_why_each_request_waits() -> None:
    """One at a time runs, and a lock holds all of them."""
    words = ("rebuild A", "leave C", "join D", "cleanup", "new_cdc_generation")
    timeline = starting(*words, edition="server")
    for number in range(5):
        timeline.do(act.MakeRequest(number))
    assert seen(timeline)["Request queue"][1:6] == [
        "  join D: next",
        "  leave C: waits (another request comes first)",
        "  rebuild A: waits (another request comes first)",
        "  cleanup: waits (requests for single nodes come first)",
        "  new_cdc_generation: waits (requests for single nodes come first)",
    ]
    while timeline.forward() is not None:
        shown = seen(timeline)
        assert sum(": running" in line for line in shown["Request queue"]) <= 1
    locked = starting("lock", "join D")
    locked.forward()
    locked.do(act.MakeRequest(1))
    until(locked, in_state("lock"))
    assert "  join D: waits (the topology is locked)" in seen(locked)["Request queue"]
    rebuilds = until(starting("rebuild C"), lambda s: s.attempted.streaming)
    assert seen(rebuilds)["Transition"][1] == "  ● → null"
    assert any(line.startswith("  C: rebuilding") for line in seen(rebuilds)["Nodes"])
    assert way(ended(starting("new_cdc_generation"))) == ["commit_cdc_generation", "◎"]


def waiting(timeline: Timeline) -> list[str]:
    """What stands in the request queue, in its order."""
    panel = next(p for p in for_model(timeline.model).panels if p.title == "Request queue")
    lines = panel.text(scene_of(timeline, timeline.at)).splitlines()
    return [line.split(":")[0].strip() for line in lines if ":" in line]


FIVE = ("rebuild A", "leave C", "join D", "cleanup", "new_cdc_generation")
NODES_FIRST = ["join D", "leave C", "rebuild A"]


@pytest.mark.spec("D-034")
@pytest.mark.parametrize("asked_for", [FIVE, FIVE[::-1], (*FIVE[2:], *FIVE[:2])])
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_requests_are_done_in_the_order_of_the_queue(
    asked_for: tuple[str, ...], edition: str
) -> None:
    """The oldest first by the documents; by the server those of nodes first, by kind."""
    timeline = starting(*asked_for, edition=edition)
    for number in range(5):
        timeline.do(act.MakeRequest(number))
    others = [words for words in asked_for if words not in NODES_FIRST]
    queue = list(asked_for) if edition == "documents" else [*NODES_FIRST, *others]
    assert waiting(timeline) == queue
    done: list[str] = []
    while timeline.forward() is not None:
        left = waiting(timeline)
        done += [words for words in queue if words not in left and words not in done]
    assert done == queue


@pytest.mark.spec("D-035")
def test_a_node_without_tokens_is_normal_with_no_tokens_in_its_row() -> None:
    """The card says so."""
    timeline = ended(starting("join D --zero-token"))
    assert any("D: normal" in x and "no tokens" in x for x in seen(timeline)["Nodes"])
    assert not any("D.tokens" in line for line in seen(timeline)["system.topology"])


@pytest.mark.spec("D-029")
def test_a_request_is_in_the_row_of_its_node_with_its_parameter() -> None:
    """For each kind of request; the queue has them as well."""
    of_node = {"join D": "D.tokens_string = 7", "leave C": "", "remove C": "", "rebuild C": ""}
    of_node |= {"replace D C": "D.replaced_id = C", "rebuild C --source-dc=dc1": "C.rebuild_option"}
    for words, parameter in of_node.items():
        more = " --initial-token=7" * (words == "join D")
        timeline = starting(words + more)
        timeline.do(act.MakeRequest(0))
        kind, node = words.split()[:2]
        cells = seen(timeline)["system.topology"]
        assert any(f"{node}.topology_request = {kind}" in line for line in cells), words
        assert any(parameter in line for line in cells), words
    timeline = starting("rebuild A", "replace D C")
    timeline.do(act.MakeRequest(0))
    timeline.do(act.MakeRequest(1))
    rows = seen(timeline)["system.topology"]
    assert any("A.topology_request = rebuild" in line for line in rows)
    assert any("D.topology_request = replace" in line for line in rows)
    assert any("D.replaced_id = C" in line for line in rows)
    queue = seen(timeline)["Request queue"]
    assert any(line.startswith("  replace D, replaces C: ") for line in queue)
    zero = press(starting("join D --zero-token"), "join D --zero-token")
    assert "  join D, join_ring=false, no tokens: next" in seen(zero)["Request queue"]


@pytest.mark.spec("D-047", "D-048", "F-001")
def test_another_coordinator_goes_on_from_the_same_tables() -> None:
    """The crown moves; the session, a UUID, is the one before."""
    timeline = until(
        starting("join D", edition="server", crashes=1), lambda s: s.attempted.streaming
    )
    shown = seen(timeline)

    def crowned() -> list[str]:
        return [name for name in "ABCD" if classed(character(timeline, name), "crown")]

    assert "  A leader, runs the coordinator" in shown["Group 0 configuration"]
    assert crowned() == ["A"]
    press(press(timeline, "crash A"), "elect B")
    assert crowned() == ["B"]
    now = seen(timeline)
    assert "  B leader, runs the coordinator" in now["Group 0 configuration"]
    tables = [[x.lstrip(" *") for x in each["system.topology"]] for each in (shown, now)]
    assert tables[0] == tables[1]
    [session] = [line.partition("static.session = ")[2] for line in tables[1] if ".session" in line]
    assert UUID(session).version == 1
    state = timeline.state.topology.session
    assert f"session {state} open ({session})" in "".join(now["Status"])


@pytest.mark.spec("F-001")
@pytest.mark.parametrize("edition", EDITIONS)
def test_each_session_and_request_has_a_uuid_of_its_own(edition: Edition) -> None:
    """A session's is the id of the group 0 state in which it was opened."""
    timeline = starting("rebuild A", "leave C", "join D", "rebuild B", edition=edition)
    sessions, requests = dict[str, int](), set[str]()
    while timeline.forward() is not None:
        cells = [x.lstrip(" *").partition(" = ") for x in seen(timeline)["system.topology"]]
        for name, _, text in cells:
            if name == "static.session" and text != "null":
                sessions.setdefault(text, timeline.state.state_id)
            if name.endswith(".request_id"):
                requests.add(text)
    assert {UUID(each).variant for each in requests | {*sessions}} == {RFC_4122}
    assert (len(sessions), len(requests)) == (4, 4)
    assert all(text == as_timeuuid(state) for text, state in sessions.items())


@pytest.mark.spec("D-049", "F-011")
def test_the_command_of_a_deposed_coordinator_is_shown_as_a_no_op() -> None:
    """The table stays as it is, without a session."""
    timeline = starting("leave C", edition="server", changes=1)
    while " is open" not in timeline.moments[timeline.at].say:
        assert timeline.forward() is not None
    press(timeline, "elect B")
    press(press(timeline, "decide"), "commit")
    before = seen(timeline)["system.topology"]
    press(timeline, "commit deposed")
    assert "  –  A  no-op: another command came first" in seen(timeline)["Group 0 history"]
    assert [x.lstrip(" *") for x in seen(timeline)["system.topology"]] == [
        x.lstrip(" *") for x in before
    ]
    assert not any("static.session" in line for line in before)


@pytest.mark.spec("F-016", "F-017", "F-019")
def test_the_cleanup_status_goes_from_clean_over_needed_and_running_to_clean() -> None:
    """Before D leaves again."""
    timeline = starting("join D", "leave D", edition="server")
    words: list[str] = []
    queue: set[str] = set()
    while timeline.forward() is not None:
        shown = seen(timeline)
        [status] = [x for x in shown["system.topology"] if "A.cleanup_status" in x]
        word = status.rpartition(" ")[2]
        words += [word] if words[-1:] != [word] else []
        queue |= {line for line in shown["Request queue"] if "leave D" in line}
    assert words[:4] == ["clean", "needed", "running", "clean"]
    assert any("clean" in line for line in queue), queue
    everybody = starting("join D", "cleanup")
    until(everybody, lambda s: s.topology.nodes[0].cleanup == "running")
    rows = seen(everybody)["system.topology"]
    assert sum("cleanup_status = running" in line for line in rows) == 3


@pytest.mark.spec("D-032")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(
    "words",
    [
        "new_cdc_generation",
        "check_and_repair_cdc_streams",
        "cleanup",
        "keyspace_rf_change ks dc1=3",
        "truncate_table ks.t",
    ],
)
def test_each_request_of_the_whole_cluster_is_queued_and_done(edition: str, words: str) -> None:
    """A request that only the server has is refused."""
    timeline = starting(words, edition=edition, on_tablets=("A", "B"))
    kind = "new_cdc_generation" if "cdc" in words else words.partition(" ")[0]
    press(timeline, words)
    [line] = [each for each in seen(timeline)["Request queue"] if kind in each]
    assert line.endswith(": next")
    [request] = ended(timeline).state.topology.requests
    assert (request.kind, request.done, request.error) == (kind, True, False)
    assert kind in {request.name for request in GLOBAL_REQUESTS if request.played}
    with pytest.raises(BadInput, match="quiesce"):
        starting("quiesce")


@pytest.mark.spec("D-041")
def test_the_id_of_a_request_is_the_id_of_its_group_0_state() -> None:
    """The id of a global request is in its own column while the request runs."""
    timeline = until(starting("new_cdc_generation"), in_state("commit_cdc_generation"))
    [row] = [x for x in seen(timeline)["system.topology"] if "topology_request_id" in x]
    assert row.endswith(f"= {as_timeuuid(2)}")
    assert "  2  –  request new_cdc_generation" in seen(timeline)["Group 0 history"]
    later = starting("rebuild A", "rebuild B")
    for verb in ("rebuild A", "decide", "commit", "rebuild B"):
        press(later, verb)
    rows = seen(later)["system.topology"]
    assert any(f"A.request_id = {as_timeuuid(2)}" in line for line in rows)
    assert any(f"B.request_id = {as_timeuuid(4)}" in line for line in rows)


@pytest.mark.spec("D-016", "D-037")
def test_the_table_keeps_the_id_of_a_request_that_is_done() -> None:
    """One row per host; the runs together pass every transition state of the documents."""
    timeline = ended(starting("join D"))
    rows = seen(timeline)["system.topology"]
    assert any(f"D.request_id = {as_timeuuid(2)}" in line for line in rows)
    assert not any("D.topology_request" in line for line in rows)
    assert [line for line in rows if ".host_id" in line] == [
        f"  {name}.host_id = {name}" for name in "ABCD"
    ]
    for edition, spelled in zip(EDITIONS, (SWITCH[0], "write both read old"), strict=True):
        busy = until(starting("join D", edition=edition), in_state(SWITCH[0]))
        cells = [line.partition("static.")[2] for line in seen(busy)["system.topology"]]
        assert f"transition_state = {spelled}" in cells
    passed = {state for words in PATHS for state in way(ended(starting(words)))}
    passed |= {state for words in BACK for state in way(failed_in(words, SWITCH[0]))}
    for words, given in (((), {"tablets": 1, "resizes": 1}), (("lock",), {})):
        timeline = starting(*words, **given)
        for verb in words or ("imbalance", "resize"):
            press(timeline, verb)
        passed |= set(way(ended(timeline)))
    assert passed >= {each.name for each in TRANSITION_STATES if each.edition == "documents"}


@pytest.mark.spec("F-016")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_failed_leave_leaves_cleanup_to_the_nodes_that_took_writes(edition: Edition) -> None:
    """C itself is clean."""
    timeline = until(
        starting("leave C", edition=edition, failures=1),
        lambda s: in_state("write_both_read_old")(s) and s.attempted.streaming,
    )
    before = [line for line in seen(timeline)["system.topology"] if "cleanup_status" in line]
    assert [line.rpartition(" ")[2] for line in before] == ["clean"] * 3
    now = seen(ended(press(timeline, "fail")))
    assert any(line.startswith("  C: normal") for line in now["Nodes"])
    after = [line for line in now["system.topology"] if "cleanup_status" in line]
    assert [line.rpartition(" ")[2] for line in after] == ["needed", "needed", "clean"]
