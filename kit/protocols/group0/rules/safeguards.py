"""The safeguards of group 0, as the rules ask for them: on unless switched off."""

from __future__ import annotations

from msgspec import Struct


class Group0Safeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard; each has the name of its safeguard."""

    read_barrier: bool = True
    """Off, a node reads what it has applied, however far it lags (the model's step 2)."""
    state_id_check: bool = True
    """Off, a node applies a command whatever state it was built on (``rules.history``)."""
    commit_with_guard: bool = True
    """Off, a command does not say what state it was built on (``rules.guard``)."""
    same_id_on_retry: bool = True
    """Off, a command that is submitted once more gets a state id of its own (``rules.guard``)."""
    schema_version_check: bool = True
    """Off, a replica serves with whatever schema it has (the model's ``serving``)."""
