"""Tablets under the topology coordinator: they move by stages, between and during its operations.

The cluster is the model ``topology``, whose one piece of work for all tablets is played here in
full: transitions begin (``plans``), their stages follow from the tables of ``rules.stages``
(``stage_work``), and commands under the coordinator's guard commit them. A stage raises no version
of the cluster's, whose own barriers and fences are unchanged.
Sources: Topology over Raft, "Load balancing", "Tablet transitions", "Co-located tables"; published
coordinator.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import combinations, islice
from typing import Any

from kit.errors import Refusal
from kit.masks import nodes_in
from kit.model import declared
from kit.model.compose import lifted
from kit.model.declared import Cost, Travel, action, always, entry, goal, purpose, refused, step
from kit.model.model import Refinement, TransitionRows
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.tablets import cluster
from kit.protocols.tablets.cluster import Next, TabletCommand, TabletsState, TabletTransition
from kit.protocols.tablets.hosts import LOG, shard_spot
from kit.protocols.tablets.plans import Begin, Plans, replicas_after
from kit.protocols.tablets.rules.replica_sets import replica_of, words
from kit.protocols.tablets.rules.stages import REPLACES, TRANSITIONS, TransitionKind, onward
from kit.protocols.tablets.stage_work import Stages
from kit.protocols.topology import coordinator
from kit.protocols.topology.control import has_living_majority, majority_refusal, with_topology
from kit.protocols.topology.rules.cluster import NOBODY, in_state
from kit.protocols.topology.rules.decide import decide
from kit.protocols.topology.rules.machines import BOUNDARY, Machine
from kit.protocols.topology.rules.requests import stored_words
from kit.protocols.topology.rules.work import tablets_placed, under_way
from kit.protocols.topology.topology import Topology, row_name

NOTHING_MOVES = refused("there is nothing to move")
DISABLED = refused("balancing is disabled")
RUNNING = refused("tablets are still in transition")

MOST_SAID, MOST_NAMED = 20, 8  # tablets that a sentence, and a label, names
MOVED = 3  # words of a move: the tablet, from where, to where
VERBS = {
    "migration": "migrate",
    "intranode_migration": "migrate-within",
    "rebuild": "rebuild-tablet",
    "rebuild_v2": "rebuild-tablet-v2",
    "repair": "repair-tablet",
}
"""What is said of the beginning of a transition."""
ALTER_BASE = re.compile(r"ALTER TABLE (?P<table>\S+) WITH base_table = '?[\w.]+'?;?", re.IGNORECASE)
"""The statement that would co-locate a table with another one."""
COMMITS = (Topology.commit_decision, Topology.commit_deposed)
OF_CLUSTER = [act.name for act in Topology.acts.values()]
BEFORE_MOVES = OF_CLUSTER.index("move_tablets")


class Tablets(Plans, Stages):
    """A cluster with ``tablets`` while it evens out its load and its nodes change."""

    revision = 3
    name, title = "tablets", "Tablets under the topology coordinator"
    premise = (
        "A tablet moves in small stages, so reads and writes always meet. Each column of the "
        "picture is a shard, and each tile a tablet."
    )
    about = "A cluster with tablets, its requests, and the faults that can happen."
    rests_at_goals = True
    costs = (
        Cost(
            "ends",
            "None of the nodes that have a tablet, or that it moves to, is up: its rebuild is "
            "tried again and again, and the request waits.",
            "published coordinator, stages of a tablet (there a barrier that failed before its "
            "node was excluded leads back, which is not played)",
            when=lambda m: m.edition == "server" and m.crashes > 0,
            where=lambda m, s: any(
                not m.nodes_of(each) & s.control.up
                for row in s.tablets
                for each in (row.replicas, *(moved.new for moved in row.transitions))
            ),
        ),
    )
    faults = ("fault", "late fault")
    first = (
        *OF_CLUSTER[:BEFORE_MOVES],
        *("begin_transition", "begin_plan", "pass_barrier", "work_on", "work_on_all"),
        *OF_CLUSTER[BEFORE_MOVES:],
        *("answer_stages", "apply_stages"),
    )

    def set_up(self) -> None:
        """What the cluster's coordinator decides is asked for each transition that may begin."""
        super().set_up()
        self.decided_in_cluster: Callable[[TabletsState], Next] = lru_cache(1)(
            lambda s: self.in_part(Topology.take_decision, s)
        )

    # The coordinator decides: what the cluster is to do, the next stages, or what begins

    def begins(self, s: TabletsState) -> str:
        """The machine that the coordinator's next decision begins; empty: none."""
        decision = coordinator.decision_of(s.control, self.setting)
        operation = decision.operation if decision.kind == "begin" else None
        return "" if operation is None else operation.machine

    def begins_track(self, s: TabletsState) -> bool:
        """Whether the coordinator's next decision is to enter the tablet track."""
        return self.begins(s) == "tablets"

    def is_planned(self, s: TabletsState) -> bool:
        """Whether the coordinator asks for a plan: on the tablet track, or to enter it."""
        return s.control.topology.tablets == "moving" or self.begins_track(s)

    def rf_command(self, s: TabletsState) -> TabletCommand | None:
        """The command that begins an RF change; None for any other decision."""
        if not s.control.started or self.begins(s) != "keyspace_rf_change":
            return None
        number = coordinator.decision_of(s.control, self.setting).number
        request = s.control.topology.requests[number - 1]
        return TabletCommand(begins=self.rf_begins(s, request), joint=True)

    def decision_words(self, before: TabletsState, action: Any, after: TabletsState) -> str:
        """The decision about tablets, if there is any."""
        said = after.command and self.command_words(before, after.command)
        return f"The coordinator decides: {said}." if said else ""

    @lifted(Topology.take_decision, says=decision_words)
    def take_decision(self, s: TabletsState) -> Next:
        """The cluster's decision, with whatever an RF change begins; otherwise the stages that are
        due.
        """
        if s.command is not None:
            return coordinator.IN_HAND
        end = self.decided_in_cluster(s)
        if isinstance(end, Refusal):
            changes = self.due_changes(s) if self.busy(s) is None else ()
            return s.but(command=TabletCommand(changes)) if changes else end
        if s.control.started and self.begins_track(s) and any(self.plan(s)):
            return refused("the balancer's plan goes into the same command")
        return end and end.but(command=self.rf_command(s))

    def with_begun(self, s: TabletsState, *begins: Begin) -> Next:
        """The state in which transitions are decided on, with the track's entry where it is due."""
        if not (joint := self.begins_track(s)):
            end: Next = self.busy(s) or s
        elif s.command is not None or not s.control.started:
            return coordinator.IN_HAND if s.command is not None else coordinator.BEGINS
        else:
            end = self.decided_in_cluster(s)
        if end is None or isinstance(end, Refusal):
            return end
        pairs = ((each, s.tablets[each[0]]) for each in begins)
        rows = tuple(
            (tablet, TabletTransition(kind, "", row.replicas, replicas_after(row, source, target)))
            for (tablet, kind, source, target), row in pairs
        )
        return end.but(command=TabletCommand(begins=rows, joint=joint))

    def beginnings(self, s: TabletsState) -> Iterator[Begin]:
        """What may begin, and what has to wait for the transition that its tablet is in."""
        if self.is_planned(s):
            yield from self.plan(s)
            yield from self.balance_moves(s, later=True)

    def begin_verb(self, begin: Any) -> str:
        """``migrate 0 A:0 D:0``."""
        words = VERBS[begin.kind], str(begin.tablet), begin.source, begin.target
        return " ".join(filter(None, words))

    @action(
        when=lambda m: m.dump is None,
        kind="decide",
        verb=begin_verb,
        label=lambda m, s, a: m.verb(a) + f": of {', '.join(m.tables)}" * (len(m.tables) > 1),
        each=beginnings,
        says=decision_words,
        hand=lambda m, s, a: (
            (m.chip(s, a.tablet, replica_of(a.source)), shard_spot(a.target))
            if a.source and a.target
            else None
        ),
    )
    @purpose("A replica moves in stages, so reads and writes still meet.")
    def begin_transition(
        self, s: TabletsState, tablet: int, kind: TransitionKind, source: str = "", target: str = ""
    ) -> Next:
        """The coordinator decides on a transition: a replica goes from one shard to another.

        ``source`` and ``target`` are written ``A:0``; a rebuild that only adds or a repair lacks
        one.
        """
        if not self.free(s.tablets[tablet]):
            way = s.tablets[tablet].transitions[0]
            return refused(f"{self.tablet_words(tablet)} is in transition: {way.kind}, {way.stage}")
        begin = (tablet, kind, source, target)
        if (end := self.with_begun(s, begin)) is None or isinstance(end, Refusal):
            return end
        drains = any((each, str(place)) == (tablet, source) for each, place in self.drains(s))
        balances = not drains and begin not in self.completions(s)
        return end.but(moves=s.moves - balances)

    @action(when=lambda m: m.dump is not None, kind="decide", verb="plan", says=decision_words)
    @purpose("The balancer chooses which tablets should move now.")
    def begin_plan(self, s: TabletsState) -> Next:
        """The coordinator decides on all transitions of the balancer's next plan."""
        begins = tuple(self.plan(s)) if self.is_planned(s) else ()
        return self.with_begun(s, *begins) if begins else None

    # Commands go into the log: the coordinator's, and late the one of a coordinator before

    def in_log(self, s: TabletsState, command: TabletCommand) -> TabletsState:
        """The state with a command of tablets in the log: the cluster learns who has tablets; with
        the safeguard S-27 off it does not.
        """
        if given_up := self.failed_drains(s, command):
            s = s.but(given_up=s.given_up | given_up)
        s = self.with_command(s, command)
        topology, on = s.control.topology, self.owners(s)
        if topology.tablets != "moving" or topology.tablets_on == on:
            return s
        if not self.drain_tablets_first:
            return s
        return s.but(control=with_topology(s.control, tablets_placed(topology, on, more=True)))

    def failed_drains(self, s: TabletsState, command: TabletCommand) -> int:
        """The nodes (a mask) off which a command gives up to stream: they are asked to leave."""
        if command.stale and self.commit_with_guard:
            return 0
        ways = [
            way
            for change, way, _ in self.edges_taken(s, command)
            if change.after == "streaming" and change.kind == "rollback"
        ]
        return sum(1 << node for node in {node for way in ways for node in self.leavers(s, way)})

    def in_log_words(self, s: TabletsState, command: TabletCommand) -> str:
        """The effect of a command of tablets."""
        if command.stale and self.commit_with_guard:
            return "Group 0 has changed since the command was decided, so it has no effect."
        names = self.named(self.failed_drains(s, command))
        more = f" Draining {' and '.join(names)} has failed." if names else ""
        return f"Group 0 stores it: {self.command_words(s, command)}.{more}"

    def into_log(
        self, before: TabletsState, command: TabletCommand | None, after: TabletsState
    ) -> Iterator[Travel]:
        """A command of tablets says what it does; any other is the cluster's."""
        if command is not None:
            numbers = [each.tablet for each in command.changes]
            tablets = dict.fromkeys((*numbers, *(tablet for tablet, _ in command.begins)))
            label = f"tablet {', '.join(map(str, tablets))}"
            if len(tablets) == 1:
                label = self.tablet_words(*tablets)
            elif len(tablets) > MOST_NAMED or self.dump is not None:
                label = f"{len(tablets):,} tablets"
            effect = "" if after.tablets is not before.tablets else " (no effect)"
            text = f"coordinator → group 0: {self.command_words(before, command)}{effect}"
            yield Travel("entry", self.leader_spot(before), LOG, label, text, stays=True)

    @lifted(
        Topology.commit_decision,
        label=lambda m, s, a: f"commit: {m.briefly(s, s.command)}" if s.command else "",
        says=lambda m, before, a, after: (
            m.in_log_words(before, before.command) if before.command else ""
        ),
        travels=lambda m, before, a, after: m.into_log(before, before.command, after),
    )
    def commit_decision(self, s: TabletsState) -> Next:
        """A majority stores what the coordinator has decided."""
        if (command := s.command) is None:
            alone: Next = self.in_part(Topology.commit_decision, s)
            return alone
        if blocked := majority_refusal(s.control):
            return blocked
        s = s.but(command=None)
        if s.control.attempted.command is not None:
            # The plan and the entry into the track are one command.
            s = self.in_part(Topology.commit_decision, s)
        return self.in_log(s, command)

    @lifted(
        Topology.commit_deposed,
        label=lambda m, s, a: f"commit deposed: {m.briefly(s, s.deposed)}" if s.deposed else "",
        says=lambda m, before, a, after: (
            "An earlier coordinator's decision is committed late. "
            + m.in_log_words(before, before.deposed)
            if before.deposed
            else ""
        ),
        travels=lambda m, before, a, after: m.into_log(before, before.deposed, after),
    )
    def commit_deposed(self, s: TabletsState) -> Next:
        """A majority stores what an earlier coordinator had decided."""
        command, alone = s.deposed, s.deposed_alone
        if command is None:
            theirs: Next = self.in_part(Topology.commit_deposed, s)
            return theirs
        if blocked := majority_refusal(s.control):
            return blocked
        s = s.but(deposed=None)
        if s.control.deposed is not None and not alone:
            s = self.in_part(Topology.commit_deposed, s)
        return self.in_log(s, command)

    # The track of the tablets

    def track_end(self, s: TabletsState) -> Iterator[tuple[tuple[str, ...], bool]]:
        """The places of tablets when their track ends."""
        if s.control.topology.tablets == "moving":
            yield self.named(self.owners(s) if self.drain_tablets_first else 0), False

    @lifted(Topology.move_tablets, each=track_end)
    def move_tablets(self, s: TabletsState, on: tuple[str, ...], more: bool) -> Next:
        """The balancer has nothing more to move, and no tablet is in transition: the track ends."""
        if s.in_transition or s.command is not None:
            return RUNNING
        if blocked := self.busy(s):
            return blocked
        end: Next = self.in_part(Topology.move_tablets, s, on, more)
        unfinished = not isinstance(end, Refusal) and self.unfinished(s)
        return refused("tablets must move first") if unfinished else end

    @lifted(Topology.find_imbalance)
    def find_imbalance(self, s: TabletsState) -> Next:
        """The load is uneven where something could be moved."""
        end: Next = self.in_part(Topology.find_imbalance, s)
        if isinstance(end, Refusal):
            return end
        if next(self.plan(s), None) is None:
            return NOTHING_MOVES if self.balancing else DISABLED
        return end

    def is_placeless(self, s: TabletsState) -> bool:
        """Whether a node that is to leave keeps a replica for which there is no place."""
        if s.control.topology.tablets != "moving":
            return False
        left = in_state(s.control.topology, "left")
        return any(not left >> self.number(each.host) & 1 for each in self.without_target(s))

    def drain_failed(self, before: TabletsState, action: Any, after: TabletsState) -> str:
        """For what there is no place."""
        if before.given_up:
            names = " and ".join(self.named(before.given_up))
            return f"Draining fails: a tablet could not be streamed off {names}."
        stuck = self.without_target(before)
        more = f" and {len(stuck) - MOST_SAID:,} more" if len(stuck) > MOST_SAID else ""
        named = " ".join(map(str, stuck[:MOST_SAID]))
        held = [each for tablet, each in self.drains(before) if not self.is_lost(before, tablet)]
        why = "there is no place for" if set(held) & set(stuck) else "no live replica is left of"
        return f"Draining fails: {why} {named}{more}." if stuck else ""

    @lifted(Topology.fail_work, each=lambda m, s: (m.is_placeless(s),), says=drain_failed)
    def fail_work(self, s: TabletsState, placeless: bool) -> Next:
        """Draining fails where a replica has no place; in ``documents``, at any time."""
        end: Next = self.in_part(Topology.fail_work, s, placeless)
        if isinstance(end, Refusal):
            return end
        if s.command is not None:
            return coordinator.IN_HAND
        work = coordinator.task_of(s.control, self.setting).work
        if work is None or work.name not in coordinator.TABLETS_WORK:
            return end
        if work.on_failure == "retry" and s.in_transition:
            return RUNNING
        if any(self.completions(s)):
            return refused("the RF change has not finished")
        # Work that is a drain's own is that of edition ``documents``.
        is_drain = work.on_failure != "retry"
        if (is_drain and not placeless) or self.is_placeless(s):
            return end
        return coordinator.HAS_PLACES

    def at_rest(self, s: TabletsState) -> bool:
        """Whether nothing is under way, and nothing waits."""
        decision = decide(s.control.topology, s.control.reachable, self.setting)
        return decision.kind == "rest" and not s.in_transition

    def suggest(self, s: TabletsState) -> Any | None:
        """The next step when nothing goes wrong; when nothing is left to do, uneven load."""
        if (own := super().suggest(s)) is not None:
            return own
        helps = {self.kind(each): each for each in reversed([*self.actions(s)])}
        if s.control.coordinator == NOBODY and "elect" in helps:
            return helps["elect"]
        if "restart" in helps and not self.at_rest(s):
            return helps["restart"]
        return helps.get("tablets found")

    # What must hold, whatever fails and whoever takes over: what the cluster promises is judged of
    # the cluster, but for what is said of tablets here.

    @always("INV-TABL-2", name="one-transition", sign=lambda m: not m.one_transition)
    def single(self, s: TabletsState) -> str | None:
        """A tablet has one transition.

        With S-25 off its harm is judged, not that it is off.
        """
        name = self.tablet_words
        for tablet, row in enumerate(s.tablets):
            if len(row.transitions) > 1:
                return f"{name(tablet)} is in {len(row.transitions)} transitions at once"
        return None

    @always("INV-EXCL")
    def tablets_apart(self, s: TabletsState) -> str | None:
        """Tablets move in their own tracks."""
        where = s.control.topology.transition
        if not s.in_transition or where in (*cluster.TRACKS, "rollback_to_normal"):
            return None
        operation = under_way(s.control.topology)
        boots = operation is not None and operation.machine.startswith("boot")
        before = boots and self.setting.has("join-first")
        return None if before else f"a tablet is in transition in {where or 'null'}"

    @step("INV-EXCL")
    def tablets_hold(self, before: TabletsState, action: Any, after: TabletsState) -> str | None:
        """No tablet advances during a node operation."""
        if before.tablets == after.tablets or not advanced(before, after):
            return None
        where = before.control.topology.transition
        return None if where in cluster.TRACKS or not where else f"a tablet advanced in {where}"

    @step("INV-STAGE", on=COMMITS)
    def stage_edges(self, before: TabletsState, action: Any, after: TabletsState) -> str | None:
        """Stages follow the table.

        They change along its edges, and ends leave the replicas that it says.
        """
        name = self.tablet_words
        for tablet, (old, new) in enumerate(zip(before.tablets, after.tablets, strict=True)):
            ended = self.one_transition and not new.transitions
            if len(old.transitions) != 1 or (len(new.transitions) != 1 and not ended):
                continue
            [was], now = old.transitions, BOUNDARY if ended else new.transitions[0].stage
            edges = self.table(was).edges
            taken = [edge for edge in edges if (edge.source, edge.target) == (was.stage, now)]
            if not taken and was.stage != now:
                how = f"lost its transition in {was.stage}"
                return f"{name(tablet)} {how if ended else f'went from {was.stage} to {now}'}"
            if ended:
                due = was.new if REPLACES in taken[0].effects else old.replicas
                if new.replicas != due:
                    return f"{name(tablet)} has {words(new.replicas)}, not {words(due)}"
        return None

    @step("INV-STAGE", on=COMMITS)
    def transition_stored(
        self, before: TabletsState, action: Any, after: TabletsState
    ) -> str | None:
        """A transition begins with all of its information in group 0.

        Whoever reads its row learns what becomes of the tablet. Source: Topology over Raft, "Tablet
        transitions", the precondition of ``allow_write_both_read_old``.
        """
        name = self.tablet_words
        for tablet, (old, new) in enumerate(zip(before.tablets, after.tablets, strict=True)):
            for each in new.transitions[len(old.transitions) :]:
                moves = each.kind != "repair"
                columns = {
                    "replicas": new.replicas != (),
                    "new_replicas": each.new != () and (each.new != each.old) == moves,
                    "stage": bool(each.stage),
                    "session": bool(each.session) or moves,
                }
                lacking = ", ".join(name for name, is_there in columns.items() if not is_there)
                if lacking:
                    return f"{name(tablet)} enters {each.stage or 'no stage'} without {lacking}"
        return None

    @always("INV-STREAM")
    def replicas_complete(self, s: TabletsState) -> str | None:
        """Every replica that is read has all the data."""
        for tablet, row in enumerate(s.tablets):
            read = row.replicas
            for way in row.transitions:  # the last one counts
                read = way.sets.chosen(self.table(way).state(way.stage).reads)
            if lacking := tuple(each for each in read if each not in row.whole):
                return f"{words(lacking)} is read but lacks data of {self.tablet_words(tablet)}"
        return None

    @always("INV-TABL-1")
    def data_owned(self, s: TabletsState) -> str | None:
        """Outside a transition, only replicas have data."""
        name = self.tablet_words
        lost = self.excluded(s) | self.hosts(self.everybody & ~s.control.up)
        for tablet, row in enumerate(s.tablets):
            if row.transitions:
                continue
            stray = tuple(r for r in row.some if r not in row.replicas and r.host not in lost)
            if stray:
                return f"{words(stray)} has data of {name(tablet)} but is not a replica"
        return None

    @always("INV-AVAIL")
    def quorums_stay(self, s: TabletsState) -> str | None:
        """No tablet has lost a quorum of its replicas to nodes that have left.

        Who is replaced was dead before: its successor gets its replicas once it is normal.
        """
        name = self.tablet_words
        gone = self.hosts(cluster.gone_nodes(s.control.topology))
        for tablet, row in enumerate(s.tablets if gone else ()):
            lost = tuple(each for each in row.replicas if each.host in gone)
            if 2 * len(lost) >= len(row.replicas):
                return f"{name(tablet)} has no quorum: {words(lost)} has left with its node"
        return None

    @always("INV-RF")
    def replicas_on_members(self, s: TabletsState) -> str | None:
        """No replica is on a node that has left."""
        name = self.tablet_words
        gone = self.hosts(cluster.gone_nodes(s.control.topology))
        for tablet, row in enumerate(s.tablets if gone else ()):
            for replica in row.replicas:
                if replica.host in gone:
                    return f"{name(tablet)} has a replica on {replica.host}, which has left"
        return None

    @always()
    def replicas_on_owners(self, s: TabletsState) -> str | None:
        """No replica is on a node without tokens."""
        name = self.tablet_words
        nodes = s.control.topology.nodes
        zero = any(entry.zero_token for entry in nodes)
        for tablet, row in enumerate(s.tablets) if zero else ():
            for replica in (*row.replicas, *(r for t in row.transitions for r in t.new)):
                if nodes[self.number(replica.host)].zero_token:
                    return f"{name(tablet)} has a replica on {replica.host}, which has no tokens"
        return None

    @always()
    def one_replica(self, s: TabletsState) -> str | None:
        """A tablet gains and loses at most one replica at a time."""
        name = self.tablet_words
        for tablet, row in enumerate(s.tablets):
            for each in row.transitions:
                if len(each.sets.pending) > 1 or len(each.sets.leaving) > 1:
                    return f"{name(tablet)} goes from {words(each.old)} to {words(each.new)}"
        return None

    @step("INV-RF", on=(Topology.move_tablets,))
    def replicas_reached(
        self, before: TabletsState, action: Any, after: TabletsState
    ) -> str | None:
        """An RF change ends with all replicas for which there is a place."""
        name = self.tablet_words
        left = next(self.completions(after), None)
        return None if left is None else f"the track ends, but {name(left[0])} lacks replicas"

    @always("INV-ONESTAGE", when=lambda m: m.answering)
    def one_stage(self, s: TabletsState) -> str | None:
        """Nodes are at most one stage apart; stages with equal selectors count as one.

        No two nodes differ both in the replicas that they read of a tablet and that they write.
        """
        topology = s.control.topology
        live = s.control.reachable & topology.members & ~cluster.excluded_nodes(topology)
        views = {s.views[s.applied[i]]: self.names[i] for i in nodes_in(live)}
        for (near, first), (far, second) in combinations(views.items(), 2):
            for tablet, (a, b) in enumerate(zip(near, far, strict=True)):
                if a[0] != b[0] and a[1] != b[1]:
                    reader, other = (
                        f"{name} reads {words(reads, ' ')} and writes {words(writes, ' ')}"
                        for name, (reads, writes) in ((first, a), (second, b))
                    )
                    return f"{self.tablet_words(tablet)}: {reader}, but {other}"
        return None

    @always("INV-SESSION")
    def work_in_session(self, s: TabletsState) -> str | None:
        """Nothing runs after its stage.

        What was sent in a stage does not run once a barrier has passed since its end.
        """
        if (late := s.late) is not None and late.runs and late.sealed:
            what = f"{late.work} of {self.tablet_words(late.tablet)}"
            return f"{what}, sent in {late.stage}, runs after that stage"
        return None

    @always()
    def one_per_host(self, s: TabletsState) -> str | None:
        """A tablet has at most one replica on a node."""
        name = self.tablet_words
        for tablet, row in enumerate(s.tablets):
            if len({each.host for each in row.replicas}) < len(row.replicas):
                return f"{name(tablet)} has two replicas on one node: {words(row.replicas)}"
        return None

    @declared.sometimes()
    def moved(self, s: TabletsState) -> bool:
        """A transition ends with the new replicas."""
        if not (self.moves or self.operations):
            return True
        pairs = zip(self.rows, s.tablets, strict=True)
        return any(old.replicas != new.replicas for old, new in pairs)

    @goal("INV-PROGRESS")
    def ends(self, s: TabletsState) -> bool:
        """Every operation can end, unless a majority of group 0 is dead."""
        return self.at_rest(s) or not has_living_majority(s.control)

    # How it is told

    def find(self, s: TabletsState, verb: str) -> tuple[Any, Refusal | None] | None:
        """The option that goes by a verb, in the tables' words or in an operator's or a client's.

        The latter are ``move_tablet ks.v 0 A:0 D:0`` and ``add_tablet_replica ks.v 0 D:0``, which
        act on all of a co-location group, whichever table they name, and ``ALTER TABLE ks.v WITH
        base_table = ks.u`` (Topology over Raft, "Co-located tables").
        """
        line = stored_words(verb)
        if altered := ALTER_BASE.fullmatch(line):
            line = f"alter-co-location {altered['table']}"
        name, table, *places = [*line.split(), "", ""]
        places = [*filter(None, places)]
        if table in self.tables and name == "add_tablet_replica":
            line = " ".join([VERBS[self.rebuild], *places])
        if table in self.tables and name == "move_tablet" and len(places) == MOVED:
            within = places[1].partition(":")[0] == places[2].partition(":")[0]
            kind = "intranode_migration" if within else "migration"
            line = " ".join([VERBS[kind], *places])
        return super().find(s, line)

    def briefly(self, s: TabletsState, command: TabletCommand) -> str:
        """The first stage that a command leads to, and how many other tablets it moves on."""
        name = self.tablet_words
        parts = [f"{name(tablet)} to {target}" for tablet, _, target in self.leads_to(s, command)]
        parts += [f"{transition.kind} of {name(tablet)}" for tablet, transition in command.begins]
        more = f" and {len(parts) - 1:,} more" if len(parts) > 1 else ""
        return f"{parts[0]}{more}" if parts else "nothing"

    def leads_to(self, s: TabletsState, command: TabletCommand) -> Iterator[tuple[int, str, str]]:
        """Each tablet that is moved on, the stage that it leaves and where that leads."""
        for change, _, edge in self.edges_taken(s, command):
            yield change.tablet, change.after, "the end" if edge.target == BOUNDARY else edge.target

    def command_words(self, s: TabletsState, command: TabletCommand) -> str:
        """The effect of a command on tablets, in words; of very many, on the first of them."""
        parts = [*islice(self.command_parts(s, command), MOST_SAID)]
        more = len(command.changes) + len(command.begins) - MOST_SAID
        return "; ".join([*parts, *([f"and {more:,} more"] if more > 0 else [])]) or "nothing"

    def command_parts(self, s: TabletsState, command: TabletCommand) -> Iterator[str]:
        """The effect of a command on each tablet."""
        for tablet, source, target in self.leads_to(s, command):
            yield f"{self.tablet_words(tablet)} goes from {source} to {target}"
        for tablet, transition in command.begins:
            old, new = (words(each, " ") for each in (transition.old, transition.new))
            yield f"{transition.kind} of {self.tablet_words(tablet)} from {old} to {new}"

    def milestone(self, before: TabletsState, action: Any, after: TabletsState) -> str | None:
        """The stage that a tablet enters, or the transition state that the cluster does."""
        for tablet, (old, new) in enumerate(zip(before.tablets, after.tablets, strict=True)):
            was, now = ([t.stage for t in row.transitions] for row in (old, new))
            if was != now:
                return f"{self.tablet_words(tablet)}: {now[-1] if now else 'no transition'}"
        if type(action) in Topology.acts:
            return self.control.milestone(before.control, action, after.control)
        return None

    def readable(self, s: TabletsState) -> dict[str, str]:
        """The state as a person reads it: every tablet, what is in hand, the cluster."""
        late = s.late
        return {
            **{self.tablet_words(i): row_said(row) for i, row in enumerate(s.tablets)},
            "decided of tablets": "nothing"
            if s.command is None
            else self.command_words(s, s.command),
            "late RPC": "none" if late is None else f"{late.work} sent in {late.stage}",
            **self.control.readable(s.control),
        }


