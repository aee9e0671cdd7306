"""What a worker does of a page: without a browser, message by message."""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import decode, encode

from kit.errors import BadInput, KitError
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.playing.links import LinkedRun, link_of, place_in, run_of
from kit.playing.session import Line, Session
from kit.search.check import check
from kit.site.worker import Engine, inquire, search, whole_story
from kit.views.actions import mark
from kit.views.rendered import RenderedTimeline
from kit.views.wire import Pack

STORY, BROKEN = "group0/schema", "group0/off-commit-with-guard"
STORY_MODEL = whole_story(STORY).model


class Page:
    """What an engine tells: its last drawer, its updates, what it asks a second worker."""

    def __init__(self, name: str = STORY) -> None:
        self.pack = RenderedTimeline(whole_story(name)).pack().compressed()
        self.heard: list[Any] = []
        self.engine = Engine(name, self.pack, self.hear)

    def hear(self, said: str | bytes) -> None:
        """Take what the engine tells."""
        self.heard.append(json.loads(said) if isinstance(said, str) else said)

    def say(self, **said: Any) -> None:
        """Tell the engine something."""
        self.engine.said(json.dumps(said))

    def last(self, name: str) -> Any:
        """The last message's part of that name."""
        return next(said[name] for said in reversed(self.heard) if name in said)


def test_an_engine_draws_nothing_that_the_page_holds() -> None:
    """The texts of the pack are the engine's own: a page that has them gets none, one that lost
    some gets those. A step into the past adds to them.
    """
    page = Page()
    drawn = decode(gzip.decompress(page.pack), type=Pack)
    assert page.engine.rendered.store.texts == drawn.texts
    session, count = page.engine.rendered.session, len(drawn.texts)
    page.heard.clear()
    page.say(message="sync", texts=count, moments=len(drawn.moments), session=session)
    assert [(said["texts"], said["moments"]) for said in page.heard] == [([], [])]
    page.say(message="sync", texts=count - 1, moments=len(drawn.moments), session=session)
    assert page.last("texts") == drawn.texts[-1:]
    page.say(message="act", control="fork", at=2, have=len(drawn.texts))
    other = next(
        action
        for action, refusal in page.engine.timeline.here.options(page.engine.state)
        if refusal is None and action != page.engine.timeline.moments[3].action
    )
    control = f"do:{mark(page.engine.model, other)}"
    page.say(message="act", control=control, at=2, have=len(drawn.texts))
    assert page.last("position")["at"] == len(drawn.moments)


def test_what_is_stored_is_what_an_engine_would_draw() -> None:
    """A pack that is not of the story's moments is not taken: they are drawn anew."""
    name = "twophase/one-gives-up"
    other = RenderedTimeline(whole_story(STORY)).pack().compressed()
    engine = Engine(name, other, lambda said: None)
    assert engine.rendered.store.texts == RenderedTimeline(whole_story(name)).store.texts


def test_a_safeguard_that_is_switched_makes_a_branch() -> None:
    """The drawer says so, and shows the switch as it is on the branch that is looked at."""
    page = Page()
    page.say(setup="switch", name="commit-with-guard", on=False)
    assert "as a branch on the map" in page.last("drawer")
    assert page.engine.model.off == ("commit-with-guard",)
    page.say(message="look", position={"at": 1, "tip": 1, "sequence": 99})
    page.engine.goto(1)
    assert page.engine.model.off == ()
    assert 'checked="" data-switch="commit-with-guard"' in page.last("drawer")


@pytest.mark.parametrize("value", [99, "many", None, True])
def test_a_wrong_parameter_is_told_beside_it(value: Any) -> None:
    """One clear line stands below its control; the story stays as it was."""
    page = Page()
    before = page.engine.timeline
    page.say(setup="change", name="nodes", value=value)
    assert page.engine.timeline is before
    after_name = page.last("drawer").split('data-change="nodes"')[1]
    assert after_name.split("</label>")[1].startswith('<p class="kit-wrong"')


