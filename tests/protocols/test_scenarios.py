"""Scenario files: what they say is what happens. KIT_REWRITE=1 writes what is shown into them.

Commit a change of theirs only if you can say why it is right.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kit.errors import BadInput
from kit.model.registry import entry_of
from kit.model.scenario import file_named, files, model_for, open_file, parse, read, run
from kit.model.timeline import Timeline
from kit.protocols.group0.discovery import makes_one_group
from kit.protocols.tcm.cluster import SAFEGUARDS, TcmCluster
from kit.protocols.tcm.facts import moment as facts
from tests.stories import rewritten

REWRITE = os.environ.get("KIT_REWRITE") == "1"
LONGEST = 95  # lines: what a lecturer still shows
CLAIMS = """
    a-fifth-node-joins a-replica-dies-meanwhile one-of-four-leaves taken-back two-joins-at-once
    assassinate barrier-holds barrier-relaxes bootstrap cancel-after-switch cancel-before-switch
    crash-and-resume asked-from-a-peer held-back
    decommission entry-above-a-gap lock-refused move no-way-back removenode server
    replace rf3 stream-before-switch the-log-never-changes too-few-left two-bootstraps
"""
REQUESTS = """
    ahead-and-member anomaly-invisible-write anomaly-lost-write barrier-refuses behind-catches-up
    data-not-owned deleted-data-returns deleted-data-stays-away gossip-below-its-level
    gossip-invisible-write gossip-lost-write late-message no-longer-a-member
    not-owned-worked-example plan-revalidated plan-retried
    read-repair-blocking read-repair-of-answers read-repair-of-mismatches
"""
VERSIONS = """
    cleanup-before-the-range-returns fence-asked-again fence-refuses late-stream-turned-away
    pause-is-no-barrier rollback-keeps-writes two-of-four-server two-of-four-documents
"""


STAGES = """
    late-stream-refused off-barrier-drains-within-a-node reads-go-back-first
    nine-steps nine-steps-without-guards
    documents-way-back-loses-a-write stale-write-refused
