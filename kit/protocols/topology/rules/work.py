"""What an edge does to the tables, what a state's work still asks for, and who votes meanwhile.

The tablet track is one piece of work here: what its end and its failure leave in the tables. In the
published server at most five members of group 0 vote, spread over racks; it looks at them after
every command, and whenever a node dies or is back. The documents let every member vote. Sources:
Topology over Raft, "Topology state persistence table" and the list of transition states; blog post
on 6.0 (a node tracks whether it needs cleanup); published code, its updates of each state,
``left_token_ring`` entered once more, ``group0_voter_handler``.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from kit.masks import among, nodes_in, where, within
from kit.protocols.group0.rules.quorum import place_numbers
from kit.protocols.group0.rules.voters import VoterRules, chosen_voters
from kit.protocols.topology.rules import cluster, machines
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, Setting, in_state
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import EdgeRow, Machine, StateRow, WorkRow
from kit.protocols.topology.rules.replication import invalid_racks, place_of, with_replication

Effect = Callable[[ClusterTopology, int], ClusterTopology]


def taken(topology: ClusterTopology, edge: EdgeRow, node: int, state_id: int) -> ClusterTopology:
    """The topology after an edge of the operation on ``node`` (``NOBODY``: on the whole cluster).

    An edge is a machine's, as in ``MACHINES[setting.tables]["removing"].edge(state, "happy")``.
    ``state_id`` is the id of the command that commits it: a session that it opens is named so.
    """
    if edge.becomes:
        topology = cluster.with_node(topology, node, state=edge.becomes, request="")
    for effect in edge.effects:
        topology = EFFECTS[effect](topology, node)
    if edge.becomes == "left":
        topology = replace(topology, ignored=topology.ignored & ~(1 << node))
    # From its end an operation leads back to the tablets, if it went before them.
    back = "tablet_migration" if topology.tablets == "moving" else ""
    return replace(
        topology,
        transition=back if edge.target == machines.BOUNDARY else edge.target,
        version=topology.version + edge.version,
        session={"opens": state_id, "closes": 0}.get(edge.session, topology.session),
    )


def _replaced_left(topology: ClusterTopology, node: int) -> ClusterTopology:
    replaced = topology.nodes[node].replaced
    ignored = topology.ignored & ~(1 << replaced)
    done = cluster.with_node(topology, replaced, state="left", tokens=False)
    return replace(done, ignored=ignored)


def _starts_cleanup(topology: ClusterTopology, node: int) -> ClusterTopology:
    dirty = where(entry.cleanup == "needed" for entry in topology.nodes)
    return _with_cleanup(topology, dirty & in_state(topology, "normal"), "running")


def _with_cleanup(topology: ClusterTopology, which: int, status: str) -> ClusterTopology:
    nodes = list(topology.nodes)
    for i in nodes_in(which):
        nodes[i] = replace(nodes[i], cleanup=status)
    return replace(topology, nodes=tuple(nodes))


def _plans_tablets(topology: ClusterTopology, node: int) -> ClusterTopology:
    return replace(topology, tablets="moving")


def number_of(topology: ClusterTopology, node: int) -> int:
    """The number of the request that an operation carries out; 0 when it has none."""
    return topology.running if node == NOBODY else topology.nodes[node].request_id


def finished(topology: ClusterTopology, node: int) -> ClusterTopology:
    """The request is done, with or without the error that it has.

    A rebuild leaves no source datacenter behind (published coordinator, end of ``rebuilding``).
    """
    number = number_of(topology, node)
    if node != NOBODY:
        topology = cluster.with_node(topology, node, rebuild_option="")
    if number:
        topology = cluster.with_request(topology, number, done=True)
    return replace(topology, running=0) if node == NOBODY else topology


def _error(topology: ClusterTopology, node: int) -> ClusterTopology:
    number = number_of(topology, node)
    return cluster.with_request(topology, number, error=True) if number else topology


EFFECTS: dict[str, Effect] = {
    "assigns_tokens": lambda topology, node: cluster.with_node(topology, node, tokens=True),
    "copies_tokens": lambda topology, node: cluster.with_node(topology, node, tokens=True),
    "drops_tokens": lambda topology, node: cluster.with_node(topology, node, tokens=False),
    "replaced_left": _replaced_left,
    # The other owners of tokens may hold data of ranges that they lost, or did not gain.
    "cleanup": lambda topology, node: _with_cleanup(
        topology, cluster.owners(topology) & ~(1 << node), "needed"
    ),
    # Publishing it is another's work.
    "generation": lambda topology, node: replace(
        topology, generations=topology.generations + 1, unpublished=topology.unpublished + 1
    ),
    "starts_cleanup": _starts_cleanup,
    "plans_tablets": _plans_tablets,
    "new_maps": lambda topology, node: replace(topology, resizes=0),
    # The schema of the keyspace that the request under way names.
    "sets_replication": lambda topology, node: with_replication(
        topology, topology.requests[number_of(topology, node) - 1]
    ),
    "drains_tablets": lambda topology, node: (
        _plans_tablets(topology, node) if topology.tablets_on >> node & 1 else topology
    ),
    "done": finished,
    "error": _error,
}
"""The effects that edges name, each on the tables and the operation's node."""


