"""A step that commits, as the round of Paxos, message by message, that settles its epoch."""

from __future__ import annotations

from collections.abc import Sequence

from kit.model.timeline import PassedStep
from kit.protocols.cms.commit import Commit
from kit.search.zoom import FinerRun


def agreed_by(m: Commit, way: Sequence[PassedStep]) -> FinerRun | None:
    """A round for each epoch so far; the last one is that of the last step, if it commits.

    What a member settles is its own value there, be it one that it only finished.
    """
    logs = [(m.history(step.before), m.history(step.after)) for step in way]
    grown = [at for at, (before, after) in enumerate(logs) if len(after) > len(before)]
    if m.backend != "paxos" or not grown or grown[-1] != len(way) - 1:
        return None
    proposers = [way[at].action.node for at in grown]
    pairs = zip(logs[-1][1], proposers, strict=True)
    members, count = m.named(m.cms), len(grown)
    return FinerRun(
        "paxos",
        {
            "members": len(members),
            "given_names": members,
            "values": tuple(f"{each.event} ({each.id}) at {node}" for each, node in pairs),
            "epochs": count,
        },
        "append",
        count,
        f"ballot {proposers[-1]}",
        f"How {', '.join(members)} agree on epoch {count}, message by message",
    )
