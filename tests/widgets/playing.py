"""A Player whose words to its stage are kept in a list."""

from __future__ import annotations

from typing import Any

from kit.widgets import Player


def quiet(source: Any = "tcm/bootstrap", **options: Any) -> tuple[Player, list[dict[str, Any]]]:
    """A player and the list of what it says to its stage."""
    player = Player(source, **options)
    said: list[dict[str, Any]] = []
    player.stage.send = lambda content, **_: said.append(content)
    return player, said
