"""What the rest of the kit may know of this family."""

from kit.engine.family import Family, FileKind

FAMILY = Family(
    "tablets",
    "Tablets: replicas that move by stages",
    order=80,
    images="panels.images",
    models={"tablets": "tracks.entry:ENTRY"},
    flows={"tablets": "tracks.flows:FLOWS"},
    composes=("group0", "storage", "topology"),
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
)
