"""Reads the sentence of a step with knowledge of the states around it.

The recorder's walks read every step so. Whoever is said to do something, or sends something, is up
before or after the step; whoever is called the coordinator is it; a cell holds what its column is
for. Of whom nobody is said to hear, nobody knows; what is for a new replica goes to one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kit.operators.importers.system_tables import TOPOLOGY
from kit.protocols.topology.join import up as members_up
from tests.recording.walking import Step


def masked(mask: Callable[[Any], int]) -> Callable[[Any, Any], set[str]]:
    """The names of the nodes in a mask of the state."""
    return lambda m, s: {name for i, name in enumerate(m.names) if mask(s) >> i & 1}


def running(m: Any, s: Any) -> set[str]:
    """The names of the nodes that say of themselves that they are up."""
    return {name for name, node in zip(m.names, s.nodes, strict=True) if node.is_up}


def storing(m: Any, s: Any) -> set[str]:
    """The nodes of a model of ranges that are up."""
    return {"K1", "K2", "K3", "K4", *m.history.names(~s.down & (1 << 64) - 1)}


UP: dict[str, Callable[[Any, Any], set[str]]] = {
    "tcm": lambda m, s: {*m.names} - {*s.tcm.down},
    **dict.fromkeys(("dataplane", "vnodes", "tablet", "coordinator"), storing),
    "group0": masked(lambda s: s.up),
    "gossip_join": lambda m, s: {
        each.name for each in s.nodes if each.phase not in ("out", "down")
    },
    "topology": masked(lambda s: s.up),
    "tablets": masked(lambda s: s.control.up),
    "join": lambda m, s: {"group0", "N", "N1", "N2", "N3", "Z", *members_up(s)},
    "cms": masked(lambda s: s.where(lambda node: node.health == "up")),
    "migration": running,
    "raft_upgrade": running,
    "topology_upgrade": running,
    "recovery": masked(lambda s: s.live | s.where(lambda node: node.standing == "returned")),
    "recovery_mode": masked(lambda s: s.where(lambda node: node.is_up)),
    "failures": masked(lambda s: s.up),
}
"""Who is up in a state, for each model whose nodes may be down."""


def everybody(model: Any) -> set[str]:
    """The nodes of a model."""
    history = getattr(model, "history", None)
    return {*getattr(history, "replicas", model.names)}


RETURNS = {"recovery": ("ComeBack",), "recovery_mode": ("ComeBack",)}
"""Actions after which a node that was given up runs: it is up, but no live node of the cluster."""

ARRIVALS = ("DeliverMessage", "FetchSchema", "Land", "LandLate")
"""Actions in which something arrives that was sent before: its sender may be down by now."""

NAME = r"(?:[A-Z]\d?)"
SUBJECT = re.compile(rf"(?:^|[.;:] |, and )({NAME}(?:(?:, | and ){NAME})*) ([a-z]+)")
STANDING = {
    *("is", "are", "was", "were", "has", "had", "stays", "lies", "knows"),
    *("dies", "crashes", "goes", "finds"),
    *("barrier", "client", "copy", "firewall", "majority", "new", "not", "quorum"),
}
"""Verbs that say of a node what is so, or what happens to it; and nouns behind an article."""


def acting(said: str) -> Iterator[tuple[str, str]]:
    """Every node that a sentence says to do something, with its verb."""
    for subject, verb in SUBJECT.findall(said):
        if verb not in STANDING:
            for name in re.findall(NAME, subject):
                yield name, verb


def senders(step: Step) -> Iterator[tuple[str, str]]:
    """Every node from which something goes to another one in a step."""
    if type(step.action).__name__ in ARRIVALS:
        return
    for flow in step.flows:
        place, _, name = flow.from_key.partition(":")
        if place in ("n", "node") and flow.to_key != flow.from_key:
            yield name.partition(":")[0], flow.text


LEADS = re.compile(rf"[Tt]he coordinator on ({NAME})\b")
CELL = re.compile(r"(?:\b[A-Z]\d?\.)?\b([a-z_0-9]+) = (\{[^}]*\}|[^,.;|]*)")
TYPES = {name: column.type for name, column in TOPOLOGY.items()}
HOLDS = {
    "text": re.compile(r"null|[a-z][\w -]*"),
    "bigint": re.compile(r"null|\d+"),
    "int": re.compile(r"null|\d+"),
    "uuid": re.compile(r"null|\d+|[A-Z]\d?"),
    "timeuuid": re.compile(r"null|request \d+|\d+"),
    "boolean": re.compile(r"null|True|False"),
    "set": re.compile(r"null|\{.*\}"),
}
"""How the value of a column of a type is written; numbers stand for ids that are not words."""


def idle(step: Step) -> Iterator[str]:
    """Who is said to do something, or sends something, though it is down."""
    model, name = step.model, step.model.name
    live = UP[name](model, step.before) | UP[name](model, step.after)
    if type(step.action).__name__ not in RETURNS.get(name, ()) and not everybody(model) <= live:
        doing = [*acting(step.said), *senders(step)]
        yield from (f"{node} {verb}" for node, verb in doing if node not in live)


def not_leading(step: Step) -> Iterator[str]:
    """Who is called the coordinator, and is it neither before the step nor after."""
    for node in LEADS.findall(step.said):
        states = [getattr(s, "control", s) for s in (step.before, step.after)]
        if node not in {step.model.names[s.coordinator] for s in states if s.coordinator >= 0}:
            yield f"{node} coordinates"


def no_value(said: str) -> Iterator[str]:
    """Cells with a value that their column cannot hold, or of no column."""
    for column, value in CELL.findall(said):
        kind = re.sub(r"^(?:frozen<map|set)<.*", "set", TYPES.get(column, "no column"))
        if kind not in HOLDS or not HOLDS[kind].fullmatch(value.strip()):
            yield f"{column} ({kind}) = {value}"


def known_after_all(step: Step) -> Iterator[str]:
    """Who is known, though nobody is said to hear of it."""
    for name in re.findall(rf"obody (?:hears|knows|has heard) of ({NAME})", step.said):
        views = {node.name: {each.endpoint for each in node.view} for node in step.before.nodes}
        if heard := sorted(node for node in views if node != name and name in views[node]):
            yield f"{', '.join(heard)} heard of {name}"


def no_new_replica(step: Step) -> Iterator[str]:
    """What a step is said to bring to a new replica, though its target was one before."""
    told = f"{step.said} {step.model.why_here(step.before, step.action, step.after)}"
    target = getattr(step.action, "target", None)
    if re.search(r"\bnew replica\b", told) and target in getattr(step.model, "code", ()):
        view = step.model.newest(step.before).view
        if view.old_replicas >> step.model.code[target] & 1:
            yield f"{target} is no new replica"


def false_words(step: Step) -> Iterator[str]:
    """What the sentence of a step says that is not so: who acts, who leads, what a cell holds."""
    if step.model.name not in UP:
        return
    found = [*idle(step)]
    if step.model.name == "gossip_join":
        found += known_after_all(step)
    if hasattr(step.model, "history"):
        found += no_new_replica(step)
    if step.model.name in ("topology", "tablets"):
        found += [*not_leading(step), *no_value(step.said)]
    yield from (f"{type(step.action).__name__}: {each}: {step.said}" for each in found)
