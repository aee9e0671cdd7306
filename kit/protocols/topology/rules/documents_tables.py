"""The transition tables of edition ``documents``: the documents, edge for edge.

Source: Topology over Raft, "State transition diagram for nodes", "Zero-token nodes"; read by Q-12,
Q-13 (a replace drains running tablet transitions and moves no replica), Q-23 (the session of vnode
streaming), Q-24 (without an edge for it, failed work is tried again) and Q-37 (a failed rebuild).
"""

from __future__ import annotations

from kit.protocols.topology.rules.machines import machine

BOOTSTRAPPING = machine(
    "bootstrapping",
    """
    join_group0           | old | old  | add_to_group0 accept:rejected assign_tokens:rollback
    commit_cdc_generation | old | old  | command_barrier:rollback
    write_both_read_old   | old | both | barrier:rollback stream:rollback
    write_both_read_new   | new | both | barrier
    left_token_ring       | old | old  | barrier shut_down:proceed leave_group0
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
    left_token_ring | * | | happy | drops_tokens done becomes:left
    """,
)

REPLACING = machine(
    "replacing",
    """
    join_group0         | old | old  | add_to_group0 accept:rejected copy_tokens:rollback
    tablet_draining     | old | old  | plan_drain:rollback finish_tablets:rollback
    write_both_read_old | old | both | barrier:rollback stream:rollback
    write_both_read_new | new | both | barrier
    left_token_ring     | old | old  | barrier shut_down:proceed leave_group0
    """,
    """
    * | join_group0 | | happy | becomes:replacing
    join_group0 | left_token_ring | rollback | rollback | version error
    join_group0 | tablet_draining | | happy | copies_tokens
    tablet_draining | write_both_read_old | | happy | version opens
    tablet_draining | left_token_ring | rollback | rollback | version error
    join_group0 | * | rejected | rejected | error done becomes:left
    write_both_read_old | write_both_read_new | streaming completed | happy | version closes
    write_both_read_old | left_token_ring | rollback | rollback | version closes error
    write_both_read_new | * | | happy | version replaced_left done becomes:normal
    left_token_ring | * | | happy | drops_tokens done becomes:left
    """,
)

DECOMMISSIONING = machine(
    "decommissioning",
    """
    tablet_draining     | old | old  | drain_tablets:rollback
    write_both_read_old | old | both | barrier:rollback stream:rollback
    write_both_read_new | new | both | barrier
    left_token_ring     | new | new  | barrier shut_down:proceed leave_group0
    rollback_to_normal  | old | old  | barrier
    tablet_migration    | old | old  | finish_tablets
    """,
    """
    * | tablet_draining | | happy | drains_tablets becomes:decommissioning
    tablet_draining | rollback_to_normal | rollback | rollback | version error
    rollback_to_normal | tablet_migration | | happy |
    tablet_draining | write_both_read_old | | happy | version opens
    tablet_migration | * | | happy | done becomes:normal
    write_both_read_old | write_both_read_new | streaming completed | happy | version closes
    write_both_read_old | rollback_to_normal | rollback | rollback | version closes error cleanup
    write_both_read_new | left_token_ring | | happy | version drops_tokens
    left_token_ring | * | | happy | done becomes:left
    """,
)

REMOVING = machine(
    "removing",
    """
    tablet_draining     | old | old  | drain_tablets:rollback
    write_both_read_old | old | both | barrier:rollback stream:rollback
    write_both_read_new | new | both | barrier leave_group0
    rollback_to_normal  | old | old  | barrier
    tablet_migration    | old | old  | finish_tablets
    """,
    """
    * | tablet_draining | | happy | drains_tablets becomes:removing
    tablet_draining | rollback_to_normal | rollback | rollback | version error
    rollback_to_normal | tablet_migration | | happy |
    tablet_migration | * | | happy | done becomes:normal
    tablet_draining | write_both_read_old | | happy | version opens
    write_both_read_old | write_both_read_new | streaming completed | happy | version closes
    write_both_read_old | rollback_to_normal | rollback | rollback | version closes error cleanup
    write_both_read_new | * | | happy | version drops_tokens done becomes:left
    """,
)

# The one stage is implicit: the transition state stays null, and a session is set;
# a replica that is down ends it with an error, behind the same barrier.
TRUNCATE_TABLE = machine(
    "truncate_table",
    "| old | old | barrier truncate:rollback close_session barrier",
    """
    * | | | happy | opens
    | | a replica is down | rollback | closes error
    | * | | happy | done
    """,
)

# The tablet track as one piece of work; its stages are another family's. It is left for the
# finalization of a resize, in which no tablet moves ("Tablet splitting", "Tablet merging").
TABLETS = machine(
    "tablets",
    """
    tablet_migration           | old | old | finish_tablets
    tablet_resize_finalization | old | old | barrier
    """,
    """
    * | tablet_migration | | happy | version plans_tablets
    tablet_migration | * | | happy | version
    tablet_migration | tablet_resize_finalization | a resize is ready | happy | version when:resize
    tablet_resize_finalization | * | the new map is committed | happy | version new_maps
    """,
)

MACHINES = (BOOTSTRAPPING, REPLACING, DECOMMISSIONING, REMOVING, TRUNCATE_TABLE, TABLETS)
