"""Both editions of the transition tables by name, and the tables that they share."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from kit.protocols.topology.rules import documents_tables, server_tables
from kit.protocols.topology.rules.machines import (
    EdgeRow,
    Edition,
    Machine,
    machine,
    machine_in_words,
)

# The diagram of node states; the machines say when each edge is taken. Source: Topology over Raft.
NODE = Machine(
    "node",
    (),
    (
        EdgeRow("none", "bootstrapping", "join"),
        EdgeRow("none", "replacing", "replace"),
        EdgeRow("bootstrapping", "normal", "operation succeeded"),
        EdgeRow("bootstrapping", "left", "operation failed", "rollback"),
        EdgeRow("replacing", "normal", "operation succeeded"),
        EdgeRow("replacing", "left", "operation failed", "rollback"),
        EdgeRow("none", "left", "rejected", "rejected"),
        EdgeRow("normal", "rebuilding", "rebuild"),
        EdgeRow("normal", "decommissioning", "leave"),
        EdgeRow("normal", "removing", "remove"),
        EdgeRow("rebuilding", "normal", "streaming completed"),
        EdgeRow("decommissioning", "left", "operation succeeded"),
        EdgeRow("decommissioning", "normal", "operation failed", "rollback"),
        EdgeRow("removing", "left", "operation succeeded"),
        EdgeRow("removing", "normal", "operation failed", "rollback"),
    ),
)
REPLACED = EdgeRow("normal", "left", "replaced")
"""What the end of a replace does to the replaced node: the diagram has no edge for it."""

_ZERO_TOKEN_STATES = "join_group0 | old | old | add_to_group0 accept:rejected"
_SHARED = (
    NODE,
    # A node without tokens needs no generation, no streaming and no switch (Topology over Raft,
    # "Zero-token nodes"): its join ends where the other one begins to move ranges.
    machine(
        "bootstrapping_zero_token",
        _ZERO_TOKEN_STATES,
        """
        * | join_group0 | | happy | becomes:bootstrapping
        join_group0 | * | rejected | rejected | error done becomes:left
        join_group0 | * | | happy | done becomes:normal
        """,
    ),
    machine(
        "replacing_zero_token",
        _ZERO_TOKEN_STATES,
        """
        * | join_group0 | | happy | becomes:replacing
        join_group0 | * | rejected | rejected | error done becomes:left
        join_group0 | * | | happy | replaced_left done becomes:normal
        """,
    ),
    # The transition state stays null; a rebuild that fails leaves the node as it was.
    machine(
        "rebuilding",
        " | old | old | stream:rollback",
        """
        * | | rebuild | happy | opens becomes:rebuilding
        | * | streaming completed | happy | closes done becomes:normal
        | * | streaming failed | rollback | closes error done becomes:normal
        """,
    ),
    # The one state that a request for a new generation passes through alone.
    machine(
        "new_cdc_generation",
        "commit_cdc_generation | old | old | command_barrier:rollback",
        """
        * | commit_cdc_generation | | happy |
        commit_cdc_generation | * | | happy | generation done
        commit_cdc_generation | * | barrier failed | rollback | error done
        """,
    ),
    # Nodes that lost ranges delete what they no longer own. No transition state shows it: the
    # barrier leaves its mark in the fence version, the nodes' own cells say who is not done.
    machine(
        "cleanup",
        " | old | old | barrier:proceed",
        """
        * | | | happy |
        | * | | happy | starts_cleanup done
        """,
    ),
    # The keyspace's schema, the first stage of its tablets and the request's end are one command;
    # the tablet track does the rest. Source: published coordinator.
    machine(
        "keyspace_rf_change",
        "",
        "* | tablet_migration | | happy | version sets_replication plans_tablets done",
    ),
    # Who locks also unlocks: nothing in the cluster leaves this state by itself.
    machine("lock", "lock | old | old | ", "* | lock | | happy |\n lock | * | | happy |"),
)
OPERATIONS = ("bootstrapping", "replacing", "decommissioning", "removing")
"""The machines that differ between the editions."""
_TABLES: dict[Edition, ModuleType] = {"documents": documents_tables, "server": server_tables}
MACHINES: dict[Edition, dict[str, Machine]] = {
    edition: {each.name: each for each in (*tables.MACHINES, *_SHARED)}
    for edition, tables in _TABLES.items()
}
"""Each edition's machines by name; an operation's is named after its node state."""


def in_words(edition: Edition) -> Iterator[tuple[str, str, str, str]]:
    """What the edition's tables say, row by row."""
    for each in MACHINES[edition].values():
        yield from machine_in_words(each)
