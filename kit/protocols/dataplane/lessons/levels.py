"""What consistency levels need while a replica is on its way: a request just sent, and a table."""

from __future__ import annotations

from typing import Any

from kit.edge.arguments import checked
from kit.engine.registry import build
from kit.errors import BadInput
from kit.protocols.storage.facts import moment as facts
from kit.views.static import Sheet
from kit.widgets.player import Player

LEVELS = ("ONE", "TWO", "QUORUM", "ALL")
RULES = ("union", "joint")
MOVES = ("apply", "commit")
WHOLE, BOTH = "of the whole group (union)", "of the old and of the new replicas (joint)"


@checked
def sent_at(epoch: int, level: str = "QUORUM", **parameters: Any) -> Player:
    """A Player on a write of this level that was planned and sent at an epoch of the bootstrap.

    Raises:
        BadInput: when the bootstrap never comes to this epoch, or for an unknown parameter.
    """
    model = build("dataplane", {**parameters, "requests": [f"K1 write {level}"]})
    player = Player(model, controls=False)
    verb = f"write 1 at epoch {epoch}"
    while verb not in map(model.verb, model.actions(player.state)):
        step = next((a for a in model.actions(player.state) if model.kind(a) in MOVES), None)
        if step is None:
            raise BadInput("epoch", epoch, "one that the bootstrap comes to")
        player.act(step)
    player.act(verb)
    return player


@checked
def needed(epoch: int) -> Sheet:
    """How many answers each level needs at an epoch, by the two ways to count pending replicas."""
    rows = [
        (level, *(_needs(sent_at(epoch, level, acknowledgement=rule)) for rule in RULES))
        for level in LEVELS
    ]
    title = f"How many answers a write needs that was planned at epoch {epoch}"
    return Sheet(title, ("level", WHOLE, BOTH), tuple(rows))


def _needs(player: Player) -> str:
    model: Any = player.model
    [row] = facts.requests(model, player.state)
    return " and ".join(f"{quota.needed} of {', '.join(quota.replicas)}" for quota in row.plan)
