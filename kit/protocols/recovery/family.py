"""What the rest of the kit may know of this family."""

from kit.engine.family import Family, FileKind, TimedSearch

FAMILY = Family(
    "recovery",
    "Losing and regaining the majority",
    order=90,
    models={"recovery": "entries:ENTRY", "recovery_mode": "old.entry:ENTRY"},
    views={"recovery": "panels:VIEWS", "recovery_mode": "panels.recovery_mode:VIEWS"},
    flows={"recovery": "facts.flows:FLOWS", "recovery_mode": "facts.old_flows:FLOWS"},
    public={"": {"order_harm": "old.harm:order_harm"}},
    commands={
        "recover": (
            "advise on a cluster that lost nodes: which procedure, which leader, what is lost",
            "commands.recover:recover",
        ),
    },
    importers=(
        FileKind(
            "a description of a cluster that lost nodes",
            "protocols.recovery.dry_run.opening:is_description",
            ("recover",),
        ),
        FileKind(
            "a dump of system.topology",
            "operators.importers.topology_tables:is_topology",
            ("recover",),
        ),
    ),
    searches=(
        TimedSearch(
            "manual's order, a crash, a return",
            "recovery",
            {
                "edition": "code",
                "commit_indexes": (1, 2, 2, 2, 2),
                "dead": "C D E",
                "operation": True,
                "crashes": 1,
                "returns": 1,
                "changes": 1,
            },
        ),
    ),
    composes=("group0", "storage", "topology"),
)
