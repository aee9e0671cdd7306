"""A cluster whose tablets move until loads are even: by hand, or as the planner says.

A migration is one step; what its stages are for is seen in the model ``tablets``. What forbids a
move are the planner's own rules, and the step that is suggested is the first one of its plan.
Sources: Topology over Raft, "Load balancing"; the published allocator.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from string import ascii_uppercase
from typing import Any, TypeAlias

from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.model import declared
from kit.model.declared import State, Travel, action, always, entry, goal, parameter, purpose
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.tablets.hosts import Hosts, replica_spot, shard_spot, written
from kit.protocols.tablets.rules.balance import cluster
from kit.protocols.tablets.rules.balance.loads import Loads
from kit.protocols.tablets.rules.balance.planner import WhyAnswer, plan, why
from kit.protocols.tablets.rules.balance.reasons import EvensOut, load_said, loads_said, reason_said
from kit.protocols.tablets.rules.maps import Tablet, TabletMap, faults, last_tokens
from kit.protocols.tablets.rules.replica_sets import Replicas, replica_of, replicas_in
from kit.protocols.tablets.rules.resize import TARGET_SIZE
from kit.protocols.topology.rules.machines import Edition

ROOM_A_SHARD = 4  # tablets of the target size
TABLE, PLACE = "ks.t", "dc1/r1"
KEPT = 1 << 12  # placements that are looked at more than once
MOST_PERCENT = 10_000


class BalanceState(State, frozen=True, cache_hash=True):
    """The replicas of every tablet, and the nodes that have reported no sizes yet."""

    replicas: tuple[Replicas, ...]
    unreported: tuple[str, ...] = ()


Next: TypeAlias = BalanceState | Refusal | None


class Balance(Hosts[BalanceState]):
    """Tablets that may move, one replica at a time.

    ``tables`` gives each tablet its table and its number there, ``percents`` its size; ``labels``
    are what chips and verbs call it: the number, of several tables behind the table's letter.
    """

    name, title, State = "balance", "Tablets move until loads are even", BalanceState
    premise = (
        "Tablets move until all shards carry about the same load. "
        "Each column of the picture is a shard, and each tile a tablet."
    )
    about = "A cluster whose tablets can move, one replica at a time."

    edition: Edition = parameter("documents", "the documents, or the published server")
    nodes: int = parameter(3, "how many nodes there are", ge=1, le=26)
    shards: int = parameter(1, "the shards of each node", ge=1, le=64)
    tablets: tuple[str, ...] = written(
        ("A", "A", "A"),
        "each tablet's replicas, then (optional) its size as a percentage of the target size and "
        "its table: A:0 B:1, or A B 150 ks.users",
    )
    room: tuple[str, ...] = written(
        (),
        "how many tablets of the target size each node's disk has room for (default: four per "
        "shard)",
    )
    racks: tuple[str, ...] = written(
        (), "the rack of each node: dc1/r1 dc1/r2 (default: all in one rack)"
    )
    leaving: tuple[str, ...] = written((), "the nodes to empty")
    excluded: tuple[str, ...] = written(
        (), "the nodes that are given up: no tablets move to or from them"
    )
    unreported: tuple[str, ...] = written(
        (), "the nodes that have not reported their tablets' sizes (edition server)"
    )

    def set_up(self) -> None:
        """The tablets by table and size, and the nodes. BadInput for words that don't fit."""
        if not self.tablets:
            raise BadInput("tablets", "none", "at least one")
        self.names = tuple(ascii_uppercase[: self.nodes])
        tables, percents, replicas = zip(*map(given_tablet, self.tablets), strict=True)
        self.percents: tuple[int, ...] = percents
        self.first_replicas: tuple[Replicas, ...] = replicas
        self.members = tuple(self.balanced_nodes())
        known = list(dict.fromkeys(tables))
        if len(known) > len(ascii_uppercase):
            raise BadInput("tablets", f"{len(known)} tables", f"at most {len(ascii_uppercase)}")
        self.tables = tuple((table, tables[:i].count(table)) for i, table in enumerate(tables))
        letters = ascii_uppercase.lower() if len(known) > 1 else [""]
        self.labels = tuple(
            f"{letters[known.index(table)]}{number}" for table, number in self.tables
        )
        # A row for each tablet, table by table, in the planner's columns.
        by_table = sorted((known.index(table), i) for i, table in enumerate(tables))
        self.row_of = {tablet: row for row, (_, tablet) in enumerate(by_table)}
        every = (replica_of(f"{n.host}:{i}") for n in self.members for i in range(n.shards))
        self.places = {replica: number for number, replica in enumerate(every)}
        self.given = lru_cache(KEPT)(self.gather)
        self.loads = lru_cache(KEPT)(lambda s: Loads(self.given(s), self.edition))
        self.plan = lru_cache(KEPT)(lambda s: plan(self.given(s), self.edition))
        self.planned = lru_cache(KEPT)(self.moves_planned)
        self.given(self.start())

    def things(self, action: Any) -> tuple[str, ...]:
        """The tablet that moves."""
        is_move = isinstance(action, Balance.move)
        return ("tablet {} {}".format(*self.tables[action.tablet]),) if is_move else ()

    def balanced_nodes(self) -> Iterator[cluster.BalancerNode]:
        """The nodes as the planner looks at them. BadInput for too many racks or rooms, or too few,
        or a host that is not there.
        """
        for field, words in (("room", self.room), ("racks", self.racks)):
            if words and len(words) != self.nodes:
                raise BadInput(field, len(words), f"{self.nodes}, one for each node")
        for text in self.room:
            if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_PERCENT):
                raise BadInput("room", text, f"numbers from 1 to {MOST_PERCENT}")
        roles: dict[str, cluster.NodeRole] = {
            **dict.fromkeys(self.leaving, "leaving"),
            **dict.fromkeys(self.excluded, "excluded"),
        }
        for host, field in (*roles.items(), *((host, "unreported") for host in self.unreported)):
            if host not in self.names:
                raise BadInput(field, host, "nodes among " + ", ".join(self.names))
        rooms = [int(text) for text in self.room] or [ROOM_A_SHARD * self.shards] * self.nodes
        racks = self.racks or (PLACE,) * self.nodes
        for name, room, place in zip(self.names, rooms, racks, strict=True):
            datacenter, _, rack = place.partition("/")
            node = name, datacenter, rack, self.shards, room * TARGET_SIZE
            yield cluster.BalancerNode(*node, roles.get(name, "normal"))

    def start(self) -> BalanceState:
        """Every tablet where the parameters have it."""
        return BalanceState(self.first_replicas, tuple(dict.fromkeys(self.unreported)))

    # What the planner sees and says. ``given``, ``loads``, ``plan`` and ``planned`` ask once for a
    # placement.

    def maps(self, s: BalanceState) -> dict[str, TabletMap]:
        """The map of each table."""
        held: dict[str, list[Replicas]] = {}
        for (table, _), replicas in zip(self.tables, s.replicas, strict=True):
            held.setdefault(table, []).append(replicas)
        return {
            table: TabletMap(table, tuple(map(Tablet, last_tokens(len(rows)), rows)))
            for table, rows in held.items()
        }

    def bytes_of(self, tablet: int) -> int:
        """The size of each replica of a tablet."""
        return self.percents[tablet] * TARGET_SIZE // 100

    def gather(self, s: BalanceState) -> cluster.BalancerInput:
        """The input of the planner."""
        sizes: dict[str, list[dict[str, int]]] = {}
        for i, ((table, _), replicas) in enumerate(zip(self.tables, s.replicas, strict=True)):
            size = self.bytes_of(i)
            known = {each.host: size for each in replicas if each.host not in s.unreported}
            sizes.setdefault(table, []).append(known)
        given = cluster.balancer_input(self.members, self.maps(s), sizes)
        return replace(given, incomplete=given.incomplete | {*s.unreported})

    def moves_planned(self, s: BalanceState) -> tuple[Any, ...]:
        """The moves of the planner's plan."""
        tablets = {tablet: number for number, tablet in enumerate(self.tables)}
        return tuple(
            Balance.move(tablets[m.table, m.tablets[0]], str(m.source), str(m.target))
            for m in self.plan(s).moves
        )

    def answer(self, s: BalanceState, move: Any) -> WhyAnswer:
        """The planner's words about a move."""
        table, number = self.tables[move.tablet]
        source, target = replica_of(move.source), replica_of(move.target)
        return why(self.given(s), table, number, target, source=source, edition=self.edition)

    def hand_of(self, s: BalanceState, move: Any) -> tuple[str, str]:
        """The thing that the hand takes for a move, and its target."""
        slot = s.replicas[move.tablet].index(replica_of(move.source))
        held = replica_spot("{}:{}:{}".format(*self.tables[move.tablet], slot))
        return held, shard_spot(move.target)

    def place(self, s: BalanceState, tablet: int, source: str, target: str) -> tuple[int, int, int]:
        """Row and column of a replica that moves, and the number of the shard that it goes to."""
        column = s.replicas[tablet].index(replica_of(source))
        return self.row_of[tablet], column, self.places[replica_of(target)]

    # A move

    def everywhere(self, s: BalanceState) -> Iterator[tuple[int, str, str]]:
        """Every replica, to every other shard."""
        places = [*map(str, self.places)]
        for tablet, replicas in enumerate(s.replicas):
            for source in map(str, replicas):
                yield from ((tablet, source, target) for target in places if target != source)

    def move_words(self, before: BalanceState, action: Any, after: BalanceState) -> str:
        """The effect of a move on the loads, and whether the plan had it."""
        place = self.place(before, action.tablet, action.source, action.target)
        compared = self.loads(before).compared(*place)
        loads = loads_said(self.edition, *compared)
        answer, by_documents = self.answer(before, action), self.edition == "documents"
        inside = replica_of(action.source).host == replica_of(action.target).host
        here, there = (
            each if inside or by_documents else replica_of(each).host
            for each in (action.source, action.target)
        )
        is_said = answer.reason == EvensOut(*compared)
        why = "" if is_said else reason_said(answer.reason, self.edition)
        return (
            f"Tablet {self.labels[action.tablet]} moves from {action.source} to {action.target}; "
            f"{'tablets' if by_documents else 'loads'}: {here} goes from {loads[0]} to {loads[2]}, "
            f"{there} from {loads[1]} to {loads[3]}. The plan "
            f"{'includes' if answer.moves else 'does not include'} this move"
            + (f": {why}." if why else ".")
        )

    def move_flows(
        self, before: BalanceState, action: Any, after: BalanceState
    ) -> Iterator[Travel]:
        """Its data go from its shard to where it is then."""
        label, (chip, _) = f"tablet {self.labels[action.tablet]}", self.hand_of(before, action)
        ends = shard_spot(action.source), chip
        yield Travel("data", *ends, label, f"{{source}} → {{target}}: {label}")

    @action(
        verb=lambda m, a: f"move {m.labels[a.tablet]} {a.source} {a.target}",
        each=everywhere,
        says=move_words,
        travels=move_flows,
        hand=hand_of,
        relied=lambda m, s, a: a in m.planned(s),  # by hand, tablets may move for ever
    )
    @purpose("All nodes should have about the same load, and so should all shards.")
    def move(self, s: BalanceState, tablet: int, source: str, target: str) -> Next:
        """A replica of a tablet goes to another shard; both are written ``A:0``."""
        forbids = self.loads(s).refusal(*self.place(s, tablet, source, target))
        if forbids is not None:
            return declared.refused(reason_said(forbids, self.edition))
        gone, come = replica_of(source), replica_of(target)
        held = tuple(come if each == gone else each for each in s.replicas[tablet])
        return s.but(replicas=(*s.replicas[:tablet], held, *s.replicas[tablet + 1 :]))

    @action(when=lambda m: bool(m.unreported), each=lambda m, s: s.unreported)
    @purpose("The server plans by size, so it must know the size of every tablet on a node.")
    def report(self, s: BalanceState, node: str) -> Next:
        """{node} reports its disk and the sizes of its tablets."""
        left = tuple(each for each in s.unreported if each != node)
        return s.but(unreported=left) if node in s.unreported else None

    def why_here(self, before: BalanceState, action: Any, after: BalanceState) -> str:
        """Of a move from the fullest node to the emptiest, that it is."""
        if not isinstance(action, Balance.move):
            return self.why(action)
        loads = self.loads(before).node_load.tolist()
        ends = (self.names.index(replica_of(end).host) for end in (action.source, action.target))
        most, least = (loads[node] for node in ends)
        if max(loads) > min(loads) and (most, least) == (max(loads), min(loads)):
            return "The source has the highest load of all nodes, and the target the lowest."
        return self.why(action)

    # What must hold

    @always("INV-MAP")
    def whole_map(self, s: BalanceState) -> str | None:
        """A node has at most one replica of a tablet."""
        every = ((table, fault) for table, given in self.maps(s).items() for fault in faults(given))
        return next((f"{table}, tablet {f.tablet}: {f.value} twice" for table, f in every), None)

    @declared.step(name="racks", on=(move,))
    def stays_spread(self, before: BalanceState, action: Any, after: BalanceState) -> str | None:
        """Replicas stay spread across racks."""
        was, now = (self.most_in_a_rack(s.replicas[action.tablet]) for s in (before, after))
        if now <= was:
            return None
        return (
            f"a rack now has {now} replicas of tablet {self.labels[action.tablet]}, up from {was}"
        )

    def most_in_a_rack(self, replicas: Replicas) -> int:
        """How many of them the rack with the most holds."""
        places = {node.host: (node.datacenter, node.rack) for node in self.members}
        racks = [places[each.host] for each in replicas]
        return max(map(racks.count, racks))

    @goal("INV-PROGRESS", name="ends", title="Loads can still be evened out")
    @declared.sometimes(name="even", title="No move is left")
    def is_even(self, s: BalanceState) -> bool:
        """Whether the planner has nothing to do, and knows all sizes."""
        return not (self.plan(s).moves or s.unreported)

    # How it is told

    def suggest(self, s: BalanceState) -> Any | None:
        """The first move of the planner's plan; without one, the first report."""
        reports = map(Balance.report, s.unreported)
        return next(iter(self.planned(s)), None) or next(reports, None)

    def milestone(self, before: BalanceState, action: Any, after: BalanceState) -> str | None:
        """The moment from which on the planner has nothing to do."""
        return "no move left" if self.is_even(after) and not self.is_even(before) else None

    def readable(self, s: BalanceState) -> dict[str, str]:
        """Each tablet's replicas, each node's load."""
        loads = self.loads(s).node_load.tolist()
        replicas = zip(self.labels, s.replicas, strict=True)
        return {
            **{f"tablet {label}": ", ".join(map(str, held)) for label, held in replicas},
            **{n: load_said(x, self.edition) for n, x in zip(self.names, loads, strict=True)},
        }


