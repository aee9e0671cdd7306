"""The coordinator: it decides and commits, works, waits for answers, fails, and is followed.

Between decision and commit others may change group 0: a command carries the state id that it was
decided on, and does nothing on another one. A coordinator that is up is deposed only as often as
the budget has it; one that is dead or not heard is followed freely. Sources: Raft in Scylla, "Using
Group 0 to perform schema changes"; Topology over Raft, "Topology guards"; published coordinator,
the global token metadata barrier.
"""

from collections.abc import Iterable
from functools import lru_cache
from re import match, sub
from typing import Annotated, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kit.errors import Refusal
from kit.masks import nodes_in
from kit.model.declared import Each, Node, Travel, action, purpose, refused, verbatim
from kit.protocols.group0.rules.commands import Command, command_of, takes_effect
from kit.protocols.topology import control
from kit.protocols.topology.control import ControlState, Next, Travels, caught_up, majority_refusal
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules import work as rules
from kit.protocols.topology.rules.columns import changed_cells
from kit.protocols.topology.rules.decide import Decision, decide, outcome, queue
from kit.protocols.topology.rules.machines import StateRow, WorkRow, reason_for

LOG = "group0"
NO_COORDINATOR = refused("there is no coordinator that the other nodes can hear")
IN_HAND = refused("a command was decided but is not committed yet")
BEGINS = refused("a new coordinator must first commit a command of its own")
HAS_FAILED = refused("this work has failed")
HAS_PLACES = refused("there is a place for every tablet")
HELD = refused("a node operation holds the state machine")

TABLETS_WORK = ("drain_tablets", "finish_tablets")
"""Work that ends when tablets do: their own transitions are commands of the same coordinator."""


class CoordinatorTask(Struct, frozen=True, cache_hash=True):
    """The task of the coordinator: its decision, the next piece of work, the nodes it needs.

    ``work`` is None where nothing is to be worked on, or all of it is done; ``step`` is its place.
    """

    decision: Decision
    work: WorkRow | None = None
    step: int = 0
    needs: int = 0

    @property
    def node(self) -> int:
        """The node of the operation; ``NOBODY`` where it has none."""
        return cluster.NOBODY if self.decision.operation is None else self.decision.operation.node


def decision_of(s: ControlState, setting: cluster.Setting) -> Decision:
    """The decision of the coordinator, by the tables and by who is reachable."""
    return task_of(s, setting).decision


def task_of(s: ControlState, setting: cluster.Setting) -> CoordinatorTask:
    """The task of the coordinator in this state."""
    return _task(s.topology, s.reachable, s.heir, s.attempted.step, setting)


# A search asks several times in each state, and many states have the same task.
@lru_cache(maxsize=1 << 16)
def _task(
    topology: cluster.ClusterTopology, alive: int, heir: bool, done: int, setting: cluster.Setting
) -> CoordinatorTask:
    decision = decide(topology, alive, setting)
    if heir and rules.under_way(topology):  # S-53: it goes on only with what it began itself
        decision = Decision("wait", "this coordinator does not know what is under way")
    if decision.kind != "work":
        return CoordinatorTask(decision)
    if (operation := decision.operation) is None:
        return CoordinatorTask(decision, rules.DROP_LEFT)
    step = rules.still_to_do(topology, operation, setting, done)
    work = rules.state_of(operation, setting).work
    if step == len(work):
        return CoordinatorTask(decision, None, step)
    needs = rules.addressees(topology, operation, work[step])
    return CoordinatorTask(decision, work[step], step, needs)


def said_of(s: ControlState, setting: cluster.Setting) -> tuple[str, int]:
    """The task of the coordinator, in words, and the nodes that it misses for it (a mask).

    What it remembers counts, too: work that is behind it, or has failed, is not what comes next.
    """
    task = task_of(s, setting)
    decision, work = task.decision, task.work
    if work is None:
        return decision.reason, decision.missing
    if s.attempted.failed:
        return f"{work.name} has failed: a pause comes next", 0
    # A barrier is the first piece of its state, or the tables show that all before it is done.
    if work == decision.work[0]:
        left = barrier_left(s, task) if s.attempted.answered else 0
        return decision.reason, decision.missing | left
    return f"{work.name} comes next", task.needs & ~s.reachable


