"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "twophase",
    "Two-phase commit",
    order=10,
    models={
        "twophase": "entries:ENTRY",
    },
    views={
        "twophase": "panels:VIEWS",
    },
    flows={
        "twophase": "facts.flows:FLOWS",
    },
    tasks=("lessons.tasks",),
    images="panels.images",
)
