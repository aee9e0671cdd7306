"""What the rest of the kit may know of this family."""

from kit.model.family import Family, FileKind, HuntGround

FAMILY = Family(
    "tcm",
    "Transactional Cluster Metadata (CEP-21)",
    order=20,
    models={"tcm": "examples:ENTRY"},
    views={"tcm": "panels:VIEWS", "tcm/log": "dry_run.time_machine:VIEWS"},
    scenario_output={"tcm": "scenario_output:OUTPUT"},
    zooms={"tcm": "facts.zooming:committed_by"},
    trace_tables={"tcm": "spark.trace_rows:ROWS"},
    servers={"tcm": "facts.tools:SERVERS"},
    public={
        "lessons": {
            "lessons.questions": (
                "at_once barrier busiest events late losses misses readers senders sources spread "
                "too_weak victims writers"
            ),
            "lessons.real_log": "behind state_at under_way_at",
            "lessons.shown": "barriers estimates group_sizes meetings ring_picture step_table",
            "lessons.rehearsals": "after before story to_epoch",
        },
        "spark": {
            "spark.charts": "",
            "spark.histories": "history sample",
            "spark.pipelines": "pipeline same_as_engine",
        },
        "": {
            "dry_run.metadata_log": "metadata_history",
            "commands": "survive",
            "lessons.rehearsals": "replay_log what_if",
        },
    },
    drills={"tcm/stuck-operation": "drill:STUCK", "tcm/epoch-lags": "drill:LAG"},
    hunts={
        "tcm": HuntGround(
            "CEP-21",
            "metadata: events, barriers, locks, crashes, cancels",
            ("S-09", "S-10", "S-11", "S-16", "S-17", "S-53", "S-54", "S-55"),
            "tcm.cluster.operations",
            {"cancels": 1, "crashes": 1, "window": 2},
        )
    },
    commands={
        "plan": ("rehearse an operation on a ring (see plan --help)", "commands:plan"),
        "metadata": ("say what a cluster's metadata log contains", "commands:METADATA"),
        "survive": ("say which nodes of a ring must stay up", "commands:SURVIVE"),
    },
    importers=(
        FileKind(
            "a description of a ring",
            "operators.importers.opening:is_ring",
            ("ring", "plan", "survive"),
            "lessons.rehearsals:rehearse",
        ),
        FileKind(
            "a metadata log",
            "operators.importers.metadata_log:is_metadata",
            ("metadata", "explain"),
            "lessons.rehearsals:replay_log",
            "dry_run.explaining:of_log",
        ),
    ),
    tasks=("lessons.tasks", "lessons.real_log"),
    repeats=("spark.simulating:repeated",),
    shrinks=("spark.simulating:shrunk",),
    pipeline_tables=("spark.tables:PIPELINE_TABLES",),
    images="panels.images",
    editions="rules.operations:in_words",
)
