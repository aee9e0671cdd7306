"""What the drills of both recoveries share: servers of which some are given up, and the grade."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any, TypeAlias

from kit.console.drill import CommandReply, DrillMoment, GradeRow, judged
from kit.console.forms import Form, Given, Slot
from kit.console.server import NOT_MODELLED, Servers
from kit.errors import Refused
from kit.masks import nodes_in, union
from kit.model.flows import ServerHost
from kit.protocols.recovery import facts
from kit.protocols.recovery.lost_majority import listed_columns
from kit.protocols.storage.rules.levels import Level

TOLD: tuple[Level, ...] = ("ONE", "QUORUM")
Answer: TypeAlias = Callable[[DrillMoment, Given], CommandReply]
TIMES = 2
"""How often each thing may happen that no operator does."""


class LostServers(Servers):
    """Servers of which some are given up."""

    events = ("alter", "crash", "die", "return")
    isolates: Callable[[], Any]

    def hosts(self, now: DrillMoment) -> Sequence[ServerHost]:
        """Every machine, as the model has it."""
        return [now.model.host(at) for at in range(len(now.model.names))]

    def is_member(self, now: DrillMoment, at: int) -> bool:
        """Whether a node is not removed."""
        return bool(now.state.nodes[at].standing != "removed")

    def is_unroutable(self, now: DrillMoment, at: int) -> bool:
        """Whether nobody can go to a machine: it is dead, or gone."""
        return now.state.nodes[at].standing in ("dead", "removed")

    def server(self, now: DrillMoment, given: Given) -> str:
        """The node that is named, or the one that one is on.

        Raises Refused for one that is given up: there is no server to stop or start.
        """
        name = str(given.get("node", now.place))
        at = now.model.number(name)
        if not now.state.live >> at & 1:
            standing = now.state.nodes[at].standing
            if standing == "returned":
                raise Refused(f"{NOT_MODELLED}stops and starts of {name}, which was given up")
            raise Refused(f"{name} is {standing}: there is no server to stop or start")
        return name

    def drop(self, now: DrillMoment, given: Given) -> CommandReply:
        """All live nodes refuse these addresses; with every dead one it is the model's step.

        As long as one is left out it is told which.
        """
        marks = tuple(f"dropped {address}" for address in given["addresses"])
        left = [each for each in self.dead(now) if f"dropped {each}" not in {*now.marks, *marks}]
        if left:
            return CommandReply((f"not blocked yet: {', '.join(left)}",), marks=marks)
        return CommandReply(actions=() if now.state.isolated else (self.isolates(),), marks=marks)

    def dead(self, now: DrillMoment) -> list[str]:
        """The addresses of nodes that are given up."""
        hosts = self.hosts(now)
        return [hosts[at].address for at in nodes_in(now.state.dead)]

    def number(self, now: DrillMoment, given: Given) -> int:
        """The node with a host id."""
        return [host.host_id for host in self.hosts(now)].index(str(given["host_id"]))

    def slots(self, **more: Slot) -> dict[str, Slot]:
        """Host ids of members, addresses of those that are given up, and what all drills have."""

        def ids(now: DrillMoment) -> list[str]:
            hosts = enumerate(self.hosts(now))
            return [host.host_id for at, host in hosts if self.is_member(now, at)]

        return super().slots(
            host_id=Slot("a host id", ids),
            host_ids=Slot("host ids, separated by commas", ids, many=True),
            addresses=Slot("addresses of dead nodes", self.dead, many=True),
            **more,
        )


def truncating(table: str, about: str, answer: Answer) -> Iterator[Form]:
    """The forms that empty a system table."""
    yield Form(f"TRUNCATE TABLE system.{table}", about, answer)
    yield Form(f"TRUNCATE system.{table}", about, answer, offered=False)


def removing(answer: Answer) -> Iterator[Form]:
    """The forms of a removal; other dead nodes are named before the node, or behind it."""
    tool, ignored = "nodetool removenode", "--ignore-dead-nodes {host_ids}"
    while_dead = "remove a node while others are dead"
    yield Form(f"{tool} {{host_id}}", "remove a dead node", answer)
    yield Form(f"{tool} {{host_id}} {ignored}", while_dead, answer)
    yield Form(f"{tool} {ignored} {{host_id}}", while_dead, answer, offered=False)


def one_group(now: DrillMoment) -> GradeRow:
    """Whether no state of the run had two nodes that talked while in different groups."""
    torn = filter(None, (now.model.torn(step.state) for step in now.run))
    said = "nodes of two groups never talked as one cluster"
    return judged("one group", [*islice(torn, 1)], said)


def known_entries(s: Any) -> int:
    """The entries that nodes which are counted on know (a mask)."""
    return union(s.nodes[i].columns for i in nodes_in(s.live))


def nothing_lost(
    now: DrillMoment, death: type, had: int, what: str, wrong: Iterable[str] = ()
) -> GradeRow:
    """Whether the entries that live nodes ``had`` are known still, and nothing else is ``wrong``.

    What nobody knew any more once a node had died is no operator's fault.
    """
    steps = pairwise(now.run)
    deaths = ((b.state, a.state) for b, a in steps if isinstance(a.action, death))
    died = union(known_entries(before) & ~known_entries(after) for before, after in deaths)
    gone = ~known_entries(now.state)
    missing = listed_columns((had | known_entries(now.run[0].state)) & ~died & gone)
    dead = died & gone
    said = f"all {what} that were still known have been kept"
    if dead:
        entries = listed_columns(dead)
        said = f"only these entries are gone, with the last node that knew them: {entries}"
    lost = [f"no live node has these entries any more: {missing}"] if missing else []
    return judged("nothing lost", [*lost, *wrong], said)


def ever_dead(now: DrillMoment) -> str:
    """The names of the nodes that are dead or were in the run, also of those that died in it."""
    return ", ".join(now.model.named(union(step.state.dead for step in now.run)))


def data_unavailable(now: DrillMoment) -> GradeRow:
    """In how many states a smaller part of the ranges was available than in the first one.

    It is a part, since each node that is removed takes a range with it.
    """
    every = [facts.ranges(now.model, step.state) for step in now.run]
    words = []
    for level in TOLD:
        shares = [
            Fraction(sum(level in row.levels for row in rows), max(1, len(rows))) for rows in every
        ]
        worse = sum(share < shares[0] for share in shares)
        words.append(f"at {level} in {worse} of {len(shares)} states")
    return GradeRow("data unavailable", None, f"more than at the start: {', '.join(words)}")
