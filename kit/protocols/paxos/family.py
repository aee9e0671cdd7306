"""What the rest of the kit may know of this family."""

from kit.model.family import Family

FAMILY = Family(
    "paxos",
    "Paxos, message by message",
    order=44,
    models={"paxos": "paxos:ENTRY"},
    views={"paxos": "panels:VIEWS"},
    public={"lessons": {"lessons": "reply_to proposal possible_values"}},
    tasks=("lessons",),
    scenario_output={"paxos": "facts:OUTPUT"},
)