def given_tablet(text: str) -> tuple[str, int, Replicas]:
    """The tablet that ``A:0 B:1 150 ks.users`` describes: its table, its percentage, its replicas.
    BadInput for no replica, two on a host, or a size or a replica that cannot be.
    """
    table, percent, places = TABLE, 100, []
    for word in text.split():
        if word.isascii() and word.isdecimal():
            percent = int(word)
        elif "." in word:
            table = word
        else:
            places.append(word)
    replicas = replicas_in(" ".join(places))
    if not 1 <= percent <= MOST_PERCENT:
        raise BadInput("tablets", text, f"a size of 1 to {MOST_PERCENT} percent of the target")
    return table, percent, replicas


ENTRY = entry(
    Balance,
    scenarios=(
        Scenario(
            "by-hand",
            (
                "Fill the new node by hand. Six tablets with two replicas each: move "
                "some of them to the empty node. The load is the used share of a disk, "
                "as in the published server"
            ),
            {
                "edition": "server",
                "nodes": 4,
                "shards": 2,
                "tablets": ("A:0 B:0", "A:1 B:1", "B:0 C:0", "A:0 C:1", "B:1 C:0", "A:1 C:1"),
            },
        ),
        Scenario(
            "two-tables",
            (
                "Which tablet moves? One table is large, the other small: badness "
                "decides. Only the published server looks at sizes"
            ),
            {
                "edition": "server",
                "nodes": 3,
                "tablets": (
                    *("A 100 ks.big", "A 100 ks.big", "B 100 ks.big", "B 100 ks.big"),
                    *("A 50 ks.small", "A 50 ks.small", "A 50 ks.small", "B 50 ks.small"),
                ),
            },
        ),
        Scenario(
            "empty-a-node",
            (
                "A node is emptied. C is leaving: each of its replicas goes to the least "
                "loaded node that can take it"
            ),
            {"nodes": 4, "tablets": ("A B", "A C", "B C", "C D"), "leaving": ("C",)},
        ),
        Scenario(
            "no-room-in-the-rack",
            "Three replicas are stuck. F is leaving, and E, in the same rack, is given up",
            {
                "nodes": 6,
                "tablets": ("A C F", "B C F", "A D F", "B D E", "C F 50 ks.small"),
                "racks": ("dc1/r1", "dc1/r1", "dc1/r2", "dc1/r2", "dc1/r3", "dc1/r3"),
                "leaving": ("F",),
                "excluded": ("E",),
            },
        ),
    ),
    fuzzing=Fuzzing(
        {
            "edition": "documents",
            "nodes": 5,
            "shards": 2,
            "tablets": ("A:0 B:0", "A:1 B:1", "C:0 A:0", "A:0 E:1 50", "A:1 C:1 ks.u"),
            "racks": ("dc1/r1", "dc1/r1", "dc1/r2", "dc1/r2", "dc2/r1"),
            "leaving": ("B",),
        }
    ),
)
