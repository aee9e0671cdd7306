"""The stages of tablet transitions of edition ``documents``: the documents, edge for edge.

Source: Topology over Raft, "Tablet transitions" and its two diagrams; read by Q-07
(``rebuild_repair`` stands before ``streaming``), Q-08 (the selectors of a stage), Q-09 (what is
counted where ``write_both_read_new`` fails), Q-23 (which stages need a session) and Q-24 (without
an edge for it, failed work is tried again; a failed repair ends all the same).
"""

from __future__ import annotations

from kit.protocols.topology.rules.machines import machine

_MOVING_STATES = """
    allow_write_both_read_old | old | old  | barrier:rollback
    write_both_read_old       | old | both | barrier:rollback
    streaming                 | old | both | stream:rollback
    write_both_read_new       | new | both | barrier:rollback
    use_new                   | new | new  | barrier
    cleanup                   | new | new  | cleanup_leaving
    end_migration             | new | new  | barrier
    cleanup_target            | old | old  | barrier cleanup_pending
    revert_migration          | old | old  | barrier
"""
_MOVING_EDGES = """
    * | allow_write_both_read_old | | happy | version
    allow_write_both_read_old | write_both_read_old | | happy | version
    write_both_read_old | streaming | | happy | version opens
    streaming | write_both_read_new | | happy | version closes
    write_both_read_new | use_new | | happy | version
    use_new | cleanup | | happy | version
    cleanup | end_migration | | happy | version
    end_migration | * | | happy | version replaces
    allow_write_both_read_old | cleanup_target | error | rollback | version
    write_both_read_old | cleanup_target | error | rollback | version
    streaming | cleanup_target | error | rollback | version closes
    write_both_read_new | use_new | error, more new replicas | proceed | version when:more_new
    write_both_read_new | cleanup_target | error, more old replicas | rollback \
        | version when:more_old
    cleanup_target | revert_migration | | happy | version
    revert_migration | * | | happy | version
"""
_REBUILD_REPAIR = "rebuild_repair | old | both | repair:rollback\n    "

MIGRATION = machine("migration", _MOVING_STATES, _MOVING_EDGES)
INTRANODE_MIGRATION = machine("intranode_migration", _MOVING_STATES, _MOVING_EDGES)
REBUILD = machine("rebuild", _MOVING_STATES, _MOVING_EDGES)
# Both of its stages with work need a session, and each has a new one.
REBUILD_V2 = machine(
    "rebuild_v2",
    _MOVING_STATES.replace("streaming  ", f"{_REBUILD_REPAIR}streaming  "),
    _MOVING_EDGES.replace(
        "write_both_read_old | streaming | | happy | version opens",
        """write_both_read_old | rebuild_repair | | happy | version opens
    rebuild_repair | streaming | | happy | version opens
    rebuild_repair | cleanup_target | error | rollback | version closes""",
    ),
)
REPAIR = machine(
    "repair",
    """
    repair     | old | old | repair:proceed
    end_repair | old | old | barrier
    """,
    """
    * | repair | | happy | version opens
    repair | end_repair | | happy | version closes
    end_repair | * | | happy | version
    """,
)
