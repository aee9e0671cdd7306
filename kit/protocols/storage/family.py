"""What the rest of the kit may know of this family."""

from kit.model.family import Family

FAMILY = Family(
    "storage",
    "Reads and writes of one range while its replicas change",
    order=30,
    images="panels.groups",
)
