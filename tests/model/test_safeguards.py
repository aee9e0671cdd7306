"""Safeguards and their switches: a name switches one field off, and no other name does."""

from __future__ import annotations

import pytest
from msgspec import Struct
from msgspec.structs import asdict, fields

from kit.model.model import Safeguard, switched_off
from kit.protocols.dataplane.dataplane import EPOCH_EXCHANGE, MEMBERSHIP_CHECK, PLAN_REVALIDATION
from kit.protocols.storage.rules.exchange import RequestSafeguards
from kit.protocols.tcm.rules.operations import TcmSafeguards
from kit.protocols.tcm.tcm import Tcm

PLAN = [*Tcm.safeguards]
REQUESTS = [EPOCH_EXCHANGE, MEMBERSHIP_CHECK, PLAN_REVALIDATION]


class BothSafeguards(Struct, frozen=True, kw_only=True):
    """Switches of a plan's steps and of requests, in one struct."""

    tcm: TcmSafeguards = TcmSafeguards()
    requests: RequestSafeguards = RequestSafeguards()


def _off(switches: Struct) -> set[str]:
    """The names of the switches that are off, within structs, too."""
    found: set[str] = set()
    for name, value in asdict(switches).items():
        found |= _off(value) if isinstance(value, Struct) else set() if value else {name}
    return found


@pytest.mark.parametrize(
    ("defined", "switches"), [(PLAN, TcmSafeguards), (REQUESTS, RequestSafeguards)]
)
def test_each_safeguard_has_one_switch(defined: list[Safeguard], switches: type[Struct]) -> None:
    """What is defined and what the rules ask are the same safeguards; a name is one switch."""
    names = [guard.name for guard in defined]
    assert sorted(names) == sorted(each.name.replace("_", "-") for each in fields(switches))
    for name in names:
        switch = {name.replace("-", "_")}
        assert _off(switched_off(switches, (name,))) == switch
        assert _off(switched_off(BothSafeguards, (name,))) == switch
    assert not _off(switched_off(switches, ()))
