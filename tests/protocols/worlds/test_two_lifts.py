"""Two worlds small enough to know everything about: a lift in each, and rows that name floors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kit.errors import KitError, Refusal
from kit.model.model import Model, Property, Safeguard
from kit.model.timeline import Timeline
from kit.protocols.worlds import alignment, dry_run
from kit.protocols.worlds.alignment import (
    TITLES,
    Aligned,
    Meeting,
    Now,
    Pair,
    Row,
    Side,
    aligned,
    moments,
)
from kit.protocols.worlds.side_by_side import SideBySide, WorldsParameters, of_worlds, placed, woven
from tests.model.toys import Door, Down, Lift, LiftModel, LiftParameters, Up

EPOCHS, TOPOLOGY = TITLES["epochs"], TITLES["topology"]


class Ride(LiftModel):
    """A lift that goes up by itself, until it is at the top or its door is open."""

    safeguards = (
        Safeguard("door", "S-90", "Only a closed lift moves", (), {"floors": 2}, wider={"a": {}}),
    )

    def __init__(self, floors: int, revision: int, off: tuple[str, ...] = ()) -> None:
        super().__init__(LiftParameters(floors), off)
        self.revision = revision
        slow = Property("slow", "step", "It goes by one floor", self._slow, on=(Up,))
        self.properties = (*self.properties, slow)

    def _slow(self, before: Lift, action: Any, after: Lift) -> str | None:
        by = after.floor - before.floor
        return None if by == 1 else f"by {by}"

    def suggest(self, s: Lift) -> Any | None:
        """Up."""
        return Up() if s.floor + 1 < self.floors and not s.door else None

    def why(self, action: Any) -> str:
        """What it is for."""
        return "One wants to get there."


def way(model: Model[Any, Any], *actions: Any) -> tuple[Now, ...]:
    """A story."""
    told = [Now(model, None, None, model.start())]
    for action in actions:
        before = told[-1].after
        told.append(Now(model, before, action, model.act(before, action)))
    return tuple(told)


def is_on(floor: int) -> Side:
    """A lift has come to a floor."""
    return Side(lambda now: now.after.floor == floor, lambda now: f"on {now.after.floor}")


def row(title: str, epochs: Side, topology: Side, alike: bool = True) -> Row:
    """Such a row; its claim holds where both lifts are on one floor."""
    claim = f"{title} is reached."
    return Row(title, epochs, topology, alike, claim, lambda a, b: a.after.floor == b.after.floor)


FIRST = row("the first floor", is_on(1), is_on(0))
SAME = row("the same floor", is_on(1), is_on(1), alike=False)
SECOND = row("the second floor", is_on(2), is_on(1))
PAIR = Pair("death", "Who is higher?", ("left", "right"), (FIRST, SAME, SECOND))


def lifts(*steps: tuple[int, int], off: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())) -> Any:
    """Two stories, of three steps and of two, which meet at these."""
    models = Ride(5, 2, off[0]), Ride(4, 3, off[1])
    ways = way(models[0], Up(), Up(), Up()), way(models[1], Up(), Door(True))
    met = tuple(
        Meeting(each, (ways[0][a], ways[1][b]), (a, b))
        for each, (a, b) in zip(PAIR.rows, steps, strict=False)
    )
    return Aligned(PAIR, models, ways, met)


MET = (1, 0), (1, 1), (2, 1)


def both() -> SideBySide:
    """The two lifts as one model."""
    return SideBySide(lifts(*MET))


State = both().State
LEFT, RIGHT = both().wrap["epochs"], both().wrap["topology"]


def at(epochs: int, topology: int, *opened: str) -> Any:
    """The state in which the lifts are on these floors, and the doors of these worlds open."""
    return State(Lift(epochs, "epochs" in opened), Lift(topology, "topology" in opened))


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ((), "E1 E2 E3 T1 T2"),
        (((0, 0),), "E1 E2 E3 T1 T2"),
        (((0, 1),), "T1 E1 E2 E3 T2"),
        (MET, "E1 T1 E2 E3 T2"),
        (((1, 1), (2, 2)), "E1 T1 E2 T2 E3"),
        (((3, 0),), "E1 E2 E3 T1 T2"),
        (((1, 2), (3, 2)), "E1 T1 T2 E2 E3"),
    ],
)
def test_stories_are_woven_at_their_rows(steps: tuple[tuple[int, int], ...], told: str) -> None:
    """Up to a row first one world, then the other; at the end each goes on to its own."""
    assert [f"{'ET'[world]}{step}" for world, step in woven(lifts(*steps))] == told.split()


def test_a_pair_says_what_it_is() -> None:
    """Its question, its rows by their states, the steps that lead there, and both revisions."""
    model = both()
    assert (model.title, model.parameters) == ("Who is higher?", WorldsParameters("death"))
    assert (SideBySide.revision, model.revision, model.off) == (0, 5, ())
    assert model.moments == (1, 2, 3)
    assert {state: met.row.title for state, met in model.rows.items()} == {
        at(1, 0): "the first floor",
        at(1, 1): "the same floor",
        at(2, 1): "the second floor",
    }
    assert model.start() == at(0, 0)
    assert SideBySide(lifts(off=(("door",), ()))).off == ("epochs:door",)
    assert SideBySide(lifts(off=((), ("door",)))).off == ("topology:door",)


def test_only_the_last_row_ends_it() -> None:
    """Where there is none, nothing does."""
    model = both()
    [last] = [prop for prop in model.properties if prop.name == "last-row"]
    seen = [at(0, 0), at(1, 0), at(1, 1), at(2, 1), at(3, 1)]
    assert [last.check(state) for state in seen] == [False, False, False, True, False]
    assert [SideBySide(lifts()).last_row(state) for state in seen] == [False] * 5


@pytest.mark.parametrize(
    ("state", "next_one"),
    [
        pytest.param(at(0, 0), "epochs up", id="the start"),
        pytest.param(at(1, 0), "topology up", id="the other one is waited for"),
        pytest.param(at(1, 1), "epochs up", id="a row"),
        pytest.param(at(2, 1), "epochs up", id="the last row"),
        pytest.param(at(3, 1), "topology door True", id="the end of one story"),
        pytest.param(at(3, 1, "topology"), "epochs up", id="the end of both"),
        pytest.param(at(4, 1, "topology"), None, id="nothing is left to do"),
        pytest.param(at(4, 0), "topology up", id="one has left its story, the other not begun"),
        pytest.param(at(4, 1), "topology door True", id="one has left its story"),
        pytest.param(at(0, 2), "epochs up", id="the other one has left its story"),
        pytest.param(at(4, 2), "topology up", id="both have left, and the second goes on"),
        pytest.param(at(0, 3, "epochs"), None, id="both have left, and are at rest"),
        pytest.param(at(2, 0), "topology up", id="one is ahead"),
        pytest.param(at(0, 1, "topology"), "epochs up", id="the other one is ahead"),
    ],
)
def test_the_woven_story_is_suggested_first(state: Any, next_one: str | None) -> None:
    """Then each world's own next step."""
    model = both()
    action = model.suggest(state)
    assert (None if action is None else model.verb(action)) == next_one


