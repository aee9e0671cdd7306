"""The states of a model as a picture: a graph while one can read it, else a table; always words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from kit.errors import BadInput
from kit.model.model import always
from kit.model.registry import build
from kit.search.check import check
from kit.views import diagrams as dot
from kit.views import states as module
from kit.views.diagrams import digest, digest_in
from kit.views.states import MOST_DRAWN, can_be_drawn, dot_of, draw_states, reached, states_text
from kit.widgets.states import WIDGET, StatesPicture, states
from tests.examples import examples
from tests.keyed import check_keys
from tests.model.toys import Cell, Graph
from tests.saying import like

ONE = build("twophase", {"rms": 1})


@pytest.mark.parametrize("rms", [1, 2, 3])
def test_the_picture_has_the_states_of_the_search(rms: int) -> None:
    """States, steps and depth are those that the search counts, by kind and by distance."""
    model = build("twophase", {"rms": rms})
    found, searched = reached(model), check(model)
    assert found.complete, found
    assert found.number == searched.states
    assert len(found.levels) == searched.depth + 1
    assert sum(count.steps for count in found.counts) == searched.transitions
    assert sum(count.first for count in found.counts) == searched.states - 1
    assert bool(found.places) is (rms < 3)
    if found.places:
        assert sum(len(verbs) for _, _, verbs in found.edges) == searched.transitions


def test_labels_tell_states_apart() -> None:
    """No two states have the same label; the start has all fields, others what differs from it."""
    for rms in (1, 2):
        places = reached(build("twophase", {"rms": rms})).places
        assert len({place.lines for place in places}) == len(places)
    first, second, *_ = reached(ONE).places
    assert first.lines == (
        "transaction manager: undecided",
        "heard to be prepared: nobody",
        "RM0: working",
    )
    assert second.lines == ("RM0: prepared",)


class Long(Struct, frozen=True):
    """A state whose texts begin alike."""

    text: str
    same: str = "always the same"


def test_what_labels_share_is_left_out() -> None:
    """A long beginning that all values share is cut, so that what differs can be read; a long
    middle is cut where it must be, and the label stays different.
    """
    model = Graph({0: (1, 2, 3)})
    texts = {
        0: "replicas of the range (100, 200]: A, B",
        1: "replicas of the range (100, 200]: A, C",
        2: "replicas of the range (100, 200]: " + "A, " * 20 + "B",
        3: "replicas of the range (100, 200]: " + "A, " * 21 + "B",
    }
    model.readable = lambda s: Long(texts[s.at])
    lines = [place.lines for place in reached(model).places]
    assert lines[0] == ("text: …B",)
    assert lines[1] == ("text: …C",)
    assert len(set(lines)) == 4
    assert all(len(line) < 50 for group in lines for line in group)


@pytest.mark.spec("H-008")
def test_the_graph_is_drawn_with_its_text() -> None:
    """Every state is a keyed node and every step an edge; its label says how many there are."""
    found = reached(ONE)
    drawn = draw_states(found, "states-twophase-1")
    assert drawn.tag == "svg"
    check_keys(drawn)
    names = {part.key for part in drawn.walk() if part.key}
    assert {f"states:state:s{n}" for n in range(12)} <= names
    assert sum(name.startswith("states:edge:") for name in names) == len(found.edges)
    assert drawn.get("aria-label") == "Two-phase commit: 12 states, 14 steps"
    text = states_text(found)
    assert "  0: transaction manager: undecided; " in text
    assert "give-up RM0, receive-decision RM0 → 6" in text
    committed = (dot.FOLDERS[0] / "states-twophase-1.svg").read_text(encoding="utf-8")
    assert digest_in(committed) == digest(dot_of(found))


def test_labels_are_only_text() -> None:
    """Quotes, backslashes and angle brackets in names stay text, in DOT as in the picture."""
    model = Graph({0: (1,)})
    model.readable = lambda s: {'a"b\\N<i>': f'"{s.at}\\n'}
    source = dot_of(reached(model))
    assert '[label="a\\"b\\\\N<i>: \\"0\\\\n"]' in source
    drawn = draw_states(reached(model))
    assert 'a"b\\N<i>: "0\\n' in drawn.text()


def test_broken_states_are_lit() -> None:
    """States that break an invariant say so, and are lit in place of the start."""
    model = Graph({0: (1, 2)}, always("two", "Never at 2", lambda s: "!" if s.at == 2 else None))
    found = reached(model)
    assert [place.broken for place in found.places] == [(), (), ("Never at 2",)]
    assert [place.rests for place in found.places] == [False, True, True]
    lit = [part.key for part in draw_states(found).walk() if part.get("class") == "place lit"]
    assert lit == ["states:state:s2"]
    assert "2: at: 2; BROKEN: Never at 2 (nothing can happen here)" in states_text(found)
    start = [
        part.key for part in draw_states(reached(ONE)).walk() if part.get("class") == "place lit"
    ]
    assert start == ["states:state:s0"]


@pytest.mark.parametrize(("number", "drawn"), [(MOST_DRAWN, True), (MOST_DRAWN + 1, False)])
def test_above_a_hundred_states_there_is_a_table(number: int, drawn: bool) -> None:
    """A hundred states are drawn; of one more there is a table by kind of action instead."""
    chain = Graph({at: (at + 1,) for at in range(number - 1)})
    found = reached(chain)
    assert (found.number, bool(found.places), bool(found.edges)) == (number, drawn, drawn)
    if drawn:
        return
    shown = draw_states(found)
    assert "101 states, 100 steps; too many to draw" in shown.text()
    assert [part.tag for part in shown.walk()].count("tr") == 2
    assert (
        "go: can happen in 100 states, 100 steps, 100 states reached first in this way"
        in states_text(found)
    )


@given(
    st.dictionaries(
        st.integers(0, 6), st.lists(st.integers(0, 6), unique=True).map(tuple), max_size=7
    ),
    st.integers(1, 8),
)
@examples(80)
def test_a_bound_is_kept_and_told(edges: dict[int, tuple[int, ...]], most: int) -> None:
    """At most so many states; it is complete exactly when there are no others."""
    whole = check(Graph(edges))
    found = reached(Graph(edges), most)
    assert found.number == min(most, whole.states)
    assert found.complete is (whole.states <= most)
    assert ("at least" in found.summary) is not found.complete
    with pytest.raises(BadInput, match=like("most | 0")):
        reached(Graph({}), 0)


@pytest.fixture
def no_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Graphviz."""
    monkeypatch.setattr(module, "drawn", lambda name, source: None)


