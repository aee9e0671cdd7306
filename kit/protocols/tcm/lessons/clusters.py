"""Where a lesson needs a run of the epoch protocol."""

from __future__ import annotations

from kit.engine.timeline import Timeline
from kit.errors import BadInput
from kit.protocols.tcm.cluster import TcmCluster


def cluster_of(timeline: Timeline) -> TcmCluster:
    """The model of a timeline, where it must be one of the epoch protocol.

    Raises:
        BadInput: when it is another.
    """
    if not isinstance(timeline.model, TcmCluster):
        raise BadInput("model", timeline.model.name, "tcm, the epoch protocol")
    return timeline.model