def test_another_parameter_opens_another_history_and_back() -> None:
    """What was done before is there again once the parameter is as it was."""
    page = Page()
    first = page.engine.timeline
    page.say(setup="change", name="nodes", value=2)
    assert page.engine.model.parameters.nodes == 2
    assert isinstance(page.heard[-2], bytes)
    page.say(setup="change", name="nodes", value=3)
    assert page.engine.timeline is first
    page.say(setup="reset")
    assert page.engine.timeline.moments[1:] == []


@pytest.mark.parametrize(
    "said", [{"setup": "unheard"}, {"setup": "search"}, {"setup": "reset", "x": 1}]
)
def test_what_no_control_says_is_refused(said: dict[str, Any]) -> None:
    """A message of no known form does nothing."""
    page = Page()
    with pytest.raises(BadInput):
        page.say(**said)


def test_a_link_carries_a_run() -> None:
    """The run that is shown is sent in the address; who opens it there stands at its end."""
    teacher, student = Page(), Page()
    teacher.say(setup="switch", name="commit-with-guard", on=False)
    teacher.engine.goto(teacher.engine.timeline.tip)
    teacher.say(setup="link")
    link = teacher.last("link")
    student.say(setup="linked", run=link)
    assert student.engine.timeline.state == teacher.engine.timeline.state
    assert student.engine.model.off == ("commit-with-guard",)
    assert student.engine.timeline.actions() == teacher.engine.timeline.actions()
    steps = len(teacher.engine.timeline.actions())
    assert f"This is the run from the link: {steps} steps." in student.last("drawer")


@pytest.mark.parametrize("steps", [0, 2, 9])
@pytest.mark.parametrize("off", [(), ("commit-with-guard",)])
def test_a_link_carries_the_whole_branch_and_the_place(off: tuple[str, ...], steps: int) -> None:
    """Who went back, and comes again by it, can go on again; switches are as on that branch."""
    page, again = Page(), Page()
    for name in off:
        page.say(setup="switch", name=name, on=False)
    path = page.engine.timeline.path()
    page.engine.goto(path[min(steps, len(path) - 1)])
    page.say(setup="link")
    again.say(setup="linked", run=page.last("link"))
    was, came = page.engine.timeline, again.engine.timeline
    assert came.actions() == was.actions()
    assert came.path().index(came.at) == was.path().index(was.at)
    assert again.engine.model.off == off
    assert f"from the link: {len(path) - 1} steps." in again.last("drawer")


@pytest.mark.parametrize("begun", [False, True])
def test_a_run_that_the_page_has_stored_is_its_number(begun: bool) -> None:
    """Also after a reset, as far as the story is followed; what the story does not do, or does with
    other switches or parameters, is a run of its own.
    """
    page = Page()
    if begun:
        page.say(setup="reset")
    for step in range(1, 4):
        page.engine.step()
        page.say(setup="link", quiet=True)
        said = page.heard[-1]
        assert (said["link"], said["step"], said["quiet"]) == ("1", step, True)
    page.say(setup="link")
    assert run_of(page.last("link"), STORY_MODEL).at in (3, 0)
    page.engine.goto(page.engine.timeline.path()[2])
    timeline = page.engine.timeline
    done = timeline.moments[timeline.path()[3]].action
    free = (each for each, why in timeline.here.options(timeline.state) if why is None)
    page.engine.act(next(each for each in free if each != done))
    page.say(setup="link", quiet=True)
    assert "step" not in page.heard[-1]
    page.engine.goto(timeline.path()[0])
    page.say(setup="switch", name="commit-with-guard", on=False)
    page.say(setup="link", quiet=True)
    assert "step" not in page.heard[-1]
    page.say(setup="change", name="nodes", value=2)
    page.say(setup="link", quiet=True)
    assert "step" not in page.heard[-1]


