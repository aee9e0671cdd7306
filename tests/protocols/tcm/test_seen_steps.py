"""Operations and the metadata service on the screen: steps, refusals, locks, what peers send."""

from __future__ import annotations

import pytest

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.operation import meters
from kit.protocols.tcm.panels.placement import placements_text
from kit.views.actions import action_board
from kit.views.panel import Scene
from tests.protocols.tcm.seeing import Watched, buttons, pressable, watched
from tests.saying import says
from tests.views.frames import after, classed, last_flows, panel_text

JOIN = "bootstrap X --tokens 150"

STEPS = {
    "bootstrap": ("bootstrap X --tokens 150",
        ["1 split ranges", "2 add write replicas", "3 switch reads", "4 drop old write replicas"]),
    "decommission": ("decommission X",
        ["1 add write replicas", "2 switch reads", "3 drop old write replicas",
         "4 merge equal neighbours"]),
}  # fmt: skip


@pytest.mark.spec("A-017", "A-028", "B-019")
@pytest.mark.parametrize("name", STEPS)
def test_the_four_step_buttons_of_an_operation_unlock_one_after_the_other(name: str) -> None:
    """Once its barrier is met and its data is there, the button commits the event that it names."""
    begin, texts = STEPS[name]
    drive = watched(name).act(begin)
    for done in range(1, 4):
        assert [one.text() for one in drive.steps()] == texts, done
        assert pressable(drive.steps()) == [False] * 4, done
        refused = [one.get("data-refused") or "" for one in drive.steps()]
        assert refused[:done] == ["This event has already been committed."] * done, done
        assert "waiting at the barrier" in refused[done], done
        for later in range(done + 1, 4):
            assert refused[later] == f"Event {later} comes first: {texts[later - 1][2:]}."
        drive.ready()
        assert pressable(drive.steps()) == [i == done for i in range(4)], done
        board = drive.button(f"{texts[done][2:]} ({drive.operation().title})")
        assert drive.steps()[done].get("data-act") == board.get("data-act"), done
        drive.act("commit X")
        assert facts.log(drive.model, drive.state)[-1].text == texts[done][2:], done
    assert says(*drive.words("operation"), "no operation")


@pytest.mark.spec("B-017", "B-019")
@pytest.mark.parametrize(
    "given", [{"rf": 2}, {"rf": 3}, {"rf": 3, "operations": ("decommission B",)}]
)
def test_each_step_waits_for_exactly_a_majority_of_old_and_new_replicas(given: dict) -> None:
    """With one replica too few it is refused. The meter counts along."""
    operations = given.get("operations", (JOIN,))
    drive = Watched(nodes=5, **{**given, "operations": operations}).act(operations[0])
    node = operations[0].split()[1]
    rest = Watched(nodes=5, **{**given, "operations": operations})
    after = Watched(nodes=5, **{**given, "operations": operations}).complete(operations[0])
    while drive.metadata.sequence(node) is not None:
        for row in drive.operation().barriers:
            middle = (row.left + row.right) // 2
            old, new = rest.groups(middle)[0], after.groups(middle)[0]
            assert set(row.replicas) == old | new
            assert row.needed == len(old | new) // 2 + 1
            assert row.epoch == drive.model.newest_epoch(drive.state)
        lowest = drive.operation().barriers[0]
        for name in sorted(lowest.replicas, key=lambda one: (one != node, one)):
            acked = next(b for b in drive.operation().barriers if b.label == lowest.label).acked
            count = f"{lowest.label}: {len(acked)} of {len(lowest.replicas)} acknowledged, "
            assert any(line.strip().startswith(count) for line in drive.words("operation"))
            if len(acked) < lowest.needed:
                assert "waiting at the barrier" in drive.refusal(f"commit {node}").reason
            drive.act(f"apply {name}")
        drive.commit(node)