def test_without_dot_there_is_a_list(no_dot: None) -> None:
    """Where nothing can lay a graph out, its states and steps are listed, and it is said why."""
    shown = draw_states(reached(ONE))
    assert "because Graphviz is not installed" in shown.text()
    assert [part.tag for part in shown.walk()].count("li") == 12 + len(reached(ONE).edges)
    assert not can_be_drawn(reached(ONE))


def test_without_dot_the_browser_draws(no_dot: None) -> None:
    """In a notebook the WebAssembly build of Graphviz takes the place of ``dot``; the list stays as
    what is stored.
    """
    shown = states(ONE)._repr_mimebundle_()
    assert WIDGET in shown
    assert "because Graphviz is not installed" in shown["text/html"]
    table = states(build("twophase"))._repr_mimebundle_()
    assert WIDGET not in table


def test_with_dot_there_is_a_picture() -> None:
    """With a layout at hand the notebook keeps a picture and words, and no widget."""
    shown = states(ONE, picture="states-twophase-1")._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert 'src="data:image/svg+xml;base64,' in shown["text/html"]
    assert shown["text/plain"].startswith("Two-phase commit: 12 states, 14 steps\n")


def test_a_students_model_has_a_picture() -> None:
    """A model that says nothing of pictures has one, by its fields."""
    picture: Any = StatesPicture(reached(Graph({0: (1,)})))
    assert "0: at: 0" in repr(picture)
    assert Cell(0) == Cell(0)
