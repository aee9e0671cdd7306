"""What the rest of the kit may know of this family."""

from kit.engine.family import Family, HuntGround

FAMILY = Family(
    "group0",
    "Group 0: one log for all metadata",
    order=40,
    models={"group0": "scenario_output:ENTRY", "discovery": "discovery:ENTRY"},
    views={"group0": "panels.group0:VIEWS", "discovery": "panels.discovery:VIEWS"},
    public={
        "lessons": {
            "effective": "lessons.questions:effective",
            "founders": "lessons.questions:founders",
            "schema_costs": "lessons.charts:schema_costs",
        }
    },
    trace_tables={"group0": "trace_rows:ROWS"},
    tasks=("lessons.tasks",),
    # S-59 breaks by the same runs as S-30.
    hunts={
        "group0": HuntGround(
            "group 0",
            "the log: guards, retries, a deposed leader, schema on requests",
            ("S-29", "S-30", "S-31", "S-51"),
            "parameters.operations",
        )
    },
)