def row_said(row: cluster.TabletRow) -> str:
    """A tablet: its replicas, its transition, and who else has data."""
    said = [words(row.replicas, " ")]
    for t in row.transitions:
        session = f", session {t.session}" if t.session else ""
        said.append(f"{t.kind} to {words(t.new, ' ')} in {t.stage}{session}")
    stray = [each for each in row.some if each not in row.replicas]
    return "; ".join(said + ([f"data also on {words(stray, ' ')}"] if stray else []))


def advanced(before: TabletsState, after: TabletsState) -> bool:
    """Whether a stage changed or some of its work was done; to forget work is no advance."""
    return any(
        [t.stage for t in old.transitions] != [t.stage for t in new.transitions]
        or any(t.done < u.done for t, u in zip(old.transitions, new.transitions, strict=True))
        for old, new in zip(before.tablets, after.tablets, strict=True)
    )


def refinement(parameters: Any) -> Refinement:
    """How the tablets refine the topology's one piece of work for all of them.

    The coarser model is ``topology``, in which it is open on which nodes tablets are after a move.
    A state is its cluster; the steps of tablets change nothing there:

    ====================  =========================================================================
    tablets               topology
    ====================  =========================================================================
    begin a transition    nothing; with the entry into the track: decide
    decide on an RF       decide
    work, barriers        nothing
    commit of stages      nothing; where a replica set changed: tablets move, and others go on
    nothing more to move  tablets move
    ====================  =========================================================================

    All else is the same step there.
    """
    fine = Tablets(parameters)

    def image(before: TabletsState, action: Any, after: TabletsState) -> tuple[Any, ...]:
        if isinstance(action, (Tablets.begin_transition, Tablets.begin_plan)):
            return (Topology.take_decision(),) if fine.begins_track(before) else ()
        if type(action) not in Topology.acts or after.control == before.control:
            return ()
        if isinstance(action, Topology.commit_decision):
            own = before.control.attempted.command
        elif isinstance(action, Topology.commit_deposed):
            own = None if before.deposed_alone else before.control.deposed
        else:
            return (action,)
        on = after.control.topology.tablets_on
        moved = on != before.control.topology.tablets_on
        learnt = (Topology.move_tablets(fine.named(on), more=True),) if moved else ()
        return ((action,) if own is not None else ()) + learnt

    return Refinement(fine, fine.control, lambda s: s.control, image)


