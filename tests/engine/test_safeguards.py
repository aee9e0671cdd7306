"""Safeguards and their switches: a name switches one field off, and no other name does."""

from __future__ import annotations

import pytest
from msgspec import Struct
from msgspec.structs import asdict, fields

from kit.engine.model import Safeguard, switched_off
from kit.errors import BadInput
from kit.protocols.dataplane.dataplane import (
    EPOCH_EXCHANGE,
    MEMBERSHIP_CHECK,
    PLAN_REVALIDATION,
    Dataplane,
)
from kit.protocols.storage.rules.exchange import RequestSafeguards
from kit.protocols.tcm.cluster import SAFEGUARDS as OF_TCM
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


def test_a_safeguard_of_two_models_is_defined_once() -> None:
    """Where another model shows it, what that judges and its configurations alone differ."""
    defined = {guard.name: guard for guard in [*PLAN, *REQUESTS]}
    for guard in (*OF_TCM, *Dataplane.safeguards):
        same = defined[guard.name]
        assert guard == same.seen_by(*guard.protects).shown_by(guard.smallest, *guard.later)
        assert {*guard.protects} <= {*same.protects}
    assert len({guard.id for guard in defined.values()}) == len(defined)


def test_an_unknown_switch_is_named() -> None:
    """A name without a switch is an error, however near it is, and so is that of a group."""
    for name in ("range-lock", "tcm"):
        with pytest.raises(BadInput, match=f"safeguard: got '{name}'; allowed: one of .*range-loc"):
            switched_off(BothSafeguards, (name,))


def test_a_wrong_name_is_told_with_all_others_in_order() -> None:
    """Whoever mistypes one reads the whole list, as a table of contents."""
    with pytest.raises(BadInput) as told:
        switched_off(TcmSafeguards, ("range-lock",))
    names = str(told.value).partition("one of ")[2].split(", ")
    assert names == sorted(names)
    assert len(names) == len(fields(TcmSafeguards))


def test_only_what_search_shows_to_be_harmless_is_redundant() -> None:
    """A safeguard that protects nothing, of which nobody says why it is kept, has its title."""
    assert Safeguard("door", "S-90", "Only a closed lift moves", ()).in_full == (
        "Only a closed lift moves"
    )
