"""Lessons on the epoch protocol."""

from kit.lessons.questions import model_of
from kit.model.timeline import Timeline
from kit.protocols.tcm.cluster import TcmCluster


def cluster_of(timeline: Timeline) -> TcmCluster:
    """The model of a timeline; BadInput when it is none of the epoch protocol."""
    return model_of(timeline, TcmCluster, "tcm, the epoch protocol")
