"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "tablets",
    "Tablets: replicas that move by stages",
    order=80,
    images="panels.images",
    tasks=("lessons.tasks",),
    public={
        "lessons": {
            "late_arrives": "lessons.questions:late_arrives",
            "next_stage": "lessons.questions:next_stage",
            "read_from": "lessons.questions:read_from",
            "stage_fails": "lessons.questions:stage_fails",
            "stage_table": "lessons.tables:stage_table",
            "written_to": "lessons.questions:written_to",
        },
    },
    models={"tablets": "tracks.entry:ENTRY"},
    views={"tablets": "panels:TRACKS"},
    flows={"tablets": "facts.track_flows:FLOWS"},
    composes=("group0", "storage", "topology"),
)
