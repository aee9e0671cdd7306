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
def test_four_numbered_buttons_unlock_one_after_the_other(name: str) -> None:
    """Each step has its numbered button; only the next one can be pressed, once its barrier is met
    and its data is there; pressed, it commits the event that it names.
    """
    begin, texts = STEPS[name]
    drive = watched(name).act(begin)
    for done in range(1, 4):
        assert [one.text() for one in drive.steps()] == texts
        assert pressable(drive.steps()) == [False] * 4
        refused = [one.get("data-refused") or "" for one in drive.steps()]
        assert refused[:done] == ["This event has already been committed."] * done
        assert "waiting at the barrier" in refused[done]
        for later in range(done + 1, 4):
            assert refused[later] == f"Event {later} comes first: {texts[later - 1][2:]}."
        drive.ready()
        assert pressable(drive.steps()) == [i == done for i in range(4)]
        board = drive.button(f"{texts[done][2:]} ({drive.operation().title})")
        assert drive.steps()[done].get("data-act") == board.get("data-act")
        drive.act("commit X")
        assert facts.log(drive.model, drive.state)[-1].text == texts[done][2:]
    assert says(*drive.words("operation"), "no operation")


@pytest.mark.spec("B-017", "B-019")
@pytest.mark.parametrize(
    "given", [{"rf": 2}, {"rf": 3}, {"rf": 3, "operations": ("decommission B",)}]
)
def test_each_step_waits_for_a_majority_of_old_and_new(given: dict) -> None:
    """Before each step, and for every range that the operation changes: not with one replica too
    few, then with exactly a majority of those before and after together. The meter below the
    step's button counts along.
    """
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
            assert row.epoch == facts.epoch(drive.model, drive.state)
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
def test_three_of_four_unlock_a_step() -> None:
    """For {A,B,C} to {B,C,X} the meter shows 2 of 4 and waits, then 3 of 4 and is met."""
    drive = watched("rf3").act(JOIN)
    for name, word in (("X", "waits"), ("A", "waits"), ("B", "met")):
        drive.act(f"apply {name}")
        row = next(one for one in drive.operation().barriers if one.label == "(100, 150]")
        assert set(row.replicas) == {"A", "B", "C", "X"}
        drawn = meters([row], "")
        assert drawn is not None
        assert f"{len(row.acked)} of 4" in drawn.text()
        assert classed(drawn, "bulb")[0].get("aria-label") == word
    assert len(row.acked) == 3
    assert "      (100, 150]: 3 of 4 acknowledged, 3 needed" in [
        line[4:] for line in drive.words("operation")
    ]


APART = ("bootstrap X --tokens 250", "bootstrap Y --tokens 750")


@pytest.mark.spec("B-020", "B-008")
def test_two_meters_and_one_is_blocked() -> None:
    """Two joins side by side: with X's replicas silent its step is blocked, Y's goes on."""
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
def test_the_leavers_read_switch_waits_for_its_streams() -> None:
    """Its button says how much of the leaver's data is there, beside a bar of the same figures."""
    drive = watched("decommission").act("decommission X").repeat("apply ")
    streams = [verb for verb in drive.verbs() if verb.startswith("stream")]
    assert len(streams) == 2
    for done in range(2):
        [button] = [one for one in drive.steps() if one.text() == "2 switch reads"]
        refused = button.get("data-refused") or ""
        assert f"is not complete: {done} of 2 done; X to" in refused
        bar = next(one for one in drive.drawn("streams").walk() if one.tag == "progress")
        rows = drive.operation().streams
        assert (bar.get("value"), bar.get("max")) == (str(sum(r.done for r in rows)), "3")
        drive.act(streams[done])
    assert pressable(drive.steps()) == [False, True, False, False]


@pytest.mark.spec("A-038")
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_crash_button_and_the_step_after(after: int) -> None:
    """Crashed between two steps and back, the node goes on at the next one and repeats none."""
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
    """Where all operations are offered, one list holds them; each then has its step list."""
    offered = Watched(nodes=5, rf=2, menu=True)
    options = [one.text() for one in action_board(offered.scene).walk() if one.tag == "button"]
    kinds = {option.split()[0].lower() for option in options}
    assert kinds >= {"bootstrap", "decommission", "move", "replace", "removenode", "assassinate"}
    for verb, count in KINDS.items():
        drive = Watched(nodes=5, rf=3, operations=(verb,)).act(verb)
        assert len(drive.steps()) == count
        assert [one.text().split()[0] for one in drive.steps()] == list(
            map(str, range(1, count + 1))
        )
    gone = Watched(nodes=5, rf=3, operations=("assassinate B",)).act("assassinate B")
    assert "remove the node at once" in "".join(gone.words("log"))
    assert gone.steps() == []


