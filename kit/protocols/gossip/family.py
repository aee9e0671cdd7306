"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "gossip",
    "Schema and membership by gossip",
    order=45,
    models={"gossip": "entries:ENTRY"},
    views={"gossip": "panels:VIEWS"},
    flows={"gossip": "facts.flows:FLOWS"},
)
