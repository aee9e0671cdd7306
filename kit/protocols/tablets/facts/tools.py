"""What ``nodetool`` and ``cqlsh`` answer of a cluster with tablets: its topology."""

from kit.engine.drill import DrillMoment
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.drill import BarrierServers


class TabletServers(BarrierServers):
    """The servers of a cluster, asked for its nodes."""

    def control(self, now: DrillMoment) -> ControlState:
        """The cluster below the tablets."""
        state: ControlState = now.state.control
        return state


SERVERS = TabletServers()