def tables(m: Tablets) -> Iterator[Machine]:
    """The tables of the kinds that a model's balancer, drains and rebuilds begin."""
    requested = {request.kind for request in m.control.plan.requests}
    rebuilds = not requested.isdisjoint(("remove", "replace", "keyspace_rf_change"))
    kinds: list[TransitionKind] = [*m.begun] * bool(m.moves)
    kinds += ["migration"] if "leave" in requested else []
    kinds += [m.rebuild] if rebuilds else []
    return (TRANSITIONS[m.stage_tables][kind] for kind in dict.fromkeys(kinds))


def rows(m: Tablets) -> TransitionRows:
    """The edges of those tables, and which of them a step takes."""
    names = tuple(row_name(table.name, edge) for table in tables(m) for edge in table.edges)

    def taken(before: TabletsState, action: Any, after: TabletsState) -> tuple[str, ...]:
        late = isinstance(action, Topology.commit_deposed)
        commits = late or isinstance(action, Topology.commit_decision)
        command = before.deposed if late else before.command
        if not commits or command is None or (command.stale and m.commit_with_guard):
            return ()
        edges = [(m.table(way), edge) for _, way, edge in m.edges_taken(before, command)]
        begun = (m.table(transition) for _, transition in command.begins)
        edges += [(table, onward(table, BOUNDARY)) for table in begun]
        return tuple(row_name(table.name, edge) for table, edge in edges)

    return TransitionRows(names, taken)