def barrier_left(s: ControlState, task: CoordinatorTask) -> int:
    """The nodes whose answer to the barrier, or whose part in other work, is missing (a mask)."""
    return task.needs & ~s.attempted.answered


def drains(s: ControlState, task: CoordinatorTask) -> bool:
    """Whether the barrier that runs drains requests, or is the plain one."""
    return task.work is not None and task.work.barrier == "global" and not s.attempted.commands


def goes_on_undrained(s: ControlState, task: CoordinatorTask, setting: cluster.Setting) -> bool:
    """Whether the published server fences and goes on where a drain fails; not for tablets.

    Their barrier, which a truncate uses as well, fails with its drain: nothing is fenced.
    """
    operation = task.decision.operation
    of_tablets = operation is not None and operation.machine in ("tablets", "truncate_table")
    return setting.edition == "server" and not of_tablets and drains(s, task)


def fence_is_due(s: ControlState, task: CoordinatorTask) -> bool:
    """Whether the barrier's fence is to be committed next: all answered, or the drain failed."""
    if task.work is None or task.work.barrier != "global" or s.attempted.failed:
        return False
    if s.topology.fence_version == s.topology.version:
        return False
    return s.attempted.commands or not barrier_left(s, task)


def due(s: ControlState, setting: cluster.Setting) -> cluster.ClusterTopology | None:
    """The topology that the command which is due now would make; None when no command is.

    A new coordinator's first command is its start marker, which changes nothing but the state id.
    """
    topology = s.topology
    if not s.started:
        return topology
    task = task_of(s, setting)
    decision, work = task.decision, task.work
    if decision.kind in ("wait", "rest"):
        return None
    edge = decision.edge
    if work is not None:
        if not s.attempted.failed:
            if work.name == rules.MARKS_DONE:
                return rules.finished(topology, task.node)
            if work.name == rules.CLOSES:
                return replace(topology, session=0)
            fence = topology.version
            return replace(topology, fence_version=fence) if fence_is_due(s, task) else None
        if (edge := rules.failure(decision.operation, work, setting)) is None:
            return None
    return outcome(topology, decision, edge, s.state_id + 1)


def committed(s: ControlState, command: Command, setting: cluster.Setting) -> ControlState:
    """The state once a command is in the log: with its effect, or with none on another state."""
    if not takes_effect(s.state_id, command, setting.safeguards.group0):
        return s
    before = rules.under_way(s.topology), s.topology.session
    s = control.with_topology(s, cluster.mutated(s.topology, command.change))
    if (rules.under_way(s.topology), s.topology.session) != before:
        # Another state, or session, has other work; what was decided meanwhile is stale anyway.
        s = s.but(attempted=replace(control.NOTHING_DONE, command=s.attempted.command))
    return s


def advanced(s: ControlState, setting: cluster.Setting) -> ControlState:
    """The state with a barrier behind it that all have answered and whose fence is committed."""
    task = task_of(s, setting)
    if task.work is None or not task.work.barrier or s.attempted.failed:
        return s
    if barrier_left(s, task) or fence_is_due(s, task):
        return s
    return next_step(s.but(sealed=s.leftover not in (0, s.topology.session)), task)


def next_step(s: ControlState, task: CoordinatorTask) -> ControlState:
    """The state once a piece of work is behind the coordinator."""
    return s.but(attempted=control.Attempted(step=task.step + 1))


def worked(s: ControlState, task: CoordinatorTask) -> ControlState:
    """The state once the next piece of work, that is no barrier, is done (a stream: begun)."""
    work, node = task.work, task.node
    assert work is not None
    if work.name == "stream" and not s.attempted.streaming:
        s = caught_up(s, task.needs)
        return s.but(attempted=s.attempted.but(streaming=True))
    had = members = s.topology.members
    if work is rules.DROP_LEFT:
        members &= ~cluster.in_state(s.topology, "left")
    elif work.name == rules.ADDS:
        members |= 1 << node
    elif work.name == rules.LEAVES:
        members &= ~(1 << node)
    elif work.name == rules.REMOVES:
        members &= ~(1 << s.topology.nodes[node].replaced)
    elif work.name == "shut_down":
        s = shut_down(s, node)
    if members != had:  # another configuration of group 0; who joins gets a snapshot
        s = caught_up(s.but(topology=replace(s.topology, members=members)), members & ~had)
    return s if work is rules.DROP_LEFT else next_step(s, task)


