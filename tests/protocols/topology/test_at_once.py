"""What the published server refuses at once, before a request is in the queue.

Sources: published ``raft_removenode``, ``raft_decommission`` and ``join_node_request_handler``.
"""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.protocols.topology.rules.machines import GLOBAL_REQUESTS
from kit.protocols.topology.topology import MakeRequest

DOWN_TOO = "another node is down: restart it, or exclude it if it is dead for good"
IGNORED_LIVES = "an ignored node is up, and ignoring it bans it for good"
LAST = "it is the last node that owns tokens"
PLACE = "it is in another datacenter or rack than the node that it would replace"
OWNER_FOR_ZERO = "a token owner cannot replace a zero-token node"
ZERO_FOR_OWNER = "a zero-token node cannot replace a token owner"

Case = tuple[str, dict[str, Any], str, tuple[str, ...]]

# asked for, the cluster (of five, A to E), what the server says, and which nodes stand in the way
CASES: tuple[Case, ...] = (
    # Another node is down: removal and replace say so, the others wait or are cancelled later.
    ("remove E", {"down": ("E",)}, "", ()),
    ("remove E", {"down": ("D", "E")}, DOWN_TOO, ("D",)),
    ("remove E", {"down": ("C", "D", "E"), "nodes": 7}, DOWN_TOO, ("C", "D")),
    ("remove E", {"down": ("D", "E"), "ignored": ("D",)}, "", ()),
    ("remove E", {"down": ("C", "D", "E"), "nodes": 7, "ignored": ("D",)}, DOWN_TOO, ("C",)),
    ("replace X E", {"down": ("E",)}, "", ()),
    ("replace X E", {"down": ("D", "E")}, DOWN_TOO, ("D",)),
    ("replace X E", {"down": ("D", "E"), "ignored": ("D",)}, "", ()),
    ("remove E", {"down": ("D", "E"), "zero_tokens": ("D",)}, DOWN_TOO, ("D",)),
    ("join X", {"down": ("D",)}, "", ()),
    ("leave E", {"down": ("D",)}, "", ()),
    ("rebuild E", {"down": ("D",)}, "", ()),
    # An ignored node lives.
    ("remove E", {"down": ("E",), "ignored": ("D",)}, IGNORED_LIVES, ("D",)),
    ("remove E", {"down": ("D", "E"), "ignored": ("C", "D")}, IGNORED_LIVES, ("C",)),
    ("replace X E", {"down": ("E",), "ignored": ("C", "D")}, IGNORED_LIVES, ("C", "D")),
    ("remove E", {"down": ("E",), "ignored": ("E",)}, "", ()),
    ("leave E", {"down": (), "ignored": ("D",)}, "", ()),
    # The last node that owns tokens.
    ("leave A", {"down": (), "nodes": 3, "zero_tokens": ("B", "C")}, LAST, ()),
    ("leave A", {"down": (), "nodes": 1}, LAST, ()),
    ("leave A", {"down": (), "nodes": 3, "zero_tokens": ("C",)}, "", ()),
    ("leave C", {"down": (), "nodes": 3, "zero_tokens": ("B", "C")}, "", ()),
    ("remove A", {"down": ("A",), "nodes": 3, "zero_tokens": ("B", "C")}, LAST, ()),
    ("remove C", {"down": ("C",), "nodes": 3, "zero_tokens": ("B", "C")}, "", ()),
    # A replace: the place, and tokens both ways.
    ("replace X E", {"racks": ("dc1/r1",) * 5 + ("dc1/r2",)}, PLACE, ()),
    ("replace X E", {"racks": ("dc1/r1",) * 5 + ("dc2/r1",)}, PLACE, ()),
    ("replace X E", {"racks": ("dc1/r1",) * 4 + ("dc1/r2", "dc1/r2")}, "", ()),
    ("replace X E", {"racks": ("dc1/r1",) * 5}, "", ()),
    ("replace X E --zero-token", {}, ZERO_FOR_OWNER, ()),
    ("replace X E", {"zero_tokens": ("E",)}, OWNER_FOR_ZERO, ()),
    ("replace X E --zero-token", {"zero_tokens": ("E",)}, "", ()),
)  # fmt: skip


@pytest.mark.parametrize(("words", "given", "reason", "nodes"), CASES)
def test_the_server_refuses_at_once(
    words: str, given: dict[str, Any], reason: str, nodes: tuple[str, ...]
) -> None:
    """Whoever takes the request says why, and names the nodes that stand in the way."""
    model: Any = build(
        "topology", {"edition": "server", "nodes": 5, **given, "operations": (words,)}
    )
    refusal = model.refusal(model.start(), MakeRequest(0))
    assert ("" if refusal is None else refusal.reason) == reason
    assert refusal is None or refusal.missing == nodes


@pytest.mark.parametrize(("words", "given", "reason", "nodes"), CASES)
def test_the_documents_know_no_such_refusal(
    words: str, given: dict[str, Any], reason: str, nodes: tuple[str, ...]
) -> None:
    """There the request is taken, and waits or fails later."""
    parameters = {"edition": "documents", "nodes": 5, **given, "operations": (words,)}
    model: Any = build("topology", parameters)
    assert model.refusal(model.start(), MakeRequest(0)) is None


def test_two_dead_nodes_are_removed_one_after_the_other() -> None:
    """The first removal has to ignore the other node; the second has the first in the column
    ``ignore_nodes`` already, though its removal has not begun.
    """
    given = {"edition": "server", "nodes": 5, "ignored": ("D",)}
    model: Any = build("topology", {**given, "operations": ("remove E", "remove D")})
    state = model.act(model.start(), MakeRequest(0))
    assert state.topology.ignored == 0b11000
    state = model.act(state, MakeRequest(1))
    while (action := model.suggest(state)) is not None:
        state = model.act(state, action)
    assert [row.state for row in state.topology.nodes[3:]] == ["left", "left"]
    assert state.topology.ignored == 0


def test_members_without_tokens_are_members() -> None:
    """Who joins says so in its request."""
    with pytest.raises(BadInput, match="zero_tokens"):
        build("topology", {"operations": ("join D",), "zero_tokens": ("D",)})


@pytest.mark.parametrize("name", [each.name for each in GLOBAL_REQUESTS if not each.played])
@pytest.mark.parametrize("rest", ["", " ks"])
def test_what_is_not_modelled_gets_that_answer(name: str, rest: str) -> None:
    """A request that published servers take, and that no model plays, is no unknown word."""
    with pytest.raises(BadInput, match=f"{name}.*a modelled request, unlike this one"):
        build("topology", {"operations": (name + rest,)})
