"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "gossip",
    "Schema and membership by gossip",
    order=45,
    models={"gossip": "entries:ENTRY", "gossip_join": "join_entry:ENTRY"},
    views={"gossip": "panels:VIEWS", "gossip_join": "panels.joining:VIEWS"},
    flows={"gossip": "facts.flows:FLOWS", "gossip_join": "facts.joining:FLOWS"},
)