def test_a_story_with_branches_counts_its_runs_as_the_page_does() -> None:
    """By their last moments; what two runs share is of the first."""
    story = Timeline(STORY_MODEL)
    options = [each for each, why in story.here.options(story.state) if why is None]
    for action in options[:2]:
        story.goto(0)
        story.do(action)
    assert place_in(story, story, len(story.moments)) == (2, 1)
    story.goto(1)
    assert place_in(story, story, len(story.moments)) == (1, 1)
    assert place_in(Timeline(STORY_MODEL), story, len(story.moments)) == (1, 0)
    story.goto(2)
    assert place_in(story, story, 2) is None


def test_a_place_behind_the_end_is_no_link() -> None:
    """It is told as any other link that was changed."""
    for at in (-1, 1):
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = deflate.compress(encode(LinkedRun((), at=at))) + deflate.flush()
        with pytest.raises(BadInput, match="was cut or changed"):
            run_of(urlsafe_b64encode(packed).decode().rstrip("="), STORY_MODEL)


def test_twenty_actions_fit_into_three_hundred_letters() -> None:
    """As many as that are short enough for an address that people send."""
    timeline = whole_story("tcm/bootstrap")
    timeline.goto(len(timeline.path(timeline.tip)) - 1)
    link = link_of(timeline, timeline.model)
    assert len(link) * 20 <= 300 * len(timeline.actions(timeline.at))
    assert run_of(link, timeline.model).actions() == timeline.actions(timeline.at)


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda b: urlsafe_b64encode(b).decode()))
def test_a_bad_link_is_one_line(text: str) -> None:
    """What is no link of the story names the field, and leaves the story as it is."""
    model = STORY_MODEL
    with pytest.raises(KitError) as raised:
        run_of(text, model)
    assert str(raised.value).startswith("run")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("linked", "opened"), [("tcm/move", "tcm/bootstrap"), ("tcm/bootstrap", "tcm/decommission")]
)
def test_a_link_of_another_story_of_the_model_says_so(linked: str, opened: str) -> None:
    """Its steps are none that this story could think of, whatever the model makes of them; and
    nobody reads Python.
    """
    other = whole_story(linked)
    link = link_of(other, other.model)
    allowed = "a run of this story: this link may belong to another one"
    with pytest.raises(BadInput, match=allowed) as raised:
        run_of(link, whole_story(opened).model)
    assert "(" not in str(raised.value)


def test_a_bad_link_is_told_where_one_looks() -> None:
    """Also while the drawer is closed; the history stays."""
    page = Page()
    before = page.engine.timeline.moments[:]
    page.say(setup="linked", run="????")
    assert "run: got '????'" in page.last("error")
    assert page.engine.timeline.moments == before