def drained(topology: ClusterTopology) -> int:
    """The nodes that have no tablet once all tablet transitions are over (a mask).

    A draining is one operation's: who only asks to leave is drained in its own. One that failed
    only ends what it had begun (``tablet_migration`` after a rollback).
    """
    if topology.transition == "tablet_draining":
        return in_state(topology, "decommissioning", "removing")
    return where(entry.request in ("leave", "remove") for entry in topology.nodes)


def tablets_moved(topology: ClusterTopology) -> ClusterTopology:
    """The tables once all tablet transitions are over: who is to leave has no tablet any more."""
    left = topology.tablets_on & ~drained(topology)
    return replace(topology, tablets="even", tablets_on=left)


def tablets_placed(topology: ClusterTopology, on: int, *, more: bool) -> ClusterTopology:
    """The tables once transitions ended with tablets on these nodes (a mask); ``more`` go on."""
    return replace(topology, tablets="moving" if more else "even", tablets_on=on)


def tablets_failed(topology: ClusterTopology, paused: tuple[int, ...]) -> ClusterTopology:
    """The tables once the transitions failed and were taken back.

    ``paused`` are the requests (by number) that waited for them: nobody can drain their nodes, so
    they end with an error (published coordinator).
    """
    for number in paused:
        topology = cluster.unbegun(topology, topology.requests[number - 1].node)
    return replace(topology, tablets="even")


DROP_LEFT = WorkRow("drop_left", "retry")
"""What comes before all else: nodes that have left are taken out of group 0."""
ADDS, LEAVES, REMOVES = "add_to_group0", "leave_group0", "remove_replaced"
ASSIGNS, MARKS_DONE = "assign_tokens", "mark_done"
TRUNCATES, CLOSES, FINISHES = "truncate", "close_session", "finish_tablets"
COMMANDS_OF_WORK = (MARKS_DONE, CLOSES)
"""Work that is a command to group 0, within the state."""


class TopologyOperation(Struct, frozen=True, cache_hash=True):
    """The holder of the state machine: its machine, its node (``NOBODY``: none), its state's name.

    As in ``TopologyOperation("decommissioning", 2, "left_token_ring")``; ``editions.MACHINES`` has
    the machines by name, ``under_way`` tells the operation of a topology.
    """

    machine: str
    node: int
    state: str


@lru_cache(maxsize=1 << 11)
def under_way(topology: ClusterTopology) -> TopologyOperation | None:
    """The operation that the tables show, by the node in transition, else by the state alone."""
    for i, entry in enumerate(topology.nodes):
        if entry.state in machines.IN_TRANSITION:
            zero = entry.zero_token and entry.state in ("bootstrapping", "replacing")
            name = f"{entry.state}_zero_token" if zero else entry.state
            return TopologyOperation(name, i, topology.transition)
    if topology.transition == "":
        # A truncate of edition ``documents`` shows in no state: its request is under way.
        kind = topology.requests[topology.running - 1].kind if topology.running else ""
        return TopologyOperation(kind, NOBODY, "") if kind == "truncate_table" else None
    machine = _OF_THE_CLUSTER.get(topology.transition, "tablets")
    return TopologyOperation(machine, NOBODY, topology.transition)


