"""What the rest of the kit may know of this family."""

from kit.model.family import Family

FAMILY = Family(
    "twophase",
    "Two-phase commit",
    order=10,
    models={"twophase": "twophase:ENTRY"},
    views={"twophase": "panels:VIEWS"},
    tasks=("lessons",),
    images="panels",
)
