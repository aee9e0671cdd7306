"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "tablets",
    "Tablets: replicas that move by stages",
    order=80,
    images="panels.images",
    models={"tablets": "tracks.entry:ENTRY", "resize": "resize.entry:ENTRY"},
    flows={"tablets": "tracks.flows:FLOWS", "resize": "resize.flows:FLOWS"},
    composes=("group0", "storage", "topology"),
)