SCENARIOS = (
    Scenario(
        "one-tablet-moves",
        (
            "A tablet moves to another node. Seven stages, five of them with a barrier "
            "(Topology over Raft)"
        ),
        {"tablets": ("A B C",), "moves": 1},
    ),
    Scenario(
        "decommission-drains-first",
        (
            "A node leaves, and its tablets move first. In tablet_draining, the two "
            "tablets of C move to D"
        ),
        {"tablets": ("A B C", "B C A"), "moves": 0, "operations": ("decommission C",)},
    ),
    Scenario(
        "removenode-rebuilds",
        (
            "A dead node's tablet is rebuilt. C is being removed: its tablet is first "
            "repaired and rebuilt on D"
        ),
        {"moves": 0, "operations": ("removenode C",)},
    ),
    Scenario(
        "co-located-tables-move",
        (
            "Two tables move together. They are co-located and share their tablets: one "
            "transition, and each stage works on both"
        ),
        {"tablets": ("A B C",), "tables": ("ks.base", "ks.view")},
    ),
    Scenario(
        "rf-change-adds-a-replica",
        (
            "Each tablet gets one more replica. ALTER KEYSPACE to three replicas, in "
            "stages of its own"
        ),
        {"nodes": 4, "tablets": ("A B", "B C"), "moves": 0}
        | {"operations": ("keyspace_rf_change ks dc1=3",)},
    ),
    Scenario(
        "rf-change-refused",
        (
            "More replicas than nodes. ALTER KEYSPACE to four replicas on three nodes: "
            "the request ends with an error"
        ),
        {"nodes": 3, "moves": 0, "operations": ("keyspace_rf_change ks dc1=4",)},
    ),
    Scenario(
        "truncate-waits-for-a-move",
        (
            "A truncate waits for a move. A TRUNCATE while a tablet moves: the request "
            "waits, then gets its session"
        ),
        {"tablets": ("A B",), "operations": ("truncate_table ks.t",)},
        script=("imbalance", "migrate 0 A:0 D:0", "commit", "truncate_table ks.t"),
    ),
    Scenario(
        "nowhere-to-go",
        (
            "A node cannot leave. No other node can take the replica of C, so the "
            "request ends with an error"
        ),
        {"nodes": 3, "moves": 0, "operations": ("decommission C",), "undone": 1},
        script=("decommission C", "decide", "commit", "fail"),
    ),
)
FUZZING = Fuzzing(
    {
        "edition": "documents",
        "nodes": 4,
        "tablets": ("A B C", "B C D"),
        "moves": 3,
        "operations": ("decommission D",),
        "failures": 2,
        "undone": 1,
        "crashes": 1,
        "changes": 1,
        "late": 1,
    },
    {"fault": 0.1, "elect": 0.05, "late fault": 0.2},
)
ENTRY = entry(Tablets, scenarios=SCENARIOS, rows=rows, fuzzing=FUZZING, refinement=refinement)
