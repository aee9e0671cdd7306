"""Widgets for people: the Player and its controls, a drill with its terminal."""

from kit.widgets.drilling import DrillBoard
from kit.widgets.player import Player

__all__ = ["DrillBoard", "Player"]
