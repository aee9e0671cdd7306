"""What the rest of the kit may know of this family."""

from kit.model.family import Family, FileKind, HuntGround, TimedSearch

FAMILY = Family(
    "recovery",
    "Losing and regaining the majority",
    order=90,
    models={"recovery": "recovery:ENTRY", "recovery_mode": "recovery_mode:ENTRY",
            "failures": "failures:ENTRY"},
    servers={"recovery": "drill.recovery:SERVERS", "recovery_mode": "drill.recovery_mode:SERVERS"},
    views={"recovery": "panels.recovery:VIEWS", "recovery_mode": "panels.recovery:MODE_VIEWS",
           "failures": "panels.failures:VIEWS"},
    commands={
        "recover": (
            "advise on a cluster that lost nodes: which procedure, which leader, what is lost",
            "commands:RECOVER",
        )
    },
    importers=(
        FileKind("a description of a cluster that lost nodes",
                 "protocols.recovery.dry_run:is_description", ("recover",)),
        FileKind("a dump of system.topology",
                 "operators.importers.system_tables:is_topology", ("recover",)),
    ),
    searches=(
        TimedSearch(
            "manual's order, a crash, a return",
            "recovery",
            {"edition": "server", "commit_indexes": (1, 2, 2, 2, 2), "dead": "C D E",
             "operation": True, "crashes": 1, "returns": 1, "changes": 1},
        ),
    ),
    drills={
        "recovery": "drill.recovery:DRILL",
        "recovery/majority-lives": "drill.recovery:NODES_ARE_DEAD",
        "recovery_mode": "drill.recovery_mode:DRILL",
    },
    hunts={
        "recovery": HuntGround("recovery", "an operator regains a majority",
                               ("S-47", "S-48", "S-49", "S-50"), "under_way")
    },
    tasks=("lessons",),
    public={
        "": {"orders": "order_harm recovery_orders"},
        "lessons": {
            "lessons": "failures_table hears if_led may_lead must_return orders_table "
            "runs_after_restart sides_possible starts_in still_possible votes_now walks_graded"
        },
        "spark": {"spark": "dead_nodes description"},
    },
    repeats=("spark:opened",),
    pipeline_tables=("spark:TABLES",),
    composes=("group0", "storage", "topology"),
)  # fmt: skip
