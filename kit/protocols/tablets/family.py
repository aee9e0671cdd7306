"""What the rest of the kit may know of this family."""

from kit.model.family import Family, FileKind, HuntGround, TimedSearch

FAMILY = Family(
    "tablets",
    "Tablets: replicas that move in stages",
    order=80,
    models={
        "tablets": "tablets:ENTRY",
        "resize": "resize:ENTRY",
        "truncate": "truncate:ENTRY",
        "balance": "balance:ENTRY",
        "tablet": "tablet:ENTRY",
    },
    servers={"tablets": "facts.tablets:SERVERS", "tablet": "facts.tablets:TABLET_SERVERS"},
    views={
        "tablets": "panels.tablets:TABLETS",
        "resize": "panels.resize:RESIZE",
        "balance": "panels.balance:BALANCE",
        "truncate": "panels.truncate:TRUNCATE",
        "tablet": "panels.tablet:TABLET",
        "tablets/series": "dry_run.series:VIEWS",
    },
    scenario_output={"tablet": "panels.tablet:OUTPUT"},
    trace_tables={"tablet": "spark.resize_rows:REQUESTS", "resize": "spark.resize_rows:ROWS"},
    images="panels.tablets",
    editions="rules.stages:in_words",
    tasks=("lessons.tasks", "lessons.stories", "lessons.rebuilding"),
    public={
        "": {"lessons.dumps": "replay_snapshots"},
        "lessons": {
            "dry_run.opening": "open_tablets",
            "dry_run.what_if": "given_up joined up_again",
            "lessons.balancing": (
                "against_planner candidates_judged decisions goes_to may_take "
                "moves_judged resize_wanted thresholds waits_for"
            ),
            "lessons.dumps": (
                "drain_table losses_table resize_table takes_over to_resize worst_loss"
            ),
            "lessons.stories": "how_it_ends",
            "lessons.rebuilding": "comes_from may_be_lost skipped_by_repair",
            "lessons.questions": (
                "late_arrives next_stage read_from stage_fails stage_table written_to"
            ),
        },
        "spark": {
            "spark.balancing": "balancing convergence_of",
            "spark.resize_rows": "size_spread",
            "spark.sizes": "availability size_histogram tablets",
        },
    },
    # S-24 and S-57 of requests need requests of their own, which would give them away.
    hunts={
        "tablets": HuntGround(
            "tablets",
            "the coordinator: stages, sessions, drains",
            ("S-24", "S-25", "S-26", "S-27", "S-59"),
            "parameters.kinds",
        ),
        "tablet": HuntGround(
            "tablets",
            "requests: writes and reads while a tablet moves",
            ("S-20", "S-21", "S-22", "S-23", "S-25", "S-46", "S-61"),
            "parameters.requests",
            {"requests": ("K1 write QUORUM", "K2 read QUORUM")},
        ),
        "resize": HuntGround(
            "tablets", "sizes: splits and merges", ("S-43", "S-44", "S-45"), "title"
        ),
    },
    composes=("group0", "storage", "topology"),
    pipeline_tables=("spark.sizes:TABLET_TABLES",),
    importers=(
        FileKind(
            "a snapshot of scylla-tablets",
            "operators.importers.snapshots:is_listing",
            ("tablets", "topology", "explain"),
            "lessons.dumps:rehearse",
            "dry_run.explaining:of_snapshots",
        ),
        FileKind(
            "a dump of system.tablets",
            "operators.importers.system_tables:is_tablets",
            ("tablets", "explain"),
            "lessons.dumps:rehearse",
            "dry_run.explaining:of_snapshots",
        ),
        FileKind(
            "a dump of system.tablet_sizes",
            "operators.importers.system_tables:is_sizes",
            ("tablets DUMP --sizes",),
        ),
        FileKind(
            "a schema in CQL", "operators.importers.schema:is_schema", ("tablets DUMP --schema",)
        ),
        FileKind(
            "a dump of system.load_per_node",
            "operators.importers.system_tables:is_loads",
            ("tablets DUMP --loads",),
        ),
    ),
    commands={
        "tablets": (
            "say what the balancer would do next with a dump of system.tablets, and what if",
            "commands:tablets",
        )
    },
    searches=(
        TimedSearch(
            "control, a move, a crash",
            "tablets",
            {"nodes": 4, "tablets": ("A B C",), "crashes": 1, "exclusions": 1},
        ),
        # In edition ``documents`` a crash may lead back to cleanup_target, its listed exception.
        TimedSearch("data, a crash", "tablet", {"rf": 1, "crashes": 1, "edition": "server"}),
    ),
)