_OF_THE_CLUSTER = {
    "commit_cdc_generation": "new_cdc_generation",
    "lock": "lock",
    "truncate_table": "truncate_table",
}


def onward(topology: ClusterTopology, machine: Machine, source: str) -> EdgeRow | None:
    """The edge that leads on from a state whose work is done; one whose condition holds is first.

    The one condition is that a resize is ready to be finalized.
    """
    edge = machine.edge(source, "happy")
    ways = machine.edges if topology.resizes else ()
    return next((way for way in ways if way.source == source and way.when == "resize"), edge)


def machine_of(operation: TopologyOperation, setting: Setting) -> Machine:
    """The operation's machine in the edition."""
    return MACHINES[setting.tables][operation.machine]


def state_of(operation: TopologyOperation, setting: Setting) -> StateRow:
    """The row of the state that the operation is in.

    A state that its machine has not, which only commands without a guard (S-59) can lead to, has no
    work.
    """
    machine = machine_of(operation, setting)
    rows = (row for row in machine.states if row.name == operation.state)
    return next(rows, StateRow(operation.state, ()))


def goes_on(operation: TopologyOperation, setting: Setting) -> bool:
    """Whether the operation's machine has the state that the tables show."""
    return any(row.name == operation.state for row in machine_of(operation, setting).states)


def failure(operation: TopologyOperation | None, work: WorkRow, setting: Setting) -> EdgeRow | None:
    """The edge that is committed when a piece of work failed; None: it is tried again or passed by.

    S-60: once reads use the new replicas there is none.
    """
    if operation is None:
        return None
    machine = machine_of(operation, setting)
    if work.on_failure in ("rollback", "rejected"):
        return machine.edge(operation.state, work.on_failure)
    if setting.safeguards.no_rollback_after_switch or operation.state != "write_both_read_new":
        return None
    return machine.edge("write_both_read_old", "rollback")


def still_to_do(
    topology: ClusterTopology, operation: TopologyOperation, setting: Setting, step: int
) -> int:
    """The place of the next piece of work in the state's list, from place ``step`` on.

    The list is ``state_of(operation, setting).work``. What the tables show as done is passed over;
    past the end of the list nothing is left.
    """
    work = state_of(operation, setting).work
    while step < len(work) and _is_done(topology, operation, work, step, setting):
        step += 1
    return step


def _is_done(
    topology: ClusterTopology,
    operation: TopologyOperation,
    work: tuple[WorkRow, ...],
    step: int,
    setting: Setting,
) -> bool:
    name, node = work[step].name, operation.node
    ahead = [row.name for row in work[step:]]
    if name in (ADDS, LEAVES):
        return bool(topology.members >> node & 1) == (name == ADDS)
    if name == REMOVES:
        return not topology.members >> topology.nodes[node].replaced & 1
    undrained = not setting.safeguards.drain_before_leaving
    if name == "barrier" and operation.state == "left_token_ring" and undrained:
        return True
    if CLOSES in ahead:
        return topology.session == 0
    if MARKS_DONE in ahead:
        # A state entered once more with its request done goes on behind that point.
        return topology.requests[number_of(topology, node) - 1].done
    # No tablet moves and, where the node is to be drained, none is on it.
    drains = name == "drain_tablets"
    tablets_rest = topology.tablets != "moving" and not (drains and topology.tablets_on >> node & 1)
    return (drains or name == FINISHES) and tablets_rest


def excluded(topology: ClusterTopology, node: int) -> int:
    """The nodes that an operation passes over: ignored ones, for a removal or a replace."""
    if node == NOBODY:
        of_tablets = ("tablet_migration", "tablet_resize_finalization")
        return topology.ignored if topology.transition in of_tablets else 0
    entry = topology.nodes[node]
    if entry.state == "removing":
        return topology.ignored | 1 << node
    return topology.ignored | 1 << entry.replaced if entry.state == "replacing" else 0


