"""The words of every step of every story: a headline, what holds below it, the chapter it is in."""

from __future__ import annotations

import re

import pytest

from kit.model.registry import entries
from kit.playing.opening import open_named
from kit.views.breaks import breaking, contradiction
from kit.views.frame import step_words
from kit.views.headlines import AGAIN, BEGIN, MOST_WORDS
from kit.views.panel import scene_at
from kit.views.registry import for_model
from kit.views.rendered import RenderedTimeline
from tests.protocols.test_on_record import opened, stories
from tests.recording.records import led_on

SHORT, MOST_CHAPTERS, MOST_OF_MANY = 8, 9, 15
"""Steps of a story that needs no chapters, and the chapters of one operation, and of several."""
MANY = {
    *("tcm/two-bootstraps", "topology/queue-of-requests", "topology/taken-back"),
    *("topology/two-joins-at-once", "tablet/tablet-rebuilt", "worlds/two-at-once-in-both"),
    *("tablets/late-stream-refused", "tablets/off-sessions", "tablets/nine-steps"),
    *("tablets/nine-steps-without-guards", "tablets/decommission-drains-first"),
    *("tablets/removenode-rebuilds", "tablets/rf-change-adds-a-replica"),
}
"""The stories of several operations, one after the other or at once."""
LEADS = (
    *("tcm/rf3", "dataplane/write-and-read", "vnodes/write-during-small-bootstrap"),
    *("tablet/small-tablet-moves", "tablets/one-tablet-moves", "topology/join-with-coordinator"),
    *("worlds/bootstrap-in-both", "resize/table-splits", "truncate/late-truncate"),
    *("raft/election", "raft_groups/one-node-leads", "group0/race", "discovery/three-nodes"),
    *("paxos/two-proposers", "twophase/one-gives-up", "commit/two-submit", "balance/by-hand"),
    *("commit_log/crash-after-commit", "cms/three-of-four", "schema/two-changes"),
    *("migration/to-the-log", "gossip/both-sides", "gossip_join/one-join", "join/join-handshake"),
    *("raft_upgrade/into-raft", "topology_upgrade/topology-into-raft", "recovery/majority-is-lost"),
    *("recovery_mode/recovery-mode", "failures/one-of-two-datacenters"),
)
"""A story of each model: the first that somebody sees."""
SCENARIOS = {f"{name}/{each.name}" for name, entry in entries().items() for each in entry.scenarios}


@pytest.mark.parametrize("story", sorted({story for _, story in stories()}))
def test_a_headline_is_about_this_moment(story: str) -> None:
    """Of at most twelve words, not that of the step before, and no rule of the catalogue; where a
    promise breaks it is not the promise. What is told below it opens no bracket that it leaves
    open, and gives nobody's verb to something else.
    """
    timeline, last = opened(story), ""
    rules = {timeline.why(moment).rstrip(".") for moment in timeline.path(timeline.tip)}
    views = for_model(timeline.model)
    for moment in timeline.path(timeline.tip)[1:]:
        scene = scene_at(timeline, moment)
        head, rest = step_words(scene, views.panels, views)
        assert rest.find("(") <= rest.find(")")
        assert not re.match(r"It \w+s can ", rest)
        assert 0 < len(head.split()) <= MOST_WORDS
        assert head not in {last, *rules}
        last = head
    for moment in timeline.path(timeline.tip)[1:] if "off-" in story else ():
        for breach in breaking(scene_at(timeline, moment)):
            head, evidence = contradiction(scene_at(timeline, moment), breach)
            assert 0 < len(head.split()) <= MOST_WORDS
            assert evidence
            assert head not in {breach.title, *rules}


@pytest.mark.parametrize("story", LEADS)
def test_every_step_of_a_lead_story_says_what_holds(story: str) -> None:
    """Below the headline is a sentence: what else happened, what holds, or what it was for."""
    timeline = led_on(open_named(story).timeline, MOST_CHAPTERS * MOST_CHAPTERS)
    views = for_model(timeline.model)
    for moment in timeline.path(timeline.tip)[1:]:
        scene = scene_at(timeline, moment)
        head, rest = step_words(scene, views.panels, views)
        assert (rest or scene.why).endswith(".")
        assert rest.rstrip(".") != head


@pytest.mark.parametrize(("story", "step", "head"), [
    ("twophase/one-gives-up", 3, "One “no” was enough: TM decides to abort"),
    ("paxos/two-proposers", 11, "B's ballot has won, and it carries A's value"),
    ("commit/two-submit", 15, "B's change came second, and t is gone"),
    ("migration/to-the-log", 5, "A begins the log: there is no way back"),
    ("group0/race", 19, "B's piece does not fit: it was built on 1"),
    ("discovery/three-nodes", 6, "C hears of B, and asks it too"),
    ("raft_upgrade/into-raft", 14, "Only C still takes schema changes"),
    ("topology_upgrade/topology-into-raft", 5, "Two of three have a row, and D has to wait"),
    ("truncate/late-truncate", 14, "The late truncate finds its session closed"),
    ("failures/one-of-two-datacenters", 1, "Half of the voters are left, and half is no majority"),
    ("vnodes/write-during-small-bootstrap", 17, "B answers, although it is one version behind"),
    ("tcm/rf3", 6, "X listens before it speaks"),
    ("tcm/rf3", 8, "B now writes to X too"),
])  # fmt: skip
def test_a_great_moment_has_the_words_of_its_family(story: str, step: int, head: str) -> None:
    """Those that need the state are told by facts of it."""
    timeline = led_on(open_named(story).timeline, step + 1)
    views = for_model(timeline.model)
    scene = scene_at(timeline, timeline.path(timeline.tip)[step])
    assert step_words(scene, views.panels, views)[0] == head


@pytest.mark.parametrize("story", sorted(SCENARIOS | {story for _, story in stories()}))
def test_a_chapter_begins_where_something_else_does(story: str) -> None:
    """The first step begins one, and none is told like one before; the exact name of a state below
    its words is one that this step tells, or the state has.
    """
    timeline = opened(story)
    drawn, path = RenderedTimeline(timeline), timeline.path(timeline.tip)[1:]
    begun = {number: name for number in path if (name := drawn.moments[number].milestone)}
    plain = [name for name in begun.values() if name != AGAIN]
    assert [*begun][:1] == path[:1]
    assert len({*plain}) == len(plain)
    assert BEGIN not in plain[1:]
    for number, name in begun.items():
        moment, exact = timeline.moments[number], name.partition("\n")[2]
        assert exact in f"{moment.milestone}: {moment.say} {moment.state}"
    if len(path) >= SHORT and story not in entries():
        assert 2 <= len(begun) <= (MOST_OF_MANY if story in MANY else MOST_CHAPTERS)
