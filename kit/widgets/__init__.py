"""Widgets for people: the Player and its controls."""

from __future__ import annotations

from kit.widgets.player import Player

__all__ = ["Player"]
