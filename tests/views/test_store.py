"""Frames are stored once, sent piece by piece, and come back whole."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.views.fragment import Frag, h
from kit.views.rendered import RenderedTimeline
from kit.views.store import PLACEHOLDER, FragmentStore, biggest
from kit.views.wire import DrawnMoment, Pack, Position
from tests.views.frames import walk


def trees() -> st.SearchStrategy[Frag]:
    """Small fragments whose texts look like placeholders, with keys that are unique by position."""
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
    store = FragmentStore()
    roots = [store.add(frag) for frag in frags]
    assert [store.flat(root) for root in roots] == [frag.html() for frag in frags]


def test_equal_parts_are_stored_once() -> None:
    """A second frame costs only what changed in it."""
    store = FragmentStore()
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
        FragmentStore().add(h("ul", h("li", k="row:1"), h("li", k="row:1"), k="list"))


def test_packing_is_repeatable() -> None:
    """Equal data give equal bytes, whenever they are packed."""
    start = DrawnMoment(-1, 0, "", None, None, False, None, False)
    pack = Pack("0", ["<p>a</p>"], [start], Position(0, 0, 0))
    assert pack.compressed() == pack.compressed()
    assert json.loads(gzip.decompress(pack.compressed())) == {
        "session": "0",
        "texts": ["<p>a</p>"],
        "moments": [[-1, 0, "", None, None, False, None, False, "", None]],
        "position": {"at": 0, "tip": 0, "sequence": 0},
    }


def test_an_ordered_pack_shows_the_same_frames_in_fewer_bytes() -> None:
    """Texts of one key lie beside each other, and every frame, question and list is as it was."""
    timeline = walk("tcm/bootstrap")
    for _ in range(20):
        timeline.forward()
    source = RenderedTimeline(timeline)
    plain, ordered = source.pack(), source.pack().ordered()
    assert len(ordered.compressed()) < 0.9 * len(plain.compressed())
    for one, other in zip(plain.moments, ordered.moments, strict=True):
        for name in ("root", "question", "flows"):
            was, now = getattr(one, name), getattr(other, name)
            assert (was is None) == (now is None)
            if was is not None:
                assert flat(plain.texts, was) == flat(ordered.texts, now)


def flat(texts: list[str], root: int) -> str:
    """The whole HTML of a text of a pack."""
    return PLACEHOLDER.sub(lambda place: flat(texts, int(place[1])), texts[root])


def test_biggest_parts_are_named_by_kind() -> None:
    """What takes most room is told by the kind of its keys."""
    store = FragmentStore()
    store.add(h("ul", [h("li", "x" * 100, k=f"row:{i}") for i in range(3)], k="list"))
    assert biggest(store.texts)[0][0] == "row"


def rendered(steps: int = 6) -> RenderedTimeline:
    """A rendered timeline of a short walk."""
    timeline = Timeline(build("twophase"))
    for _ in range(steps):
        timeline.forward()
    return RenderedTimeline(timeline)


def test_an_update_brings_a_reader_up_to_date() -> None:
    """Texts after the reader's last and moments from the first new one make it whole again."""
    one = rendered(3)
    texts, moments = list(one.store.texts), list(one.moments)
    one.timeline.forward()
    first = one.draw_new()
    update = one.update(len(texts), first)
    texts += update.texts
    moments[update.first :] = update.moments
    assert texts == one.store.texts
    assert moments == one.moments


def test_a_page_that_lost_touch_gets_all_it_lacks() -> None:
    """Asking from zero gives everything, in order."""
    one = rendered()
    update = one.update(0, 0)
    assert update.texts == one.store.texts
    assert update.moments == one.moments


def test_old_frames_are_let_go_and_drawn_again() -> None:
    """A new store keeps the latest frames; an older one comes back when it is asked for."""
    one = rendered()
    html = [one.html(i) for i in range(len(one.moments))]
    session = one.session
    one.renew(kept=2)
    assert one.session != session
    assert [moment.root is None for moment in one.moments] == [True] * 5 + [False] * 2
    root = one.need(1).moments[0].root
    assert root is not None
    assert one.store.flat(root) == html[1]
    assert one.html(0) == html[0]


def test_inner_steps_of_a_macro_are_marked() -> None:
    """A folded run is one step: all of it but its last moment is inner."""
    timeline = Timeline(build("twophase"))
    actions = [timeline.suggest()]
    state = timeline.model.apply(timeline.state, actions[0])
    actions.append(timeline.model.suggest(state))
    one = RenderedTimeline(timeline)
    timeline.run(actions)
    one.draw_new()
    assert [moment.inner for moment in one.moments] == [False, True, False]
