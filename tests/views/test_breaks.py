"""A step that breaks a promise: two facts, culprits, causes in words and as a diagram."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from itertools import pairwise
from typing import Any

import pytest

from kit.model.actors import NetworkModel
from kit.model.registry import build, entries
from kit.model.scenario import file_named, files, open_file
from kit.model.timeline import Timeline
from kit.search.causes import Inquiry, Parted, Possible, Restored, smallest_cause
from kit.search.check import check
from kit.views.breaks import (
    NO_ACTION,
    break_lines,
    breaking,
    contradiction,
    facts,
    possible_words,
    restored_words,
)
from kit.views.headlines import MOST_WORDS
from kit.views.lanes import escaped, mermaid, seen
from kit.views.panel import Scene, scene_of
from kit.views.promises import promises_badge
from kit.views.rendered import RenderedTimeline

BREAKS = (
    ("tcm", "S-05"),
    ("dataplane", "S-01"),
    ("replica", "S-04"),
    ("group0", "S-30"),
    ("discovery", "S-36"),
    ("gossip_join", "S-08"),
    ("topology", "S-21"),
    ("join", "S-37"),
    ("vnodes", "S-07"),
    ("tablets", "S-27"),
    ("resize", "S-43"),
    ("truncate", "S-42"),
    ("tablet", "S-22"),
    ("raft_upgrade", "S-52"),
    ("topology_upgrade", "S-63"),
    ("recovery", "S-49"),
    ("failures", "S-32"),
)
"""A safeguard of each family, and one more, without which a short run breaks a promise."""


@cache
def broken(name: str, safeguard: str) -> Timeline:
    """The shortest run that breaks a promise without a safeguard, at its last step."""
    off = next(each for each in entries()[name].safeguards if each.id == safeguard)
    model = build(name, off.smallest, (off.name,))
    found = check(model).violation
    assert found is not None
    return Timeline.along(model, found.actions)


def scene(name: str, safeguard: str, at: int | None = None) -> Scene:
    """The step that breaks it, or another one."""
    timeline = broken(name, safeguard)
    return scene_of(timeline, timeline.at if at is None else at)


@pytest.mark.parametrize(("name", "safeguard"), BREAKS)
def test_a_break_is_drawn_where_it_happens_and_nowhere_else(name: str, safeguard: str) -> None:
    """Two facts, somebody in the picture who is to blame, and a button for each question."""
    timeline = broken(name, safeguard)
    rendered = RenderedTimeline(timeline)
    html = rendered.html(timeline.at)
    assert html.count('class="kp-break"') == 1
    assert all("kp-break" not in rendered.html(moment) for moment in range(timeline.at))
    [breach, *_] = breaking(scene(name, safeguard))
    sheet = html[html.index('data-k="break"') :]
    assert "Promised: " in sheet
    assert "You switched off the rule that keeps it: " in sheet
    plain = unescape(re.sub("<[^>]*>", "", sheet))
    head, evidence = contradiction(scene(name, safeguard), breach)
    assert len(head.split()) <= MOST_WORDS
    assert head in plain
    assert all(each in plain or each.lower() == head.lower() for each in evidence)
    named = re.search(r'data-names="([^"]*)"', sheet)
    assert named
    names = json.loads(named[1].replace("&quot;", '"'))
    assert f"step:{breach.step + 1}" in names
    picture = html[html.index("kp-picture") : html.index("kp-pane")] if "kp-pane" in html else html
    if name not in NOBODY:
        assert any(f'data-of="{thing}"' in picture for thing in names)
    for words in (
        "Why?",
        "When did it become possible?",
        "Put the rule back and compare",
        "back one step",
    ):
        assert words in sheet
    assert ("or go on anyway" in sheet) != (">again<" in sheet)


NOBODY = ("resize", "tablets")
"""Families whose witness names a shard, which the picture draws as a part of its node."""


@pytest.mark.parametrize("name", [name for name in files() if "off-" in name])
def test_a_break_holds_a_run(name: str) -> None:
    """Whoever runs from milestone to milestone comes by each step that breaks a promise."""
    timeline = open_file(file_named(name))
    whole, seen = timeline.path(), {0}
    while timeline.at in whole and timeline.at != whole[-1]:
        timeline.to_milestone()
        seen.add(timeline.at)
    assert {moment for moment in whole if timeline.broken_by(moment)} <= seen


@pytest.mark.parametrize(
    ("name", "safeguard"), [*BREAKS, *((name, "") for name in files() if "off-" in name)]
)
def test_each_fact_stands_by_itself(name: str, safeguard: str) -> None:
    """Two, none within another, none without its subject or hanging on a connector; the headline
    is a third way to say it, and short.
    """
    timeline = broken(name, safeguard) if safeguard else open_file(file_named(name))
    shown = scene_of(timeline, timeline.tip)
    for breach in timeline.breaches(timeline.tip):
        head, two = contradiction(shown, breach)
        assert len(two) == 2, breach.witness
        assert len(head.split()) <= MOST_WORDS
        assert head not in {fact.rstrip(".") for fact in two}
        for fact in two:
            assert len(fact.split()) > 1
            assert not re.match(r"(?:is|are|has|have|lack|but|and|though|while|which)\b", fact)
            assert not any(fact in other for other in two if other is not fact)


def test_facts_are_the_halves_of_a_witness_or_all_of_it() -> None:
    """However the witness is built, all facts are what it says."""
    for witness, wanted in (
        (
            "A has finished, but B has a different schema",
            ("A has finished", "B has a different schema"),
        ),
        (
            "streaming began while B still serves an older request",
            ("streaming began", "B still serves an older request"),
        ),
        (
            "D, at epoch 103, stores write 1 but is no longer a write replica",
            ("D, at epoch 103, stores write 1", "D is no longer a write replica"),
        ),
    ):
        assert facts(witness) == wanted
    assert facts("all is lost") == ("all is lost",)


def test_what_broke_before_is_named_with_its_own_step() -> None:
    """The badge tells the first step alone, the sheet and each lamp their own."""
    timeline = open_file(file_named("gossip/newest-wins"))
    steps = [breach.step + 1 for breach in timeline.breaches(timeline.tip)]
    assert (steps[0], steps[-1]) == (4, 13)
    shown = scene_of(timeline, timeline.tip)
    badge, good = promises_badge(shown)
    assert (badge, good) == (f"! {len(steps)} of 5 at known costs, from step 4 on", False)
    html = RenderedTimeline(timeline).html(timeline.tip)
    assert re.findall(r"broken at step (\d+)<", html) == [str(step) for step in steps]
    assert "Already broken: " in html
    assert "(step 4)" in html
    early = scene_of(timeline, timeline.path()[4])
    assert promises_badge(early)[0].endswith("from step 4 on")


def test_what_was_found_out_is_told_in_words() -> None:
    """In the text form, too, and with the numbers that the Player's counter shows."""
    timeline = broken("group0", "S-30")
    assert break_lines(scene("group0", "S-30", 0)) == []
    shown = scene("group0", "S-30")
    assert break_lines(shown)[0] == f"Broken: {breaking(shown)[0].title}."
    found = Possible(3, shown.way()[:2], 4096, 200_000)  # type: ignore[arg-type]  # as many steps
    words = possible_words(shown, found)
    assert words == (
        "The break became possible at step 3: 2 steps suffice (4,096 states searched). "
        "A search from step 2 found no break within 200,000 states."
    )
    assert possible_words(shown, Possible(0, (1,), 1, 9)) == (
        "The break is possible from the start: 1 step suffices (1 state searched)."
    )
    assert "A search from the start found no break within 9" in possible_words(
        shown, Possible(1, (1,), 1, 9)
    )
    assert possible_words(shown, Possible(2, (1,), 1, 9, stopped=True)).startswith(
        "The search was stopped."
    )
    refused = Restored(
        "S-30", 5, ((3, "too early"), (4, "no")), (), Parted(3, "too early", refused=True)
    )
    assert restored_words(shown, refused) == (
        "With S-30 on, step 4 is refused: too early. 1 more step is refused as well. "
        "No promise breaks."
    )
    other = restored_words(
        shown, Restored("S-30", 5, (), (), Parted(2, "B keeps it.", refused=False))
    )
    assert other == "With S-30 on, step 3 comes out otherwise: B keeps it. No promise breaks."
    gone = restored_words(
        shown, Restored("S-30", 5, ((1, ""),), (), Parted(1, f"X: {NO_ACTION}", refused=True))
    )
    assert gone == "With S-30 on, there is no step 2 as here. No promise breaks."
    still = restored_words(shown, Restored("S-30", 5, (), ("All is well",)))
    assert still.endswith(
        "every step is still possible, and comes out as here. "
        "It still breaks a promise: All is well."
    )
    run = [timeline.moments[moment].action for moment in timeline.path()[1:]]
    cause = smallest_cause(timeline.model, run, breaking(shown)[0].name)
    timeline.inquiries[timeline.at] = Inquiry(cause)
    steps = ", ".join(str(step + 1) for step in cause.steps)
    assert f"The smallest cause: steps {steps}." in break_lines(scene("group0", "S-30"))
    html = RenderedTimeline(timeline).html(timeline.at)
    assert html.count('class="needed"') == len(cause.steps)
    assert "sequenceDiagram" in html
    timeline.inquiries.clear()


