"""The stages of tablet transitions of edition ``server``: the published server.

Where they differ from the documents: ``write_both_read_new`` is left backwards by way of
``write_both_read_old_fallback_cleanup``, so that reads go back before writes do; within a node it
is never left backwards. A failure leads back only where a participant is excluded, else the work is
tried again; so is the barrier of ``write_both_read_new``, without which no tablet goes on (besides,
streaming is given up on a full disk or for the sake of a node that leaves).
The session is opened with ``write_both_read_old``, which saves a barrier, and one session serves
``rebuild_repair`` and ``streaming``. The stage and kind ``restore`` are not played.

Source: the published topology coordinator and its tablet map.
"""

from __future__ import annotations

from kit.protocols.topology.rules.machines import machine

_MOVING_STATES = """
    allow_write_both_read_old            | old | old  | barrier:rollback
    write_both_read_old                  | old | both | barrier:rollback
    streaming                            | old | both | stream:rollback
    write_both_read_new                  | new | both | barrier:rollback
    use_new                              | new | new  | barrier
    cleanup                              | new | new  | cleanup_leaving
    end_migration                        | new | new  | barrier
    write_both_read_old_fallback_cleanup | old | both | barrier
    cleanup_target                       | old | old  | barrier cleanup_pending
    revert_migration                     | old | old  | barrier
"""
_MOVING_EDGES = """
    * | allow_write_both_read_old | | happy | version
    allow_write_both_read_old | write_both_read_old | | happy | version opens
    write_both_read_old | streaming | | happy | version
    streaming | write_both_read_new | | happy | version closes
    write_both_read_new | use_new | | happy | version
    use_new | cleanup | | happy | version
    cleanup | end_migration | | happy | version
    end_migration | * | | happy | version replaces
    allow_write_both_read_old | cleanup_target | error | rollback | version when:excluded
    write_both_read_old | cleanup_target | error | rollback | version closes when:excluded
    streaming | cleanup_target | error | rollback | version closes when:excluded
    write_both_read_new | write_both_read_old_fallback_cleanup | error, more new replicas excluded \
        | rollback | version when:more_new_excluded
    write_both_read_old_fallback_cleanup | cleanup_target | | happy | version
    cleanup_target | revert_migration | | happy | version
    revert_migration | * | | happy | version
"""
_REBUILD_REPAIR = "rebuild_repair | old | both | repair:rollback\n    "


def _without_fallback(table: str) -> str:
    lines = table.splitlines()
    return "\n".join(line for line in lines if "fallback_cleanup" not in line)


MIGRATION = machine("migration", _MOVING_STATES, _MOVING_EDGES)
INTRANODE_MIGRATION = machine(
    "intranode_migration", _without_fallback(_MOVING_STATES), _without_fallback(_MOVING_EDGES)
)
REBUILD = machine("rebuild", _MOVING_STATES, _MOVING_EDGES)
REBUILD_V2 = machine(
    "rebuild_v2",
    _MOVING_STATES.replace("streaming  ", f"{_REBUILD_REPAIR}streaming  "),
    _MOVING_EDGES.replace(
        "write_both_read_old | streaming | | happy | version",
        """write_both_read_old | rebuild_repair | | happy | version
    rebuild_repair | streaming | | happy | version
    rebuild_repair | cleanup_target | error | rollback | version closes when:excluded""",
    ),
)
REPAIR = machine(
    "repair",
    """
    repair     | old | old | repair:proceed
    end_repair | old | old | barrier compaction_control
    """,
    """
    * | repair | | happy | version opens
    repair | end_repair | | happy | version closes repaired
    repair | end_repair | error | proceed | version closes
    end_repair | * | | happy | version
    """,
)
