"""The transitions of one tablet: kinds, stages, what is done in each and where that leads.

All there is to know of a stage is a row of a table: diagrams, buttons, the coordinator's next step,
coverage and the history of requests follow from these rows.

Edition ``documents`` is the documents, edge for edge: Topology over Raft, "Tablet transitions" and
its two diagrams; read by Q-07 (``rebuild_repair`` stands before ``streaming``), Q-08 (the selectors
of a stage), Q-09 (what is counted where ``write_both_read_new`` fails), Q-23 (which stages need a
session) and Q-24 (without an edge for it, failed work is tried again; a failed repair ends all the
same).

Edition ``server`` is the published topology coordinator and its tablet map. Where they differ from
the documents: ``write_both_read_new`` is left backwards by way of
``write_both_read_old_fallback_cleanup``, so that reads go back before writes do (from 2026.2 on);
within a node it is never left backwards. A failure leads back only where a participant is excluded,
else the work is tried again; so is the barrier of ``write_both_read_new``, without which no tablet
goes on (besides, streaming is given up on a full disk or for the sake of a node that leaves).
The session is opened with ``write_both_read_old``, which saves a barrier, and one session serves
``rebuild_repair`` and ``streaming``. A ``restore`` fills the replicas of a tablet from a snapshot,
in one stage: it is read from dumps, and not played.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

from kit.protocols.group0.rules.releases import NEWEST, Release, has
from kit.protocols.topology.rules import machines

PlayedKind = Literal["migration", "intranode_migration", "rebuild", "rebuild_v2", "repair"]
TransitionKind = Literal[PlayedKind, "restore"]
KINDS: tuple[PlayedKind, ...] = get_args(PlayedKind)  # the kinds of both editions, which are played

STREAM, REPAIR = "stream", "repair"
CLEANUP_LEAVING, CLEANUP_PENDING = "cleanup_leaving", "cleanup_pending"
"""The work of stages, besides barriers."""
REPLACES = "replaces"  # the effect of the edge with which ``new_replicas`` become ``replicas``

# A row that only one edition has begins with its letter: D for documents, S for server; N for
# servers from 2026.2 on, O for older ones.
_STATES = """
  allow_write_both_read_old            | old | old  | barrier:rollback
  write_both_read_old                  | old | both | barrier:rollback
  streaming                            | old | both | stream:rollback
  write_both_read_new                  | new | both | barrier:rollback
  use_new                              | new | new  | barrier
  cleanup                              | new | new  | cleanup_leaving
  end_migration                        | new | new  | barrier
N write_both_read_old_fallback_cleanup | old | both | barrier
  cleanup_target                       | old | old  | barrier cleanup_pending
  revert_migration                     | old | old  | barrier
"""
_EDGES = """
  * | allow_write_both_read_old | | happy | version
D allow_write_both_read_old | write_both_read_old | | happy | version
D write_both_read_old | streaming | | happy | version opens
S allow_write_both_read_old | write_both_read_old | | happy | version opens
S write_both_read_old | streaming | | happy | version
  streaming | write_both_read_new | | happy | version closes
  write_both_read_new | use_new | | happy | version
  use_new | cleanup | | happy | version
  cleanup | end_migration | | happy | version
  end_migration | * | | happy | version replaces
D allow_write_both_read_old | cleanup_target | error | rollback | version
D write_both_read_old | cleanup_target | error | rollback | version
D streaming | cleanup_target | error | rollback | version closes
D write_both_read_new | use_new | error, more new replicas | proceed \
        | version when:more_new
D write_both_read_new | cleanup_target | error, more old replicas | rollback \
        | version when:more_old
S allow_write_both_read_old | cleanup_target | error | rollback | version when:excluded
S write_both_read_old | cleanup_target | error | rollback | version closes when:excluded
S streaming | cleanup_target | error | rollback | version closes when:excluded
N write_both_read_new | write_both_read_old_fallback_cleanup \
        | error, more new replicas excluded | rollback | version when:more_new_excluded
O write_both_read_new | cleanup_target \
        | error, more new replicas excluded | rollback | version when:more_new_excluded
N write_both_read_old_fallback_cleanup | cleanup_target | | happy | version
  cleanup_target | revert_migration | | happy | version
  revert_migration | * | | happy | version
