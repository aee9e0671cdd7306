"""What the rest of the kit may know of this family."""

from kit.engine.family import Family, FileKind, HuntGround, TimedSearch

FAMILY = Family(
    "tablets",
    "Tablets: replicas that move by stages",
    order=80,
    models={
        "tablets": "tablets:ENTRY",
        "resize": "resize:ENTRY",
        "truncate": "truncate:ENTRY",
        "balance": "balance:ENTRY",
        "tablet": "tablet:ENTRY",
    },
    views={
        "tablets": "panels.tablets:TABLETS",
        "resize": "panels.resize:RESIZE",
        "balance": "panels.balance:BALANCE",
        "truncate": "panels.truncate:TRUNCATE",
        "tablet": "panels.tablet:TABLET",
    },
    scenario_output={"tablet": "panels.tablet:OUTPUT"},
    trace_tables={"tablet": "trace_rows:ROWS", "resize": "spark.resize_rows:ROWS"},
    images="panels.tablets",
    tasks=("lessons.tasks",),
    public={
        "lessons": {
            "against_planner": "lessons.balancing:against_planner",
            "candidates_judged": "lessons.balancing:candidates_judged",
            "decisions": "lessons.balancing:decisions",
            "drain_table": "lessons.dumps:drain_table",
            "goes_to": "lessons.balancing:goes_to",
            "joined": "dry_run.what_if:joined",
            "late_arrives": "lessons.questions:late_arrives",
            "losses_table": "lessons.dumps:losses_table",
            "may_take": "lessons.balancing:may_take",
            "moves_judged": "lessons.balancing:moves_judged",
            "worst_loss": "lessons.dumps:worst_loss",
            "next_stage": "lessons.questions:next_stage",
            "open_tablets": "dry_run.opening:open_tablets",
            "read_from": "lessons.questions:read_from",
            "resize_table": "lessons.dumps:resize_table",
            "resize_wanted": "lessons.balancing:resize_wanted",
            "stage_fails": "lessons.questions:stage_fails",
            "stage_table": "lessons.questions:stage_table",
            "takes_over": "lessons.dumps:takes_over",
            "thresholds": "lessons.balancing:thresholds",
            "to_resize": "lessons.dumps:to_resize",
            "up_again": "dry_run.what_if:up_again",
            "waits_for": "lessons.balancing:waits_for",
            "written_to": "lessons.questions:written_to",
        },
        "spark": {
            "availability": "spark.sizes:availability",
            "balancing": "spark.balancing:balancing",
            "convergence_of": "spark.balancing:convergence_of",
            "size_histogram": "spark.charts:size_histogram",
            "size_spread": "spark.resize_rows:size_spread",
            "tablets": "spark.sizes:tablets",
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
        ),
        "resize": HuntGround(
            "tablets", "sizes: splits and merges", ("S-43", "S-44", "S-45"), "title"
        ),
    },
    composes=("group0", "storage", "topology"),
    pipeline_tables=("spark.sizes:TABLET_TABLES",),
    importers=(
        FileKind(
            "a dump of system.tablets",
            "operators.importers.tablet_tables:is_tablets",
            ("tablets",),
            "dry_run.player:rehearse",
        ),
        FileKind(
            "a dump of system.tablet_sizes",
            "operators.importers.tablet_tables:is_sizes",
            ("tablets DUMP --sizes",),
        ),
        FileKind(
            "a schema in CQL",
            "operators.importers.schema:is_schema",
            ("tablets DUMP --schema",),
        ),
        FileKind(
            "a dump of system.load_per_node",
            "operators.importers.tablet_tables:is_loads",
            ("tablets DUMP --loads",),
        ),
    ),
    commands={
        "tablets": (
            "say what the balancer would do next on a dump of system.tablets, and what if",
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
