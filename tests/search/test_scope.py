"""What a search or a walk says is what it did: its configuration, what was judged, what was not."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.model.model import Refinement, Safeguard, sometimes
from kit.model.registry import build, entries, fuzzing_of
from kit.playing.verdicts import outcome_box, verdict
from kit.protocols.twophase.twophase import TwoPhase, TwoPhaseParameters
from kit.search.check import Result, check, check_refinement
from kit.search.fuzz import fuzz
from tests.model.toys import Graph, LiftModel, LiftParameters


def texts(model: Any, result: Result) -> list[str]:
    """Every place that prints a result."""
    return [
        repr(result),
        result._repr_html_(),
        verdict(model, result),
        outcome_box(model, result).html(),
    ]


def test_a_whole_search_says_complete() -> None:
    """Nothing left out, nothing assumed: complete, in every place."""
    model = build("dataplane", {"rf": 1})
    result = check(model)
    assert result.verdict == "complete"
    assert all("omplete" in text for text in texts(model, result))
    box = outcome_box(model, result).html()
    assert "configuration: edition documents, rf=1" in box
    assert "monitor visible" in box


WRITE = ("K1 write QUORUM",)


def less(name: str) -> tuple[Any, Result]:
    """A search that is less than complete, in one of several ways."""
    model = build("dataplane", {"rf": 1})
    two, tablet = TwoPhase(), build("tablet", {"rf": 3, "edition": "server", "requests": WRITE})
    match name:
        case "monitors dropped":
            return model, check(model, model.properties)
        case "properties dropped":
            return two, check(two, two.properties[1:])
        case "nothing judged":
            return two, check(two, ())
        case "bounded by states":
            return two, check(two, max_states=200)
        case "symmetry":
            return two, check(two, symmetry=True)
        case "symmetry, dropped":
            return two, check(two, two.properties[:1], symmetry=True)
        case "partial order":
            return tablet, check(tablet, partial_order=True)
        case "both":
            return tablet, check(tablet, partial_order=True, symmetry=True)
        case "interrupted":
            return two, check(two, progress=_impatient)
        case _:
            same = Refinement(two, two, lambda s: s, lambda b, a, n: (a,))
            return two, check_refinement(same)


def _impatient(states: int, now: int) -> None:
    raise KeyboardInterrupt


LESS = {
    "monitors dropped": "judged in part",
    "properties dropped": "judged in part",
    "nothing judged": "judged in part",
    "bounded by states": "bounded",
    "symmetry": "up to symmetry",
    "symmetry, dropped": "judged in part",
    "partial order": "up to order",
    "both": "up to symmetry and order",
    "interrupted": "interrupted",
    "refinement": "judged in part",
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", LESS)
def test_less_than_complete_never_reads_so(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in words nor by a tick: what was left out is named instead."""
    monkeypatch.setattr("kit.search.search.REPORT_EVERY", 50)
    model, result = less(name)
    assert (result.violation, result.verdict) == (None, LESS[name])
    for text in texts(model, result):
        assert "complete: no" not in text
        assert "Complete:" not in text
        assert "✓" not in text
    own = {prop.name for prop in model.properties} | {one.name for one in model.monitors}
    judged = {each for names in result.scope.judged.values() for each in names}
    assert set(result.scope.left_out) == own - judged
    assert ("not judged: " in repr(result)) is bool(own - judged)
    if result.symmetry or result.ordered is not None:
        assert "which is no proof" in repr(result)


def test_parameters_are_told_where_they_differ() -> None:
    """Those that are not the default, and those that a safeguard's smallest configuration sets
    even where they are; what is long is cut in a line, and whole as data.
    """
    assert check(TwoPhase()).scope.configuration == "every parameter at its default"
    assert check(TwoPhase(TwoPhaseParameters(2))).scope.configuration == "rms=2"
    model = LiftModel(LiftParameters(3), ("door",))
    model.safeguards = (Safeguard("door", "S-90", "", (), {"floors": 3}),)
    assert check(model).scope.configuration == "floors=3; without S-90 door"
    operations = tuple(f"bootstrap X{i} --tokens {i}" for i in range(5))
    scope = check(build("tcm", {"operations": operations}), max_states=5).scope
    assert scope.parameters == {"operations": operations}
    assert scope.configuration.endswith("…")


@pytest.mark.parametrize("name", sorted(entries()))
def test_every_property_of_every_model_is_in_the_scope(name: str) -> None:
    """By kind, of searches and walks alike; nothing is left out when nothing is asked for, but
    signs, goals that a search was cut short of, and goals where fair schedules need not come to
    them.
    """
    model = build(name)
    signs = {sign.name for sign in model.signs}
    endless = not fuzzing_of(model).comes_to_goals
    own = {prop.name: str(prop.kind) for prop in model.properties}
    own |= {one.name: "monitor" for one in model.monitors}
    searched = check(model, max_states=2)
    walked = fuzz(model, range(1), steps=1).scope
    goals = {name for name, kind in own.items() if kind == "goal"}
    fair = goals if endless else set()
    lives = {name for name, kind in own.items() if kind == "live"}
    for scope, unjudged, left_out in (
        (searched.scope, {*searched.unjudged, *searched.endless}, set()),
        (walked, fair | lives, fair | lives),
    ):
        judged = {each: kind for kind, names in scope.judged.items() for each in names}
        assert judged == {name: kind for name, kind in own.items() if name not in unjudged}
        assert set(scope.left_out) == signs | left_out
    assert set(searched.unjudged) in (goals, set())


def test_html_is_escaped() -> None:
    """Names and witnesses are text."""
    model = Graph({0: (1,)}, sometimes("<b>", "", lambda s: s.at == 7))
    assert "<b>" not in check(model)._repr_html_()
    assert replace(check(model), model="<i>")._repr_html_().startswith("<div>&lt;i&gt;: ")
