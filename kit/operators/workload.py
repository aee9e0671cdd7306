"""How large a question about somebody's ring is, before it is worked on."""

from msgspec import Struct

from kit.edge.limits import check_room
from kit.errors import BadInput
from kit.operators.importers.ringfile import RingFile
from kit.ring.replication import total

ROW = 8  # a row's own cost, in replicas
LONGEST = 60.0  # seconds


class Cost(Struct, frozen=True):
    """The cost of an answer for each replica of each range: bytes of memory, seconds.

    The first two count once for keyspaces that are replicated alike, the next for each.
    ``bytes_pair`` are for each two nodes: what each has heard of, at each step of a run.
    """

    bytes: int
    seconds: float
    bytes_shown: int
    seconds_shown: float
    bytes_pair: int = 0


# Measured on rings of 100 to 5,000 nodes with up to 64 keyspaces, on one slow core.
PLACEMENTS = Cost(80, 2e-6, 10, 4e-7)
DRY_RUN_IN_WORDS = Cost(240, 3.5e-6, 0, 0.0, 26)
DRY_RUN_AS_JSON = Cost(240, 3.5e-6, 0, 3e-8, 26)
PLAYER = Cost(500, 4e-6, 100, 1e-6)


def check_work(given: RingFile, cost: Cost) -> None:
    """Refuse a question that would not fit into memory, or take minutes.

    Raises BadInput naming the largest keyspace, with the estimate.
    """
    if not given.keyspaces:
        return
    ring, members = given.ring, sum(1 for node in given.ring.nodes if node.tokens)
    replicas = {each.replication: total(each.replication, ring) for each in given.keyspaces}
    sizes = {of: len(ring.tokens) * (ROW + min(many, members)) for of, many in replicas.items()}
    largest = max(given.keyspaces, key=lambda keyspace: sizes[keyspace.replication])
    field = f"keyspace {largest.name}"
    once = sum(sizes.values())
    shown = sum(sizes[keyspace.replication] for keyspace in given.keyspaces)
    pairs = len(given.ring.nodes) ** 2
    room = once * cost.bytes + shown * cost.bytes_shown + pairs * cost.bytes_pair
    check_room(field, largest.replication.label, room)
    if (seconds := once * cost.seconds + shown * cost.seconds_shown) > LONGEST:
        needs = f"work of at most {LONGEST:g} s, but this needs about {seconds:,.0f} s"
        advice = "leave out keyspaces, or use fewer replicas or tokens"
        raise BadInput(field, largest.replication.label, f"{needs}: {advice}")


def estimate(ranges: int, replicas: int, cost: Cost) -> tuple[int, float]:
    """Bytes of memory and seconds that an answer about so many ranges costs, roughly."""
    size = ranges * (ROW + replicas)
    return size * (cost.bytes + cost.bytes_shown), size * (cost.seconds + cost.seconds_shown)
