"""What a dataplane model is built from: a cluster and its operations, and what clients do."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict, fields

from kit.errors import BadInput
from kit.protocols.storage.rules.exchange import EXCHANGES, Exchange
from kit.protocols.storage.rules.levels import READINGS, Reading
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.steps import Variant
from kit.ring.replication import Keyspace
from kit.ring.topology import Node

Mode = Literal["log", "gossip"]
MODES: tuple[Mode, ...] = ("log", "gossip")
MOST_CRASHES = 8
MOST_TICKS = 100


class DataplaneParameters(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The parameters of a dataplane model.

    The cluster's are those of the tcm model. ``token`` picks the data range (None: the one with
    the most replicas old and new). ``requests`` are lines such as ``K1 write QUORUM`` or
    ``K2@dc2 read LOCAL_QUORUM``, each begun when the ones before it are answered; ``together``
    True: only each coordinator waits for its own. ``exchange`` says how epochs travel (``epoch``,
    ``relevant``, ``row-version``, ``background``), ``reading`` how pending replicas count
    (``whole-group``, ``both-sets``). ``timeouts``: a request may time out at any moment.
    ``repair``: reads write back what they found. ``retry``: a request whose plan went stale is
    sent anew. ``mode`` is ``log``, or ``gossip``: no epochs are compared, no plan is judged anew,
    no step waits for who knows the last one, only for ``ring_delay`` ticks. ``crashes`` is a
    budget; ``cleaning`` and ``collecting`` let replicas clean up after a move, and collect
    tombstones.
    """

    nodes: int = 3
    tokens: int = 1
    rf: int = 3
    strategy: str = "simple"
    dcs: int = 1
    racks: int = 1
    members: tuple[Node, ...] = ()
    keyspaces: tuple[Keyspace, ...] = ()
    low: int | None = None
    high: int | None = None
    operations: tuple[str, ...] = ()
    variant: Variant = "cep"
    epoch: int = 99
    cancels: int = 0
    token: int | None = None
    requests: tuple[str, ...] = ("K1 write QUORUM", "K2 read QUORUM")
    exchange: Exchange = "epoch"
    reading: Reading = "whole-group"
    together: bool = False
    timeouts: bool = False
    repair: bool = False
    retry: bool = False
    mode: Mode = "log"
    ring_delay: int = 1
    crashes: int = 0
    cleaning: bool = False
    collecting: bool = False


def of_the_cluster(given: DataplaneParameters) -> TcmParameters:
    """The part of the parameters that describes the cluster.

    Raises:
        BadInput: naming a parameter of the requests that is out of its limits.
    """
    if given.exchange not in EXCHANGES:
        raise BadInput("exchange", given.exchange, "one of " + ", ".join(EXCHANGES))
    if given.reading not in READINGS:
        raise BadInput("reading", given.reading, "one of " + ", ".join(READINGS))
    if given.mode not in MODES:
        raise BadInput("mode", given.mode, "one of " + ", ".join(MODES))
    if not 1 <= given.ring_delay <= MOST_TICKS:
        raise BadInput("ring_delay", given.ring_delay, f"a number from 1 to {MOST_TICKS}")
    if not 0 <= given.crashes <= MOST_CRASHES:
        raise BadInput("crashes", given.crashes, f"a number from 0 to {MOST_CRASHES}")
    shared = {field.name for field in fields(TcmParameters)} - {"crashes"}
    return TcmParameters(**{name: value for name, value in asdict(given).items() if name in shared})