"""
# In the documents both of its stages with work need a session, and each has a new one.
_REBUILD = """
D write_both_read_old | rebuild_repair | | happy | version opens
D rebuild_repair | streaming | | happy | version opens
D rebuild_repair | cleanup_target | error | rollback | version closes
S write_both_read_old | rebuild_repair | | happy | version
S rebuild_repair | streaming | | happy | version
S rebuild_repair | cleanup_target | error | rollback | version closes when:excluded
"""
_REPAIR_STATES = """
  repair     | old | old | repair:proceed
D end_repair | old | old | barrier
S end_repair | old | old | barrier compaction_control
"""
_REPAIR_EDGES = """
  * | repair | | happy | version opens
D repair | end_repair | | happy | version closes
S repair | end_repair | | happy | version closes repaired
S repair | end_repair | error | proceed | version closes
  end_repair | * | | happy | version
"""


def tables_for(edition: machines.Edition, release: Release = NEWEST) -> machines.Tables:
    """Which of ``TRANSITIONS`` an edition has, on a server's release: here 2026.1 is an old one."""
    old = edition == "server" and not has("fallback-cleanup", release)
    return "server-2025" if old else edition


def _of(whose: machines.Tables, table: str) -> str:
    return "\n".join(machines.own_rows(whose, table.strip("\n").splitlines()))


def _within_node(table: str) -> str:
    back = "fallback_cleanup", "more_new_excluded"
    return "\n".join(line for line in table.splitlines() if not any(x in line for x in back))


def _repaired_first(states: str, edges: str, rebuild: str) -> tuple[str, str]:
    """Both tables with ``rebuild_repair``, whose edges are ``rebuild``, between ``streaming`` and
    whatever stage stands before it.
    """
    [row] = (each for each in edges.splitlines() if "| streaming |" in each)
    before = row.partition("|")[0].strip()
    repair = "rebuild_repair | old | both | repair:rollback\n    streaming  "
    rebuild = rebuild.replace("write_both_read_old |", f"{before} |")
    return states.replace("streaming  ", repair), edges.replace(row, rebuild.strip("\n"))


def _tables(whose: machines.Tables) -> dict[TransitionKind, machines.Machine]:
    states, edges, rebuild, *repair = (
        _of(whose, each) for each in (_STATES, _EDGES, _REBUILD, _REPAIR_STATES, _REPAIR_EDGES)
    )
    return {
        "migration": machines.machine("migration", states, edges),
        "intranode_migration": machines.machine(
            "intranode_migration", _within_node(states), _within_node(edges)
        ),
        "rebuild": machines.machine("rebuild", states, edges),
        "rebuild_v2": machines.machine("rebuild_v2", *_repaired_first(states, edges, rebuild)),
        "repair": machines.machine("repair", *repair),
    }


TRANSITIONS = {whose: _tables(whose) for whose in machines.TABLES}
"""The table of each kind, such as ``TRANSITIONS[tables_for("server", "2026.1")]["migration"]``.

The boundary of a table is a tablet without a transition.
"""
TRANSITIONS["server"]["restore"] = TRANSITIONS["server-2025"]["restore"] = machines.machine(
    "restore",
    "    restore | old | old | restore:proceed",
    """
    * | restore | | happy | version opens
    restore | * | | happy | version closes
    restore | * | error | proceed | version closes
    """,
)


def stages(edition: machines.Edition) -> tuple[str, ...]:
    """Every stage of the kinds that are played, those of migrations first."""
    rows = (row.name for kind in KINDS for row in TRANSITIONS[edition][kind].states)
    return tuple(dict.fromkeys(rows))


def onward(table: machines.Machine, stage: str) -> machines.EdgeRow:
    """The edge out of a stage (or the boundary) that is done. KeyError for no such stage."""
    if (edge := table.edge(stage, "happy")) is None:
        raise KeyError(f"{table.name} has no stage {stage}")
    return edge


def ends_well(table: machines.Machine, stage: str) -> bool:
    """Whether the way from a stage, without failures, ends with the new replicas in force."""
    edge = onward(table, stage)
    while edge.target != machines.BOUNDARY:
        edge = onward(table, edge.target)
    return REPLACES in edge.effects


def in_words(edition: machines.Edition) -> Iterator[tuple[str, str, str, str]]:
    """The rows of the edition's tables of stages."""
    for each in TRANSITIONS[edition].values():
        yield from machines.machine_in_words(each)
