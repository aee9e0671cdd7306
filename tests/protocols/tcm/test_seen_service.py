"""What a student sees of the metadata service: refusals on buttons, ticks, what peers send."""

from __future__ import annotations

import pytest

from kit.protocols.tcm.facts import moment as facts
from tests.protocols.tcm.seeing import Watched
from tests.views.frames import after, last_flows, panel_text

JOIN = "bootstrap X --tokens 150"


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
        assert any(line.strip().startswith(f"C: epoch {epoch}") for line in drive.words("epochs"))
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
    lines = [line.strip() for line in panel_text(timeline, "epochs").splitlines()]
    assert any(line.startswith("B: epoch 1") for line in lines)
    assert facts.epoch(timeline.model, timeline.state) == 2