def shut_down(s: ControlState, node: int) -> ControlState:
    """The state once a node has stopped for good; a coordinator on it has stopped, too."""
    s = s.but(up=s.up & ~(1 << node))
    return control.without_coordinator(s) if s.coordinator == node else s


def unreached(s: ControlState, task: CoordinatorTask) -> int:
    """The nodes that the work still needs and that do not hear it (a mask)."""
    return barrier_left(s, task) & ~s.reachable


def racks_against(s: ControlState, task: CoordinatorTask, setting: cluster.Setting) -> str:
    """Why the tokens that are to be assigned next cannot be; empty: they can."""
    pieces = () if task.work is None else (task.work,)
    return rules.gaining_racks(s.topology, task.decision.operation, pieces, setting)


def fails_by_itself(s: ControlState, task: CoordinatorTask, setting: cluster.Setting) -> bool:
    """Whether the work cannot succeed as things are: nobody needs to make it fail."""
    if task.work is not None and task.work.name == "check_drained":
        return bool(s.topology.tablets_on >> task.node & 1)
    return bool(unreached(s, task) or racks_against(s, task, setting))


def leads_somewhere(s: ControlState, task: CoordinatorTask, setting: cluster.Setting) -> bool:
    """Whether a failure of the work changes anything; what is tried again for ever does not."""
    assert task.work is not None
    if task.work.name in TABLETS_WORK:
        return s.topology.tablets == "moving"
    if task.work.name == "shut_down":
        return bool(unreached(s, task))
    without_drain = goes_on_undrained(s, task, setting)
    edge = rules.failure(task.decision.operation, task.work, setting)
    return without_drain or edge is not None or task.work.on_failure == "proceed"


def failed(s: ControlState, task: CoordinatorTask, setting: cluster.Setting) -> ControlState:
    """The state once the work failed.

    Edition ``server`` goes on without the drain: the fence is committed all the same.
    """
    assert task.work is not None
    if task.work.name in TABLETS_WORK and task.work.on_failure == "retry":
        entries = queue(s.topology, s.reachable, setting)
        paused = [entry.number for entry in entries if entry.standing == "paused"]
        return control.with_topology(s, rules.tablets_failed(s.topology, tuple(paused)))
    if goes_on_undrained(s, task, setting):
        return s.but(attempted=s.attempted.but(commands=True, answered=0))
    if task.work.name == "shut_down":
        return next_step(s, task)
    return s.but(attempted=s.attempted.but(failed=True, streaming=False))


def leads(s: ControlState) -> bool:
    """Whether there is a coordinator that the others hear."""
    return s.coordinator != cluster.NOBODY and bool(s.reachable >> s.coordinator & 1)


PLAIN = {
    r"transition_state = null": "the transition is over",
    r"transition_state = (.*)": r"the transition state is \1",
    r"fence_version = (.*)": r"the fence is version \1",
    r"session = null": "the session is closed",
    r"session = (.*)": r"session \1 is open",
    r"(\w+)\.node_state = left": r"\1 has left",
    r"(\w+)\.node_state = (.*)": r"\1 is \2",
    r"(\w+)\.cleanup_status = needed": r"\1 must clean up",
    r"(\w+)\.topology_request = null": r"\1 has no waiting request",
    r"(\w+)\.tokens = (?!null).*": r"\1 has its tokens",
    r"new_cdc_generation_data_uuid = (?!null)(.*)": r"CDC generation \1 is prepared",
    r"unpublished_cdc_generations = \{(?:.*, )?(\w+)\}": r"CDC generation \1 will be published",
    r"unpublished_cdc_generations = null": "all CDC generations are published",
    r"(?:new|committed)_cdc_generation.*": "",
    r"(\w+)\.(\w+) = null": r"\1 has no \2",
    r"(\w+)\.(\w+) = (.*)": r"\1 has \2 \3",
    r"(\w+) = null": r"no \1",
    r"(\w+) = (.*)": r"\1 \2",
}
"""What cells of the tables say, in words: the first pattern that fits. Of a CDC generation it is
said once how far it is.
"""
CLEANS = " must clean up"


