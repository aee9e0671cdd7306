"""What the rest of the kit may know of this family."""

from kit.engine.family import Family, FileKind, TimedSearch

FAMILY = Family(
    "tablets",
    "Tablets: replicas that move by stages",
    order=80,
    models={
        "tablets": "tracks.entry:ENTRY",
        "resize": "resize.entry:ENTRY",
        "truncate": "truncate.entry:ENTRY",
        "balance": "balancing.entry:ENTRY",
        "tablet": "requests.entries:ENTRY",
    },
    views={
        "tablets": "panels:TRACKS",
        "resize": "panels:RESIZE",
        "balance": "panels:BALANCE",
        "tablet": "panels.requests:TABLET",
    },
    flows={
        "tablets": "facts.track_flows:FLOWS",
        "resize": "facts.resizing:FLOWS",
        "truncate": "truncate.flows:FLOWS",
        "balance": "facts.balancing:FLOWS",
        "tablet": "facts.flows:TABLET",
    },
    trace_tables={
        "tablet": "requests.trace_rows:ROWS",
        "resize": "spark.resize_rows:ROWS",
    },
    images="panels.images",
    tasks=(
        "lessons.tasks",
        "lessons.tasks_requests",
        "lessons.tasks_balancing",
    ),
    public={
        "lessons": {
            "against_planner": "lessons.balancing:against_planner",
            "candidates_judged": "lessons.balancing:candidates_judged",
            "decisions": "lessons.resizing:decisions",
            "goes_to": "lessons.balancing:goes_to",
            "late_arrives": "lessons.questions:late_arrives",
            "may_take": "lessons.balancing:may_take",
            "moves_judged": "lessons.balancing:moves_judged",
            "next_stage": "lessons.questions:next_stage",
            "read_from": "lessons.questions:read_from",
            "resize_wanted": "lessons.resizing:resize_wanted",
            "stage_fails": "lessons.questions:stage_fails",
            "stage_table": "lessons.tables:stage_table",
            "thresholds": "lessons.resizing:thresholds",
            "waits_for": "lessons.resizing:waits_for",
            "written_to": "lessons.questions:written_to",
        },
        "spark": {
            "availability": "spark.sizes:availability",
            "balancing": "spark.balancing:balancing",
            "convergence_of": "spark.balancing:convergence_of",
            "size_spread": "spark.resize_rows:size_spread",
            "tablets": "spark.sizes:tablets",
        },
    },
    composes=("group0", "storage", "topology"),
    pipeline_tables=("spark.tables:TABLET_TABLES",),
    importers=(
        FileKind(
            "a dump of system.tablets",
            "operators.importers.tablet_tables:is_tablets",
            ("tablets",),
        ),
        FileKind(
            "a dump of system.tablet_sizes",
            "operators.importers.tablet_tables:is_sizes",
            ("tablets DUMP --sizes",),
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
            "commands.tablets:tablets",
        ),
    },
    searches=(
        TimedSearch(
            "control, a move, a crash",
            "tablets",
            {"nodes": 4, "tablets": ("A B C",), "crashes": 1, "exclusions": 1},
        ),
        TimedSearch("data, RF 2, a crash", "tablet", {"rf": 2, "crashes": 1}),
    ),
)
