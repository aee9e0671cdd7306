"""The committed pictures of this family: the stages of every kind of transition."""

from __future__ import annotations

from kit.protocols.tablets.panels.states import diagrams

__all__ = ["diagrams"]
