"""A step that is drawn while nobody waits is the step that is taken, or leaves no trace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kit.clients.cluster import ServedCluster
from kit.errors import Refused
from kit.model.model import fingerprint
from kit.model.registry import build, model_names
from kit.playing.session import Line, Session
from kit.widgets.player import Player
from tests.views.test_store import flat

STEPS = 5


class Page:
    """What the page at the end of a line has: it adds what it is told, as ``fragments.js`` does."""

    def __init__(self, session: Session, line: Line) -> None:
        self.texts = list(session.rendered.store.texts)
        self.roots = [moment.root for moment in session.rendered.moments]
        line.tell = self.told

    def told(self, said: Any) -> None:
        """Take what the session says."""
        update = json.loads(said)
        assert update["base"] <= len(self.texts)
        self.texts += update["texts"][len(self.texts) - update["base"] :]
        new = [moment[1] for moment in update["moments"]]
        self.roots[update["first"] : update["first"] + len(new)] = new

    def html(self, moment: int) -> str:
        """The frame of a moment."""
        root = self.roots[moment]
        assert root is not None
        return flat(self.texts, root)


def opened(name: str) -> tuple[Session, Page]:
    """A session of a model, and its page."""
    line = Line()
    session = Session(build(name), line)
    return session, Page(session, line)


@pytest.mark.parametrize("name", model_names())
def test_whatever_is_done_looks_as_if_nothing_had_been_foreseen(name: str) -> None:
    """Steps that were foreseen, others than these, and a branch from the past."""
    session, page = opened(name)
    plain, _ = opened(name)

    def both(act: Any) -> None:
        session.foresee()
        act(session)
        act(plain)
        assert page.html(session.timeline.at) == plain.rendered.html(plain.timeline.at)

    for _ in range(STEPS):
        if session.timeline.suggest() is not None:
            both(lambda one: one.step())
    suggested = session.timeline.suggest()
    others = [each for each in session.timeline.here.actions(session.state) if each != suggested]
    for other in others[-1:]:
        both(lambda one, other=other: one.act(other))
        both(lambda one: one.goto(1))
        both(lambda one: one.fork())
        both(lambda one: one.step())
    for moment in range(len(page.roots)):
        assert page.html(moment) == plain.rendered.html(moment)
    assert session.timeline.save() == plain.timeline.save()


def test_what_is_foreseen_has_not_happened() -> None:
    """The history, the place in it and what is known of it stay; the next step costs no drawing."""
    session, page = opened("tcm")
    session.step()
    saved, judged = session.timeline.save(), session.timeline.breaches(1)
    session.foresee()
    session.foresee()
    assert session.timeline.save() == saved
    assert session.timeline.breaches(1) == judged
    assert len(session.rendered.moments) == len(page.roots) == 2
    known = len(page.texts)
    session.step()
    assert len(page.texts) == known
    assert len(page.roots) == 3


def test_what_was_said_of_a_step_in_between_is_shown() -> None:
    """A remark that comes after the step was foreseen stands in its frame."""
    session, page = opened("tcm")
    with session.timeline.foreseen() as moment:
        assert moment is not None
        after = moment.state
        session.timeline.remark("Now it begins.")
    session.timeline.tell("")
    session.foresee()
    with session.timeline.foreseen():
        session.timeline.remark("It really does.")
    session.step()
    assert fingerprint(session.state) == fingerprint(after)
    assert "Now it begins. It really does." in page.html(1)


def test_at_the_end_nothing_is_foreseen() -> None:
    """A run that has ended, and a step that is known already, are left alone."""
    session, page = opened("twophase")
    while session.timeline.suggest() is not None:
        session.step()
    session.foresee()
    known = len(page.texts)
    session.goto(0)
    session.foresee()
    assert len(page.texts) == known


class Watched:
    """A lock that tells who holds it: entered and left, in order."""

    def __init__(self) -> None:
        self.told: list[bool] = []

    def __enter__(self) -> None:
        self.told.append(True)

    def __exit__(self, *raised: object) -> None:
        self.told.append(False)


def test_programs_wait_while_a_step_is_drawn_ahead() -> None:
    """What they read of a node is read under the lock that is held meanwhile: it has happened."""
    session, _ = opened("tcm")
    cluster = ServedCluster(session)
    assert cluster.lock is session.lock
    cluster.lock = watched = Watched()  # type: ignore[assignment]  # a stand-in
    run = cluster.catalog(0).now.run
    assert watched.told == [True, False]
    assert len(run) == 1


def test_nothing_is_drawn_without_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that shows a Player anew draws in another thread than the buttons of its page do."""
    player = Player("tcm")
    player.lock = watched = Watched()  # type: ignore[assignment]  # a stand-in
    draw_new, held = player.rendered.draw_new, []

    def drawing() -> int:
        held.append(watched.told.count(True) > watched.told.count(False))
        return draw_new()

    monkeypatch.setattr(player.rendered, "draw_new", drawing)
    for draw in (player.step, player._repr_mimebundle_, lambda: player.redraw(0)):
        draw()
    player.hear({"message": "sync", "texts": 0, "moments": 0, "session": ""})
    assert held == [True] * 4


def test_who_cannot_go_on_is_told_when_they_press(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that is refused is not drawn ahead, and nothing is said of it before."""
    session, page = opened("tcm")

    def refused() -> None:
        raise Refused("not now")

    monkeypatch.setattr(session.timeline, "forward", refused)
    session.foresee()
    assert len(page.roots) == 1
    with pytest.raises(Refused, match="not now"):
        session.step()
