"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "raft",
    "Raft: elections, replication and changes of members",
    order=38,
    models={"raft": "raft:ENTRY", "commit_log": "commit_log:ENTRY"},
    views={"raft": "panels.raft:VIEWS", "commit_log": "panels.commit_log:VIEWS"},
    scenario_output={"raft": "facts:OUTPUT", "commit_log": "commit_log:OUTPUT"},
    images="panels.interfaces",
    public={"lessons": {"lessons": "electable known_to_commit stepped voters"}},
    tasks=("lessons",),
)