"""


@pytest.mark.spec("A-017", "A-028", "A-039")
@pytest.mark.parametrize("path", files().values(), ids=lambda path: path.stem)
def test_a_scenario_file_shows_what_a_new_run_shows(path: Path) -> None:
    """Below every rule, exactly."""
    found = rewritten(path)
    if REWRITE:
        path.write_text(found, encoding="utf-8")
    assert read(path) == found


def test_each_claim_and_each_safeguard_has_a_scenario() -> None:
    """And no model has a scenario besides."""
    for model, claims, guards in (
        ("tcm", CLAIMS, SAFEGUARDS),
        ("dataplane", REQUESTS, entry_of("dataplane").safeguards),
        ("vnodes", VERSIONS, entry_of("vnodes").safeguards),
        ("tablets", STAGES, entry_of("tablet").safeguards),
    ):
        wanted = {*claims.split(), *(f"off-{guard.name}" for guard in guards)}
        there = {path.stem for name, path in files().items() if name.startswith(f"{model}/")}
        assert there == wanted, model


@pytest.mark.parametrize("path", files().values(), ids=lambda path: path.stem)
def test_a_scenario_says_why_and_is_short(path: Path) -> None:
    """The lines above it give the reason; LONGEST is what a lecturer still shows."""
    script = parse(read(path), path.name)
    assert script.why.endswith((".", "103."))
    assert len(script.why) > 40
    assert len(read(path).splitlines()) <= LONGEST


@pytest.mark.parametrize("path", files().values(), ids=lambda path: path.stem)
def test_a_promise_breaks_in_a_scenario_only_for_a_known_reason(path: Path) -> None:
    """Each reason is a name below: a safeguard that is off, gossip, seeds that part the nodes."""
    timeline = open_file(path)
    dark = False
    for moment in range(len(timeline.moments)):
        timeline.goto(moment)
        dark = dark or any(not verdict.ok for verdict in timeline.verdicts())
    given = timeline.model.parameters
    edition, seeds = getattr(given, "edition", ""), getattr(timeline.model, "contact_points", {})
    rivals = timeline.model.name == "gossip" and len(getattr(given, "changes", ())) > 1
    reasons = {
        "a safeguard is off": bool({*timeline.model.off} - {"continue-from-tables"}),
        "nodes gossip": getattr(given, "mode", "log") == "gossip",
        "repair waits for no quorum": getattr(given, "repair", "") in ("answered", "mismatch"),
        "seeds part the nodes": bool(seeds) and not makes_one_group(seeds),
        "two of four are down": edition == "server" and getattr(given, "crashes", 0) > 1,
        "a pause stands for a barrier": getattr(given, "barrier_fails", False),
        "back to a live target": edition == "documents" and getattr(given, "excluded", "") == "D",
        "two changes at once by gossip": rivals and path.stem != "two-columns",
        "a join by gossip during a cut": timeline.model.name == "gossip_join" and given.cuts > 0,
        "an operator leaves a step out": path.stem == "history-kept",
    }
    assert dark is any(reasons.values()), [reason for reason, is_so in reasons.items() if is_so]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("path", files().values(), ids=lambda path: path.stem)
def test_a_scenario_opens_at_its_start_and_is_saved_and_loaded(path: Path) -> None:
    """The loaded history says the same at each moment."""
    timeline = open_file(path)
    assert timeline.at == 0
    assert len(timeline.moments) > 1 or path.stem == "too-few-left"
    again = Timeline.load(timeline.save())
    assert [moment.say for moment in again.moments] == [m.say for m in timeline.moments]


def test_the_scenario_of_a_bootstrap_ends_in_epoch_4_with_x_as_a_replica() -> None:
    """At its last moment."""
    timeline = open_file(file_named("tcm/bootstrap"))
    timeline.goto(timeline.tip)
    assert isinstance(timeline.model, TcmCluster)
    assert timeline.model.newest_epoch(timeline.state) == 4
    assert "X" in facts.rows(timeline.model, timeline.state)[0].reads


HEAD = '# Why.\nmodel tcm\noperations ["bootstrap X --tokens 150"]\n'
JOIN = "\nbootstrap X --tokens 150\n----\n"


@pytest.mark.parametrize(
    ("text", "line", "allowed"),
    [
        ("", 1, "a comment that says why"),
        ("model tcm\n", 1, "a comment that says why"),
        ("# Why.\n", 1, "`model NAME`"),
        ("# Why.\nrf 3\n", 2, "`model NAME`"),
        ("# Why.\nmodel tmc\n", 2, "tcm"),
        ("# Why.\nmodel tcm\nrf\n", 3, "a parameter and its value"),
        ("# Why.\nmodel tcm\nrf 3\nrf 3\n", 4, "no parameter twice"),
        ("# Why.\nmodel tcm\nfr 3\n", 3, "rf"),
        ("# Why.\nmodel tcm\nrf many\n", 3, "a whole number"),
        ("# Why.\nmodel tcm\nrf 0\n", 3, "1 to 1000"),
        ("# Why.\nmodel tcm\noff range-lock\n", 3, "range-locks"),
        ('# Why.\nmodel tcm\noperations ["decommission Q"]\n', 3, "A, B, C"),
        ('# Why.\nmodel tcm\noperations ["decommission \\u0051"]\nrf 3\n', 2, "A, B, C"),
        (HEAD + "\nbootstrap X --tokens 150\n", 5, "a line ---- after"),
        (HEAD + "\n# nothing\n----\n", 6, "a command above"),
        (HEAD + "\nbootstrap X --tokens 151\n----\n", 5, "bootstrap X --tokens 150"),
        (HEAD + JOIN + "\nrows no\n----\n", 8, "ks"),
        (HEAD + JOIN + "\nbarrier Q\n----\n", 8, "A, B, C, X"),
        (HEAD + JOIN + "\nrow\n----\n", 8, "rows"),
    ],
)
def test_a_malformed_scenario_is_refused_with_its_line(text: str, line: int, allowed: str) -> None:
    """The error names file and line, and what is allowed."""
    with pytest.raises(BadInput) as error:
        run(parse(text, "some.txt"))
    assert error.value.field.split()[0] == f"some.txt:{line}"
    assert allowed in error.value.allowed
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [None, b"# \xff\n", b"# " + b"a" * 1_000_001])
def test_an_unreadable_scenario_is_refused(tmp_path: Path, content: bytes | None) -> None:
    """Missing, not UTF-8, or huge."""
    path = tmp_path / "some.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match="file: got"):
        open_file(path)


def test_next_back_milestone_enabled_and_waiting_move_and_show() -> None:
    """The first three move along the run; the others list steps that begin with a word."""
    text = HEAD + "\nnext\nnext\nback\nnext\nmilestone\nenabled commit\nwaiting commit\n----\n"
    timeline, (shown,) = run(parse(text))
    assert shown[0].startswith("“Bootstrap X at 150” begins")
    assert shown[1] == shown[3] == "A applies epoch 1."
    assert shown[2] == shown[0]
    assert shown[4].startswith("Epoch 2")
    assert shown[5] == "nothing"
    assert shown[6] == (
        "commit X: X drives the operation but has not applied epoch 2 itself; waiting at the "
        "barrier: 0 of 3 replicas of (0, 100] applied epoch 2, but 2 are needed; and streaming "
        "to X is not complete: 0 of 2 done"
    )
    assert timeline.tip == len(timeline.moments) - 1


def test_a_move_without_a_step_left_says_so() -> None:
    """At rest, and back at the start."""
    text = HEAD + "\nback\ncatch up\nmilestone\nmilestone\nmilestone\nmilestone\nmilestone\n----\n"
    _, (shown,) = run(parse(text))
    assert shown[0] == "nothing is left to do"
    assert shown[1] == "no node lags"


def test_a_scenario_of_a_model_without_texts_shows_steps_and_promises() -> None:
    """Two-phase commit: enabled steps, the promises, and which model it is."""
    text = "# Why.\nmodel twophase\n\nenabled prepare\nprepare RM1\nverdicts\nwaiting\n----\n"
    script = parse(text)
    _, (shown,) = run(script)
    assert shown[0] == "prepare RM0, prepare RM1, prepare RM2"
    assert "the one promise holds" in shown
    assert model_for(script).name == "twophase"
