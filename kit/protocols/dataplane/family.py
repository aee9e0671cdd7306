"""What the rest of the kit may know of this family."""

from kit.model.family import Family, HuntGround

FAMILY = Family(
    "dataplane",
    "Reads and writes while a plan of CEP-21 moves their range",
    order=40,
    models={
        "dataplane": "dataplane:ENTRY",
        "coordinator": "dataplane:COORDINATOR",
        "replica": "dataplane:REPLICA",
    },
    views={
        "dataplane": "panels:DATAPLANE",
        "coordinator": "panels:COORDINATOR",
        "replica": "panels:REPLICA",
    },
    servers={"dataplane": "tools:SERVERS"},
    scenario_output={"dataplane": "panels:OUTPUT"},
    trace_tables={"dataplane": "trace_rows:ROWS"},
    public={
        "lessons": {
            "lessons": (
                "program_hears both_worlds crossed enough_answers holders needed not_owned outcome "
                "sent_at"
            )
        }
    },
    # Where the metadata can show it too, requests do.
    hunts={
        "dataplane": HuntGround(
            "CEP-21",
            "requests: a write and a read while the range moves",
            ("S-01", "S-02", "S-03", "S-04", "S-05", "S-06", "S-07", "S-08", "S-18"),
            "tcm.cluster.operations",
            {"cancels": 1},
        )
    },
    tasks=("lessons",),
    composes=("storage", "tcm"),
)