@pytest.mark.spec("B-018")
def test_the_meter_of_a_barrier_is_met_by_three_of_four() -> None:
    """For {A, B, C} to {B, C, X} it waits with 2 of 4."""
    drive = watched("rf3").act(JOIN)
    for name, word in (("X", "waits"), ("A", "waits"), ("B", "met")):
        drive.act(f"apply {name}")
        row = next(one for one in drive.operation().barriers if one.label == "(100, 150]")
        assert set(row.replicas) == {"A", "B", "C", "X"}, (name, word)
        drawn = meters([row], "")
        assert drawn is not None, (name, word)
        assert f"{len(row.acked)} of 4" in drawn.text(), (name, word)
        assert classed(drawn, "bulb")[0].get("aria-label") == word, (name, word)
    assert len(row.acked) == 3
    assert "      (100, 150]: 3 of 4 acknowledged, 3 needed" in [
        line[4:] for line in drive.words("operation")
    ]


APART = ("bootstrap X --tokens 250", "bootstrap Y --tokens 750")


@pytest.mark.spec("B-020", "B-008")
def test_a_join_whose_replicas_are_silent_does_not_block_another_join() -> None:
    """X's meter stays at 0 of 4, and Y's step is committed."""
    drive = Watched(nodes=10, rf=3, operations=APART).act(*APART)
    silent = {name for row in drive.operation("X").barriers for name in row.replicas}
    for name in ("Y", *drive.model.names):
        while name not in silent and f"apply {name}" in drive.verbs():
            drive.act(f"apply {name}")
    assert any(row.met for row in drive.operation("Y").barriers)
    assert not any(row.met for row in drive.operation("X").barriers)
    assert pressable(drive.steps()) == [False] * 4 + [False, True, False, False]
    lines = drive.words("operation")
    own = [line for line in lines if "acknowledged" in line]
    assert sum(line.strip().endswith("0 of 4 acknowledged, 3 needed") for line in own) >= 2
    assert sum("acknowledged, 3 needed" in line and "0 of" not in line for line in own) >= 2
    drive.act("commit Y")
    assert drive.operation("Y").steps[1].status == "done"
    assert drive.operation("X").steps[1].status == "next"


@pytest.mark.spec("A-029")
def test_a_leavers_read_switch_button_counts_its_missing_streams() -> None:
    """A bar has the same figures."""
    drive = watched("decommission").act("decommission X").repeat("apply ")
    streams = [verb for verb in drive.verbs() if verb.startswith("stream")]
    assert len(streams) == 2
    for done in range(2):
        [button] = [one for one in drive.steps() if one.text() == "2 switch reads"]
        refused = button.get("data-refused") or ""
        assert f"is not complete: {done} of 2 done; X to" in refused, done
        bar = next(one for one in drive.drawn("streams").walk() if one.tag == "progress")
        rows = drive.operation().streams
        assert (bar.get("value"), bar.get("max")) == (str(sum(r.done for r in rows)), "3"), done
        drive.act(streams[done])
    assert pressable(drive.steps()) == [False, True, False, False]


@pytest.mark.spec("A-038")
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_node_that_crashed_and_restarted_shows_its_next_step(after: int) -> None:
    """No step is repeated in the log."""
    drive = watched("crash-and-resume").act(JOIN).commit("X", after - 1)
    crash = drive.button("crash X")
    assert crash.get("aria-disabled") is None
    drive.act("crash X")
    steps = [line for line in drive.words("operation") if "    [" in line]
    assert [line.strip()[:3] for line in steps] == ["[x]"] * after + ["[>]"] + ["[ ]"] * (3 - after)
    assert not any(pressable(drive.steps()))
    drive.act("restart X").ready()
    assert pressable(drive.steps()) == [i == after for i in range(4)]
    drive.finish("X")
    texts = [line.text for line in facts.log(drive.model, drive.state)]
    assert [f"{i + 1} {text}" for i, text in enumerate(texts)] == STEPS["bootstrap"][1]


