"""What travels in the steps of requests, as the storage model tells it."""

from __future__ import annotations

from kit.protocols.storage.facts.flows import WITH_SESSIONS as TABLET

__all__ = ["TABLET"]
