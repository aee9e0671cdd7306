"""A group 0 that lost its majority: what the models of both recoveries begin with."""

from collections.abc import Callable
from string import ascii_uppercase
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from kit.errors import BadInput
from kit.masks import majority, nodes_in
from kit.model.declared import State, Travel, parameter, refused
from kit.model.flows import ServerHost, host_id
from kit.protocols.group0.rules.quorum import Quorum, extremes
from kit.protocols.group0.state import VotingModel
from kit.protocols.recovery.rules.availability import places_of, voters_of_groups

NOBODY = NO_GROUP = -1
OLD = 0
"""The group that lost its majority; groups are numbered as they are created."""
MOST_FAULTS = 9
FIRST_ADDRESS = 11
REPLACING = 100
"""What is added to the number of a node that took another's place: it has an address of its own."""
NO_MAJORITY = refused("this group 0 has no majority")


def typed(label: str, text: str) -> list[Travel]:
    """The flows of an operator's work on a node: it goes there from the operator."""
    return [Travel("request", "operator", "n:{node}", label, f"the operator → {{node}}: {text}")]


S = TypeVar("S", bound=Struct)


class LostState(State, frozen=True):
    """A state in which some ``nodes`` are given up.

    Nodes have a ``standing``, and say whether they ``takes_part``: the operator counts on them.
    """

    @property
    def live(self) -> int:
        """The nodes that the operator counts on (a mask)."""
        return self.where(lambda n: n.takes_part)

    @property
    def dead(self) -> int:
        """The nodes that are given up and not removed yet (a mask)."""
        return self.where(lambda n: n.standing in ("dead", "returned"))

    @property
    def peers(self) -> int:
        """The nodes of the cluster, as ``system.peers`` has them: all but those removed."""
        return self.where(lambda n: n.standing != "removed")

    def is_walled_off(self, node: Any) -> bool:
        """Whether the firewall lies between a node and those that are counted on."""
        s: Any = self
        return bool(s.isolated and node.standing == "returned")

    def voters_of(self, group: int) -> int:
        """The voters of a group (a mask)."""
        s: Any = self
        return int((s.voters or s.groups)[group])


class LostMajority(VotingModel[S]):
    """A group 0 with ``commit_indexes``, of which the nodes ``dead`` are given up.

    In edition ``documents`` all members vote. In ``server`` a few do, chosen again whenever a
    majority of them is there. Where the choice is open at first, it fell on nodes that are lost.
    """

    commit_indexes: tuple[Annotated[int, Meta(ge=0, le=60)], ...] = parameter(
        (1, 2, 2, 2),
        "the commit index of each member, starting with A; each entry adds a column",
        min_length=2,
        max_length=9,
        written=True,
    )
    dead: str = parameter(
        "C D",
        "the members that are given up: at least half of all members, or in edition "
        "server, enough that no majority of the voters is alive",
        written=True,
    )
    rf: int = parameter(3, "replicas of each range", ge=1, le=9)

    racks: tuple[str, ...] = ()
    stuck: bool = False
    majority_lives: bool = False

    def asked_to_remove(self, by: int, action: Any) -> Travel:
        """The operator tells a live node whom to remove."""
        name, label = self.names[by], f"removenode {action.node}"
        return Travel(
            "request", "operator", self.spot(name), label, f"the operator → {name}: {label}"
        )

    def set_up(self) -> None:
        """Take the members, those that are given up, all places, and the first voters.

        Raises BadInput for unknown names, for racks of others, and where a majority lives, or
        nobody.
        """
        self.names = tuple(ascii_uppercase[: len(self.commit_indexes)])
        self.given_up = tuple(dict.fromkeys(self.dead.split()))
        size, live = len(self.names), len(self.names) - len(self.given_up)
        few = self.stuck or self.edition == "server" or self.majority_lives  # may be dead
        most = size if few else majority(size)
        if not {*self.given_up} < {*self.names} or live >= most:
            said = "but not all of them" if few else "so many that the others are not a majority"
            raise BadInput("dead", self.dead, f"members of {', '.join(self.names)}, {said}")
        if len(self.racks) not in (0, size):
            raise BadInput("racks", self.racks, f"none, or one for each of the {size} nodes")
        self.places = places_of(size, self.racks)
        dead = self.mask(self.given_up)
        everybody = self.mask(self.names)
        quorum = Quorum(everybody, everybody & ~dead)
        if self.edition == "server":
            rules = self.voter_rules
            ends = extremes(self.places, everybody, 0, dead, rules, together=True)
            quorum = ends[self.majority_lives]
        if self.majority_lives and not quorum.holds:
            raise BadInput("dead", self.dead, "few enough that a majority of the voters is alive")
        if quorum.holds and not (self.stuck or self.majority_lives):
            allowed = "so many at once that no majority of the voters is alive"
            raise BadInput("dead", " ".join(self.given_up), allowed)
        self.first_voters = (quorum.voters,) if self.edition == "server" else ()

    def voting(self, s: Any, sides: Callable[[int], tuple[int, ...]]) -> Any:
        """Each side of a group that has a majority of its voters chooses them again."""
        return s.but(
            voters=voters_of_groups(self.places, s.groups, s.voters, sides, self.voter_rules)
        )

    def torn(self, s: Any) -> str | None:
        """The nodes that talk as one cluster and are in different groups."""
        if (pair := s.in_two_groups(self.edition)) is None:
            return None
        said = (f"{self.names[i]} of {self.group_name(s.nodes[i].group)}" for i in pair)
        return f"{' and '.join(said)} talk as one cluster"

    def group_name(self, group: int, nowhere: str = "") -> str:
        """The name of a group; ``nowhere`` where it is none."""
        if group == NO_GROUP:
            return nowhere
        return "the old group" if group == OLD else f"group {group + 1}"

    def stored_id(self, group: int) -> str:
        """The node whose id a node has persisted."""
        return f"id of {self.group_name(group)}" if group != NO_GROUP else "no group id"

    def host(self, node: int, replaced: int = 0) -> ServerHost:
        """The machine of a node that was replaced so often."""
        at = FIRST_ADDRESS + node + REPLACING * replaced
        address = f"10.0.{at // 256}.{at % 256}"
        return ServerHost(address, host_id(at - FIRST_ADDRESS), *self.places[node])


def group_uuid(group: int) -> str:
    """The id of a group 0, a UUID of version 1."""
    return f"{group + 1:08x}-fe88-11f0-8001-000000000001"


def listed_columns(mask: int, between: str = ", ") -> str:
    """Columns by their numbers, from 1 on."""
    return between.join(str(at + 1) for at in nodes_in(mask))