def test_a_step_of_a_cause_is_told_as_what_it_is_there() -> None:
    """Without the commit of the read switch the next commit is the switch: that is what matters."""
    timeline = open_file(file_named("dataplane/anomaly-lost-write"))
    while timeline.forward() is not None:
        pass
    breach = timeline.breaches(timeline.tip)[0]
    timeline.goto(timeline.path()[breach.step + 1])
    cause = smallest_cause(timeline.model, timeline.actions(timeline.at), breach.name)
    timeline.inquiries[timeline.at] = Inquiry(cause)
    html = RenderedTimeline(timeline).html(timeline.at)
    become = (
        "103: drop old write replicas (bootstrap X at 150) (102: switch reads (bootstrap X at 150))"
    )
    assert become in html
    assert "In brackets is what a step becomes without the others." in html


def test_a_page_that_can_ask_nobody_has_the_cause() -> None:
    """An exported page answers *why*, and says of the rest that it is closed."""
    timeline = broken("recovery", "S-49")
    html = RenderedTimeline(timeline, closed="read only").html(timeline.at)
    assert "The smallest cause:" in html
    assert 'data-refused="read only"' in html
    timeline.inquiries.clear()


@pytest.mark.parametrize(("name", "safeguard"), BREAKS)
def test_a_run_is_written_as_a_sequence_diagram(name: str, safeguard: str) -> None:
    """Each line is one that Mermaid knows, every name is declared, each step is there."""
    shown = scene(name, safeguard)
    way = shown.way()
    first, *lines = mermaid(shown.model, way, range(len(way)), breaking(shown)[0]).splitlines()
    assert first == "sequenceDiagram"
    known = {line.split()[1] for line in lines if line.strip().startswith("participant")}
    for line in lines:
        assert LINE.fullmatch(line), line
        body = line.strip()
        if not body.startswith("participant"):
            assert set(re.findall(r"\bp\d+\b", body.partition(":")[0])) <= known
            assert not re.search(r"(?<!#\d\d)(?<!#\d\d\d)(?<!#lt)(?<!#gt)(?<!#quot);", body)
    numbers = {int(found[1]) for line in lines if (found := re.search(r": (\d+)\. ", line))}
    assert numbers == set(range(1, len(way) + 1))
    assert lines[-1].strip().startswith("Note over")


