"""Requests: what clients ask of which coordinator, at which level, and the cells that they leave.

A cell is a small number: twice its timestamp, plus one for a tombstone; 0 is no cell at all. Of
two cells the higher one stays: last write wins. The timestamp of a request's mutation is its place
in the workload, from 1 up.
"""

import re
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from kit.errors import BadInput
from kit.protocols.storage.rules.levels import LEVELS, Level

NOTHING = 0


def written(timestamp: int) -> int:
    """The cell that a write leaves."""
    return 2 * timestamp


def tombstone(timestamp: int) -> int:
    """The cell that a deletion leaves."""
    return 2 * timestamp + 1


def is_tombstone(cell: int) -> bool:
    """Whether the cell is the mark of a deletion."""
    return cell % 2 == 1


def timestamp(cell: int) -> int:
    """When the cell was written; 0 for no cell."""
    return cell // 2


def value(cell: int) -> int:
    """The value for a client: the timestamp of the live write, 0 where there is none."""
    return 0 if is_tombstone(cell) else timestamp(cell)


Kind = Literal["write", "delete", "read"]
KINDS: tuple[Kind, ...] = ("write", "delete", "read")
MOST_REQUESTS = 60
"""Of one history: programs ask again and again. A search follows a few."""
_FORM = "COORDINATOR[@dc] write|delete|read [LEVEL], such as K1 write QUORUM"
_LINE = re.compile(
    r"(?P<coordinator>\w{1,20})(?:@(?P<dc>\w{1,40}))? +(?P<kind>\w+)(?: +(?P<level>\w+))?"
)

WAITING, OPEN, DONE, FAILED, REPAIRING = range(5)
AT_WORK = (OPEN, REPAIRING)
"""The phases in which a coordinator waits for answers."""


class ClientRequest(Struct, frozen=True):
    """One request of the workload; ``dc`` None means the first datacenter."""

    coordinator: str
    kind: Kind
    level: Level = "QUORUM"
    dc: str | None = None

    @property
    def writes(self) -> bool:
        """Whether it changes a cell: a deletion does."""
        return self.kind != "read"


class Request(Struct, frozen=True):
    """The state of a request.

    ``epoch`` is the index of the epoch it was planned by, ``coordinator_epoch`` what its
    coordinator knows by now; ``in_flight`` are replicas whose message is still on its way,
    ``acked`` those that did it, ``newest_seen`` the newest cell that a read has seen (masks and a
    cell). ``timestamp`` is that of a mutation: the how many-th it was to start. ``invalidated``
    are answers of members that were none for a while since they answered: those count no more.
    ``begun`` are those in flight that a replica is at work on, where that takes time (a mask).
    ``holders`` are the replicas that returned ``newest_seen`` (a mask), where reads are repaired.

    A read in phase ``REPAIRING`` has its answers and writes ``newest_seen`` back: ``epoch``,
    ``in_flight`` and ``acked`` are then those of that write.
    """

    phase: int = WAITING
    epoch: int = 0
    coordinator_epoch: int = field(default=0, name="now")
    in_flight: int = field(default=0, name="asked")
    acked: int = 0
    newest_seen: int = field(default=0, name="best")
    timestamp: int = field(default=0, name="stamp")
    invalidated: int = field(default=0, name="lapsed")
    holders: int | UnsetType = UNSET  # unset, it is no part of a fingerprint
    begun: int | UnsetType = UNSET


def parse_request(text: str) -> ClientRequest:
    """A request from a line such as ``K1 write QUORUM``; BadInput names what is wrong."""
    line = _LINE.fullmatch(text.strip())
    if line is None:
        raise BadInput("requests", text, _FORM)
    kind, level = line["kind"], line["level"] or "QUORUM"
    if kind not in KINDS:
        raise BadInput("requests", kind, "one of " + ", ".join(KINDS))
    if level not in LEVELS:
        raise BadInput("requests", level, "one of " + ", ".join(LEVELS))
    return ClientRequest(line["coordinator"], kind, level, line["dc"])


def parse_workload(lines: tuple[str, ...]) -> tuple[ClientRequest, ...]:
    """A workload: one request a line, in the order of their timestamps; or BadInput."""
    if not 1 <= len(lines) <= MOST_REQUESTS:
        raise BadInput("requests", len(lines), f"1 to {MOST_REQUESTS} lines")
    asks = tuple(parse_request(line) for line in lines)
    homes: dict[str, str | None] = {}
    for ask in asks:
        if homes.setdefault(ask.coordinator, ask.dc) != ask.dc:
            raise BadInput("requests", ask.coordinator, "one datacenter a coordinator")
    return asks
