"""What the rest of the kit may know of this family."""

from kit.model.family import Family, HuntGround, TimedSearch

FAMILY = Family(
    "upgrade",
    "Moving to Raft: first the schema, then the topology",
    order=85,
    models={"raft_upgrade": "raft_upgrade:ENTRY", "topology_upgrade": "topology_upgrade:ENTRY"},
    servers={
        "raft_upgrade": "drill.raft_upgrade:SERVERS",
        "topology_upgrade": "drill.topology_upgrade:SERVERS",
    },
    views={"raft_upgrade": "panels.raft:VIEWS", "topology_upgrade": "panels.topology:VIEWS"},
    images="panels",
    public={"lessons": {"lessons": "first_advice missing_from_table upgrade_log upgrade_waits"}},
    hunts={
        "raft_upgrade": HuntGround(
            "upgrade",
            "the Raft upgrade",
            ("S-52", "S-62"),
            "under_way",
            {"changes": 1, "crashes": 1},
        ),
        "topology_upgrade": HuntGround(
            "upgrade", "the topology upgrade", ("S-63",), "under_way", {"crashes": 1}
        ),
    },
    drills={
        "raft_upgrade": "drill.raft_upgrade:DRILL",
        "raft_upgrade/new-cluster": "drill.raft_upgrade:NEW_CLUSTER",
        "raft_upgrade/node-dies-halfway": "drill.raft_upgrade:NODE_DIES",
        "raft_upgrade/schema-never-agrees": "drill.raft_upgrade:NEVER_AGREES",
        "topology_upgrade": "drill.topology_upgrade:DRILL",
        "topology_upgrade/coordinator-dies-halfway": "drill.topology_upgrade:HEIR",
        "topology_upgrade/joined-in-the-old-way": "drill.topology_upgrade:OLD_WAY",
    },
    tasks=("lessons",),
    searches=(
        TimedSearch(
            "Raft upgrade, all faults", "raft_upgrade", {"crashes": 2, "changes": 1, "cuts": 1}
        ),
        TimedSearch(
            "topology upgrade, two joiners", "topology_upgrade", {"joiners": 2, "crashes": 1}
        ),
    ),
    composes=("gossip", "group0"),
)
