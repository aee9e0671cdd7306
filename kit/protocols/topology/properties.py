"""What must hold while a coordinator works, whatever fails and whoever takes over."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from kit.engine.model import Property, always, goal, sometimes, step
from kit.protocols.topology import actions as act
from kit.protocols.topology import properties_of_tables as tables
from kit.protocols.topology import properties_of_work as work
from kit.protocols.topology.rules.decide import decide
from kit.protocols.topology.state import ControlState

if TYPE_CHECKING:
    from kit.protocols.topology.model import Topology

COMMITS = (act.CommitDecision, act.CommitDeposed)
MOVES = (act.RestartElsewhere, act.HearAddress)


def over(model: Topology, s: ControlState) -> bool:
    """Nothing is under way, and nothing waits."""
    return decide(s.topology, s.reachable, model.setting).kind == "rest"


def success(model: Topology, s: ControlState) -> bool:
    """All was asked for, and something of it was carried out."""
    rows = s.topology.requests
    carried_out = any(row.done and not row.error for row in rows) or not rows
    return s.made == len(model.plan.requests) and carried_out


def properties_of(model: Topology) -> tuple[Property, ...]:
    """The properties of a model: some depend on its edition and on who is asked."""
    return (*_of_tables(model), *_of_work(model), *_of_ends(model))


def _of_tables(model: Topology) -> Iterator[Property]:
    """Who is in which state, and who is in group 0."""
    if model.parameters.addresses:
        title = "A node with another address is the same node"
        yield step("identity", title, tables.same_identity, "INV-MEMBER", MOVES)
    yield always(
        "one-operation", "At most one node is in transition", tables.at_most_one, "INV-EXCL"
    )
    own = partial(tables.own_state, model)
    title = "The transition state is one of the operation under way"
    yield step("own-state", title, own, "INV-EXCL", COMMITS)
    apart = partial(tables.tablets_apart, model)
    yield always("tablets-apart", "Tablets move in their own track", apart, "INV-EXCL")
    hold = partial(tables.tablets_hold, model)
    title = "No tablet advances while a node operation is under way"
    yield step("tablets-hold", title, hold, "INV-EXCL", (act.MoveTablets,))
    title = "A node without tokens owns none"
    yield always("tokenless", title, tables.tokenless)
    yield step("left-final", "Who has left stays so", tables.left_is_final, "INV-MEMBER")
    title = "Normal nodes are in group 0, newcomers are not"
    yield always("members", title, tables.members, "INV-MEMBER")
    title = "Who was taken out serves nobody"
    yield always("left-silent", title, tables.left_is_silent, "INV-MEMBER")
    title = "Who gets ranges back is clean"
    yield step("clean-first", title, tables.clean_first, "INV-NORES", COMMITS)


def _of_work(model: Topology) -> Iterator[Property]:
    """Commands, sessions, versions and the barriers that they rely on."""
    yield always("sessions", "Nothing runs after its session", work.of_its_session, "INV-SESSION")
    title = "A command takes effect on the state it was decided on"
    yield step("guarded", title, work.built_on_it, "INV-ONCE", COMMITS)
    title = "Versions only grow, the fence follows"
    yield step("versions", title, work.fence_follows, "INV-FENCE")
    live = partial(work.live_versions, model)
    title = "No replica serves what was below the fence before the last one"
    yield step("live-versions", title, live, "INV-FENCE", (act.ServeRequest,))
    older = partial(work.older_over, model)
    title = "Nothing older can be served once the barrier has passed"
    yield step("older-over", title, older, "INV-STREAM")
    silent = partial(work.silent_when_shut, model)
    title = "Nobody writes to a node that is told to shut down"
    yield step("shut-down-unused", title, silent, "INV-AVAIL", (act.DoWork,))
    back = partial(work.no_way_back, model)
    yield step("no-way-back", "Reads do not go back to the old replicas", back, "INV-STREAM")


def _of_ends(model: Topology) -> Iterator[Property]:
    """Along which edges states change, and where runs lead."""
    yield step("node-edges", "Node states change along the diagram", tables.node_edge)
    edges = partial(tables.transition_edge, model)
    yield step("transition-edges", "Transition states change along the tables", edges)
    yield sometimes("success", "A request is carried out", partial(success, model))
    ends = partial(over, model)
    yield goal("ends", "Every operation can come to its end", ends, "INV-PROGRESS")