def _plainly(cells: Iterable[str]) -> str:
    said = []
    for cell in cells:
        fits = (sub(old, new, cell) for old, new in PLAIN.items() if match(old, cell))
        said.append(next(fits, cell))
    cleaners = [each.removesuffix(CLEANS) for each in said if each.endswith(CLEANS)]
    if len(cleaners) > 1:
        said = [each for each in said if not each.endswith(CLEANS)]
        said.append(f"{', '.join(cleaners[:-1])} and {cleaners[-1]} must clean up")
    return ", ".join(filter(None, said))


Placeless: TypeAlias = Annotated[bool, Each(lambda m: (False, True) if m.placing else (False,))]


class Coordinator(control.Control):
    """The coordinator's actions, the choice of one, and the late command of the one before."""

    def task(self, s: ControlState) -> CoordinatorTask:
        """The task of the coordinator."""
        return task_of(s, self.setting)

    def may_lead(self, s: ControlState) -> Refusal | None:
        """Why no coordinator could commit anything: nobody hears one, or there is no majority."""
        return majority_refusal(s) if leads(s) else NO_COORDINATOR

    def busy(self, s: ControlState) -> Refusal | None:
        """Why the coordinator works on nothing now: there is none, or a command comes first."""
        if blocked := self.may_lead(s):
            return blocked
        if s.attempted.command is not None:
            return IN_HAND
        if not s.started:
            return BEGINS
        return HAS_FAILED if s.attempted.failed else None

    def who(self, s: ControlState) -> str:
        """The coordinator, as the subject of a sentence."""
        name = self.leader(s)
        return f"The coordinator on {name}" if name else "The coordinator"

    def leader(self, s: ControlState) -> str:
        """The name of the node that coordinates, or nothing."""
        return "" if s.coordinator == cluster.NOBODY else self.names[s.coordinator]

    def by_leader(self, s: ControlState, action: Any) -> str:
        """The node that takes a step of the coordinator."""
        return self.leader(s)

    def lead_spot(self, s: ControlState) -> str:
        """The key of the coordinator in the picture."""
        return LOG if s.coordinator == cluster.NOBODY else self.spot(self.names[s.coordinator])

    def sets(self, s: ControlState, command: Command) -> str:
        """What a command sets in the tables as they are, in words; a start marker sets nothing."""
        cells = changed_cells(s.topology, cluster.mutated(s.topology, command.change), self.names)
        return _plainly(cells) or "nothing but a new state id"

    def _decision_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        command, decision = after.attempted.command, decision_of(before, self.setting)
        said = "" if command is None else verbatim(self.sets(before, command))
        why = f" ({decision.reason})" if decision.kind == "refuse" else ""
        return f"{self.who(before)} decides at state {before.state_id}{why}: {said}."

    @action(tag="decide", says=_decision_words, by=by_leader)
    @purpose("The tables hold everything that is due, so any coordinator can continue.")
    def take_decision(self, s: ControlState) -> Next:
        """The coordinator reads the tables under a guard and builds the command that is due."""
        # Taking the guard is a read barrier: the coordinator's node has applied all by then. Its
        # state id is the next one: creators differ, and none sees the other's before it is
        # committed.
        if blocked := self.may_lead(s):
            return blocked
        if s.attempted.command is not None:
            return IN_HAND
        if (after := due(s, self.setting)) is None:
            reason, missing = said_of(s, self.setting)
            return refused(reason, self.named(missing))
        sets, creator = cluster.difference(s.topology, after), self.names[s.coordinator]
        made = sets, s.state_id, s.state_id + 1, creator
        command = command_of(*made, self.setting.safeguards.group0)
        s = caught_up(s, 1 << s.coordinator)
        return s.but(attempted=s.attempted.but(command=command))

    def _commit_words(
        self, command: Command | None, before: ControlState, after: ControlState
    ) -> str:
        assert command is not None
        if after.state_id == before.state_id:
            built = command.new - 1
            return (
                f"The command was based on state {built}, not on state {before.state_id}, so it "
                "has no effect."
            )
        return f"State {after.state_id}: {verbatim(self.sets(before, command))}."

    def state_used(self, s: Any) -> StateRow | None:
        """The state of the machine that requests go by, once its nodes know it."""
        operation = rules.under_way(s.topology)
        return None if operation is None else rules.state_of(operation, self.setting)

    def why_here(self, before: Any, action: Any, after: Any) -> str:
        """A command is committed for the sake of the state that it leads to."""
        reason = ""
        if self.kind(action) == "commit":
            reason = reason_for(self.state_used(before), self.state_used(after))
            if before.topology.fence_version != after.topology.fence_version:
                reason = "The fence keeps out requests at older versions."
        return reason or super().why_here(before, action, after)

    def _into_the_log(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        # Along the diagram, too, where the transition state is another one.
        effect = after.state_id != before.state_id
        label = f"state {after.state_id}" if effect else "no effect"
        said = f"coordinator → group 0: {label}"
        yield Travel("entry", self.lead_spot(before), LOG, label, said, stays=True)
        old, new = before.topology.transition, after.topology.transition
        if old != new and old and new:
            way = f"states:state:{old}", f"states:state:{new}"
            yield Travel("entry", *way, f"version {after.topology.version}", f"{old} → {new}", 1)

    @action(
        tag="commit",
        by=by_leader,
        label=lambda m, s, action: (
            f"commit: {verbatim(m.sets(s, s.attempted.command))}"
            if s.attempted.command
            else "commit"
        ),
        says=lambda m, before, action, after: m._commit_words(
            before.attempted.command, before, after
        ),
        travels=_into_the_log,
    )
    @purpose("The command counts only if no other command was committed first.")
    def commit_decision(self, s: ControlState) -> Next:
        """A majority stores the coordinator's command, which takes effect unless another was first.

        Its own node has applied it by then.
        """
        if (command := s.attempted.command) is None:
            return None
        if blocked := majority_refusal(s):
            return blocked
        effective = takes_effect(s.state_id, command, self.setting.safeguards.group0)
        s = s.but(attempted=s.attempted.but(command=None))
        s = caught_up(committed(s, command, self.setting), 1 << s.coordinator)
        if effective and not s.started:
            return s.but(started=True)
        return advanced(s, self.setting)

    def _piece_words(self, s: ControlState, words: str) -> str:
        piece = self.task(s).work if s.started else None
        return words if piece is None else f"{words}: {piece.name}"

    def _work_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        piece = self.task(before).work
        assert piece is not None
        done = "starts" if after.attempted.streaming else "has finished"
        return f"{self.who(before)} {done} the task “{piece.name}”."

    def _work_sent(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        task = self.task(before)
        piece = task.work
        assert piece is not None
        if before.attempted.streaming:
            yield from self.streamed(before, task.node)
            return
        tag, carries = control.permit(before.topology.session)
        for name in self.named(task.needs):
            way, said = self.spot(name), f"coordinator → {name}: {piece.name}{carries}"
            yield Travel("message", self.lead_spot(before), way, f"{piece.name}{tag}", said)

    def streamed(self, s: ControlState, node: int) -> Travels:
        """Data goes to a node that comes or is rebuilt, else from it; from a dead one it cannot."""
        name, state = self.names[node], s.topology.nodes[node].state
        others = self.named(cluster.owners(s.topology) & s.reachable & ~(1 << node))
        if state == "decommissioning":
            pairs = [(name, other) for other in others]
        elif state == "removing":
            pairs = [(others[0], other) for other in others[1:]]
        else:
            pairs = [(other, name) for other in others]
        tag, carries = control.permit(s.topology.session)
        for way in pairs:
            yield Travel("data", *way, f"ranges{tag}", tells=f"ranges{carries}")

    @action(
        tag="work",
        by=by_leader,
        label=lambda m, s, action: m._piece_words(s, "work"),
        says=_work_words,
        travels=_work_sent,
    )
    @purpose("Each state has work of its own, which must be done before the next state.")
    def do_work(self, s: ControlState) -> Next:
        """The coordinator does the next piece of a state's work, or begins to stream."""
        if blocked := self.busy(s):
            return blocked
        task = self.task(s)
        piece = task.work
        if piece is None or piece.barrier or piece.name in rules.COMMANDS_OF_WORK:
            return refused("no work of this kind comes next")
        if piece.name in TABLETS_WORK:
            return refused("tablets are still moving or still on the node")
        if missing := task.needs & ~s.reachable:
            return refused(f"{piece.name} cannot reach a node", self.named(missing))
        if piece.name == "check_drained" and fails_by_itself(s, task, self.setting):
            return refused("the node still has tablets")
        racks = racks_against(s, task, self.setting)
        return refused(racks) if racks else advanced(worked(s, task), self.setting)

    def unanswered(self, s: ControlState) -> int:
        """The nodes whose answers the barrier still waits for (a mask)."""
        if self.busy(s) is not None:
            return 0
        task = self.task(s)
        if task.work is None or not task.work.barrier:
            return 0
        return 0 if s.attempted.commands and fence_is_due(s, task) else barrier_left(s, task)

    def _answer_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        # A plain barrier asks no more than that its node has caught up.
        waits = drains(before, self.task(before)) and self.barrier_drains
        older = ", and no older work runs there" if waits else ""
        return f"{action.node} has applied everything{older}: it answers the barrier."

    def _barrier_and_answer(
        self, before: ControlState, action: Any, after: ControlState
    ) -> Travels:
        leader, node = self.lead_spot(before), self.spot(action.node)
        version = before.topology.version
        asks = f"coordinator → {action.node}: barrier at version {version}"
        answers = f"{action.node} → coordinator: drained up to version {version}"
        yield Travel("request", leader, node, "barrier", asks, stays=True)
        yield Travel("answer", node, leader, "drained", answers, leg=1, stays=True)

    @action(tag="answer", each=unanswered, says=_answer_words, travels=_barrier_and_answer)
    @purpose("The next step is safe once no node uses an older version.")
    def answer_barrier(self, s: ControlState, node: Node) -> Next:
        """A node has applied everything and answers the coordinator's barrier."""
        if not s.reachable >> node & 1:
            return refused("the node does not receive the barrier", (self.names[node],))
        if drains(s, self.task(s)) and (blocked := control.drain_refusal(s, node, self.setting)):
            return refused(blocked.reason, (self.names[node],))
        attempted = s.attempted.but(answered=s.attempted.answered | 1 << node)
        return advanced(caught_up(s, 1 << node).but(attempted=attempted), self.setting)

    def moves(self, s: ControlState) -> Iterable[tuple[tuple[str, ...] | None, bool]]:
        """The places of tablets after a move: open only for models that play the transitions."""
        if s.topology.tablets != "moving":
            return ()
        if not self.placing:
            return ((None, False),)
        sets = (self.named(mask) for mask in range(1 << len(self.names)))
        return ((on, more) for on in sets for more in (False, True))

    def _move_verb(self, action: Any) -> str:
        where = [] if action.on is None else ["to", *action.on]
        return " ".join(["move tablets", *where, *["and more"] * action.more])

    @action(tag="tablets", each=moves, verb=_move_verb, says="The tablet transitions end.")
    @purpose("The tablet track ends when no tablet is in transition.")
    def move_tablets(
        self, s: ControlState, on: tuple[str, ...] | None = None, more: bool = False
    ) -> Next:
        """Tablet transitions that are under way end."""
        # ``on`` are the nodes that have tablets then, where that is open; without it who is to
        # leave has none any more, and all else is as before. ``more``: other transitions go on.
        # What others go on after may have been decided by an earlier coordinator.
        if blocked := majority_refusal(s) if more else self.busy(s):
            return blocked
        track = s.topology.transition in ("tablet_migration", "tablet_draining")
        if not track and self.tablet_track_excludes:
            return HELD
        if on is None:
            return control.with_topology(s, rules.tablets_moved(s.topology))
        mask = self.plan.mask(on, "on")
        # Where requests are not paused for it, a state of its own drains who is to leave.
        drain = self.setting.has("paused-drain") or s.topology.transition == "tablet_draining"
        if left := rules.drained(s.topology) & mask if drain and not more else 0:
            return refused("tablets are still on a node", self.named(left))
        return control.with_topology(s, rules.tablets_placed(s.topology, mask, more=more))

    @action(kind="tablets found", tag="imbalance", spends="faults.tablets", unasked=True)
    @purpose("Tablets move when the load is uneven.")
    def find_imbalance(self, s: ControlState) -> Next:
        """The tablet load has become uneven."""
        if s.topology.tablets != "even":
            return refused("the load is already uneven")
        return s.but(topology=replace(s.topology, tablets="uneven"))

    @action(kind="tablets found", tag="resize", spends="faults.resizes", unasked=True)
    @purpose("The number of tablets depends on the size of the table.")
    def find_resize(self, s: ControlState) -> Next:
        """The split or merge of a table is ready: the balancer can finalize it."""
        return s.but(topology=replace(s.topology, resizes=s.topology.resizes + 1))

    @action(kind="work", tag="pause", by=by_leader)
    @purpose("Requests that began earlier must end first.")
    def pause_work(self, s: ControlState) -> Next:
        """The coordinator pauses until old requests are over, then continues."""
        # A pause follows a failure behind which it goes on all the same.
        if not s.attempted.failed:
            return None
        task = self.task(s)
        if task.work is None or task.work.on_failure != "proceed":
            return None
        newest = len(s.views) - 1
        behind = tuple(self.names[i] for i in nodes_in(s.reachable) if s.applied[i] < newest)
        if behind:
            return refused("a pause lasts until every node has applied everything", behind)
        if s.client != cluster.NOBODY and s.client_version < s.topology.version:
            return refused("a pause lasts until older requests are over")
        return advanced(next_step(s, task), self.setting)

    def _failure_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        task = self.task(before)
        name = "its work" if task.work is None else f"the task “{task.work.name}”"
        racks = racks_against(before, task, self.setting)
        return f"{self.who(before)} cannot finish {name}{f': {racks}' if racks else ''}."

    @action(
        kind="fault",
        tag="fail",
        verb="fail",
        label=lambda m, s, action: m._piece_words(s, "fail this step"),
        fault=True,
        relied=lambda m, s, action: action.placeless or fails_by_itself(s, m.task(s), m.setting),
        says=_failure_words,
    )
    @purpose("Work can fail, so the tables have a way back.")
    def fail_work(self, s: ControlState, placeless: Placeless = False) -> Next:
        """The next piece of work fails."""
        # ``placeless``: a tablet that has to go has no place, which takes no fault; where that is
        # open.
        if blocked := self.busy(s):
            return blocked
        task = self.task(s)
        if task.work is None or not leads_somewhere(s, task, self.setting):
            return refused("no failure of work would make a difference now")
        if fence_is_due(s, task):  # drain, fence, plain barrier: in this order
            return refused("the drain is over, and the fence is committed next")
        if placeless:
            if not self.placing or task.work.name not in TABLETS_WORK:
                return HAS_PLACES
        elif not fails_by_itself(s, task, self.setting):
            if not s.faults.failures:
                return refused("this run has no failures of work left")
            s = s.spend("faults.failures")
        return advanced(failed(s, task, self.setting), self.setting)

    @action(
        kind="deposed",
        verb="commit deposed",
        label=lambda m, s, action: (
            f"commit deposed: {verbatim(m.sets(s, s.deposed))}" if s.deposed else "commit deposed"
        ),
        says=lambda m, before, action, after: (
            "An earlier coordinator's decision is committed late. "
            + m._commit_words(before.deposed, before, after)
        ),
        travels=_into_the_log,
    )
    @purpose("A coordinator may not know that it has been replaced; its guard shows this.")
    def commit_deposed(self, s: ControlState) -> Next:
        """A majority stores what an earlier coordinator had decided."""
        if s.deposed is None:
            return None
        if blocked := majority_refusal(s):
            return blocked
        s = committed(s.but(deposed=None), s.deposed, self.setting)
        # It may be the fence of the very barrier that the new coordinator has the answers to.
        return s if s.coordinator == cluster.NOBODY else advanced(s, self.setting)

    def electable(self, s: ControlState) -> int:
        """The voters that can be the next leader (a mask)."""
        if leads(s) and not s.faults.changes:
            return 0
        others = control.voting(s) & s.reachable
        return others if s.coordinator == cluster.NOBODY else others & ~(1 << s.coordinator)

    @action(tag="elect", each=electable, unasked=True, relied=lambda m, s, action: not leads(s))
    @purpose("Everything a coordinator needs is in the tables, so any node can take over.")
    def elect_coordinator(self, s: ControlState, node: Node) -> Next:
        """{node} leads group 0 and starts a coordinator, which reads the tables."""
        # It knows what the tables say and no more. S-58: with the safeguard off it begins without a
        # command of its own.
        if blocked := majority_refusal(s):
            return blocked
        if leads(s):
            s = s.spend("faults.changes")
        return control.without_coordinator(s).but(
            coordinator=node, started=not self.start_marker, heir=not self.continue_from_tables
        )
