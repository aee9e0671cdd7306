"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "tablets",
    "Tablets: replicas that move by stages",
    order=80,
    images="panels.images",
    models={"tablets": "tracks.entry:ENTRY"},
    flows={"tablets": "tracks.flows:FLOWS"},
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
)
