"""Each guard of each table of rules is cut, and a search of a small configuration notices.

The guards come from the tables themselves. A rule that never refuses stands in ``FREE``: one that
loses its guard fails here, as one does that gets a guard which no configuration needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any

import pytest
from msgspec.structs import replace

from kit.engine.check import check
from kit.engine.model import Model
from kit.engine.registry import build
from kit.engine.rule import Rule
from kit.errors import Refusal
from tests.engine.counting import counting
from tests.engine.test_log_model import logging_lift
from tests.quality.breaking import broken, lift_again, tables, unguarded

# States that show it; 300 for others.
MOST = {
    "dataplane": 1500,
    "coordinator": 600,
    "group0": 1000,
    "topology": 1800,
    "vnodes": 1500,
    "join": 600,
    "tablet": 4000,
    "tablets": 1500,
    "resize": 1000,
    "raft_upgrade": 600,
    "recovery_mode": 600,
    "topology_upgrade": 400,
}
Build = Callable[[], Model[Any, Any]]


def tcm(**parameters: Any) -> Build:
    """A cluster with these parameters."""
    return lambda: build("tcm", parameters)


def dataplane(**parameters: Any) -> Build:
    """Requests on one range with these parameters."""
    return lambda: build("dataplane", {"rf": 1, **parameters})


def group0(**parameters: Any) -> Build:
    """Members of group 0 with these parameters."""
    return lambda: build("group0", parameters)


def topology(**parameters: Any) -> Build:
    """A coordinator of the topology with these parameters."""
    return lambda: build("topology", parameters)


def join(**parameters: Any) -> Build:
    """The join handshake with these parameters."""
    return lambda: build("join", parameters)


def tablets(**parameters: Any) -> Build:
    """Tablets under a coordinator with these parameters."""
    return lambda: build("tablets", parameters)


def resize(**parameters: Any) -> Build:
    """A table that is resized with these parameters."""
    return lambda: build("resize", parameters)


def two_at_once() -> Model[Any, Any]:
    """Two joiners by gossip where that is no harm by itself: what comes of it is looked at."""
    model = build("gossip_join", {"joiners": 2, "rf": 2, "nodes": 2}, ("one-at-a-time",))
    model.properties = tuple(prop for prop in model.properties if prop.name != "one-joins")
    return model


def removal(**parameters: Any) -> Build:
    """A dead node that a neighbour removes by gossip, with these parameters."""
    return lambda: build("gossip_join", {"operation": "removenode", **parameters})


def raft_upgrade(**parameters: Any) -> Build:
    """Two nodes on the way into Raft with these parameters."""
    return lambda: build("raft_upgrade", {"nodes": 2, **parameters})


def recovery(**parameters: Any) -> Build:
    """A group 0 of four that lost two, with these parameters."""
    return lambda: build("recovery", {"commit_indexes": (1, 2, 2, 2), "dead": "C D", **parameters})


SERVED = {
    "operations": ("alter table ks.t add c at A",),
    "earlier": ("create keyspace ks at A", "create table ks.t at A"),
    "requests": ("write ks.t at A to B",),
    "crashes": 1,
}
# One table each, with the configurations in which its guards have something to refuse.
MODELS: dict[str, tuple[Build, ...]] = {
    "twophase": (lambda: build("twophase", {"rms": 2}),),
    "tcm": (
        tcm(crashes=1),
        tcm(cancels=1),
        tcm(nodes=2, rf=1, window=2),
        tcm(peers=True),
        tcm(nodes=4, rf=3, operations=("decommission D",)),
        tcm(nodes=4, rf=3, operations=("decommission D", "replace D Y")),
        tcm(holds=True),
        tcm(edition="server", relax="QUORUM"),
    ),
    "dataplane": (
        dataplane(),
        dataplane(cancels=1),
        dataplane(mode="gossip"),
        dataplane(crashes=1, repair="blocking"),
        dataplane(cleaning=True, collecting=True, requests=("K1 delete QUORUM",)),
    ),
    "coordinator": (lambda: build("coordinator", {}),),
    "replica": (lambda: build("replica", {}),),
    "network": (
        lambda: counting(drops=1, duplicates=1, holds=1),
        lambda: counting(partitions=1, fifo=True),
        lambda: counting(adds=1, partitions=1),
    ),
    "log": (lambda: logging_lift(2),),
    "group0": (
        group0(elections=1, crashes=1, losses=1),
        group0(nodes=2, edition="server", hours=1),
        group0(nodes=7, dcs=2, edition="server", crashes=1),
        group0(**SERVED),
        group0(nodes=2, operations=("create table ks.t at A",), losses=1),
        group0(
            earlier=("create keyspace ks at A", "create keyspace k at A"),
            kept=1,
            newcomers=1,
            operations=("create table ks.t at C",),
            crashes=1,
        ),
    ),
    "discovery": (
        lambda: build("discovery", {"seeds": ("A", "A"), "restarts": 1, "losses": 1}),
        lambda: build("discovery", {"seeds": ("A", "B", "A")}),
    ),
    "topology": (
        topology(nodes=1, operations=(), tablets=2),
        topology(nodes=1, late=2),
        topology(nodes=1, failures=2),
        topology(nodes=2, operations=("lock",), changes=1, crashes=1),
        topology(nodes=2, operations=("new_cdc_generation",), publishing=True, crashes=1),
        topology(nodes=2, operations=("leave B",), tablets=1, crashes=1),
        topology(nodes=2, clients=1, cuts=1, lag=False),
        topology(nodes=1, operations=("join D", "cleanup"), crashes=1, lag=False),
        topology(nodes=2, operations=(), cuts=1, addresses=1),
        topology(nodes=2, operations=(), crashes=1, exclusions=1),
        topology(nodes=2, operations=(), crashes=1, configurations=1),
        # A drain fails, and the plain barrier behind its fence.
        topology(nodes=2, operations=("leave B",), failures=2, edition="server"),
    ),
    "vnodes": (
        lambda: build("vnodes", {"nodes": 3, "rf": 1, "timeouts": True, "losses": 1}),
        lambda: build("vnodes", {"nodes": 3, "rf": 1, "crashes": 1}),
    ),
    "join": (
        join(restarts=1, wipes=1, edition="server"),
        join(nodes=1, supports=False, enabled=False),
        join(outages=1),
        join(nodes=1, zombie=True),
    ),
    "tablet": (lambda: build("tablet", {"rf": 1, "edition": "server", "crashes": 1}),),
    "tablets": (
        tablets(nodes=2, tablets=("A",), crashes=1, changes=1, exclusions=1),
        tablets(nodes=2, tablets=("A",), edition="documents"),
        tablets(nodes=2, tablets=("A",), crashes=1, changes=1, full=1),
        tablets(nodes=3, tablets=("A B",), moves=0, operations=("leave B",), undone=1),
        tablets(nodes=3, tablets=("A",), answering=True, late=1, crashes=1),
    ),
    "resize": (
        resize(tablets=("A",), nodes=2, shrinks=1, moves=1, repairs=1),
        resize(tablets=("A B",), shrinks=1, moves=1),
    ),
    "truncate": (lambda: build("truncate", {"nodes": 2, "moves": 1, "changes": 1}),),
    "balance": (lambda: build("balance", {"nodes": 2, "tablets": ("A B",)}),),
    "gossip": (
        lambda: build("gossip", {"nodes": 2, "partitions": 1}),
        lambda: build("gossip", {"nodes": 2, "losses": 1, "at_once": 2}),
        lambda: build("gossip", {"changes": ("create table ks.t at A", "drop table ks.t at B")}),
    ),
    "gossip_join": (
        lambda: build("gossip_join", {"nodes": 2, "crashes": 1, "cuts": 1}),
        lambda: build("gossip_join", {"nodes": 2, "joiners": 2}),
        two_at_once,
        removal(rf=3, crashes=1),
        removal(rf=2, nodes=2, crashes=2, cuts=1),
    ),
    "raft_upgrade": (
        raft_upgrade(turns=1),
        raft_upgrade(beginning="older version"),
        raft_upgrade(changes=1, crashes=1),
        raft_upgrade(beginning="new cluster", changes=1, crashes=1),
    ),
    "topology_upgrade": (
        lambda: build("topology_upgrade", {"nodes": 1, "crashes": 1}),
        lambda: build("topology_upgrade", {"nodes": 2, "older": 1}),
        lambda: build("topology_upgrade", {"nodes": 2, "crashes": 2}),
    ),
    "recovery": (
        recovery(writes=1),
        recovery(returns=1, changes=1),
        recovery(deaths=1, operation=True),
        recovery(edition="server", crashes=1),
    ),
    "recovery_mode": (
        lambda: build("recovery_mode", {"commit_indexes": (1, 1), "dead": "B", "changes": 1}),
        lambda: build(
            "recovery_mode", {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True, "changes": 1}
        ),
    ),
    "failures": (lambda: build("failures", {"datacenters": (3,), "changes": 2}),),
}
# What nothing forbids: whoever works may prepare, whoever fell may come back, a decision is taken
# elsewhere (the log only writes it down), what is held may be released, tests hold what they like,
# clients ask when they like, time passes. What a node does by itself once it has reached a step
# needs no guard beside that: who reads, makes an id, validates; who applies what it was told. The
# network of discovery is never cut, nor is that of tablets, where an RPC to who is down is gone.
# What tablets take over from the topology as it is loses its guards there. Who has streamed owns
# its ranges by itself in a join by gossip; who acknowledges a write is chosen among those that can.
# A level of barriers knows no barrier: that one waits is a condition over all parts.
FREE = {
    "twophase": {"Prepare"},
    "tcm": {"Restart", "Append", "Hold", "Release", "Relax", "BeginBarrier"},
    "dataplane": {"Start", "Tick", "Cleanup"},
    "coordinator": {"Start"},
    "replica": set(),
    "network": {"ReleaseMessage"},
    "log": {"Append", "Door"},
    "group0": {"MakeStateId", "ReadStateId", "RestartNode", "Validate"},
    "discovery": {"DeliverMessage"},
    "topology": {
        *("ApplyTopology", "BeginRequest", "LateArrival", "EndLeftover"),
        *("CrashMember", "CutOff", "Reconnect", "RestartElsewhere", "RestartMember"),
        "FindResize",
    },
    "vnodes": {"Start"},
    "join": {
        *("DeliverMessage", "PlaceRequest", "CallFails", "LearnOutcome", "StopWaiting"),
        *("TakeTheLead", "WakeUp"),
    },
    "tablet": {"Start"},
    "tablets": {
        *("ApplyStages", "ArriveLate", "EndLate"),
        *("AnswerBarrier", "ApplyTopology", "BeginRequest", "CrashMember", "CutOff", "EndLeftover"),
        *("HearAddress", "LateArrival", "LeaveBehind", "MakeRequest", "PauseWork"),
        *("PublishGeneration", "Reconnect", "ReportClean", "RestartElsewhere", "RestartMember"),
        *("RestartConfigured", "ServeRequest", "UnlockTopology", "FindResize"),
    },
    "resize": {"ApplyMap", "CommitMap", "EndRepair", "Grow", "Shrink"},
    "truncate": {
        *("AskTruncate", "Send", "LearnSession", "Write", "Arrive", "Delay", "Elect", "EndMove")
    },
    "balance": set(),
    "gossip": set(),
    "gossip_join": {
        *("AnnounceNormal", "CrashDriver", "CutNodeOff", "ForgetJoiner", "HealCut", "WriteKey"),
        *("AnnounceRemoved", "RestartDriver"),
    },
    "raft_upgrade": {
        *("Install", "TurnOff", "Update", "Pull", "Synchronize", "Finish", "CatchUp", "Retry"),
        *("Crash", "Die", "Cut", "Heal"),
    },
    "topology_upgrade": {"Upgrade", "Crash", "Restart"},
    # What each refusal of these three is for: tests/protocols/recovery/test_refusals.py.
    "recovery": {"ComeBack", "Crash", "Die", "Isolate", "SetOption"},
    "recovery_mode": {
        *("ComeBack", "Crash", "Die", "Isolate", "Mistype", "Pull", "StartServer", "Stop"),
    },
    "failures": {"Lose", "Rejoin", "StartAll", "StartNode", "Stop", "StopTogether"},
}


def verdict(model: Model[Any, Any], most: int) -> Any:
    """What a search says; a guard that is gone may also let an effect run into a wall."""
    try:
        found = check(model, max_states=most)
    except Exception as error:
        return type(error)
    broke = found.violation and found.violation.property
    return found.states, found.transitions, found.depth, broke, found.unreached


def cuts(model: Model[Any, Any]) -> Iterator[tuple[str, Callable[[Model[Any, Any]], Any]]]:
    """Every guard of a model by its name, and what cuts it out of another one of its kind."""
    for part in tables(model):
        for rule in part.rules:
            yield rule.action.__name__, partial(broken, action=rule.action, how=unguarded)
    for condition in getattr(model, "_conditions", ()):
        yield condition.__name__, partial(without, name=condition.__name__)


def without(model: Any, name: str) -> Any:
    """A product without one of the conditions over all of its parts."""
    model._conditions = tuple(c for c in model._conditions if c.__name__ != name)
    lift_again(model)
    return model


def refusing(model: Model[Any, Any]) -> tuple[Model[Any, Any], set[str]]:
    """The model, and the names of its rules that have refused anything so far."""
    names: set[str] = set()

    def noting(rule: Rule[Any, Any]) -> Rule[Any, Any]:
        @wraps(rule.outcome)
        def outcome(state: Any, given: Any) -> Any:
            end = rule.outcome(state, given)
            if isinstance(end, Refusal):
                names.add(rule.action.__name__)
            return end

        return replace(rule, outcome=outcome)

    for part in tables(model):
        for rule in part.rules:
            broken(model, rule.action, noting)
    return model, names


def unnoticed(name: str) -> set[str]:
    """The guards of a model that no search of its configurations misses.

    Without a rule's guard that refuses nothing a search is the same one, and what a short search
    notices need not be looked for in a long one.
    """
    guards: set[str] = set()
    missed: set[str] = set()
    most = MOST.get(name, 300)
    for make in MODELS[name]:
        model, refused = refusing(make())
        usual = {bound: verdict(make(), bound) for bound in (most // 10, most)}
        assert verdict(model, most) == usual[most]
        rules = {rule.action.__name__ for part in tables(model) for rule in part.rules}
        for guard, cut in cuts(make()):
            guards.add(guard)
            if guard in missed or guard in rules - refused:
                continue
            if any(verdict(cut(make()), bound) != told for bound, told in usual.items()):
                missed.add(guard)
    return guards - missed


@pytest.mark.parametrize("name", MODELS)
def test_a_cut_guard_is_noticed(name: str) -> None:
    """Without a rule's condition, or one over all parts, a search finds harm or other steps."""
    assert unnoticed(name) == FREE[name]
