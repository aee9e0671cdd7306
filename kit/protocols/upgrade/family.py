"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "upgrade",
    "Into Raft: schema first, topology afterwards",
    order=85,
    models={"raft_upgrade": "raft.entry:ENTRY"},
    views={"raft_upgrade": "panels:RAFT"},
    flows={"raft_upgrade": "facts.flows:FLOWS"},
    composes=("group0",),
)
