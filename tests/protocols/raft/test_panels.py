"""What the pictures of Raft say: who is what, which entry is where, whose majorities count."""

from __future__ import annotations

from typing import Any

import pytest

from kit import Player
from kit.lessons import attempt, story
from kit.lessons.stills import scene_of
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.raft import facts
from kit.protocols.raft.panels.groups import majorities
from kit.views.registry import for_model


def panel(timeline: Timeline, name: str) -> str:
    """A panel of the Player in words."""
    panels = for_model(timeline.model).panels
    return next(each for each in panels if each.name == name).text(scene_of(timeline))


def at(name: str, step: int) -> Timeline:
    """A story of Raft at a step."""
    timeline = story(f"raft/{name}").timeline
    timeline.goto(step)
    return timeline


def rows(timeline: Timeline, what: Any) -> Any:
    """The rows of a moment."""
    return what(timeline.model, timeline.state)


@pytest.mark.spec("C-010")
def test_a_role_is_drawn_and_named() -> None:
    """A follower has neither crown nor ballot; who asks has a ballot; who leads has a crown. All
    start as followers, and who hears of a candidate or leader stays one.
    """
    timeline = at("election", 0)
    roles = []
    for step in (0, 1, 3, 5):
        timeline.goto(step)
        first, *others = rows(timeline, facts.servers)
        roles.append(first.role)
        assert {other.role for other in others} == {"follower"}
    assert roles == ["follower", "pre-candidate", "candidate", "leader"]
    signs = []
    for step in (0, 3, 5):
        timeline.goto(step)
        picture = for_model(timeline.model).panels[1].draw(scene_of(timeline)).html()
        signs.append(("sign ballot" in picture, "crown" in picture))
    assert signs == [(False, False), (True, False), (False, True)]


@pytest.mark.spec("C-012")
def test_terms_and_votes_are_a_table() -> None:
    """Each server with its term and whom it has voted for: one vote a term."""
    timeline = at("one-vote-a-term", 8)
    known = {row.name: (row.term, row.vote) for row in rows(timeline, facts.servers)}
    assert known == {"A": (1, "A"), "B": (1, "B"), "C": (1, "A")}
    assert "C follower 1 A" in " ".join(panel(timeline, "terms").split())


@pytest.mark.spec("C-013", "C-014")
def test_the_log_has_a_line_below_what_is_committed() -> None:
    """Once A and B store x, it is committed on A; C hears of it later. Squares count who has it."""
    timeline = at("committed-by-a-majority", 4)
    [first, second] = rows(timeline, facts.entries)
    assert first.is_last
    assert not second.is_last
    assert second.quorums[0] == "■■□ 2 of 3"
    timeline.goto(5)
    [first, second] = rows(timeline, facts.entries)
    assert second.is_last
    assert second.cells == ("1: x ✓", "1: x", "")
    picture = next(p for p in for_model(timeline.model).panels if p.name == "log")
    assert picture.draw(scene_of(timeline)).html().count("commit-line") == 1


@pytest.mark.spec("C-048")
def test_a_joint_configuration_shows_both_majorities() -> None:
    """From A, B, C to A, D, E: the old group has a majority first, and that is not enough."""
    timeline = at("two-members-of-three-change", 4)
    second = rows(timeline, facts.entries)[1]
    assert [*second.quorums] == ["■■□ 2 of 3", "■□□ 1 of 3"]
    said = panel(timeline, "group")
    assert "the old members" in said
    assert "old members" in for_model(timeline.model).panels[2].draw(scene_of(timeline)).html()


@pytest.mark.spec("C-011")
def test_a_bar_runs_to_the_timeout_and_a_heartbeat_empties_it() -> None:
    """Each tick is a step of the time bar. Squares fill until B asks for votes; once it leads, its
    heartbeats empty the bars of those who hear them.
    """
    player = Player(Timeline(build("raft", {"clock": True, "timeout": 3, "requests": ()})))
    bars = []
    for _ in range(2):
        attempt(player, "tick B clock")
        bars.append(rows(player.timeline, facts.servers)[1].wait)
    assert bars == ["■□□ 1 of 3", "■■□ 2 of 3"]
    assert "■■□ 2 of 3" in panel(player.timeline, "terms")
    attempt(player, "tick B 3")
    assert rows(player.timeline, facts.servers)[1].role == "pre-candidate"
    player.timeline.to_milestone()
    assert rows(player.timeline, facts.servers)[1].role == "leader"
    attempt(player, "tick A clock")
    waited = rows(player.timeline, facts.servers)[0].wait
    assert waited.startswith("■")
    attempt(player, "tick B clock", "deliver B>A")
    emptied = rows(player.timeline, facts.servers)[0].wait
    assert emptied.startswith("□")
    assert rows(player.timeline, facts.servers)[1].wait == ""


def test_a_leader_waits_for_an_entry_of_its_own_term() -> None:
    """However many have an older one: until then no gate for it is open."""
    timeline, seen = story("raft/figure-8").timeline, set()
    for moment in timeline.path():
        timeline.goto(moment)
        scene = scene_of(timeline)
        servers = {n.server.id: n.server for n in scene.state.nodes}
        for server in servers.values():
            for gate in majorities("place", server):
                if gate.what.startswith("commit "):
                    index = int(gate.what.split()[1].rstrip(":"))
                    assert server.log.term(index) == server.term
                    seen.add((index, server.term))
    assert (3, 4) in seen
