"""What the rest of the kit may know of this family."""

from kit.model.family import Family

FAMILY = Family(
    "worlds",
    "Epochs next to topology over Raft",
    order=100,
    models={"worlds": "entries:ENTRY"},
    views={"worlds": "panels:VIEWS"},
    composes=("cms", "group0", "recovery", "tcm", "topology"),
    commands={
        "side-by-side": ("two databases side by side, step by step", "commands:SIDE_BY_SIDE")
    },
    tasks=("lessons",),
    public={
        "": {"commands": "side_by_side side_by_side_rows"},
        "lessons": {"lessons": "goes_on_in who_is_asked"},
    },
)
