"""What the rest of the kit may know of this family."""

from kit.model.family import Family, FileKind, HuntGround, TimedSearch

FAMILY = Family(
    "topology",
    "Topology over group 0",
    order=60,
    models={"topology": "topology:ENTRY", "join": "join:ENTRY"},
    scenario_output={"join": "panels.joining:OUTPUT"},
    servers={"topology": "facts:SERVERS"},
    views={
        "topology": "panels:VIEWS",
        "join": "panels.joining:VIEWS",
        "topology/journal": "dry_run.journal:VIEWS",
    },
    trace_tables={"topology": "trace_rows:ROWS", "join": "trace_rows:JOIN_ROWS"},
    tasks=("lessons.coordinator", "lessons.joining"),
    importers=(
        FileKind(
            "a dump of system.topology",
            "operators.importers.system_tables:is_topology",
            ("topology", "explain"),
            explainer="dry_run.series:of_dumps",
        ),
        FileKind(
            "a dump of system.topology_requests",
            "operators.importers.system_tables:is_requests",
            ("topology DUMP --requests",),
        ),
        FileKind(
            "a coordinator's journal",
            "operators.importers.topology_journals:is_journal",
            ("topology", "explain"),
            explainer="dry_run.explaining:of_journals",
        ),
    ),
    images="panels.states",
    editions="rules.editions:in_words",
    # Without S-53 a cluster rests where it may not; S-58 is redundant.
    hunts={
        "topology": HuntGround(
            "group 0",
            "the coordinator: barriers, sessions, cleanup, failures",
            ("S-20", "S-21", "S-24", "S-26", "S-28", "S-40", "S-41", "S-56", "S-59", "S-60"),
            "parameters.operations",
            silent=("S-53", "S-58"),
        )
    },
    composes=("group0",),
    searches=(
        TimedSearch(
            "control, join D, a crash",
            "topology",
            {"operations": ("join D",), "crashes": 1},
            symmetry=True,
        ),
    ),
    public={
        "lessons": {
            "lessons.coordinator": (
                "after_failure barrier_waits failure_grid machine_table next_transition "
                "of_the_deposed"
            ),
            "lessons.joining": "checks_table next_request who_decides",
        },
        "spark": {"spark": "clusters coverage_of steps_of"},
        "": {
            "commands": "replay_journal",
            "dry_run.history": "topology_history",
            "dry_run.report": "coordinator",
        },
    },
    drills={"topology/stuck-barrier": "drill:DRILL"},
    commands={
        "topology": (
            "show what a coordinator would do next, from a dump of system.topology",
            "commands:TOPOLOGY",
        ),
        "releases": ("show where releases of the server differ", "commands:RELEASES"),
    },
)
