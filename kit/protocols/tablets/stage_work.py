"""The work of stages: who does it, what comes of it, and how the coordinator moves tablets on.

A barrier of tablets is one step, and every node has applied all by then. Where nodes answer one by
one (parameter ``answering``) they apply in steps of their own, at most one stage apart: stages that
read and write the same replicas count as one. Data appear as who holds any, and who holds all.
Work fails, and RPCs are late.
Sources: Topology over Raft, "Tablet transitions", its error edges, "Shard assignment stability",
"Topology guards"; published coordinator, its handler of tablet migration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, islice
from typing import Any

from msgspec import Struct

from kit.errors import Refusal
from kit.masks import union
from kit.model.declared import Node, Travel, action, purpose, refused
from kit.model.flows import FlowKind
from kit.protocols.tablets import cluster
from kit.protocols.tablets.cluster import Next, TabletRow, TabletsState, TabletTransition
from kit.protocols.tablets.hosts import LOG, NETWORK, barrier, host_spot, replica_spot
from kit.protocols.tablets.rules import replica_sets, stages
from kit.protocols.tablets.rules.grid import PlacedTablet, TabletWay, held_replicas
from kit.protocols.topology.control import permit
from kit.protocols.topology.coordinator import HELD, IN_HAND
from kit.protocols.topology.rules.cluster import NOBODY, in_state
from kit.protocols.topology.rules.machines import BOUNDARY, NODE_STATE_OF, EdgeRow, WorkRow

MOST_SHOWN = 60  # ways that are shown of a step in which very much travels
NO_SOURCE = refused("no replica is left to stream from")


class Piece(Struct, frozen=True):
    """The next piece of a transition's work, and whom it needs.

    ``hosts`` are the nodes (a mask); ``possible`` is false where it can only fail. ``table`` is the
    table that it is done for, of co-located ones one after the other; ``last``: it is the last one.
    """

    tablet: int
    place: int
    transition: TabletTransition
    work: WorkRow
    hosts: int
    possible: bool = True
    table: str = ""
    last: bool = True

    def goes(self, s: TabletsState) -> bool:
        """Whether it can succeed as things are; else nobody needs to make it fail."""
        return self.possible and not self.hosts & ~s.control.reachable


class Stages(cluster.TabletCluster):
    """The work in stages: pieces that are done or fail, barriers, the commands that follow."""

    def busy(self, s: TabletsState) -> Refusal | None:
        """Why the coordinator does nothing for tablets now (S-26)."""
        if blocked := self.control.busy(s.control):
            return blocked
        if s.command is not None:
            return IN_HAND
        if s.control.topology.tablets != "moving" and not s.in_transition:
            return refused("no tablet moves")
        on_track = s.control.topology.transition in cluster.TRACKS
        return None if on_track or not self.tablet_track_excludes else HELD

    # What comes next

    def pieces(self, s: TabletsState) -> Iterator[Piece]:
        """The next pieces of work on each tablet in transition, unless it has failed or is done."""
        for tablet, tablet_row in enumerate(s.tablets):
            for place, transition in enumerate(tablet_row.transitions):
                work = self.work(transition.kind, transition.stage)
                if transition.failed or transition.done >= len(work):
                    continue
                row, table = work[transition.done]
                if row.barrier:
                    yield Piece(tablet, place, transition, row, barrier_nodes(s))
                    continue
                sources, written = self.involved(s, transition, row.name)
                lost = row.name == stages.STREAM and bool(transition.sets.pending) and not sources
                hosts, last = self.nodes_of(sources + written), table == self.tables[-1]
                yield Piece(tablet, place, transition, row, hosts, not lost, table, last)

    def led_to(self, pieces: Iterable[Piece]) -> cluster.TabletCommand:
        """The command that is due once these pieces, the last of their stages, are done."""
        changes = []
        for each in pieces:
            way = each.transition
            edge = stages.onward(self.table(way), way.stage)
            changes.append(cluster.StageChange(each.tablet, each.place, way.stage, edge.kind))
        return cluster.TabletCommand(tuple(changes))

    def barriers(self, s: TabletsState) -> list[Piece]:
        """The pieces that wait for the barrier."""
        return [piece for piece in self.pieces(s) if piece.work.barrier]

    def data_pieces(self, s: TabletsState) -> list[Piece]:
        """The pieces of data work that come next."""
        return [piece for piece in self.pieces(s) if not piece.work.barrier]

    def data_tablets(self, s: TabletsState) -> dict[int, None]:
        """The tablets on which data work comes next."""
        return dict.fromkeys(piece.tablet for piece in self.data_pieces(s))

    def piece_of(self, s: TabletsState, tablet: int) -> Piece:
        """The next piece of data work on a tablet that has one."""
        return next(each for each in self.data_pieces(s) if each.tablet == tablet)

    def involved(
        self, s: TabletsState, transition: TabletTransition, name: str
    ) -> tuple[replica_sets.Replicas, replica_sets.Replicas]:
        """The replicas that a piece of work reads, and writes; maybe none, and none excluded."""
        sets, excluded = transition.sets, self.excluded(s)
        if name == stages.STREAM:
            task = replica_sets.streaming(transition.kind, sets, excluded)
            return (task.sources, task.targets) if task.targets else ((), ())
        if name == stages.REPAIR:
            task = replica_sets.repairing(sets, excluded)
            return task.sources, task.targets
        cleaned = {stages.CLEANUP_LEAVING: sets.leaving, stages.CLEANUP_PENDING: sets.pending}.get(
            name, sets.old
        )
        return (), tuple(each for each in cleaned if each.host not in excluded)

    # Work on data

    def worked_row(self, s: TabletsState, piece: Piece) -> TabletRow:
        """The tablet's row once a piece of work that is no barrier is done."""
        sources, written = self.involved(s, piece.transition, piece.work.name)
        row = s.tablets[piece.tablet]
        # Data are those of all co-located tables: they are whole, or gone, with the last one.
        if piece.last or piece.work.name == stages.STREAM:
            row = effect(row, piece.work.name, written, sources if piece.last else None)
        return done_row(row, piece)

    def of_table(self, piece: Piece) -> str:
        """Which of several co-located tables the work is for."""
        return f" ({piece.table})" if len(self.tables) > 1 else ""

    def work_words(self, s: TabletsState, tablet: int, what: str) -> str:
        """A sentence on the next piece of data work on a tablet; ``what`` names it ``{}``."""
        piece = self.piece_of(s, tablet)
        words = self.tablet_words(tablet)
        where = f"T{words[1:]} in {piece.transition.stage}{self.of_table(piece)}"
        return f"{where}: {what.format(piece.work.name)}."

    def work_label(self, s: TabletsState, action: Any) -> str:
        """The button of what is done with the next piece of data work on a tablet."""
        pieces = [each for each in self.data_pieces(s) if each.tablet == action.tablet]
        names = (f": {piece.work.name}{self.of_table(piece)}" for piece in pieces[:1])
        verb = self.verb(action)
        if self.dump is not None:  # the number alone counts through all tables
            verb = f"{verb.rpartition(' ')[0]} {self.tablet_words(action.tablet)}"
        return "".join((verb, *names))

    def leader_spot(self, s: TabletsState) -> str:
        """The row of the coordinator's node."""
        leads = s.control.coordinator
        return LOG if leads == NOBODY else host_spot(self.names[leads])

    def chip(self, s: TabletsState, tablet: int, place: replica_sets.TabletReplica) -> str:
        """The chip of a tablet at a place; the node's row where it has none."""
        held = held_replicas(self.placed(s, tablet))
        keys = (replica_spot(each.key) for each in held if each.place == place)
        return next(keys, host_spot(place.host))

    def placed(self, s: TabletsState, tablet: int) -> PlacedTablet:
        """A tablet as the grid shows it."""
        row = s.tablets[tablet]
        ways = tuple(map(self._way, row.transitions))
        return PlacedTablet(*self.place(tablet), row.replicas, ways, row.some, row.whole, row.some)

    def _way(self, t: TabletTransition) -> TabletWay:
        stage, chosen = self.table(t).state(t.stage), t.sets.chosen
        work = tuple(
            cluster.standing(t, place) for place, _ in enumerate(self.work(t.kind, t.stage))
        )
        used = chosen(stage.reads), chosen(stage.writes)
        return TabletWay(t.kind, t.stage, t.sets, *used, t.session, work)

    def work_flows(self, s: TabletsState, piece: Piece) -> Iterator[Travel]:
        """Data from replica to replica; or an order from the coordinator to whom it concerns."""
        name = piece.work.name
        sources, written = self.involved(s, piece.transition, name)
        label, (tag, carries) = self.tablet_words(piece.tablet), permit(piece.transition.session)
        if name not in (stages.STREAM, stages.REPAIR):
            words = name.replace("_", " ")
            for each in written:
                text = f"coordinator → {each}: {words} of {label}{carries}"
                spot, words = host_spot(each.host), f"{words}{tag}"
                yield Travel("message", self.leader_spot(s), spot, words, text, stays=True)
            return
        if piece.transition.kind == "intranode_migration":
            label = f"hard links to {label}"
        for source in sources:
            for target in written:
                if source != target:
                    ends = self.chip(s, piece.tablet, source), self.chip(s, piece.tablet, target)
                    text = f"{source} → {target}: {label}{carries}"
                    yield Travel("data", *ends, f"{label}{tag}", text, stays=True)

    @action(
        when=lambda m: m.dump is None,
        kind="work",
        verb="work on {tablet}",
        label=work_label,
        each=data_tablets,
        says=lambda m, before, a, after: m.work_words(before, a.tablet, "{} is done"),
        travels=lambda m, before, a, after: m.work_flows(before, m.piece_of(before, a.tablet)),
    )
    @purpose("The next stage waits until this stage's work is done.")
    def work_on(self, s: TabletsState, tablet: int) -> Next:
        """The next piece of a stage's work on a tablet is done: a stream, a repair, a cleanup."""
        if blocked := self.busy(s):
            return blocked
        piece = self.piece_of(s, tablet)
        if missing := piece.hosts & ~s.control.reachable:
            return refused("a replica does not respond", self.named(missing))
        return s.with_rows({tablet: self.worked_row(s, piece)}) if piece.possible else NO_SOURCE

    def done_pieces(self, before: TabletsState, after: TabletsState) -> list[Piece]:
        """The pieces of data work that a step has done."""
        return [
            piece
            for piece in self.data_pieces(before)
            if after.tablets[piece.tablet].transitions[piece.place] != piece.transition
        ]

    def done_on_all(self, before: TabletsState, action: Any, after: TabletsState) -> str:
        """How many tablets each kind of work was done on, and on how many it was not."""
        done = Counter(piece.work.name for piece in self.done_pieces(before, after))
        words = (f"{name} (tablets: {number:,})" for name, number in sorted(done.items()))
        left = len(self.data_pieces(before)) - done.total()
        rest = f"; tablets that cannot continue: {left:,}" if left else ""
        return f"Done: {', '.join(words)}{rest}."

    def all_work_flows(
        self, before: TabletsState, action: Any, after: TabletsState
    ) -> Iterator[Travel]:
        """The flows of the work; of very much, the first of it."""
        done = self.done_pieces(before, after)
        return islice((leg for piece in done for leg in self.work_flows(before, piece)), MOST_SHOWN)

    @action(
        when=lambda m: m.dump is not None,
        kind="work",
        verb="work on all",
        says=done_on_all,
        travels=all_work_flows,
    )
    @purpose("The next stage waits until this stage's work is done.")
    def work_on_all(self, s: TabletsState) -> Next:
        """The next piece of work is done on every tablet whose replicas respond."""
        if not (pieces := self.data_pieces(s)):
            return None
        if blocked := self.busy(s):
            return blocked
        if rows := {p.tablet: self.worked_row(s, p) for p in pieces if p.goes(s)}:
            return s.with_rows(rows)
        missing = union(piece.hosts for piece in pieces) & ~s.control.reachable
        return refused("a replica does not respond", self.named(missing)) if missing else NO_SOURCE

    # The barrier

    @action(
        tag="barrier",
        verb="barrier",
        kind="work",
        travels=lambda m, before, a, after: barrier(
            m.named(barrier_nodes(before)), m.leader_spot(before)
        ),
    )
    @purpose("When the next stage begins, no node may still use an older one.")
    def pass_barrier(self, s: TabletsState) -> Next:
        """All nodes have applied the stages, and no request from an older stage is left."""
        if not (pieces := self.barriers(s)):
            return None
        if blocked := self.busy(s):
            return blocked
        missing = barrier_nodes(s) & ~(s.answered if self.answering else s.control.reachable)
        if missing:
            lacks = "has not answered" if self.answering else "does not receive the barrier"
            return refused(f"a node {lacks}", self.named(missing))
        if self.overdue(s):
            return refused("work of a finished stage is still running")
        rows = dict[int, TabletRow]()
        for piece in pieces:
            rows[piece.tablet] = done_row(rows.get(piece.tablet, s.tablets[piece.tablet]), piece)
        s = s.with_rows(rows)
        if s.late is not None and s.is_over(s.late):
            s = s.but(late=s.late.but(sealed=True))
        return s.but(answered=0)

    def overdue(self, s: TabletsState) -> int:
        """The nodes on which work of a finished stage runs (a mask): barriers wait (S-24)."""
        late = s.late
        if not self.sessions or late is None or not late.runs or not s.is_over(late):
            return 0
        return self.nodes_of(late.targets)

    def awaited(self, s: TabletsState) -> int:
        """The nodes whose answer the barrier waits for (a mask)."""
        return barrier_nodes(s) & ~s.answered if any(self.barriers(s)) else 0

    @action(when=lambda m: m.answering, kind="answer", verb="answer stages {node}", each=awaited)
    @purpose("The next stage can begin once all nodes have reached this one.")
    def answer_stages(self, s: TabletsState, node: Node) -> Next:
        """{node} has applied all stages and answers the barrier."""
        if blocked := self.busy(s):
            return blocked
        if not s.control.reachable >> node & 1:
            return refused("the node does not receive the barrier", (self.names[node],))
        if self.overdue(s) >> node & 1:
            return refused("work of a finished stage is still running here")
        applied = (*s.applied[:node], len(s.views) - 1, *s.applied[node + 1 :])
        return s.but(applied=applied, answered=s.answered | 1 << node)

    @action(
        when=lambda m: m.answering,
        kind="apply",
        verb="apply stages {node}",
        each=lambda m, s: sum((at < len(s.views) - 1) << i for i, at in enumerate(s.applied)),
    )
    @purpose("The stage that a node knows determines which replicas it reads and writes.")
    def apply_stages(self, s: TabletsState, node: Node) -> Next:
        """{node} moves to the next stage."""
        return s.but(applied=(*s.applied[:node], s.applied[node] + 1, *s.applied[node + 1 :]))

    # What nodes go by, where they answer one by one

    def start(self) -> TabletsState:
        """Every node goes by the stages that there are."""
        start = super().start()
        if not self.answering:
            return start
        return start.but(views=(self.selected(start),), applied=(0,) * len(self.names))

    def settled(self, before: TabletsState, s: TabletsState) -> TabletsState:
        """The state after a step: a new view where selectors changed, none that nobody goes by.
        Answers count for the stages that they were given for. Who is down applies all when back.
        """
        s = super().settled(before, s)
        if not self.answering:
            return s
        was, now = (
            None
            if before.tablets is s.tablets
            else [[(t.stage, t.failed) for t in row.transitions] for row in each.tablets]
            for each in (before, s)
        )
        if was != now or before.control.coordinator != s.control.coordinator:
            s = s.but(answered=0)
        view = self.selected(s)
        if s.views[-1] != view:
            s = s.but(views=(*s.views, view))
        away = ~s.control.reachable | ~s.control.topology.members
        newest = len(s.views) - 1
        applied = tuple(newest if away >> i & 1 else at for i, at in enumerate(s.applied))
        oldest = min(applied)
        return s.but(views=s.views[oldest:], applied=tuple(at - oldest for at in applied))

    def selected(self, s: TabletsState) -> cluster.SelectedReplicas:
        """The replicas of each tablet that requests read, and those that they write."""
        return tuple(map(self._selected, s.tablets))

    def _selected(self, row: TabletRow) -> tuple[replica_sets.Replicas, replica_sets.Replicas]:
        reads = writes = row.replicas
        for way in row.transitions[:1]:
            stage = self.table(way).state(way.stage)
            reads, writes = way.sets.chosen(stage.reads), way.sets.chosen(stage.writes)
        return tuple(sorted(reads)), tuple(sorted(writes))

    # Commands

    def error_edge(self, s: TabletsState, transition: TabletTransition) -> EdgeRow | None:
        """The edge that failed work of the stage takes; None: it is tried again."""
        table = self.table(transition)
        given_up = transition.full or bool(self.leavers(s, transition))
        failed = table, transition.stage, transition.sets, self.lost(s)
        return replica_sets.after_failure(*failed, given_up=given_up)

    def leavers(self, s: TabletsState, transition: TabletTransition) -> tuple[int, ...]:
        """The nodes that a transition drains for a request to leave. The published coordinator
        gives such streaming up once it failed, and cancels the request; it gives up what fails on a
        full disk, too (its stage ``streaming``).
        """
        if not self.drains_first:
            return ()
        nodes, hosts = s.control.topology.nodes, transition.sets.leaving
        numbers = (self.number(each.host) for each in hosts)
        return tuple(node for node in numbers if nodes[node].request == "leave")

    def due_changes(self, s: TabletsState) -> tuple[cluster.StageChange, ...]:
        """The changes of stages that are due: of all tablets whose work is done, or has failed."""
        changes = []
        for tablet, row in enumerate(s.tablets):
            for place, transition in enumerate(row.transitions):
                edge = self.error_edge(s, transition) if transition.failed else None
                if transition.done == len(self.work(transition.kind, transition.stage)):
                    edge = stages.onward(self.table(transition), transition.stage)
                if edge is not None:
                    changes.append(cluster.StageChange(tablet, place, transition.stage, edge.kind))
        return tuple(changes)

    def with_command(self, s: TabletsState, command: cluster.TabletCommand) -> TabletsState:
        """The state with a command in the log: with its effect, or with none on another state."""
        if command.stale and self.commit_with_guard:
            return s
        rows: dict[int, TabletRow] = {}
        used, carried = s.sessions(), {s.late.session} if s.late else set[int]()
        for change, _, edge in reversed([*self.edges_taken(s, command)]):
            row = rows.get(change.tablet, s.tablets[change.tablet])
            rows[change.tablet] = self._changed(row, change.place, edge, used)
            used |= carried
        for tablet, transition in command.begins:
            row = rows.get(tablet, s.tablets[tablet])
            begun = in_stage(transition, stages.onward(self.table(transition), BOUNDARY), used)
            rows[tablet] = row.but(transitions=(*row.transitions, begun))
        return s.with_rows(rows)

    def edges_taken(
        self, s: TabletsState, command: cluster.TabletCommand
    ) -> Iterator[tuple[cluster.StageChange, TabletTransition, EdgeRow]]:
        """The changes of a command, each with its transition and the edge that this takes.

        Without a guard (S-59) the transition may have ended meanwhile, and one of another kind may
        stand in its place: then there is nothing that the change is for.
        """
        for change in command.changes:
            ways = s.tablets[change.tablet].transitions
            if change.place < len(ways):
                way = ways[change.place]
                if (edge := self.table(way).edge(change.after, change.kind)) is not None:
                    yield change, way, edge

    def _changed(self, row: TabletRow, place: int, edge: EdgeRow, used: set[int]) -> TabletRow:
        transition = row.transitions[place]
        if edge.target == BOUNDARY:
            row = row.way(place, None)
            return row.but(replicas=transition.new) if stages.REPLACES in edge.effects else row
        now = in_stage(transition, edge, used)
        row = row.way(place, now)
        if self.table(transition).state(now.stage).writes == "both":
            row = row.but(some=union_of(row.some, now.sets.pending))
        return row

    # What goes wrong: work that fails, RPCs that are late

    def may_fail(self, s: TabletsState, piece: Piece) -> Refusal | None:
        """Why a piece of work does not fail now."""
        if blocked := self.busy(s):
            return blocked
        if self.error_edge(s, piece.transition) is None:
            return refused("it is retried until it succeeds")
        left = not piece.goes(s) or s.failures
        return None if left else refused("this run has no failures of work left")

    def with_failures(self, s: TabletsState, *pieces: Piece) -> TabletsState:
        """The state once work has failed, which takes a fault where the first piece could go."""
        if pieces[0].goes(s):
            s = s.spend("failures")
        for piece in pieces:
            row = s.tablets[piece.tablet].way(piece.place, piece.transition.but(failed=True))
            s = s.with_rows({piece.tablet: row})
        return s

    @action(
        kind="fault",
        verb="fail barrier",
        fault=True,
        relied=lambda m, s, a: not all(piece.goes(s) for piece in m.barriers(s)),
    )
    @purpose("Not every node has answered, so the next stage must not begin.")
    def fail_barrier(self, s: TabletsState) -> Next:
        """The barrier of the tablets fails."""
        ways = {piece: self.error_edge(s, piece.transition) for piece in self.barriers(s)}
        if not (edges := {piece: edge for piece, edge in ways.items() if edge is not None}):
            return None
        if blocked := self.may_fail(s, next(iter(edges))):
            return blocked
        if self.answering:
            unheard = barrier_nodes(s) & s.control.reachable & ~s.answered
            # It leads past who is down, and past nobody else, who could be two stages behind.
            if unheard and any(edge.kind == "proceed" for edge in edges.values()):
                return refused("live nodes have not all answered", self.named(unheard))
        return self.with_failures(s, *edges)

    def failing(self, s: TabletsState) -> dict[int, None]:
        """The tablets whose data work may fail; of very many, those where it cannot but fail."""
        if self.dump is None:
            return self.data_tablets(s)
        return dict.fromkeys(p.tablet for p in self.data_pieces(s) if not p.goes(s))

    @action(
        kind="fault",
        verb="fail work on {tablet}",
        label=work_label,
        each=failing,
        fault=True,
        relied=lambda m, s, a: not m.piece_of(s, a.tablet).goes(s),
        says=lambda m, before, a, after: m.work_words(before, a.tablet, "{} fails"),
    )
    @purpose("Work can fail, so each stage has a way back or a retry.")
    def fail_tablet(self, s: TabletsState, tablet: int) -> Next:
        """The next piece of a stage's work on a tablet fails."""
        piece = self.piece_of(s, tablet)
        return self.may_fail(s, piece) or self.with_failures(s, piece)

    @action(
        kind="fault",
        verb="fill disk for {tablet}",
        label=work_label,
        spends="full",
        each=lambda m, s: dict.fromkeys(
            p.tablet for p in m.data_pieces(s) if p.transition.stage == "streaming" and p.goes(s)
        ),
        fault=True,
        says=lambda m, before, a, after: m.work_words(
            before, a.tablet, "{} fails: the target's disk is full"
        ),
    )
    @purpose("A full disk has no room for a copy.")
    def fill_disk(self, s: TabletsState, tablet: int) -> Next:
        """The disk that a tablet is streamed to is full."""
        if blocked := self.busy(s):
            return blocked
        piece = self.piece_of(s, tablet)
        way = piece.transition.but(failed=True, full=True)
        return s.with_rows({tablet: s.tablets[tablet].way(piece.place, way)})

    @action(
        kind="late fault",
        tag="delay",
        label=work_label,
        spends="lates",
        each=lambda m, s: m.data_tablets(s) if s.late is None else (),
        fault=True,
        says=lambda m, before, a, after: m.work_words(
            before, a.tablet, "the coordinator gives up on the {} RPC, which is still on its way"
        ),
        travels=lambda m, before, a, after: [
            Travel(
                *("message", m.leader_spot(before), NETWORK),
                after.late.work + permit(after.late.session)[0],
                m.late_sent(after.late),
            )
        ],
    )
    @purpose("A message can still arrive after its sender has given up on it.")
    def delay_rpc(self, s: TabletsState, tablet: int) -> Next:
        """The coordinator gives up on an RPC of a tablet's stage, but it is still on its way."""
        if blocked := self.busy(s):
            return blocked
        piece = self.piece_of(s, tablet)
        way, work = piece.transition, piece.work.name
        _, written = self.involved(s, way, work)
        if not written or not piece.goes(s):
            return refused("no RPC is sent")
        return s.but(late=cluster.LateRpc(tablet, work, written, way.stage, way.session))

    def late_sent(self, late: cluster.LateRpc) -> str:
        """The late message, for which tablet, with its permit."""
        words = f"{late.work} of {self.tablet_words(late.tablet)}{permit(late.session)[1]}"
        return f"coordinator → network: {words}"

    def late_words(self, before: TabletsState, action: Any, after: TabletsState) -> str:
        """The fate of a late message."""
        late = before.late
        assert late is not None
        of = self.tablet_words(late.tablet)
        what = f"The late RPC ({late.work} of {of}, sent in {late.stage})"
        if late.runs:
            return f"{what} has finished."
        if after.late is None:
            return f"{what} is refused: a barrier has passed since its stage ended."
        over = "; its stage is over, but no barrier has passed since"
        return f"{what} is let in{over * (before.is_over(late) and not late.sealed)}."

    def late_flows(
        self, before: TabletsState, action: Any, after: TabletsState
    ) -> Iterator[Travel]:
        """The flows of a late message that is let in or turned away, for its permit."""
        late = before.late
        assert late is not None
        kind: FlowKind = "refusal" if after.late is None else "data"
        tag, carries = permit(late.session)
        label = f"{late.work}{tag} {'refused' if after.late is None else 'let in'}"
        for target in late.targets:
            text = f"network → {target}: {label}, sent in {late.stage}{carries}"
            yield Travel(kind, NETWORK, self.chip(before, late.tablet, target), label, text)

    @action(kind="late", tag="arrive", verb="arrive late", says=late_words, travels=late_flows)
    @purpose("The RPC's session decides whether its work may still run.")
    def arrive_late(self, s: TabletsState) -> Next:
        """The late RPC arrives: its permit decides whether it is let in or refused (S-24)."""
        if (late := s.late) is None or late.runs:
            return None
        if late.sealed and self.sessions:
            return s.but(late=None)
        return self.with_late_effect(s, late).but(late=late.but(runs=True))

    @action(kind="late", tag="end-late-rpc", verb="end late", says=late_words)
    @purpose("Once finished, the RPC can no longer change anything.")
    def end_late(self, s: TabletsState) -> Next:
        """The late RPC that was let in has finished."""
        if (late := s.late) is None or not late.runs:
            return None
        return self.with_late_effect(s, late).but(late=None)

    def with_late_effect(self, s: TabletsState, late: cluster.LateRpc) -> TabletsState:
        """The state once what came late has done its work."""
        row = effect(s.tablets[late.tablet], late.work, late.targets)
        return s.with_rows({late.tablet: row})


