"""What the rest of the kit may know of this family."""

from kit.model.family import Family

FAMILY = Family(
    "toy",
    "Leases with numbers",
    order=90,
    models={"lease": "model:ENTRY"},
    views={"lease": "panels:VIEWS"},
    trace_tables={"lease": "trace_rows:ROWS"},
    drills={"lease": "drill:DRILL"},
    tasks=("lessons.tasks",),
    images="panels.images",
)
