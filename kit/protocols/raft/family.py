"""What the rest of the kit may know of this family."""

from kit.model.family import Family, HuntGround

FAMILY = Family(
    "raft",
    "Raft: elections, replication and membership changes",
    order=38,
    models={"raft": "raft:ENTRY", "raft_groups": "groups:ENTRY", "commit_log": "commit_log:ENTRY"},
    views={
        "raft": "panels.raft:VIEWS",
        "raft_groups": "panels.groups:VIEWS",
        "commit_log": "panels.commit_log:VIEWS",
    },
    scenario_output={"raft": "facts:OUTPUT"},
    images="panels.raft",
    public={"lessons": {"lessons": "electable known_to_commit voters"}},
    tasks=("lessons",),
    hunts={
        "raft": HuntGround(
            "Raft",
            "one log: votes, commits, members, reads",
            ("S-32", "S-33", "S-34", "S-35", "S-86", "S-88", "S-94"),
            "requests",
        )
    },
)
