"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "raft",
    "Raft: elections, replication and changes of members",
    order=38,
    models={"raft": "raft:ENTRY", "raft_groups": "groups:ENTRY", "commit_log": "commit_log:ENTRY"},
    views={"raft_groups": "panels.groups:VIEWS", "commit_log": "panels.commit_log:VIEWS"},
    images="panels.interfaces",
)
