"""Which replica admits a request of which epoch, where messages make nobody catch up.

Three rules: ``epoch-exchange`` (CEP-21; it has a module of its own,
``kit.protocols.storage.rules.exchange``); ``fence``: a replica refuses what was planned before
the fence that it knows (topology changes over Raft: ``fence_version``); ``one-stage-apart``: it
refuses what was planned more than one stage before or after its own (tablets). ``all`` is no rule:
everything is admitted.
"""

from __future__ import annotations

from typing import Literal

from kit.protocols.storage.rules.view import View

Admission = Literal["epoch-exchange", "fence", "one-stage-apart", "all"]


def admits(rule: Admission, views: tuple[View, ...], known: int, message: int) -> bool:
    """Whether a replica at epoch ``known`` does what a message of epoch ``message`` asks."""
    if rule == "fence":
        fence = views[known].fence
        return fence is None or message >= known - fence
    if rule == "one-stage-apart":
        return abs(known - message) <= 1
    return True
