"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "paxos",
    "Paxos, message by message",
    order=44,
    models={"paxos": "examples:ENTRY"},
    views={"paxos": "panels:VIEWS"},
    scenario_output={"paxos": "facts:OUTPUT"},
)