@pytest.mark.spec("B-007", "B-009")
@pytest.mark.parametrize("cancelled", [False, True])
def test_locks_are_drawn_while_they_are_held(cancelled: bool) -> None:
    """Locked ranges have a lock that names its holder; an overlapping join is refused with that;
    after the last step, or the cancel, the locks are gone and the join may begin.
    """
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
    assert classed(drive.drawn("ring"), "lock-glyph")
    button = drive.button("bootstrap Z at 750")
    assert says(button.get("data-refused"), "locked by")
    assert says(button.get("data-refused"), "bootstrap X at 550")
    if cancelled:
        drive.act("cancel X")
    drive.finish("X")
    assert classed(drive.drawn("placements"), "lock-sign") == []
    assert classed(drive.drawn("ring"), "lock-glyph") == []
    assert says(*drive.words("locks"), "No range")
    drive.act(joins[1])


@pytest.mark.spec("B-057", "B-058")
@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_cancel_is_one_more_row_and_an_empty_difference(after: int) -> None:
    """The log keeps its rows and gets new ones; the tables are those from before the first step."""
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
def test_every_commit_and_every_way_has_hold_and_release() -> None:
    """There is a hold button for each commit and for the way of events to each node; what is held
    is refused with that reason, and has a release button instead.
    """
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
def test_the_second_of_two_buttons_is_refused() -> None:
    """D may be replaced until its leave is committed; then the button says which operation it is
    in, though the node that would take its place has heard of nothing.
    """
    words = ("decommission D", "replace D Y")
    drive = Watched(nodes=4, operations=words)
    assert drive.button("decommission D").get("aria-disabled") is None
    drive.act("decommission D")
    refused = drive.button("replace D with Y")
    assert refused.get("aria-disabled") == "true"
    assert refused.get("data-refused") == ("D already takes part in an operation: decommission D.")


@pytest.mark.spec("B-006")
@pytest.mark.parametrize(("nodes", "rf"), [(3, 3), (5, 5)])
def test_the_button_of_a_leave_counts_what_would_be_left(nodes: int, rf: int) -> None:
    """With as many nodes as replicas it is greyed, and says so; with one more it is not."""
    for count, reason in ((nodes, f"only {nodes - 1} nodes are left"), (nodes + 1, "")):
        node = "ABCDEF"[count - 1]
        drive = Watched(nodes=count, rf=rf, operations=(f"decommission {node}",))
        refused = drive.button(f"decommission {node}").get("data-refused") or ""
        assert bool(refused) == bool(reason)
        assert reason in refused


@pytest.mark.spec("B-021")
def test_the_meter_counts_who_has_applied_alone() -> None:
    """C holds epoch 2 back, which came before epoch 1: its strip stands, and the meter does, too.
    Once epoch 1 is there both move.
    """
    drive = Watched(window=2, rf=3, operations=(JOIN,)).act(JOIN, "apply A", "apply B", "apply X")
    drive.act("commit X")
    for verb, epoch, counted in (("deliver 2 to C", 0, "0 of 4"), ("apply C", 2, "1 of 4")):
        drive.act(verb)
        [strip] = [line for line in drive.words("epochs") if line.split()[0] == "C"]
        assert strip.count("✓") == 1 + epoch
        meters = [line.strip() for line in drive.words("operation") if "(100, 150]: " in line]
        assert meters == [f"(100, 150]: {counted} acknowledged, 3 needed"]


@pytest.mark.spec("B-059")
def test_who_is_silent_stays_pending_on_the_screen() -> None:
    """X is down while all others go on: its operation keeps its steps; the wish of a node that has
    lost sight of it is greyed, the operator's button is not.
    """
    drive = Watched(crashes=1, cancels=1, operations=(JOIN,)).act(JOIN, "crash X")
    before = [line for line in drive.words("operation") if "    [" in line]
    for verb in ("apply A", "apply B", "apply C"):
        drive.act(verb)
        assert [line for line in drive.words("operation") if "    [" in line] == before
        said = "A might have lost sight of X, but only an operator can cancel."
        assert drive.button("give-up X by A").get("data-refused") == said
    assert drive.button("cancel X").get("aria-disabled") is None


@pytest.mark.spec("B-037")
def test_an_arrow_has_what_a_peer_sends() -> None:
    """A has one of two entries and B none: B gets that one, and stays behind with just that."""
    given = {"peers": True, "barrier": False, "operations": (JOIN,)}
    verbs = (JOIN, "apply X", "commit X", "apply A")
    timeline = after("tcm", given, *verbs, "ask A for B")
    asked, sent = last_flows(timeline)
    assert (asked.text, sent.text) == ("B → A: asks for epochs above 0", "A → B: epoch 1")
    lines = [line.split() for line in panel_text(timeline, "epochs").splitlines()]
    assert ["B", "✓", "✓"] in lines
    assert facts.epoch(timeline.model, timeline.state) == 2
