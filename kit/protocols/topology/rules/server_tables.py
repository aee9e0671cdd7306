"""The transition tables of edition ``server``: the published server.

Where they differ from the documents: tablets are drained before a leaving node's state changes, so
no operation has ``tablet_draining``; removal goes through ``left_token_ring``; a node is ``normal``
again as soon as ``rollback_to_normal`` ends; and where there is no way back, a barrier that failed
is followed by a pause and the next step.
"""

from __future__ import annotations

from kit.protocols.topology.rules.machines import machine

BOOTSTRAPPING = machine(
    "bootstrapping",
    """
    join_group0           | old | old  | add_to_group0 accept:rejected assign_tokens:rollback
    commit_cdc_generation | old | old  | command_barrier:rollback
    write_both_read_old   | old | both | barrier:rollback stream:rollback
    write_both_read_new   | new | both | barrier:proceed
    left_token_ring       | old | old  | barrier:proceed mark_done shut_down:proceed leave_group0
    """,
    """
    * | join_group0 | | happy | becomes:bootstrapping
    join_group0 | left_token_ring | rollback | rollback | version error
    join_group0 | * | rejected | rejected | error done becomes:left
    join_group0 | commit_cdc_generation | | happy | assigns_tokens
    commit_cdc_generation | write_both_read_old | | happy | version opens generation
    commit_cdc_generation | left_token_ring | rollback | rollback | version error
    write_both_read_old | write_both_read_new | streaming completed | happy | version closes
    write_both_read_old | left_token_ring | rollback | rollback | version closes error
    write_both_read_new | * | | happy | version cleanup done becomes:normal
    left_token_ring | * | | happy | drops_tokens becomes:left
    """,
)

REPLACING = machine(
    "replacing",
    """
    join_group0         | old | old  | add_to_group0 accept:rejected copy_tokens:rollback
    write_both_read_old | old | both | barrier:rollback stream:rollback
    write_both_read_new | new | both | barrier:proceed remove_replaced
    left_token_ring     | old | old  | barrier:proceed mark_done shut_down:proceed leave_group0
    """,
    """
    * | join_group0 | | happy | becomes:replacing
    join_group0 | left_token_ring | rollback | rollback | version error
    join_group0 | * | rejected | rejected | error done becomes:left
    join_group0 | write_both_read_old | | happy | version opens copies_tokens
    write_both_read_old | write_both_read_new | streaming completed | happy | version closes
    write_both_read_old | left_token_ring | rollback | rollback | version closes error
    write_both_read_new | * | | happy | version replaced_left done becomes:normal
    left_token_ring | * | | happy | drops_tokens becomes:left
    """,
)


# Who leaves and who is removed go the same way, but for what ends it.
_GOING = """
    write_both_read_old | old | both | barrier:rollback check_drained:rollback stream:rollback
    write_both_read_new | new | both | barrier:proceed
    left_token_ring     | new | new  | barrier:proceed mark_done {}
    rollback_to_normal  | old | old  | barrier:proceed
    """
_WAY = """
    * | write_both_read_old | | happy | version opens becomes:{}
    write_both_read_old | write_both_read_new | streaming completed | happy | version closes
    write_both_read_old | rollback_to_normal | rollback | rollback | version closes error cleanup
    write_both_read_new | left_token_ring | | happy | version drops_tokens
    left_token_ring | * | | happy | becomes:left
    rollback_to_normal | tablet_migration | | happy | done becomes:normal
    """
DECOMMISSIONING = machine(
    "decommissioning",
    _GOING.format("shut_down:proceed leave_group0"),
    _WAY.format("decommissioning"),
)
REMOVING = machine("removing", _GOING.format("leave_group0"), _WAY.format("removing"))

# The one stage has a session, which a command of its own closes before the second barrier;
# a replica that is down ends it with an error, behind the same barrier.
TRUNCATE_TABLE = machine(
    "truncate_table",
    "truncate_table | old | old | barrier truncate:rollback close_session barrier",
    """
    * | truncate_table | | happy | opens
    truncate_table | truncate_table | a replica is down | rollback | closes error
    truncate_table | * | | happy | done
    """,
)

# A resize is finalized where the balancer has no other work. A second barrier, after the state is
# left, has replicas done with the former map before the next plan (published coordinator).
TABLETS = machine(
    "tablets",
    """
    tablet_migration           | old | old | finish_tablets
    tablet_resize_finalization | old | old | barrier
    """,
    """
    * | tablet_migration | | happy | version plans_tablets
    * | tablet_resize_finalization | a resize is ready | happy | version when:resize
    tablet_migration | * | | happy | version
    tablet_resize_finalization | * | the new map is committed | happy | version new_maps
    """,
)

MACHINES = (BOOTSTRAPPING, REPLACING, DECOMMISSIONING, REMOVING, TRUNCATE_TABLE, TABLETS)