def test_a_step_of_the_story_that_is_refused_is_left_out() -> None:
    """The other world tells its own meanwhile; then each does what it can."""
    given = lifts(*MET)
    low = Ride(2, 1)  # it has no second floor
    model = SideBySide(Aligned(PAIR, (low, given.models[1]), given.ways, given.met))
    told, state = [], model.start()
    while (action := model.suggest(state)) is not None:
        told.append(model.verb(action))
        state = model.act(state, action)
    assert told == ["epochs up", "topology up", "topology door True"]


@pytest.mark.parametrize(
    ("verb", "option"),
    [
        ("epochs up", (LEFT(Up()), None)),
        ("topology up", (RIGHT(Up()), None)),
        ("topology down", (RIGHT(Down()), Refusal("there is no such floor"))),
        ("epochs door True", (LEFT(Door(True)), None)),
        ("epochs door False", None),
        ("epochs", None),
        ("nowhere up", None),
        ("up", None),
    ],
)
def test_an_option_is_named_by_its_world_first(verb: str, option: Any) -> None:
    """Or else there is none."""
    model = both()
    assert model.find(model.start(), verb) == option


def test_a_step_is_told_by_its_world() -> None:
    """In its verb, on its button, and in its sentence."""
    model = both()
    action, before, after = RIGHT(Door(True)), at(0, 0), at(0, 0, "topology")
    assert model.verb(action) == "topology door True"
    assert model.label(before, action) == "topology: door True"
    assert model.describe(before, action, after) == f"{TOPOLOGY}: door True"
    assert model.describe(before, LEFT(Up()), at(1, 0)) == f"{EPOCHS}: up"


