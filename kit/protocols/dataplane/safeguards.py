"""What requests need while a plan is carried out: safeguards of the plan, and their own."""

from __future__ import annotations

from msgspec import Struct

from kit.engine.safeguards import LaterCase, Safeguard
from kit.protocols.storage.rules.exchange import RequestSafeguards
from kit.protocols.storage.safeguards import EPOCH_EXCHANGE, MEMBERSHIP_CHECK, PLAN_REVALIDATION
from kit.protocols.tcm.rules.safeguards import TcmSafeguards
from kit.protocols.tcm.safeguards import (
    KNOWN_BEFORE_STREAMS,
    OLD_WRITER_STAYS,
    PROGRESS_BARRIER,
    STREAM_FROM_DISPLACED,
    STREAMS_BEFORE_SWITCH,
    TWO_EVENT_CANCEL,
    WRITE_BEFORE_READ,
)


class DataplaneSafeguards(Struct, frozen=True, kw_only=True):
    """Which safeguards are on, of the plan's steps and of the requests."""

    tcm: TcmSafeguards = TcmSafeguards()
    requests: RequestSafeguards = RequestSafeguards()


_ONE = {"rf": 1}
# Deleted data can come back only to a replica that gave the range up and got it again.
_DELETED = LaterCase("INV-NORES", "dataplane/deleted-data-returns", before="read 3 at epoch 105")
SAFEGUARDS: tuple[Safeguard, ...] = (
    PROGRESS_BARRIER.seen_by("INV-VISIBLE").shown_by(_ONE),
    EPOCH_EXCHANGE.shown_by(_ONE),
    PLAN_REVALIDATION.shown_by(_ONE),
    MEMBERSHIP_CHECK.shown_by(_ONE, _DELETED),
    WRITE_BEFORE_READ.seen_by("INV-VISIBLE").shown_by(_ONE),
    OLD_WRITER_STAYS.seen_by("INV-VISIBLE").shown_by(_ONE),
    STREAMS_BEFORE_SWITCH.shown_by(_ONE),
    KNOWN_BEFORE_STREAMS.shown_by(_ONE),
    TWO_EVENT_CANCEL.seen_by("INV-VISIBLE").shown_by({"rf": 1, "cancels": 1}),
    STREAM_FROM_DISPLACED,
)
