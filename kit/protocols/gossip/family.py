"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "gossip",
    "Schema and membership by gossip",
    order=45,
    models={"gossip": "scenario_output:ENTRY", "gossip_join": "scenario_output:JOIN_ENTRY"},
    views={"gossip": "panels.schemas:VIEWS", "gossip_join": "panels.joining:VIEWS"},
    public={
        "lessons": {
            "digest_costs": "lessons.charts:digest_costs",
            "logins": "lessons.tables:logins",
            "overwritten": "lessons.questions:overwritten",
            "same_crash": "lessons.tables:same_crash",
            "same_split": "lessons.tables:same_split",
            "service_level_delays": "lessons.charts:service_level_delays",
        }
    },
)
