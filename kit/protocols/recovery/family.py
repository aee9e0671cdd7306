"""What the rest of the kit may know of this family."""

from kit.engine.family import Family

FAMILY = Family(
    "recovery",
    "Losing and regaining the majority",
    order=90,
    commands={
        "recover": (
            "advise on a cluster that lost nodes: which procedure, which leader, what is lost",
            "commands.recover:recover",
        ),
    },
    composes=("group0", "storage", "topology"),
)
