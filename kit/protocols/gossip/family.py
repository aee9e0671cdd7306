"""What the rest of the kit may know of this family."""

from kit.model.family import Family

FAMILY = Family(
    "gossip",
    "Schema and membership by gossip",
    order=45,
    models={"gossip": "gossip:ENTRY", "gossip_join": "gossip_join:ENTRY"},
    servers={"gossip": "facts:SCHEMA_SERVERS"},
    views={"gossip": "panels:VIEWS", "gossip_join": "panels:JOIN_VIEWS"},
    scenario_output={"gossip": "facts:OUTPUT", "gossip_join": "facts:JOIN_OUTPUT"},
    tasks=("lessons",),
    public={
        "lessons": {
            "lessons": "digest_costs logins overwritten same_crash same_split service_level_delays"
        }
    },
)