@lru_cache(maxsize=1 << 11)
def addressees(topology: ClusterTopology, operation: TopologyOperation, work: WorkRow) -> int:
    """The nodes that a piece of work needs an answer of.

    A barrier asks all normal nodes, and the one in transition until it is on its way out; the
    server still asks one that leaves, which may coordinate requests (published
    ``exec_global_command``), where the documents wait for "other nodes". A barrier that can only be
    tried again does not wait for ignored nodes: no operation hangs for ever (Topology over Raft,
    "Topology coordinator during recovery").
    """
    node = operation.node
    own = 0 if node == NOBODY else 1 << node
    if work.barrier:
        drained = operation.machine == "decommissioning" and work.on_failure == "proceed"
        takes_part = drained or operation.state != "left_token_ring"
        members = in_state(topology, "normal") | (own & topology.members if takes_part else 0)
        ignored = topology.ignored if work.on_failure == "retry" else 0
        return members & ~(excluded(topology, node) | ignored)
    if work.name == "stream" and topology.nodes[node].state == "removing":
        return cluster.owners(topology) & ~excluded(topology, node)
    if work.name == TRUNCATES:
        return topology.tablets_on & ~topology.ignored
    return own if work.name in ("stream", "accept", "shut_down") else 0


@lru_cache(maxsize=1 << 11)
def voters(topology: ClusterTopology) -> int:
    """The members that vote: a node does once it is normal, and no more on its way out.

    Published coordinator: who joins is a non-voter at first, who leaves becomes one in
    ``left_token_ring``, who is to be removed or replaced as soon as that is asked for; it stays one
    when that is rolled back, until it starts again. The documents say nothing of it.
    """
    coming = in_state(topology, "bootstrapping", "replacing", "left")
    going = in_state(topology, "decommissioning", "removing")
    left = going if topology.transition == "left_token_ring" else 0
    return topology.members & ~(coming | left | topology.nonvoters)


def gaining_racks(
    topology: ClusterTopology,
    operation: TopologyOperation | None,
    work: Sequence[WorkRow],
    setting: Setting,
) -> str:
    """Why a joining node will get no tokens, where that is among its ``work``; empty: it gets them.

    Its rack is one too many. The documents, and older releases, know no such check.
    """
    assigns = any(piece.name == ASSIGNS for piece in work)
    if not setting.has("rack-checks") or operation is None or not assigns:
        return ""
    return invalid_racks(topology, joins=1 << operation.node)


def limited_voters(
    topology: ClusterTopology, up: int, leader: int, chosen: int, rules: VoterRules
) -> int:
    """The nodes that are to vote (a mask), where fewer are to than could; else 0: all that could
    do.

    ``up`` are the nodes that are heard, ``chosen`` those that vote already (0: all who could).
    """
    able = voters(topology)
    picked = _pick(tuple(row.rack for row in topology.nodes), able, up, leader, chosen, rules)
    return 0 if picked == able else picked


@lru_cache(maxsize=1 << 11)
def _pick(
    racks: tuple[str, ...], members: int, up: int, leader: int, chosen: int, rules: VoterRules
) -> int:
    able = tuple(nodes_in(members))
    dcs, names = place_numbers(tuple(place_of(racks[node]) for node in able))
    leads = able.index(leader) if leader in able else NOBODY
    votes = within(able, chosen & members or members)
    return among(able, chosen_voters(dcs, within(able, up), leads, votes, names, rules))


def may_tie(racks: Sequence[str], rules: VoterRules, *, leaves: bool = False) -> bool:
    """Whether some of the nodes in these racks may be equal for the choice and not all be chosen.

    Once a choice is made, four nodes in one rack leave no tie: whoever votes keeps the vote, and
    the leader before all. Where the leader itself may leave, three do.
    """
    most = 2 if leaves else min(rules.limit + 1, 4)
    return rules.limits and (len(racks) > most or len(set(racks)) > 1)
