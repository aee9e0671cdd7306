"""How a schema by gossip is drawn: nodes with their versions, what differs, what was lost."""

from __future__ import annotations

from kit.protocols.gossip.panels import nodes, schemas
from kit.views.messages import MESSAGES
from kit.views.promises import LAMPS
from kit.views.registry import Views

VIEWS = Views(
    (nodes.BADGES, nodes.PICTURE, nodes.VERSIONS, schemas.SCHEMAS, MESSAGES, LAMPS),
    evidence=("versions",),
    picture="nodes",
    table="versions",
    badges="badges",
)
