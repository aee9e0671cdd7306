"""Replication in words: what a datacenter is asked for, and where replicas differ from it."""

from __future__ import annotations

from kit.protocols.tablets.rules.replication import Misfit
from kit.protocols.topology.rules.cluster import Factor


def factor_said(factor: Factor) -> str:
    """``3``, or the racks of a rack list as ``[r1 r2]``."""
    return str(factor) if isinstance(factor, int) else f"[{' '.join(factor)}]"


def misfit_said(misfit: Misfit) -> str:
    """``dc1 has 2 of 3``, ``dc1/r2 has 1 of 0``."""
    place = f"{misfit.datacenter}/{misfit.rack}" if misfit.rack else misfit.datacenter
    return f"{place} has {misfit.has} of {misfit.wants}"
