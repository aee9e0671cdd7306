"""The panels of the topology: the transition's diagram, nodes, ring, queue, barrier, group 0."""

from kit.protocols.topology.panels import coordinating
from kit.protocols.topology.panels.ring import RING, ring_of
from kit.protocols.topology.panels.stage import NODES, STAGE, gates
from kit.protocols.topology.panels.states import LEGEND, NODE_STATES, STATES
from kit.protocols.topology.panels.tables import CDC, DRIVER, REQUESTS, SCHEMA, TABLE
from kit.views.promises import LAMPS
from kit.views.registry import Views
from kit.views.ring import with_ring

VIEWS = Views(
    (
        *(coordinating.BADGES, with_ring(STAGE, RING, ring_of), NODES, STATES, RING),
        *(coordinating.QUEUE, coordinating.BARRIER, TABLE, REQUESTS),
        *(coordinating.HISTORY, coordinating.CONFIGURATION),
        *(coordinating.LOG, NODE_STATES, LEGEND, DRIVER, CDC, SCHEMA, LAMPS),
    ),
    evidence=("nodes", "barrier"),
    picture="stage",
    table="nodes",
    badges="badges",
    gates=gates,
)
