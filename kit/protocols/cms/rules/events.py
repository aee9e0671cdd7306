"""Events that are submitted, and when one makes sense: by what was committed before it.

An event is a line of text: ``drop table t``, ``decommission C``, ``replace C D``. Metadata is a
row for each table and node that events have named: what became of it, and at which epoch, so that
a rejection can name the epoch that stands in the way. Whether a step of an operation makes sense,
such as ``bootstrap X: switch reads``, is not judged here: that is the matter of its own protocol.
Source: CEP-21, "Event Submission Protocol".
"""

from __future__ import annotations

from functools import lru_cache, partial

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.cms.rules.log import SNAPSHOT, Entry, Machine

TABLE, NODE, STEP = "table", "node", ": "
EVENTS = {
    "create table": (TABLE, ("", "dropped"), "there"),
    "alter table": (TABLE, ("there",), "there"),
    "drop table": (TABLE, ("there",), "dropped"),
    "decommission": (NODE, ("there",), "left"),
    "replace": (NODE, ("there",), "replaced"),
}
"""Of each kind of event: of what it is, in which states that may be, and what becomes of it."""


class Fact(Struct, frozen=True, cache_hash=True):
    """The state of a table or node, and the epoch of the event that made it so."""

    thing: str
    state: str
    epoch: int = 0


class Metadata(Struct, frozen=True, cache_hash=True):
    """The result of the events up to an epoch."""

    facts: tuple[Fact, ...] = ()

    def fact(self, thing: str) -> Fact:
        """The fact about a thing; its state is empty where it never was."""
        return next((each for each in self.facts if each.thing == thing), Fact(thing, ""))


class Objection(Struct, frozen=True, cache_hash=True):
    """Why an event makes no sense, and the epoch that made it so (0: before the log began)."""

    reason: str
    epoch: int


@lru_cache(256)
def parsed(event: str) -> tuple[str, str, str]:
    """The kind of an event, the thing that it changes, and the node that comes for it, if any.

    Raises BadInput for what is no event.
    """
    if event == SNAPSHOT or STEP in event:
        return SNAPSHOT if event == SNAPSHOT else STEP, "", ""
    for kind, (of, _, _) in EVENTS.items():
        names = event.removeprefix(kind).split()
        if event.startswith(f"{kind} ") and len(names) == 1 + (kind == "replace"):
            return kind, f"{of} {names[0]}", f"{NODE} {names[1]}" if names[1:] else ""
    raise BadInput("event", event, f"{', '.join(EVENTS)} with a name, {SNAPSHOT}, or X: a step")


def objection(metadata: Metadata, event: str) -> Objection | None:
    """Why an event makes no sense after all that was committed before; None where it does."""
    kind, thing, new = parsed(event)
    if not thing:
        return None
    fact, comes = metadata.fact(thing), metadata.fact(new)
    if fact.state not in EVENTS[kind][1]:
        became = {"": "does not exist", "there": "already exists", "left": "has left"}
        why = became.get(fact.state, f"has been {fact.state}")
        return Objection(f"{thing} {why}", fact.epoch)
    if comes.state:
        return Objection(f"{new} is already in the cluster", comes.epoch)
    return None


def enact(metadata: Metadata, entry: Entry) -> Metadata:
    """The metadata after one more entry."""
    kind, thing, new = parsed(entry.event)
    if not thing:
        return metadata
    changed = [Fact(thing, EVENTS[kind][2], entry.epoch)]
    changed += [Fact(new, "there", entry.epoch)] if new else []
    facts = {each.thing: each for each in (*metadata.facts, *changed)}
    return Metadata(tuple(facts[name] for name in sorted(facts)))


machine_of = partial(Machine, enact=enact)
"""The machine that begins with this metadata."""