KINDS = {"move B --tokens 450": 5, "replace B Z": 3, "removenode B": 4}


@pytest.mark.spec("A-039")
def test_the_list_of_actions_offers_every_operation() -> None:
    """Each operation then has its numbered steps. An assassination has none."""
    offered = Watched(nodes=5, rf=2, menu=True)
    options = [one.text() for one in action_board(offered.scene).walk() if one.tag == "button"]
    kinds = {option.split()[0].lower() for option in options}
    assert kinds >= {"bootstrap", "decommission", "move", "replace", "removenode", "assassinate"}
    for verb, count in KINDS.items():
        drive = Watched(nodes=5, rf=3, operations=(verb,)).act(verb)
        assert len(drive.steps()) == count, (verb, count)
        assert [one.text().split()[0] for one in drive.steps()] == list(
            map(str, range(1, count + 1))
        )
    gone = Watched(nodes=5, rf=3, operations=("assassinate B",)).act("assassinate B")
    assert "remove the node at once" in "".join(gone.words("log"))
    assert gone.steps() == []


@pytest.mark.spec("B-007", "B-009")
@pytest.mark.parametrize("cancelled", [False, True])
def test_locked_ranges_are_drawn_until_the_operation_ends_or_is_cancelled(cancelled: bool) -> None:
    """A sign names the holder, and an overlapping join is refused with that name."""
    joins = ("bootstrap X --tokens 550", "bootstrap Z --tokens 750")
    drive = Watched(nodes=10, rf=3, operations=joins, cancels=1).act(joins[0])
    locked = {row.label for row in facts.rows(drive.model, drive.state) if row.locked_by}
    assert locked == {"(300, 400]", "(400, 500]", "(500, 550]", "(550, 600]"}
    signs = classed(drive.drawn("placements"), "lock-sign")
    assert len(signs) == len(locked)
    assert {sign.get("aria-label") for sign in signs} == {"locked by bootstrap X at 550"}
    assert {line.strip() for line in drive.words("locks")[1:]} == {
        f"ks  {label}  bootstrap X at 550" for label in locked
    }
    assert classed(drive.drawn("ring"), "held")
    button = drive.button("bootstrap Z at 750")
    assert says(button.get("data-refused"), "locked by")
    assert says(button.get("data-refused"), "bootstrap X at 550")
    if cancelled:
        drive.act("cancel X")
    drive.finish("X")
    assert classed(drive.drawn("placements"), "lock-sign") == []
    assert classed(drive.drawn("ring"), "held") == []
    assert says(*drive.words("locks"), "No range")
    drive.act(joins[1])


@pytest.mark.spec("B-057", "B-058")
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_cancel_adds_a_row_to_the_log_and_leaves_no_difference_in_the_tables(after: int) -> None:
    """The earlier rows of the log stay."""
    drive = Watched(rf=3, cancels=1, operations=(JOIN,))
    before = drive.words("placements")
    drive.act(JOIN).commit("X", after - 1)
    rows = drive.words("log")[2:]
    drive.act("cancel X")
    newest, *others = drive.words("log")[2:]
    assert others == rows
    assert "cancel" in newest
    drive.finish("X")
    now = placements_text(Scene(drive.model, drive.state, drive.states[0])).splitlines()
    assert now[:-1] == before
    assert says(now[-1], "Token by token | no replicas changed")


@pytest.mark.spec("B-081")
def test_each_commit_and_delivery_has_a_hold_and_a_release_button() -> None:
    """What is held is refused with that reason."""
    drive = Watched(holds=True, rf=1, operations=(JOIN,)).act(JOIN)
    whats = ["commit X", *(f"apply {name}" for name in drive.model.names)]
    for what in whats:
        assert drive.button(f"hold {what}").get("aria-disabled") is None
        drive.act(f"hold {what}")
        assert f"the test holds this back: {what}" in drive.refusal(what).reason
        labels = [one.text() for one in buttons(action_board(drive.scene))]
        assert f"hold {what}" not in labels
        assert drive.button(f"release {what}").get("aria-disabled") is None
    for what in whats:
        drive.act(f"release {what}")
    assert drive.finish("X").stable()


