"""Both editions of the transition tables by name, each row written once.

Below a machine's name stand its states, then its edges (``rules.machines`` says which columns).
A row that begins with ``D`` is in edition ``documents`` alone: that is what they say, edge for
edge. One that begins with ``S`` is in edition ``server`` alone, one with ``N`` in its releases from
2026.1 on, and one with ``O`` in those before. From 2026.1 on, tablets are drained before a leaving
node's state changes, so no operation has ``tablet_draining``. On servers, removal goes through
``left_token_ring``; a node is ``normal`` again as soon as ``rollback_to_normal`` ends; and where
there is no way back, a barrier that failed is followed by a pause and the next step.
Sources: Topology over Raft, "State transition diagram for nodes", "Zero-token nodes"; read by Q-12,
Q-13 (a replace drains running tablet transitions and moves no replica), Q-23 (the session of vnode
streaming), Q-24 (without an edge for it, failed work is tried again) and Q-37 (a failed rebuild);
published coordinator.
"""

from collections.abc import Iterator

from kit.protocols.topology.rules import machines

TABLES = """
bootstrapping
  join_group0           | old | old  | add_to_group0 accept:rejected assign_tokens:rollback
  commit_cdc_generation | old | old  | command_barrier:rollback
  write_both_read_old   | old | both | barrier:rollback stream:rollback
D write_both_read_new   | new | both | barrier
S write_both_read_new   | new | both | barrier:proceed
D left_token_ring       | old | old  | barrier shut_down:proceed leave_group0
S left_token_ring       | old | old  | barrier:proceed mark_done shut_down:proceed leave_group0
  * | join_group0 | | happy | becomes:bootstrapping
  join_group0 | left_token_ring | rollback | rollback | version error
  join_group0 | * | rejected | rejected | error done becomes:left
  join_group0 | commit_cdc_generation | | happy | assigns_tokens
  commit_cdc_generation | write_both_read_old | | happy | version opens generation
  commit_cdc_generation | left_token_ring | rollback | rollback | version error
  write_both_read_old | write_both_read_new | streaming completed | happy | version closes
  write_both_read_old | left_token_ring | rollback | rollback | version closes error
  write_both_read_new | * | | happy | version cleanup done becomes:normal
D left_token_ring | * | | happy | drops_tokens done becomes:left
S left_token_ring | * | | happy | drops_tokens becomes:left

replacing
  join_group0         | old | old  | add_to_group0 accept:rejected copy_tokens:rollback
DO tablet_draining    | old | old  | plan_drain:rollback finish_tablets:rollback
  write_both_read_old | old | both | barrier:rollback stream:rollback
D write_both_read_new | new | both | barrier
S write_both_read_new | new | both | barrier:proceed remove_replaced
D left_token_ring     | old | old  | barrier shut_down:proceed leave_group0
S left_token_ring     | old | old  | barrier:proceed mark_done shut_down:proceed leave_group0
  * | join_group0 | | happy | becomes:replacing
  join_group0 | left_token_ring | rollback | rollback | version error
DO join_group0 | tablet_draining | | happy | copies_tokens
DO tablet_draining | write_both_read_old | | happy | version opens
DO tablet_draining | left_token_ring | rollback | rollback | version error
  join_group0 | * | rejected | rejected | error done becomes:left
N join_group0 | write_both_read_old | | happy | version opens copies_tokens
  write_both_read_old | write_both_read_new | streaming completed | happy | version closes
  write_both_read_old | left_token_ring | rollback | rollback | version closes error
  write_both_read_new | * | | happy | version replaced_left done becomes:normal
D left_token_ring | * | | happy | drops_tokens done becomes:left
S left_token_ring | * | | happy | drops_tokens becomes:left

decommissioning
DO tablet_draining    | old | old  | drain_tablets:rollback
DO write_both_read_old | old | both | barrier:rollback stream:rollback
N write_both_read_old | old | both | barrier:rollback check_drained:rollback stream:rollback
D write_both_read_new | new | both | barrier
S write_both_read_new | new | both | barrier:proceed
D left_token_ring     | new | new  | barrier shut_down:proceed leave_group0
S left_token_ring     | new | new  | barrier:proceed mark_done shut_down:proceed leave_group0
D rollback_to_normal  | old | old  | barrier
S rollback_to_normal  | old | old  | barrier:proceed
D tablet_migration    | old | old  | finish_tablets
DO * | tablet_draining | | happy | drains_tablets becomes:decommissioning
DO tablet_draining | rollback_to_normal | rollback | rollback | version error
D rollback_to_normal | tablet_migration | | happy |
DO tablet_draining | write_both_read_old | | happy | version opens
D tablet_migration | * | | happy | done becomes:normal
N * | write_both_read_old | | happy | version opens becomes:decommissioning
  write_both_read_old | write_both_read_new | streaming completed | happy | version closes
  write_both_read_old | rollback_to_normal | rollback | rollback | version closes error cleanup
  write_both_read_new | left_token_ring | | happy | version drops_tokens
D left_token_ring | * | | happy | done becomes:left
S left_token_ring | * | | happy | becomes:left
S rollback_to_normal | tablet_migration | | happy | done becomes:normal

removing
DO tablet_draining    | old | old  | drain_tablets:rollback
DO write_both_read_old | old | both | barrier:rollback stream:rollback
N write_both_read_old | old | both | barrier:rollback check_drained:rollback stream:rollback
D write_both_read_new | new | both | barrier leave_group0
S write_both_read_new | new | both | barrier:proceed
S left_token_ring     | new | new  | barrier:proceed mark_done leave_group0
D rollback_to_normal  | old | old  | barrier
S rollback_to_normal  | old | old  | barrier:proceed
D tablet_migration    | old | old  | finish_tablets
DO * | tablet_draining | | happy | drains_tablets becomes:removing
DO tablet_draining | rollback_to_normal | rollback | rollback | version error
D rollback_to_normal | tablet_migration | | happy |
D tablet_migration | * | | happy | done becomes:normal
DO tablet_draining | write_both_read_old | | happy | version opens
N * | write_both_read_old | | happy | version opens becomes:removing
  write_both_read_old | write_both_read_new | streaming completed | happy | version closes
  write_both_read_old | rollback_to_normal | rollback | rollback | version closes error cleanup
D write_both_read_new | * | | happy | version drops_tokens done becomes:left
S write_both_read_new | left_token_ring | | happy | version drops_tokens
S left_token_ring | * | | happy | becomes:left
S rollback_to_normal | tablet_migration | | happy | done becomes:normal

# The one stage has a session, which the server closes by a command of its own before the second
# barrier. In the documents it is implicit: the transition state stays null. A replica that is down
# ends it with an error, behind the same barrier (Q-20).
truncate_table
D                | old | old | barrier truncate:rollback close_session barrier
S truncate_table | old | old | barrier truncate:rollback close_session barrier
D * | | | happy | opens
D | | a replica is down | rollback | closes error
D | * | | happy | done
S * | truncate_table | | happy | opens
S truncate_table | truncate_table | a replica is down | rollback | closes error
S truncate_table | * | | happy | done

# The tablet track as one piece of work; its stages are another family's. A resize is finalized
# while no tablet moves ("Tablet splitting", "Tablet merging"): the documents leave the track for
# it, the server does it where the balancer has no other work. A second barrier, after the state is
# left, has replicas done with the former map before the next plan (published coordinator).
tablets
  tablet_migration           | old | old | finish_tablets
  tablet_resize_finalization | old | old | barrier
  * | tablet_migration | | happy | version plans_tablets
S * | tablet_resize_finalization | a resize is ready | happy | version when:resize
  tablet_migration | * | | happy | version
D tablet_migration | tablet_resize_finalization | a resize is ready | happy | version when:resize
  tablet_resize_finalization | * | the new map is committed | happy | version new_maps

# The diagram of node states; the machines say when each edge is taken. Source: Topology over Raft.
node
  none | bootstrapping | join | happy |
  none | replacing | replace | happy |
  bootstrapping | normal | operation succeeded | happy |
  bootstrapping | left | operation failed | rollback |
  replacing | normal | operation succeeded | happy |
  replacing | left | operation failed | rollback |
  none | left | rejected | rejected |
  normal | rebuilding | rebuild | happy |
  normal | decommissioning | leave | happy |
  normal | removing | remove | happy |
  rebuilding | normal | streaming completed | happy |
  decommissioning | left | operation succeeded | happy |
  decommissioning | normal | operation failed | rollback |
  removing | left | operation succeeded | happy |
  removing | normal | operation failed | rollback |

# A node without tokens needs no generation, no streaming and no switch (Topology over Raft,
# "Zero-token nodes"): its join ends where the other one begins to move ranges.
bootstrapping_zero_token
  join_group0 | old | old | add_to_group0 accept:rejected
  * | join_group0 | | happy | becomes:bootstrapping
  join_group0 | * | rejected | rejected | error done becomes:left
  join_group0 | * | | happy | done becomes:normal

replacing_zero_token
  join_group0 | old | old | add_to_group0 accept:rejected
  * | join_group0 | | happy | becomes:replacing
  join_group0 | * | rejected | rejected | error done becomes:left
  join_group0 | * | | happy | replaced_left done becomes:normal

# The transition state stays null; a rebuild that fails leaves the node as it was (Q-37).
rebuilding
  | old | old | stream:rollback
  * | | rebuild | happy | opens becomes:rebuilding
  | * | streaming completed | happy | closes done becomes:normal
  | * | streaming failed | rollback | closes error done becomes:normal

# The one state that a request for a new generation passes through alone.
new_cdc_generation
  commit_cdc_generation | old | old | command_barrier:rollback
  * | commit_cdc_generation | | happy |
  commit_cdc_generation | * | | happy | generation done
  commit_cdc_generation | * | barrier failed | rollback | error done

# Nodes that lost ranges delete what they no longer own. No transition state shows it: the barrier
# leaves its mark in the fence version, the nodes' own cells say who is not done.
cleanup
  | old | old | barrier:proceed
  * | | | happy |
  | * | | happy | starts_cleanup done

# The keyspace's schema, the first stage of its tablets and the request's end are one command; the
# tablet track does the rest. Source: published coordinator.
keyspace_rf_change
  * | tablet_migration | | happy | version sets_replication plans_tablets done

# Who locks also unlocks: nothing in the cluster leaves this state by itself.
lock
  lock | old | old |
  * | lock | | happy |
  lock | * | | happy |
"""


MACHINES = {of: {m.name: m for m in machines.of_tables(of, TABLES)} for of in machines.TABLES}
"""Each edition's machines by name; an operation's is named after its node state."""
NODE = MACHINES["documents"]["node"]
REPLACED = machines.EdgeRow("normal", "left", "replaced")
"""What the end of a replace does to the replaced node: the diagram has no edge for it."""


def in_words(edition: machines.Edition) -> Iterator[tuple[str, str, str, str]]:
    """The rows of the edition's tables."""
    for each in MACHINES[edition].values():
        yield from machines.machine_in_words(each)
