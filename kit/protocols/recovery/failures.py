"""Nodes fail and come back: which of them are up decides what group 0, and what data, can still do.

All that is up on a side learns of a schema change at once: what Raft does between nodes is the
matter of ``group0``. In edition ``documents`` every member votes, in ``server`` a few do. A
node that starts boots from what it has stored. It then fetches the newest schema and serves; where
it reaches no majority it serves data all the same (Q-27). Sources: manual on Raft, "Handling
Failures" and "Safe schema changes"; published code, ``group0_voter_handler``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from kit.errors import BadInput, Refusal, are, counted
from kit.masks import is_majority, majority, nodes_in, where
from kit.model import declared
from kit.model.declared import Node, Travel, action, budget, parameter, purpose, refused
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.group0.state import VotingModel
from kit.protocols.recovery.rules.availability import ClusterLayout, after_deaths, chosen_again

MOST_NODES = 9
NO_OTHER_SIDE = refused("no node would be left on the other side")

Datacenter: TypeAlias = Annotated[str, declared.Each(lambda m: m.several)]
Together: TypeAlias = Annotated[tuple[str, ...], declared.Each(lambda m: m.at_once, ", ".join)]
Place: TypeAlias = Annotated[str, declared.Each(lambda m: m.cuttable)]
"""A cut goes between datacenters; in a cluster with only one, between nodes."""


class FailuresState(declared.State, frozen=True, cache_hash=True):
    """The nodes that run, serve, are cut off and vote (masks), and the schema that each knows.

    Of the nodes that run (``up``) those in ``serving`` answer clients; the others have started and
    do not yet. ``apart`` are the nodes on the far side of a cut; a node that is down is on a side,
    too. ``schemas`` holds for each node the entries that it has stored (masks), ``entries`` counts
    those acknowledged, ``changes`` those that may still come.
    """

    up: int
    serving: int
    voters: int
    schemas: tuple[int, ...]
    apart: int = 0
    entries: int = 0
    changes: int = 0

    def sides(self) -> Iterator[int]:
        """The nodes that run on each side of the cut, where some do; one side without a cut."""
        near, far = self.up & ~self.apart, self.up & self.apart
        if near or not far:
            yield near
        if far:
            yield far

    def side_of(self, node: int) -> int:
        """The nodes that run and that a node reaches."""
        return self.up & (self.apart if self.apart >> node & 1 else ~self.apart)

    def may_commit(self, side: int) -> bool:
        """Whether a majority of the voters is on a side."""
        return is_majority(side, self.voters)

    @property
    def has_majority(self) -> bool:
        """Whether some side can commit."""
        return any(map(self.may_commit, self.sides()))

    def newest(self, side: int) -> int:
        """The longest schema that a node of a side has stored.

        Only a node that has it can be elected by a majority, so that it is the leader's schema.
        """
        return max((self.schemas[i] for i in nodes_in(side)), key=int.bit_count, default=0)

    def knowing(self, nodes: int, schema: int) -> FailuresState:
        """The state in which these nodes have stored a schema."""
        schemas = (schema if nodes >> i & 1 else has for i, has in enumerate(self.schemas))
        return self.but(schemas=tuple(schemas))

    def standing(self, node: int) -> str:
        """The state of a node now."""
        if self.serving >> node & 1:
            return "serving"
        if not self.up >> node & 1:
            return "down"
        return "catching up" if self.may_commit(self.side_of(node)) else "started"


Next: TypeAlias = FailuresState | Refusal | None


class Failures(VotingModel[FailuresState]):
    """A cluster with ``datacenters`` whose nodes fail and come back."""

    name, title, State = "failures", "Nodes fail and come back", FailuresState
    premise = (
        "Nodes stop or are cut off. Which changes and requests still work? A schema "
        "change needs a majority of the voters. A request needs replicas of its data."
    )
    about = "The cluster, which nodes fail together, and how many schema changes there are."

    datacenters: tuple[Annotated[int, Meta(ge=1, le=MOST_NODES)], ...] = parameter(
        (3,),
        "the number of nodes in each datacenter; A is the first node of the first datacenter",
        min_length=1,
        max_length=MOST_NODES,
        written=True,
    )
    racks: int = parameter(3, "how many racks each datacenter has", ge=1, le=MOST_NODES)
    rf: int = parameter(
        3, "replicas of each range in each datacenter", title="RF", ge=1, le=MOST_NODES
    )
    together: str = parameter(
        "", "nodes that can fail at once, such as A B; whole datacenters always can", written=True
    )
    changes: int = budget(2, "how many columns can be added", title="schema changes", le=9)

    majority: bool = declared.safeguard(
        "S-32",
        "A majority of the voters stores a schema change",
        ("INV-LIN",),
        smallest={"datacenters": (3,), "changes": 2},
    )

    def set_up(self) -> None:
        """Take the nodes, their places, and who may fail at once.

        Raises BadInput for too many nodes, or names of others in ``together``.
        """
        if sum(self.datacenters) > MOST_NODES:
            raise BadInput("datacenters", self.datacenters, f"at most {MOST_NODES} nodes in total")
        layout = ClusterLayout(self.datacenters, self.racks)
        self.names, self.places, self.dcs = tuple(layout.names), layout.places, layout.datacenters
        self.several = self.dcs if len(self.dcs) > 1 else ()
        self.cuttable = self.several or self.names
        self.everybody = (1 << len(self.names)) - 1
        together = tuple(sorted({*self.together.split()}))
        if not {*together} <= {*self.names} or len(together) == 1:
            allowed = f"nothing, or two or more of {', '.join(self.names)}"
            raise BadInput("together", self.together, allowed)
        self.at_once = (together,) if together else ()

    def start(self) -> FailuresState:
        """All nodes serve."""
        voters = after_deaths(self.edition, self.places, (), self.voter_rules).voters
        everybody = self.everybody
        schemas = (0,) * len(self.names)
        return FailuresState(everybody, everybody, voters, schemas, changes=self.changes)

    def members(self, place: str) -> int:
        """The nodes of a datacenter, or the one node of that name (a mask)."""
        if place not in self.dcs:
            return 1 << self.number(place)
        return where(dc == place for (dc, _) in self.places)

    def dcs_of(self, nodes: int) -> Iterator[str]:
        """Of several datacenters those of these nodes (a mask)."""
        return (dc for dc in self.several if nodes & self.members(dc))

    # What clients and nodes do

    def unreached(self, s: FailuresState, side: int, reason: str) -> Refusal:
        """A side reaches too few voters."""
        reached, voters = (side & s.voters).bit_count(), s.voters.bit_count()
        said = f"{reached} of {voters} voters can be reached, but {majority(voters)} are needed"
        return self.too_few(reason, side, s.voters, fact=said)

    @action(
        each=lambda m, s: (
            next(nodes_in(side & s.serving)) for side in s.sides() if side & s.serving
        ),
        spends="changes",
        says=lambda m, before, a, after: (
            f"A client adds column {after.entries}. The change is stored on "
            f"{', '.join(m.named(after.side_of(m.number(a.node))))}."
        ),
        travels=lambda m, before, a, after: (
            Travel("entry", a.node, name, f"column {after.entries}")
            for name in m.named(after.side_of(m.number(a.node)))
        ),
    )
    @purpose("A schema change needs a majority of group 0.")
    def alter(self, s: FailuresState, node: Node) -> Next:
        """A client adds a column at a node."""
        side = s.side_of(node)
        if self.majority and not s.may_commit(side):
            return self.unreached(s, side, "a schema change needs a majority of the voters")
        return s.knowing(side, s.newest(side) | 1 << s.entries).but(entries=s.entries + 1)

    def behind(self, s: FailuresState) -> Iterator[int]:
        """The nodes that do not serve yet, and those that lack entries that their side knows."""
        for side in s.sides():
            known = where(schema == s.newest(side) for schema in s.schemas)
            yield from nodes_in(side & ~(known & s.serving))

    def fetched(self, before: FailuresState, action: Any, after: FailuresState) -> Iterator[Travel]:
        """A question to the first other voter on the node's side that has the newest schema, which
        answers with it, unless the node has it.
        """
        node = self.number(action.node)
        newest, voters = after.schemas[node], before.side_of(node) & before.voters & ~(1 << node)
        has = "up to date" if before.schemas[node] == newest else f"schema {columns(newest)}"
        for holder in [i for i in nodes_in(voters) if before.schemas[i] == newest][:1]:
            ends = action.node, self.names[holder]
            yield from declared.there_and_back(*ends, "newest?", has, ("request", "data"))

    @action(verb="catch up {node}", each=behind, travels=fetched)
    @purpose("A node serves with the newest schema that it can reach.")
    def catch_up(self, s: FailuresState, node: Node) -> Next:
        """{node} fetches the newest schema and serves requests."""
        side = s.side_of(node)
        if not s.may_commit(side):
            return self.unreached(s, side, "the newest schema must be fetched from a majority")
        return s.knowing(1 << node, s.newest(side)).but(serving=s.serving | 1 << node)

    @action(each=lambda m, s: s.up & ~s.serving)
    @purpose("Reads and writes of data need no majority of group 0.")
    def serve(self, s: FailuresState, node: Node) -> Next:
        """{node} cannot reach a majority. It serves data with the schema that it has stored."""
        if s.may_commit(s.side_of(node)):
            return refused("a majority is reachable: the newest schema must be fetched first")
        return s.but(serving=s.serving | 1 << node)

    # Nodes and datacenters, up and down

    def voting(self, s: FailuresState) -> FailuresState:
        """The state after a node failed, started or was cut off: voters may be chosen again.

        In edition ``server`` a side with a majority of the voters chooses, and the new voters take
        over when a majority of them, too, is on that side. They know all that was committed before.
        """
        if self.edition == "documents":
            return s
        sides = tuple(s.sides())
        chosen = chosen_again(self.places, self.everybody, s.voters, sides, self.voter_rules)
        if chosen == s.voters:
            return s
        side = next(filter(s.may_commit, sides))
        return s.knowing(side, s.newest(side)).but(voters=chosen)

    @action()
    @purpose("Together, the nodes might have a majority again.")
    def rejoin(self, s: FailuresState) -> Next:
        """All running nodes can reach each other again."""
        return self.voting(s.but(apart=0)) if s.apart else None

    @action(tag="start", each=lambda m, s: m.everybody & ~s.up)
    @purpose("The node was down and has to catch up first.")
    def start_node(self, s: FailuresState, node: Node) -> Next:
        """{node} starts but does not serve yet."""
        return self.voting(s.but(up=s.up | 1 << node))

    @action(verb="start {datacenter}", each=lambda m, s: m.dcs_of(~s.up))
    @purpose("The nodes were down and have to catch up first.")
    def start_all(self, s: FailuresState, datacenter: Datacenter) -> Next:
        """The nodes of {datacenter} start but do not serve yet."""
        return self.voting(s.but(up=s.up | self.members(datacenter)))

    def without(self, s: FailuresState, nodes: int) -> FailuresState:
        """The state in which these nodes (a mask) are down; what they have stored stays."""
        return self.voting(s.but(up=s.up & ~nodes, serving=s.serving & ~nodes))

    @action(fault=True, each=lambda m, s: s.up, hand=declared.off_stage)
    @purpose("A node that is down cannot count towards the majority.")
    def stop(self, s: FailuresState, node: Node) -> Next:
        """{node} goes down. {means}."""
        return self.without(s, 1 << node)

    @action(fault=True, each=lambda m, s: m.dcs_of(s.up))
    @purpose("Without one datacenter, the other voters might not be a majority.")
    def lose(self, s: FailuresState, datacenter: Datacenter) -> Next:
        """All nodes of {datacenter} go down. {means}."""
        return self.without(s, self.members(datacenter))

    @action(fault=True, verb="stop {nodes}")
    @purpose("If several nodes fail at once, the others might not be a majority.")
    def stop_together(self, s: FailuresState, nodes: Together) -> Next:
        """{nodes} go down at once. {means}."""
        together = self.mask(nodes)
        return None if together & ~s.up else self.without(s, together)

    @action(
        fault=True,
        verb="cut off {place}",
        each=lambda m, s: (p for p in m.cuttable if m.members(p) & ~s.apart),
        hand=lambda m, s, a: (
            m.named(m.members(a.place)),
            m.named(m.everybody & ~(m.members(a.place) | s.apart)),
        ),
    )
    @purpose("At most one side of a cut has a majority.")
    def cut(self, s: FailuresState, place: Place) -> Next:
        """The network cuts {place} off from the others. {means}."""
        apart = s.apart | self.members(place)
        return NO_OTHER_SIDE if apart == self.everybody else self.voting(s.but(apart=apart))

    # What must hold

    def missed(self, before: FailuresState, action: Any, after: FailuresState) -> int:
        """The entries acknowledged before a step that its node does not know (a mask)."""
        return (1 << before.entries) - 1 & ~after.schemas[self.number(action.node)]

    @declared.step("INV-LIN", on=(alter,))
    def sees_all(self, before: FailuresState, action: Any, after: FailuresState) -> str | None:
        """Every schema change sees all earlier ones."""
        missed = self.missed(before, action, after)
        if not missed:
            return None
        column = next(nodes_in(missed)) + 1
        return f"{action.node}'s side does not see column {column}, which was added before"

    @declared.step("INV-SCHEMA", on=(catch_up, serve))
    def newest(self, before: FailuresState, action: Any, after: FailuresState) -> str | None:
        """A node that starts to serve has the newest schema or, without a majority, its own."""
        able = before.may_commit(before.side_of(self.number(action.node)))
        missed = (able or isinstance(action, CatchUp)) and self.missed(before, action, after)
        return f"{action.node} serves without the newest schema" if missed else None

    @declared.sometimes()
    def no_majority(self, s: FailuresState) -> bool:
        """Group 0 has no majority."""
        return not s.has_majority

    @declared.goal("INV-PROGRESS")
    def whole(self, s: FailuresState) -> bool:
        """Every node can serve again."""
        known = {s.newest(s.up)}
        return s.serving == self.everybody and not s.apart and {*s.schemas} == known

    # What is said

    def suggest(self, s: FailuresState) -> Any | None:
        """The action that repairs the cluster; a schema change where nothing is to be repaired."""
        wanted = [each for each in self.actions(s) if self.kind(each) not in self.faults]
        repairs = (each for each in wanted if type(each) is not Alter)
        return next(repairs, next(iter(wanted), None))

    def milestone(self, before: FailuresState, action: Any, after: FailuresState) -> str | None:
        """The majority is lost, or is there again."""
        if before.has_majority == after.has_majority:
            return None
        return f"group 0 has {'a majority again' if after.has_majority else 'lost its majority'}"

    def words(self, before: FailuresState, action: Any, after: FailuresState) -> dict[str, str]:
        """The meaning of the state for group 0."""
        able = next((side for side in after.sides() if after.may_commit(side)), None)
        votes = after.voters.bit_count()
        if able is None:
            most = max((side & after.voters).bit_count() for side in after.sides())
            has = f"{most} of {votes} {are(most)} up"
            if after.apart:
                has = f"no side has more than {most} of {votes}"
            needs = f"it needs {counted(majority(votes), 'voter')}"
            return {"means": f"Group 0 has no majority: {needs}, but {has}"}
        if after.apart:
            return {"means": f"The majority is on the side of {', '.join(self.named(able))}"}
        return {"means": f"{(after.up & after.voters).bit_count()} of {votes} voters are still up"}

    def readable(self, s: FailuresState) -> dict[str, str]:
        """The voters, the cuts, and every node."""
        nodes = (f"{s.standing(at)}, schema {columns(has)}" for at, has in enumerate(s.schemas))
        return {
            "voters": ", ".join(self.named(s.voters)),
            "cut off": ", ".join(self.named(s.apart)) or "no node",
            **dict(zip(self.names, nodes, strict=True)),
        }


def columns(schema: int) -> str:
    """A schema by its columns: ``1 2``; a dash where there is none."""
    return " ".join(str(at + 1) for at in nodes_in(schema)) or "–"


Alter, CatchUp, Serve, Rejoin, StartNode, StartAll, Stop, Lose, StopTogether, Cut = Failures.acts

ENTRY = declared.entry(
    Failures,
    scenarios=(
        Scenario(
            "two-of-three",
            "Two of three nodes fail. No schema can change, and data is available only at ONE",
            script=("stop C", "alter A", "stop B", "start B", "catch up B", "alter A"),
        ),
        Scenario(
            "one-of-two-datacenters",
            "One of two datacenters is lost. Half of the voters are not a majority",
            {"datacenters": (3, 3)},
            script=("lose dc2", "start dc2", "catch up D", "catch up E", "catch up F"),
        ),
        Scenario(
            "one-of-three-datacenters",
            "One of three datacenters is lost. The majority carries on",
            {"datacenters": (3, 3, 3)},
            script=("lose dc3", "alter A"),
        ),
        Scenario(
            "cut-in-two",
            (
                "The network is cut in two. One side changes the schema, and the other "
                "must wait until it rejoins"
            ),
            {"datacenters": (3, 2)},
            script=("cut off dc2", "alter A", "rejoin", "catch up D", "catch up E"),
        ),
    ),
    fuzzing=Fuzzing(
        {"edition": "server", "datacenters": (3, 3), "changes": 3},
        {"stop": 0.3, "lose": 0.1, "cut": 0.2},
        comes_to_goals=False,  # nodes may fail as often as they come back
    ),
)