@pytest.mark.spec("B-003", "B-004")
def test_the_button_that_replaces_a_leaving_node_is_refused() -> None:
    """The reason names the leave."""
    words = ("decommission D", "replace D Y")
    drive = Watched(nodes=4, operations=words)
    assert drive.button("decommission D").get("aria-disabled") is None
    drive.act("decommission D")
    refused = drive.button("replace D with Y")
    assert refused.get("aria-disabled") == "true"
    assert refused.get("data-refused") == ("D already takes part in an operation: decommission D.")


@pytest.mark.spec("B-006")
@pytest.mark.parametrize(("nodes", "rf"), [(3, 3), (5, 5)])
def test_the_button_of_a_leave_is_refused_with_the_number_of_nodes_left(
    nodes: int, rf: int
) -> None:
    """With one node more than replicas it is free."""
    for count, reason in ((nodes, f"only {nodes - 1} nodes are left"), (nodes + 1, "")):
        node = "ABCDEF"[count - 1]
        drive = Watched(nodes=count, rf=rf, operations=(f"decommission {node}",))
        refused = drive.button(f"decommission {node}").get("data-refused") or ""
        assert bool(refused) == bool(reason), (count, reason)
        assert reason in refused, (count, reason)


@pytest.mark.spec("B-021")
def test_the_meter_of_a_barrier_does_not_count_an_epoch_that_is_held_back() -> None:
    """Once the gap is filled strip and meter both move."""
    drive = Watched(window=2, rf=3, operations=(JOIN,)).act(JOIN, "apply A", "apply B", "apply X")
    drive.act("commit X")
    for verb, epoch, counted in (("deliver 2 to C", 0, "0 of 4"), ("apply C", 2, "1 of 4")):
        drive.act(verb)
        [strip] = [line for line in drive.words("epochs") if line.split()[0] == "C"]
        assert strip.count("✓") == 1 + epoch, (verb, epoch)
        meters = [line.strip() for line in drive.words("operation") if "(100, 150]: " in line]
        assert meters == [f"(100, 150]: {counted} acknowledged, 3 needed"], (verb, epoch)


@pytest.mark.spec("B-059")
def test_the_steps_of_a_silent_joiner_stay_on_the_screen() -> None:
    """A node's wish to give the join up is refused, and the operator's cancel is free."""
    drive = Watched(crashes=1, cancels=1, operations=(JOIN,)).act(JOIN, "crash X")
    before = [line for line in drive.words("operation") if "    [" in line]
    for verb in ("apply A", "apply B", "apply C"):
        drive.act(verb)
        assert [line for line in drive.words("operation") if "    [" in line] == before, verb
        said = "A might have lost sight of X, but only an operator can cancel."
        assert drive.button("give-up X by A").get("data-refused") == said, verb
    assert drive.button("cancel X").get("aria-disabled") is None


@pytest.mark.spec("B-037")
def test_the_arrow_from_a_lagging_peer_names_the_epochs_sent() -> None:
    """B gets epoch 1, and stays behind epoch 2."""
    given = {"peers": True, "barrier": False, "operations": (JOIN,)}
    verbs = (JOIN, "apply X", "commit X", "apply A")
    timeline = after("tcm", given, *verbs, "ask A for B")
    asked, sent = last_flows(timeline)
    assert (asked.text, sent.text) == ("B → A: asks for epochs above 0", "A → B: epoch 1")
    lines = [line.split() for line in panel_text(timeline, "epochs").splitlines()]
    assert ["B", "✓", "✓"] in lines
    assert timeline.model.newest_epoch(timeline.state) == 2
