"""Frames are stored once, sent piece by piece, and come back whole."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.views.fragment import Frag, h
from kit.views.reel import Reel
from kit.views.store import Store, biggest, squeeze


def trees() -> st.SearchStrategy[Frag]:
    """Small fragments whose texts look like holes, with keys that are unique by position."""
    words = st.sampled_from(["", "<!--0-->", "a & b", "</b>", "x"])
    leaf = st.builds(lambda text: h("b", text), words)
    tree = st.recursive(
        leaf, lambda kid: st.builds(lambda ks: h("p", *ks), st.lists(kid, max_size=3))
    )
    return tree.map(lambda frag: _keyed(frag, "k"))


def _keyed(frag: Frag, key: str) -> Frag:
    kids = tuple(
        _keyed(kid, f"{key}.{i}") if isinstance(kid, Frag) else kid
        for i, kid in enumerate(frag.kids)
    )
    return Frag(frag.tag, frag.attrs, kids, key)


@given(st.lists(trees(), min_size=1, max_size=5))
def test_what_is_stored_comes_back(frags: list[Frag]) -> None:
    """The flattened frame is the frame, whatever its texts look like."""
    store = Store()
    roots = [store.add(frag) for frag in frags]
    assert [store.flat(root) for root in roots] == [frag.html() for frag in frags]


def test_equal_parts_are_stored_once() -> None:
    """A second frame costs only what changed in it."""
    store = Store()
    rows = [h("li", str(i), k=f"row:{i}") for i in range(10)]
    first = store.add(h("ul", rows, k="list"))
    before = len(store)
    second = store.add(h("ul", [*rows[:9], h("li", "new", k="row:9")], k="list"))
    assert len(store) == before + 2
    assert first != second
    assert store.since(before) == store.texts[before:]
    assert len(store.reach(first) & store.reach(second)) == 9


def test_a_double_key_is_refused() -> None:
    """A frame with two equal keys never enters the store."""
    with pytest.raises(ValueError, match="row:1"):
        Store().add(h("ul", h("li", k="row:1"), h("li", k="row:1"), k="list"))


def test_packing_is_repeatable() -> None:
    """Equal data give equal bytes, whenever they are packed."""
    assert squeeze({"a": [1]}) == squeeze({"a": [1]})
    assert json.loads(gzip.decompress(squeeze({"a": [1]}))) == {"a": [1]}


def test_biggest_parts_are_named_by_kind() -> None:
    """What takes most room is told by the kind of its keys."""
    store = Store()
    store.add(h("ul", [h("li", "x" * 100, k=f"row:{i}") for i in range(3)], k="list"))
    assert biggest(store.texts)[0][0] == "row"


def reel(steps: int = 6) -> Reel:
    """A reel of a short walk."""
    timeline = Timeline(build("twophase"))
    for _ in range(steps):
        timeline.forward()
    return Reel(timeline)


def test_news_brings_a_reader_up_to_date() -> None:
    """Texts after the reader's last and nodes from the first new one make it whole again."""
    one = reel(3)
    texts, nodes = list(one.store.texts), list(one.nodes)
    one.timeline.forward()
    first = one.update()
    news = one.news(len(texts), first)
    texts += news["f"]
    nodes[news["first"] :] = news["n"]
    assert texts == one.store.texts
    assert nodes == one.nodes


def test_a_reader_that_fell_behind_gets_all_it_lacks() -> None:
    """Asking from zero gives everything, in order."""
    one = reel()
    news = one.news(0, 0)
    assert news["f"] == one.store.texts
    assert news["n"] == one.nodes


def test_old_frames_are_let_go_and_drawn_again() -> None:
    """A new store keeps the latest frames; an older one comes back when it is asked for."""
    one = reel()
    html = [one.html(i) for i in range(len(one.nodes))]
    session = one.session
    one.renew(kept=2)
    assert one.session != session
    assert [node[1] is None for node in one.nodes] == [True] * 5 + [False] * 2
    news = one.need(1)
    assert one.store.flat(news["n"][0][1]) == html[1]
    assert one.html(0) == html[0]


def test_inner_steps_of_a_macro_are_marked() -> None:
    """A folded run is one step: all of it but its last moment is inner."""
    timeline = Timeline(build("twophase"))
    actions = [timeline.suggest()]
    state = timeline.model.apply(timeline.state, actions[0])
    actions.append(timeline.model.suggest(state))
    one = Reel(timeline)
    timeline.run(actions)
    one.update()
    assert [node[5] for node in one.nodes] == [0, 1, 0]
