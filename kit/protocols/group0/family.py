"""What the rest of the kit may know of this family."""

from kit.model.family import Family, HuntGround

FAMILY = Family(
    "group0",
    "Group 0: one log for all metadata",
    order=40,
    models={"group0": "group0:ENTRY", "discovery": "discovery:ENTRY"},
    views={"group0": "panels:VIEWS", "discovery": "panels:DISCOVERY_VIEWS"},
    images="panels",
    scenario_output={"group0": "facts:OUTPUT"},
    zooms={"group0": "facts:brought_by_raft"},
    public={"lessons": {"lessons": "effective founders schema_costs"}},
    trace_tables={"group0": "trace_rows:ROWS"},
    tasks=("lessons",),
    # S-59 breaks by the same runs as S-30.
    hunts={
        "group0": HuntGround(
            "group 0",
            "the log: guards, retries, a deposed leader, the schema in requests",
            ("S-29", "S-30", "S-31", "S-51"),
            "parameters.operations",
        )
    },
)