def test_a_run_that_unpacks_without_end_is_refused() -> None:
    """A link may not hold more than a page can bear."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = deflate.compress(b" " * 20_000_000) + deflate.flush()
    with pytest.raises(BadInput, match="run"):
        run_of(urlsafe_b64encode(bomb).decode(), STORY_MODEL)


def test_a_search_finds_what_the_engine_takes_as_a_branch() -> None:
    """Counts and run are those of the model; the page goes to the step that breaks the promise."""
    page = Page(BROKEN)
    page.say(setup="search", most=100_000)
    found: list[Any] = []
    asked = page.last("search")
    search(asked["trace"], asked["most"], lambda said: found.append(json.loads(said)))
    page.say(**found[-1]["verdict"])
    result = check(page.engine.model, progress=None)
    assert result.violation is not None
    assert f"{result.states:,} states" in page.last("drawer")
    steps = [step.action for step in page.engine.timeline.passed()]
    assert steps == [*result.violation.actions]


def test_a_verdict_on_another_model_is_not_shown() -> None:
    """Who switched a safeguard meanwhile reads nothing of the old one."""
    page = Page()
    page.say(setup="search", most=10)
    asked = page.last("search")["trace"]
    page.say(setup="switch", name="commit-with-guard", on=False)
    page.say(setup="verdict", trace=asked, html="<p>of another model</p>", run="")
    assert "of another model" not in page.last("drawer")


def test_a_stopped_search_says_what_it_has_seen() -> None:
    """Nothing is proven by one."""
    page = Page()
    page.say(setup="stopped", states=4096)
    assert "Stopped after 4,096 states: no violation so far" in page.last("drawer")
    assert "(group0 with every safeguard on)" in page.last("drawer")


def test_a_bound_that_is_none_is_told() -> None:
    """Nothing is searched with it."""
    page = Page()
    page.say(setup="search", most=0)
    assert "states at most" in page.last("drawer").split('class="kit-wrong"')[1]
    assert not any("search" in said for said in page.heard if isinstance(said, dict))


def test_the_same_session_as_a_player() -> None:
    """An engine is a session: what it shows is what a Player would."""
    engine = Engine(STORY, b"", lambda said: None)
    assert isinstance(engine, Session)
    assert build("group0").name == engine.model.name


def broken() -> Page:
    """A page that stands at the end of a run that breaks a promise."""
    page = Page(BROKEN)
    page.engine.goto(page.engine.timeline.tip)
    return page


def asked(page: Page, about: str) -> str:
    """What the engine asks for once that button was pressed, as the second worker gets it."""
    timeline = page.engine.timeline
    page.say(message="act", control=f"break:{about}", at=timeline.at, have=0)
    return json.dumps(page.last("inquire"))


def test_a_second_worker_finds_the_cause() -> None:
    """Cause, and from where the break became possible, are what a session finds by itself."""
    page, alone = broken(), Session(whole_story(BROKEN), Line())
    alone.goto(alone.timeline.tip)
    for about in ("why", "possible"):
        inquire(asked(page, about), lambda said: page.engine.said(str(said)))
        assert page.last("progress") == ""
    moment, _ = page.engine.breaks.place()
    learnt = page.engine.timeline.inquiries[moment]
    assert learnt.cause == alone.why()
    assert learnt.possible == alone.became_possible(progress=None)
    assert "kp-cause" in "".join(page.engine.rendered.store.texts)


def test_one_thing_at_a_time_is_worked_at_elsewhere() -> None:
    """While the second worker answers nothing else is begun; a stop ends it, and answers that come
    later are nobody's.
    """
    page = broken()
    question = asked(page, "why")
    assert page.last("progress").endswith(": 0")
    page.say(setup="search", most=10)
    assert "A search is running" in page.last("drawer")
    page.say(message="act", control="break:stop", at=page.engine.timeline.at, have=0)
    assert page.last("halt")
    assert page.last("progress") == ""
    inquire(question, lambda said: page.engine.said(str(said)))
    assert not page.engine.timeline.inquiries
    page.say(setup="search", most=10)
    page.say(message="act", control="break:why", at=page.engine.timeline.at, have=0)
    assert "A search is running" in page.last("error")
    page.say(setup="stopped", states=1)
    assert asked(page, "why") == question


def test_a_second_worker_says_what_is_wrong() -> None:
    """What it cannot answer is told where one looks, and so is its own end."""
    page = broken()
    wrong = {**json.loads(asked(page, "why")), "name": "nobody's"}
    inquire(json.dumps(wrong), lambda said: page.engine.said(str(said)))
    assert 'promise: got "nobody\'s"' in page.last("error")
    asked(page, "why")
    page.say(inquiry="found", why="it is gone")
    assert page.last("error") == "it is gone"
    with pytest.raises(BadInput, match="what a second worker says"):
        page.say(inquiry="guess", why="")


def test_another_story_opens_in_the_place_of_this_one() -> None:
    """With its own drawer; the page's address leads to none of its runs."""
    page = Page()
    page.say(message="act", control="story:twophase/commit", at=0, have=0)
    assert page.engine.model.name == "twophase"
    assert "Safeguards" not in page.last("drawer")
    page.say(setup="link")
    assert "a run of the story of this page" in page.last("drawer")