def barrier_nodes(s: TabletsState) -> int:
    """The nodes that a barrier for tablets asks (a mask): the normal ones, and who takes part."""
    topology = s.control.topology
    states = ("normal", *NODE_STATE_OF.values())
    return in_state(topology, *states) & topology.members & ~cluster.excluded_nodes(topology)


def done_row(row: TabletRow, piece: Piece) -> TabletRow:
    """The row with a piece of work behind the coordinator."""
    return row.way(piece.place, piece.transition.but(done=piece.transition.done + 1))


def effect(
    row: TabletRow,
    name: str,
    written: replica_sets.Replicas,
    sources: replica_sets.Replicas | None = None,
) -> TabletRow:
    """The row after data work: streams bring data, all if their sources have all (a late one,
    without ``sources``, brings some); cleanups end it.
    """
    if name == stages.STREAM:
        complete = sources is not None and any(each in row.whole for each in sources)
        whole = union_of(row.whole, written) if complete else row.whole
        return row.but(whole=whole, some=union_of(row.some, written))
    if name in (stages.CLEANUP_LEAVING, stages.CLEANUP_PENDING):
        some = tuple(each for each in row.some if each not in written)
        return row.but(whole=tuple(r for r in row.whole if r not in written), some=some)
    return row


def union_of(held: replica_sets.Replicas, more: replica_sets.Replicas) -> replica_sets.Replicas:
    """Those and these, in order."""
    return tuple(sorted({*held, *more}))


def in_stage(transition: TabletTransition, edge: EdgeRow, used: set[int]) -> TabletTransition:
    """The transition in the stage that an edge leads to; ``used`` are sessions, kept true."""
    session = transition.session
    if edge.session:
        free = (number for number in count(1) if number not in used)
        session = next(free) if edge.session == "opens" else cluster.NO_SESSION
        used -= {transition.session}
        used |= {session}
    return transition.but(stage=edge.target, session=session, done=0, failed=False, full=False)
