"""Gossip between two nodes: after SYN, ACK and ACK2 both know the newer of all that either knew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kit.protocols.gossip.rules import (
    STATUS,
    EndpointDigest,
    View,
    compared,
    digests,
    endpoint_of,
    forgetting,
    heard,
    saying,
    since,
    started,
)

Round = tuple[View, View]
SAYING = st.tuples(
    st.sampled_from(("say", "start")), st.sampled_from("AB"), st.sampled_from("12")
)  # fmt: skip


def history(steps: list[tuple[str, str, str]]) -> list[View]:
    """All views that there were: endpoints A and B say things, and start again."""
    view = started(started((), "A", 1), "B", 1)
    views = [view]
    for what, node, value in steps:
        own = endpoint_of(view, node)
        if what == "start":
            view = started(view, node, own.generation + 1, SCHEMA=value)
        else:
            view = saying(view, node, STATUS=value)
        views.append(view)
    return views


def exchanged(a: View, b: View) -> Round:
    """What both know after one round that A begins."""
    asked, newer = compared(b, digests(a))
    a = heard(a, newer)
    return a, heard(b, since(a, asked))


@given(st.lists(SAYING, max_size=6), st.data())
def test_a_round_brings_both_to_the_newest(
    steps: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    """Whatever parts of history two nodes know, in one round both know the later of the two."""
    views = history(steps)
    at = st.integers(0, len(views) - 1)
    a = tuple(views[data.draw(at)][i] for i in (0, 1))
    b = tuple(views[data.draw(at)][i] for i in (0, 1))
    newest = tuple(
        max(pair, key=lambda state: (state.generation, state.version))
        for pair in zip(a, b, strict=True)
    )
    assert exchanged(a, b) == (newest, newest)


@given(st.lists(SAYING, max_size=6), st.data())
def test_older_news_change_nothing(steps: list[tuple[str, str, str]], data: st.DataObject) -> None:
    """A message that arrives late, or twice, leaves the newer view as it is."""
    views = history(steps)
    old = views[data.draw(st.integers(0, len(views) - 1))]
    assert heard(views[-1], old) == views[-1]


def test_who_was_unknown_becomes_known() -> None:
    """A new endpoint is told in either direction, with all that it says."""
    a, c = started((), "A", 1, STATUS="NORMAL"), started((), "C", 3, STATUS="BOOT", SCHEMA="0")
    both = heard(a, c)
    assert exchanged(a, c) == (both, both)
    assert endpoint_of(both, "C").says(STATUS) == "BOOT"
    assert endpoint_of(both, "D").generation == 0
    assert forgetting(both, "C") == a
    assert compared(a, digests(both)) == ((EndpointDigest("C", 0, 0),), ())


def test_only_what_is_newer_travels() -> None:
    """Of an endpoint in the same generation the states since the asked version are sent."""
    old = started((), "A", 1, STATUS="NORMAL", SCHEMA="0")
    new = saying(old, "A", SCHEMA="1", STATUS="NORMAL")
    [own] = since(new, digests(old))
    assert [(state.name, state.value, state.version) for state in own.states] == [
        ("SCHEMA", "1", 3)
    ]
    [same] = since(new, digests(new))
    assert same.states == ()
    [whole] = since(started(new, "A", 2, SCHEMA="1"), digests(old))
    assert (whole.generation, [state.name for state in whole.states]) == (2, ["SCHEMA"])
