"""What the pictures of Raft say, and what its lessons ask."""

from __future__ import annotations

from typing import Any

import pytest

from kit import Player
from kit.errors import BadInput
from kit.lessons import attempt, electable, known_to_commit, predict, story, voters
from kit.lessons.replays import ReplayJudge, replay
from kit.lessons.stills import scene_of
from kit.lessons.tasks import tasks
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
def test_a_candidate_asks_and_a_leader_has_a_crown() -> None:
    """All others stay followers, with neither."""
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
        signs.append((", asks" in picture, "crown" in picture))
    assert signs == [(False, False), (True, False), (False, True)]


@pytest.mark.spec("C-012")
def test_the_table_of_terms_shows_a_vote_per_server_and_term() -> None:
    """C, asked by A and by B in term 1, has voted for A alone."""
    timeline = at("one-vote-a-term", 8)
    known = {row.name: (row.term, row.vote) for row in rows(timeline, facts.servers)}
    assert known == {"A": (1, "A"), "B": (1, "B"), "C": (1, "A")}
    assert "C follower 1 A" in " ".join(panel(timeline, "terms").split())


@pytest.mark.spec("C-013", "C-014")
def test_the_log_draws_a_line_below_its_last_committed_entry() -> None:
    """Squares count the servers that store an entry."""
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
def test_an_entry_of_a_joint_change_shows_the_majorities_of_old_and_new_members() -> None:
    """2 of 3 old members have it, and 1 of 3 new ones."""
    timeline = at("two-members-of-three-change", 4)
    second = rows(timeline, facts.entries)[1]
    assert [*second.quorums] == ["■■□ 2 of 3", "■□□ 1 of 3"]
    said = panel(timeline, "group")
    assert "the old members" in said
    assert "old members" in for_model(timeline.model).panels[2].draw(scene_of(timeline)).html()


@pytest.mark.spec("C-011")
def test_a_heartbeat_empties_the_bar_of_a_followers_timeout() -> None:
    """Each tick fills a square, until B asks for votes."""
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


def test_a_gate_for_a_commit_is_drawn_only_for_an_entry_of_the_own_term() -> None:
    """However many servers have an older one."""
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


def answer(timeline: Timeline, *asked: object) -> str:
    """The line with the answer."""
    said = repr(predict(timeline, *asked).with_answer())  # type: ignore[arg-type]  # any question
    return next(line for line in said.splitlines() if line.startswith("Answer: "))


def test_the_lesson_knows_which_logs_of_figure_7_win() -> None:
    """Those that end in term 6 or 7, but not the shorter ones."""
    assert answer(story("raft/figure-7").timeline, electable) == "Answer: A, B, D, E"


@pytest.mark.parametrize(
    ("server", "votes"), [("A", "B, C, F, G"), ("C", "G"), ("E", "D, G"), ("G", "none of these")]
)
def test_the_lesson_knows_who_votes_for_whom_in_figure_7(server: str, votes: str) -> None:
    """A server votes for a log at least as new as its own."""
    assert answer(story("raft/figure-7").timeline, voters, server) == f"Answer: {votes}"


def test_the_lesson_counts_no_entry_of_an_older_term_as_committed() -> None:
    """Figure 8: index 2 is on three of five; an entry of the leader's own term commits it."""
    player = story("raft/figure-8")
    player.goto(5)
    assert answer(player.timeline, known_to_commit) == "Answer: 0"
    attempt(player, "request A x", "deliver A>B append 4 2", "deliver A>C append 4 2")
    assert answer(player.timeline, known_to_commit) == "Answer: 3"


def test_a_question_without_a_leader_or_of_an_unknown_server_is_refused() -> None:
    """The error says what is needed."""
    start = story("raft/election").timeline
    with pytest.raises(BadInput, match="a server leads"):
        known_to_commit(start)
    with pytest.raises(BadInput, match="one of A, B, C"):
        voters(start, "X")


@pytest.mark.parametrize("name", ["three-candidates", "figure-8", "stale-read"])
def test_the_known_run_of_an_exercise_passes(name: str) -> None:
    """Of each exercise whose answer is not searched for."""
    judge = tasks()[name].judge
    assert isinstance(judge, ReplayJudge)
    assert judge.known
    assert replay(judge.ground, list(judge.known))[1] is None
    assert all(case.passed for case in judge(list(judge.known)).public)
