"""The log of one node of a Raft upgrade as a table."""

from __future__ import annotations

from typing import Any

from kit.edge.arguments import checked
from kit.engine.server_log import OWN_WORDS
from kit.errors import BadInput, KitError
from kit.lessons.stills import scene_of, timeline_of
from kit.protocols.upgrade.raft_upgrade import LOG, RaftUpgrade
from kit.views.report import Sheet


@checked
def upgrade_log(source: Any, node: str) -> Sheet:
    """What one node has written into its log, up to the moment that is shown.

    Lines that begin a phase name it; those in the kit's own words say so.

    Raises:
        KitError: where the model is not the Raft upgrade.
        BadInput: for a node that there is not.
    """
    timeline = timeline_of(source)
    model = timeline.model
    if not isinstance(model, RaftUpgrade):
        raise KitError("upgrade_log: this is no run of the Raft upgrade")
    if node not in model.names:
        raise BadInput("node", node, f"one of {', '.join(model.names)}")
    written = LOG.lines(model, timeline.moments[0].state, scene_of(timeline).way())
    rows = tuple(
        (line.phase, line.component, f"{line.text} ({OWN_WORDS})" if line.own else line.text)
        for lines in written
        for line in lines
        if line.node == node
    )
    return Sheet(f"The log of {node}", ("phase", "component", "line"), rows)