LINE = re.compile(
    r"    (participant p\d+ as .+|p\d+(->>|-->>|-\)|-x)p\d+: .+|Note over p\d+(,p\d+)?: .+)"
)


def test_names_mean_nothing_to_mermaid() -> None:
    """What would end a statement, begin a comment or close a block is written as a number."""
    assert escaped('a;b # "end" <x>\n%% b') == (
        "a#59;b #35; #quot;e#110;d#quot; #lt;x#gt; #37;#37; b"
    )


def test_on_a_network_a_node_has_seen_what_it_heard_of() -> None:
    """Its own steps, and what senders had seen when they sent: never more from step to step."""
    timeline = broken("join", "S-37")
    assert isinstance(timeline.model, NetworkModel)
    ways = [seen(scene_of(timeline, moment)) for moment in timeline.path()]
    for before, after in pairwise(ways):
        assert all(before[name] <= after[name] for name in before)
    last = ways[-1]
    assert last["N"]
    assert last["A"]
    # What A does first N cannot have seen before A has sent it anything.
    for number, step in enumerate(scene("join", "S-37").way()):
        actor: Any = getattr(step.action, "envelope", None)
        if actor is not None and actor.target == "N":
            assert number in last["N"]


def test_a_model_without_lanes_says_so() -> None:
    """What a node sends or receives is shown then, and that it is no more than that."""
    timeline = broken("vnodes", "S-07")
    shown = scene("vnodes", "S-07")
    known = seen(shown)
    assert known["X"]
    assert all(max(steps) < len(shown.way()) for steps in known.values())
    run = [timeline.moments[moment].action for moment in timeline.path()[1:]]
    cause = smallest_cause(timeline.model, run, breaking(shown)[0].name)
    timeline.inquiries[timeline.at] = Inquiry(cause)
    html = RenderedTimeline(timeline).html(timeline.at)
    assert "This model has no lanes" in html
    timeline.inquiries.clear()