@pytest.mark.parametrize(
    ("after", "milestone", "why"),
    [
        (at(1, 0), "the first floor", "Alike: the first floor is reached."),
        (at(1, 1), "the same floor", "Differs: the same floor is reached."),
        (at(2, 0), None, "One wants to get there."),
    ],
)
def test_a_row_is_a_milestone(after: Any, milestone: str | None, why: str) -> None:
    """Its claim is why; elsewhere the world says that acts."""
    model = both()
    before, action = at(after.epochs.floor - 1, after.topology.floor), LEFT(Up())
    assert model.milestone(before, action, after) == milestone
    assert model.why_here(before, action, after) == why


def test_a_place_is_in_the_picture_that_changed() -> None:
    """The state diagram has none on the board."""
    model = both()
    start = at(0, 0)
    steps = [model.act(start, LEFT(Up())), model.act(start, RIGHT(Up()))]
    assert [model.place("n:A", start, after) for after in steps] == ["n:A@epochs", "n:A@topology"]
    assert [model.place("states:A", start, after) for after in steps] == ["", ""]
    assert placed("n:A", "epochs") == "n:A@epochs"


def test_promises_are_those_of_each_world() -> None:
    """What is always so and what holds of steps, each judged in its world alone."""
    model = both()
    told = {prop.name: prop for prop in model.properties}
    assert {name: (prop.kind, prop.title, prop.on) for name, prop in told.items()} == {
        "epochs:inside": ("always", f"{EPOCHS}: It stays inside the house", ()),
        "epochs:slow": ("step", f"{EPOCHS}: It goes by one floor", ()),
        "topology:inside": ("always", f"{TOPOLOGY}: It stays inside the house", ()),
        "topology:slow": ("step", f"{TOPOLOGY}: It goes by one floor", ()),
        "last-row": ("sometimes", "Both worlds reach the last row", ()),
    }
    assert [*told][-1] == "last-row"
    outside = at(5, 9)
    assert told["epochs:inside"].check(outside) == "it is on floor 5"
    assert told["topology:inside"].check(outside) == "it is on floor 9"
    assert told["epochs:inside"].check(at(0, 9)) is None
    start = model.start()
    assert told["epochs:inside"].stays(start, model.act(start, RIGHT(Up())))
    jump = model.start(), at(2, 3)
    said = {
        (name, action.action.__class__.__name__, model.part_of(action)[0]): told[name].of_step(
            jump[0], action, jump[1]
        )
        for name in ("epochs:slow", "topology:slow")
        for action in (LEFT(Up()), RIGHT(Up()), LEFT(Down()))
    }
    assert {key: words for key, words in said.items() if words} == {
        ("epochs:slow", "Up", "epochs"): "by 2",
        ("topology:slow", "Up", "topology"): "by 3",
    }


def test_safeguards_are_those_of_each_world() -> None:
    """Their names say in which; their ids only where both have it."""
    model = both()
    alone = Safeguard("alone", "S-91", "One at a time", ("INV",))
    [door] = Ride.safeguards
    own = of_worlds("cancel", {"epochs": (door, alone), "topology": (door,)})
    smallest = {"pair": "cancel"}
    title = "Only a closed lift moves"
    assert own == (
        Safeguard("epochs:door", "epochs:S-90", f"{EPOCHS}: {title}", (), smallest),
        Safeguard("epochs:alone", "S-91", f"{EPOCHS}: One at a time", ("INV",), smallest),
        Safeguard("topology:door", "topology:S-90", f"{TOPOLOGY}: {title}", (), smallest),
    )
    names = [each.name for each in model.safeguards]
    assert names == ["epochs:door", "topology:door"]


def test_a_story_is_told_from_its_start_to_its_tip() -> None:
    """Wherever one looks at it."""
    ride = Ride(4, 1)
    timeline = Timeline(ride)
    for action in (Up(), Up()):
        timeline.do(action)
    timeline.goto(1)
    told = [*moments(timeline)]
    assert told == [*way(ride, Up(), Up())]
    assert [now.verb for now in told] == ["", "up", "up"]
    door = way(ride, Door(True))[1]
    assert (door.verb, door.is_a("door"), door.is_a("True"), door.is_a("")) == (
        *("door True", True, False, False),
    )
    assert told[0].is_a("")


