"""What the rest of the kit may know of this family."""

from kit.engine.family import Family, TimedSearch

FAMILY = Family(
    "tablets",
    "Tablets: replicas that move by stages",
    order=80,
    models={
        "tablets": "tracks.entry:ENTRY",
        "resize": "resize.entry:ENTRY",
        "tablet": "requests.entries:ENTRY",
    },
    views={
        "tablets": "panels:TRACKS",
        "tablet": "panels.requests:TABLET",
    },
    flows={
        "tablets": "facts.track_flows:FLOWS",
        "resize": "resize.flows:FLOWS",
        "tablet": "facts.flows:TABLET",
    },
    trace_tables={"tablet": "requests.trace_rows:ROWS"},
    images="panels.images",
    composes=("group0", "storage", "topology"),
    public={
        "spark": {
            "availability": "spark.sizes:availability",
            "balancing": "spark.balancing:balancing",
            "convergence_of": "spark.balancing:convergence_of",
            "tablets": "spark.sizes:tablets",
        },
    },
    pipeline_tables=("spark.tables:TABLET_TABLES",),
    searches=(TimedSearch("data, RF 2, a crash", "tablet", {"rf": 2, "crashes": 1}),),
)
