"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "topology",
    "Topology over group 0",
    order=60,
    models={
        "topology": "entries:ENTRY",
    },
    flows={
        "topology": "facts.flows:FLOWS",
    },
    composes=("group0",),
)
