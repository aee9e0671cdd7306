"""What travels in a step: a lease with its number to a client, a number to the store."""

from __future__ import annotations

from kit.model.flows import Flow, FlowTable
from kit.protocols.toy.model import Lapse, Lease, LeaseState, Take, Write


def _taken(m: Lease, before: LeaseState, action: Take, after: LeaseState) -> tuple[Flow, ...]:
    label = f"lease {after.newest}"
    text = f"service → C{action.client}: {label}"
    return (Flow("answer", "field:newest", "field:numbers", label, text),)


def _written(m: Lease, before: LeaseState, action: Write, after: LeaseState) -> tuple[Flow, ...]:
    label = f"number {after.seen}"
    text = f"C{action.client} → store: {label}"
    return (Flow("request", "field:numbers", "field:seen", label, text),)


# The end of a lease is told to nobody.
FLOWS = FlowTable({Take: _taken, Write: _written}, (Lapse,))
