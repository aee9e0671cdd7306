"""What the rest of the kit may know of this family."""

from kit.model.family import Family, HuntGround

FAMILY = Family(
    "cms",
    "The cluster metadata service and its log (CEP-21)",
    order=46,
    models={
        "commit": "commit:ENTRY",
        "cms": "cms:ENTRY",
        "schema": "schema:ENTRY",
        "migration": "migration:ENTRY",
    },
    views={
        "commit": "panels.commit:VIEWS",
        "cms": "panels.members:VIEWS",
        "schema": "panels.schema:VIEWS",
        "migration": "panels.migration:VIEWS",
    },
    scenario_output={
        "commit": "facts.commit:OUTPUT",
        "cms": "facts.members:OUTPUT",
        "schema": "facts.schema:OUTPUT",
    },
    drills={
        "cms/member-lost": "drill:MEMBER_LOST",
        "cms/quorum-lost": "drill:QUORUM_LOST",
        "cms/cms-lost": "drill:CMS_LOST",
    },
    zooms={"commit": "facts.commit:agreed_by"},
    servers={
        "commit": "facts.tools:SUBMITTING",
        "cms": "facts.tools:SERVERS",
        "schema": "facts.tools:ORDERED",
        "migration": "facts.tools:MIGRATING",
    },
    public={
        "lessons": {
            "lessons": (
                "answer_to deciding done_changes fetched finders kept_changes recipients starters "
                "still_able with_log"
            )
        }
    },
    tasks=("lessons",),
    hunts={
        "migration": HuntGround(
            "migration",
            "the migration to the log: versions, switches, who starts it",
            ("S-19", "S-71", "S-72", "S-73"),
            "under_way",
            {"crashes": 1},
        )
    },
    composes=("gossip", "paxos"),
)
