"""What the rest of the kit may know of this family."""

from kit.model.family import Family, HuntGround, TimedSearch

FAMILY = Family(
    "vnodes",
    "Reads and writes while the topology coordinator changes the ring",
    order=70,
    models={"vnodes": "vnodes:ENTRY"},
    views={"vnodes": "panels:VNODES"},
    servers={"vnodes": "tools:SERVERS"},
    scenario_output={"vnodes": "panels:OUTPUT"},
    trace_tables={"vnodes": "trace_rows:ROWS"},
    public={"lessons": {"lessons": "late_copy refusers"}},
    tasks=("lessons",),
    # The search for what misses S-57 takes too long for a class.
    hunts={
        "vnodes": HuntGround(
            "group 0",
            "requests: writes and reads while the coordinator moves their range",
            ("S-05", "S-06", "S-07", "S-08", "S-20", "S-21", "S-28", "S-60"),
            "parameters.operation",
        )
    },
    composes=("storage", "topology"),
    searches=(TimedSearch("data, RF 2, a crash", "vnodes", {"nodes": 3, "rf": 2, "crashes": 1}),),
)