STORIES = {"left": (5, Up(), Up(), Up()), "right": (4, Up(), Door(True), Door(False), Up())}


@pytest.fixture
def two_stories(monkeypatch: pytest.MonkeyPatch) -> dict[str, Timeline]:
    """Files of that name hold the stories of two lifts."""
    told = {}
    for name, (floors, *actions) in STORIES.items():
        told[name] = Timeline(Ride(floors, 1))  # type: ignore[arg-type]  # the first is a number
        for action in actions:
            told[name].do(action)
    monkeypatch.setattr(alignment, "file_named", lambda name: f"the file of {name}")
    files = {f"the file of {name}": timeline for name, timeline in told.items()}
    monkeypatch.setattr(alignment, "open_file", files.__getitem__)
    return told


begins = Side(lambda now: now.action is None, lambda now: "nothing yet")


@pytest.mark.parametrize(
    ("rows", "steps"),
    [
        ((), []),
        ((FIRST,), [(1, 0)]),
        ((row("begin", begins, begins),), [(0, 0)]),
        ((row("a", begins, is_on(1)), SAME), [(0, 1), (1, 2)]),
        ((SAME, SECOND), [(1, 1), (2, 2)]),
        ((row("end", is_on(3), is_on(2)),), [(3, 4)]),
        ((SAME, SECOND, row("end", is_on(3), is_on(2))), [(1, 1), (2, 2), (3, 4)]),
    ],
)
def test_a_row_is_found_behind_the_one_above(
    two_stories: dict[str, Timeline], rows: tuple[Row, ...], steps: list[tuple[int, int]]
) -> None:
    """The first moment of each story that is it; the start of a story is one."""
    pair = Pair("death", "Who is higher?", ("left", "right"), rows)
    left, right = two_stories["left"], two_stories["right"]
    ways = tuple(moments(left)), tuple(moments(right))
    met = tuple(
        Meeting(each, (ways[0][a], ways[1][b]), (a, b))
        for each, (a, b) in zip(rows, steps, strict=True)
    )
    assert aligned(pair) == Aligned(pair, (left.model, right.model), ways, met)


@pytest.mark.parametrize(
    ("rows", "story"),
    [
        ((FIRST, row("again", is_on(1), is_on(1))), "left"),
        ((row("again", is_on(4), is_on(3)),), "left"),
        ((row("again", is_on(3), is_on(3)),), "right"),
        ((SECOND, row("again", is_on(3), is_on(0))), "right"),
    ],
)
@pytest.mark.usefixtures("two_stories")
def test_a_row_that_is_not_behind_the_one_above_is_a_mistake(
    rows: tuple[Row, ...], story: str
) -> None:
    """Of the pair, and is told."""
    with pytest.raises(KitError) as failed:
        aligned(Pair("death", "Who is higher?", ("left", "right"), rows))
    assert str(failed.value) == f"death: {story} has no moment for “again”"


def test_a_row_tells_of_each_world() -> None:
    """What it says, how the two compare, and whether its claim holds."""
    met = lifts(*MET).met
    assert [each.said for each in met] == [("on 1", "on 0"), ("on 1", "on 1"), ("on 2", "on 1")]
    assert [each.holds for each in met] == [False, True, False]
    assert [each.row.verdict for each in met] == ["alike", "differs", "alike"]
    assert PAIR.scenario == "death-in-both"


def test_a_player_of_both_begins_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the story that is told to its end; it has no controls, as rows say what to do next."""
    timeline = Timeline(Ride(4, 1))
    opened = {"worlds/death-in-both": SimpleNamespace(timeline=timeline)}
    monkeypatch.setattr(dry_run, "open_named", opened.__getitem__)
    run = dry_run.side_by_side_run("death")
    assert run is timeline
    assert (run.at, len(run.moments)) == (0, 4)
    monkeypatch.setattr(dry_run, "side_by_side_run", lambda name: f"the run of {name}")
    monkeypatch.setattr(dry_run, "Player", lambda run, **given: (run, given))
    assert dry_run.side_by_side("death") == ("the run of death", {"controls": False})
