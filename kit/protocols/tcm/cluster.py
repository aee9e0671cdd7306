"""A cluster under CEP-21 as one model: the metadata, driven by the log, and what a test holds back.

A commit is two things in one atomic step: an entry in the log and a change of the metadata. The
barrier is a condition on both parts: how far each node has applied the log, and which replicas the
next step concerns. Source: CEP-21, "Event Submission Protocol", "Consistency Guarantees",
"Test Plan".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Several
from functools import lru_cache
from itertools import combinations
from operator import attrgetter
from typing import Annotated, Any, get_args

from msgspec.structs import replace

from kit.errors import Awaited, Refusal, are, counted
from kit.model import declared
from kit.model.compose import Linked, Product, needs, together
from kit.model.declared import Cost, Declared, Each, State, action, always, purpose, refused, step
from kit.model.log import Append, Apply, AtomicLog, CatchUp, Deliver, Log, LogParameters, gaps
from kit.model.model import Kind
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules import metadata as rules
from kit.protocols.tcm.rules.barrier import Barrier, barriers, end_barriers, known_first
from kit.protocols.tcm.rules.metadata import Advance, Begin, Event
from kit.protocols.tcm.rules.operations import LEVELS, OWN_LEVEL, Level, weaker
from kit.protocols.tcm.rules.quorums import Pairing, quorums_meet
from kit.protocols.tcm.tcm import MOST_KEPT, SAFEGUARD, Restart, Stream, Tcm, driver, spot

NOTHING_WAITS = refused("none of its barriers is waiting for answers, so there is nothing to relax")

APART = 2
"""Epochs that lie so far apart were no neighbours when they were committed."""
MOST_TOLD = 64
"""Unmet barriers of an operation that are told in words; of a large ring thousands may wait."""
# Those that metadata alone can judge, each with the smallest case that needs it. What is streamed,
# when, and what clients then see, only requests on stored data can tell.
SAFEGUARDS = (
    SAFEGUARD["progress-barrier"].seen_by("INV-ONESTEP", "INV-QI").shown_by({"rf": 1}),
    SAFEGUARD["write-before-read"].seen_by("INV-QI", "INV-RF"),
    SAFEGUARD["old-writer-stays"].seen_by("INV-QI").shown_by({"rf": 3}),
    SAFEGUARD["range-locks"].shown_by(
        {"operations": ("bootstrap X --tokens 150", "bootstrap Y --tokens 130")}
    ),
    SAFEGUARD["validate-committed"].shown_by(
        {"nodes": 4, "operations": ("decommission D", "replace D Y")}
    ),
    SAFEGUARD["replication-check"].shown_by({"rf": 3, "operations": ("decommission C",)}),
    SAFEGUARD["apply-in-order"].shown_by({"nodes": 2, "rf": 1, "window": 2}),
    SAFEGUARD["operator-cancel"].shown_by({"cancels": 1}),
    SAFEGUARD["two-event-cancel"].seen_by("INV-QI").shown_by({"rf": 3, "cancels": 1}),
    SAFEGUARD["pending-in-metadata"].shown_by({"crashes": 1}),
    SAFEGUARD["split-first"],
    SAFEGUARD["merge-equality"].shown_by({"nodes": 4, "operations": ("decommission D",)}),
)


class PauseState(State, frozen=True, cache_hash=True):
    """The verbs that are held back, sorted: ``apply B`` or ``commit X``."""

    held: tuple[str, ...] = ()


Held = Annotated[str, Each(lambda m: m.whats)]
"""The verb of a commit, or of a node's way to the log."""


class PauseInjection(Declared[PauseState]):
    """A metadata service for tests: it can hold back any commit, and keep any node from applying.

    A step that is held back is refused until the test releases it. Nodes apply entries in order,
    so holding one entry back from a node also holds back all later ones.
    """

    name = "test"
    title = "What the test holds back"
    State = PauseState

    def __init__(self, whats: tuple[str, ...]) -> None:
        self.whats = whats
        super().__init__()

    def free(self, s: PauseState) -> Iterator[str]:
        """The verbs that are not held."""
        return (what for what in self.whats if what not in s.held)

    @action(each=free)
    @purpose("A test stops the cluster at the point it wants to examine.")
    def hold(self, s: PauseState, what: Held) -> PauseState:
        """The test holds back: {what}."""
        return PauseState(tuple(sorted({*s.held, what})))

    def held(self, s: PauseState) -> tuple[str, ...]:
        """The verbs that are held."""
        return s.held

    @action(each=held, kind="hold")
    @purpose("The test has seen enough, so the cluster continues.")
    def release(self, s: PauseState, what: Held) -> PauseState:
        """The test no longer holds back: {what}."""
        return PauseState(tuple(each for each in s.held if each != what))


Hold, Release = PauseInjection.acts


class LevelState(State, frozen=True, cache_hash=True):
    """The level of each barrier that has fallen back from its first one, by operation's node."""

    relaxed: tuple[tuple[str, Level], ...] = ()

    def begun(self, node: str, *level: Level) -> LevelState:
        """The state with this level, or with none of its own."""
        others = (entry for entry in self.relaxed if entry[0] != node)
        return LevelState(tuple(sorted([*others, *((node, each) for each in level)])))


Operated = Annotated[str, Each(lambda m: m.nodes)]
"""The node of an operation."""


class BarrierLevels(Declared[LevelState]):
    """The nodes whose answers each progress barrier needs: fewer if answers do not come in time."""

    name = "levels"
    title = "Levels of the progress barriers"
    State = LevelState

    def __init__(self, first: Level, last: str, nodes: Iterable[str]) -> None:
        self.strictest, self.weakest, self.nodes = first, last, tuple(nodes)
        super().__init__()

    def level(self, s: LevelState, node: str) -> Level:
        """The level of the barrier before the next step of an operation."""
        return dict(s.relaxed).get(node, self.strictest)

    def relaxable(self, s: LevelState) -> Iterator[str]:
        """The nodes whose operations have a barrier that may fall back."""
        return (node for node in self.nodes if self.level(s, node) != self.weakest)

    def _words(self, before: LevelState, action: Any, after: LevelState) -> str:
        old, new = (self.level(s, action.node) for s in (before, after))
        change = f"falls back from {old} to {new}: {LEVELS[new]}"
        return declared.verbatim(
            f"The barrier of {action.node} got too few answers in time and {change}."
        )

    @action(
        each=relaxable,
        label=lambda m, s, action: declared.verbatim(
            f"relax the barrier of {action.node} to {weaker(m.level(s, action.node))}"
        ),
        says=_words,
        unasked=True,
    )
    @purpose("A barrier that is stuck may ask for less, and then protects less.")
    def relax(self, s: LevelState, node: Operated) -> LevelState | None:
        """The barrier of ``node``'s operation got too few answers in time, so it asks for fewer."""
        level = weaker(self.level(s, node))
        return s.begun(node, level) if level else None

    @action()
    @purpose("Each step starts by asking as many nodes as it can.")
    def begin_barrier(self, s: LevelState, node: Operated) -> LevelState:
        """The barrier of {node}'s next step starts again at the first level."""
        return s.begun(node)


Relax, BeginBarrier = BarrierLevels.acts


def is_weak(m: TcmCluster) -> bool:
    """Whether a barrier may go on without a majority of all old and new replicas."""
    given, ring = m.parameters, m.tcm.cluster.ring
    several = len({node.dc for node in ring.nodes}) > 1
    weak = ("LOCAL_QUORUM", "ONE", "NODE_LOCAL")[not several :]
    return not given.barrier or given.level in weak or given.relax in weak


def leaves_too_few(m: TcmCluster) -> bool:
    """Whether an operation that is forced may leave fewer nodes than a keyspace has replicas."""
    of = m.tcm.cluster
    shrinking = {each for each in of.operations if each.kind in rules.SHRINKS}
    gone = {of.resolved[each].node for each in shrinking}
    for each in filter(m.tcm.switches.forces, of.operations):
        shrinks = each in shrinking
        code = of.resolved[each].node if shrinks else of.resolved[each].target
        if code is not None and rules.too_few_left(
            of.ring, of.keyspaces, gone - {code}, code, shrinks=shrinks
        ):
            return True
    return False


def has_forced(m: TcmCluster, s: Any) -> bool:
    """Whether an operation that is forced has begun."""
    return any(isinstance(e, Begin) and m.tcm.switches.forces(e.operation) for e in s.tcm.events)


class TcmCluster(Product):
    """The tcm state machine over the atomic log."""

    costs = (
        *(
            Cost(
                name,
                "A barrier at a level below a majority goes on while replicas lack the last epoch.",
                "published ProgressBarrier",
                when=is_weak,
            )
            for name in ("one-step", "quorums")
        ),
        Cost(
            "replicas",
            "An operation that is forced leaves fewer nodes than a keyspace has replicas.",
            "published Assassinate, which is always forced, and the option --force",
            when=leaves_too_few,
            where=has_forced,
        ),
    )

    title = "Transactional cluster metadata (CEP-21)"
    premise = (
        "All nodes follow one metadata log, epoch by epoch. "
        "The ring shows which nodes read and write each range while the cluster changes."
    )
    safeguards = SAFEGUARDS
    parameters: TcmParameters

    def __init__(self, parameters: TcmParameters | None = None, off: tuple[str, ...] = ()) -> None:
        self.tcm = Tcm(parameters, off)
        given = self.parameters = self.tcm.parameters
        self.off, self.names, self.codes = off, self.tcm.names, self.tcm.codes
        self.log = AtomicLog(
            LogParameters(self.names, given.window, given.epoch, given.peers),
            in_order=self.tcm.apply_in_order,
        )
        commits = dict.fromkeys(f"commit {each.node}" for each in self.tcm.cluster.operations)
        self.test = PauseInjection((*commits, *(f"apply {name}" for name in self.names)))
        self._barriers = lru_cache(MOST_KEPT)(self._barriers_of)
        self._of_operation = lru_cache(MOST_KEPT)(self._unmet_of)
        self._epochs = lru_cache(MOST_KEPT)(self._epochs_of)
        self._pair_meets = lru_cache(MOST_KEPT)(self._quorum_gap)
        nodes = dict.fromkeys(each.node for each in self.tcm.cluster.operations)
        self.levels = BarrierLevels(self.tcm.switches.first_level, given.relax, nodes)
        models: dict[str, Any] = {"tcm": self.tcm, "log": self.log}
        models |= {"test": self.test} if given.holds else {}
        models |= {"levels": self.levels} if given.relax != "never" else {}
        super().__init__("tcm", models, link=self.linked, passive=(Append, BeginBarrier))
        own = {prop.name for prop in self.properties}
        parts = (prop for prop in self.promises_of("tcm") if prop.name not in own)
        promised = (*parts, *self.properties)
        self.properties = tuple(sorted(promised, key=lambda each: get_args(Kind).index(each.kind)))

    # -- what both parts know together ------------------------------------------------------------

    def snapshot(self, s: Any, epoch: int | None = None) -> rules.Snapshot:
        """The metadata and placements of the newest epoch, or of an earlier one."""
        events = s.tcm.events
        back = 0 if epoch is None else self.parameters.epoch + len(events) - epoch
        for _ in range(back):
            events = events.shorter()
        return self.tcm.snapshot(events)

    def newest_epoch(self, s: Any) -> int:
        """The newest committed epoch."""
        return self.snapshot(s).metadata.epoch

    def applied(self, s: Any) -> tuple[int, ...]:
        """The epoch that each node (by code) has applied."""
        return self._epochs(s.log.applied)

    def _epochs_of(self, counts: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.parameters.epoch + count for count in counts)

    def barriers(self, s: Any, sequence: rules.Sequence) -> tuple[Barrier, ...]:
        """The barriers before the sequence's next step."""
        return self._barriers(s.tcm.events, sequence.node, self.level(s, sequence.node))

    def level(self, s: Any, node: str) -> Level:
        """The level of the barrier before the next step of an operation."""
        return self.levels.level(getattr(s, "levels", LevelState()), node)

    def _barriers_of(self, events: Log, node: str, level: Level) -> tuple[Barrier, ...]:
        snapshot = self.tcm.snapshot(events)
        sequence = snapshot.metadata.sequence(node)
        assert sequence is not None
        return barriers(snapshot, sequence, self.tcm.switches, level)

    def linked(self, s: Any, part: str, action: Any) -> tuple[Linked, ...]:
        """Every commit is the log's next entry, in the same atomic step; levels begin again."""
        if not isinstance(action, Event):
            return ()
        node, levels = getattr(action, "node", ""), getattr(s, "levels", LevelState())
        begins = [("levels", BeginBarrier(node))] if node in dict(levels.relaxed) else []
        return (("log", Append(action)), *begins)

    # -- conditions over both parts: the test's, presence, knowledge, the barrier ------------------

    @needs(Apply, Deliver, CatchUp, Advance, when=lambda m: m.parameters.holds)
    def let(self, s: Any, part: str, action: Any) -> Refusal | None:
        """A step that a test holds back cannot happen; only test clusters have this condition."""
        what = f"{'commit' if part == 'tcm' else 'apply'} {action.node}"
        return Refusal(f"the test holds this back: {what}") if what in s.test.held else None

    @needs(Apply, Deliver, CatchUp)
    def up(self, s: Any, part: str, action: Any) -> Refusal | None:
        """A node that is down applies nothing and answers no other node."""
        if not s.tcm.down:
            return None
        names = (action.node, action.peer) if isinstance(action, CatchUp) else (action.node,)
        down = next((name for name in names if name in s.tcm.down), None)
        text = f"{down} is down: it applies nothing and answers no other node"
        return None if down is None else refused(text, (down,))

    @needs(Begin, when=lambda m: not m.tcm.validate_committed)
    def permitted_as_known(self, s: Any, part: str, action: Any) -> Refusal | None:
        """Without *validate-committed*, only what the submitter has applied counts."""
        events = s.tcm.events
        while len(events) > s.log.applied[self.codes[action.operation.node]]:
            events = events.shorter()
        return self.tcm.permission(events, action.operation)

    @needs(Advance)
    def informed(self, s: Any, part: str, action: Any) -> Refusal | None:
        """A driver reads its next step from the metadata, so it must have applied the last one."""
        node, sequence = action.node, self.tcm.under_way(s.tcm, action.node)
        driven = driver(sequence.plan.operation) is not None and not sequence.undoing
        if not driven or self.applied(s)[self.codes[node]] >= sequence.epoch:
            return None
        return Refusal(
            f"{node} drives the operation but has not applied epoch {sequence.epoch} itself",
            missing=(node,),
            awaited=(Awaited(f"{node} itself", 1, 0, (node,)),),
        )

    @needs(Advance)
    def past_the_barrier(self, s: Any, part: str, action: Any) -> Refusal | None:
        """The progress barrier: a majority of the nodes involved must know the last step."""
        return self._waits_for(s, action.node)

    def _waits_for(self, s: Any, node: str) -> Refusal | None:
        return self._of_operation(s.tcm.events, s.log.applied, node, self.level(s, node))

    @needs(Relax)
    def without_answers(self, s: Any, part: str, action: Any) -> Refusal | None:
        """Only a barrier that is waiting can fall back."""
        under_way = self.tcm.sequence(s.tcm, action.node)
        waits = under_way is not None and self._waits_for(s, action.node) is not None
        return None if waits else NOTHING_WAITS

    @needs(Stream)
    def known_to_writers(self, s: Any, part: str, action: Any) -> Refusal | None:
        """Streaming starts once the new writers are known, also to both ends of the stream."""
        if not known_first(self.tcm.switches):
            return None
        sequence, task = self.tcm.task(s.tcm, action)
        down, _ = self.tcm.absent(s.tcm, sequence)
        ends = end_barriers(sequence, task.transfers, down, self.tcm.switches)
        waiting = self._waits_for(s, action.node)
        own = self._unmet(ends, self.applied(s)) if ends else None
        if waiting is None or own is None:
            return waiting or own
        return replace(together((waiting, own)), reason=waiting.reason)

    def _unmet_of(
        self, events: Log, counts: tuple[int, ...], node: str, level: Level
    ) -> Refusal | None:
        unmet = self._unmet(self._barriers(events, node, level), self._epochs(counts))
        if unmet is None or level == OWN_LEVEL[self.parameters.edition]:
            return unmet
        return replace(unmet, evidence=(f"at {level}: {LEVELS[level]}", *unmet.evidence))

    def _unmet(self, barriers: tuple[Barrier, ...], applied: Several[int]) -> Refusal | None:
        least = min(applied)  # what everybody knows was waited for; of nobody, nobody answers
        unmet = [b for b in barriers if (b.epoch > least or not b.replicas) and not b.met(applied)]
        if not unmet:
            return None
        missing = dict.fromkeys(
            self.names[code] for b in unmet for code in b.replicas if applied[code] < b.epoch
        )
        space, shown = self.tcm.cluster.ring.space, unmet[:MOST_TOLD]
        evidence, awaited = [], []
        for b in shown:
            where = b.range.label(space) + (f" in {b.dc}" if b.dc else "")
            names = {code: self.names[code] for code in b.replicas}
            has = [name for code, name in names.items() if applied[code] >= b.epoch]
            lacks = ", ".join(name for code, name in names.items() if applied[code] < b.epoch)
            known = f"applied by {', '.join(has) or 'nobody'}; missing {lacks}"
            known = known if names else "no replica is there to answer"
            evidence.append(f"{where}: needs {b.needed}; {known}")
            awaited.append(Awaited(where, b.needed, len(has), tuple(names.values())))
        first = unmet[0]
        return Refusal(
            f"waiting at the barrier: {awaited[0].done} of "
            f"{counted(len(first.replicas), 'replica')} of {first.range.label(space)} applied "
            f"epoch {first.epoch}, but {first.needed} {are(first.needed)} needed",
            tuple(evidence),
            tuple(missing),
            tuple(awaited),
            len(unmet) - len(shown),
        )

    # -- what is promised of nodes -----------------------------------------------------------------

    @always("INV-SAMESTATE", title="Nodes at one epoch have the same tables")
    def same_state(self, s: Any) -> str | None:
        """A node that skipped an epoch does not have the right tables for its newest one."""
        differences = (
            self._differs(self.names[i], s.tcm.events, s.log.applied[i], gap)
            for i, gap in gaps(s.log)
        )
        return next(filter(None, differences), None)

    def _differs(self, name: str, events: Log, count: int, gap: int) -> str | None:
        newest, without = self.log.epoch_of(count), self.log.epoch_of(gap.bit_length())
        text = f"{name} has applied epoch {newest} without epoch {without}"
        while len(events) > count:
            events = events.shorter()
        applied = self.tcm.snapshot(Log())
        for i, event in enumerate(events):
            if gap >> i & 1:
                continue
            if not isinstance(event, Begin) and applied.metadata.sequence(event.node) is None:
                return f"{text}, so it knows of no operation of {event.node}"
            applied = self.tcm.enact(applied, event)
        if applied.placements == self.tcm.snapshot(events).placements:
            return None
        return f"{text}, so its tables differ from those of the other nodes"

    # Who applies more answers fewer requests of older epochs: only a commit can part majorities.
    @always(
        "INV-QI",
        name="quorums",
        title="Every read majority meets every write majority",
        of=attrgetter("tcm"),
    )
    def quorums_meet(self, s: Any) -> str | None:
        """This holds for all epochs in use, not only for the newest ones."""
        in_use = self.in_use(s.tcm.events, s.log.applied)
        return self.tcm.quorums_meet(s.tcm) or next(
            (said for pair in in_use if (said := self._pair_meets(*pair))), None
        )

    def in_use(self, events: Log, applied: tuple[int, ...]) -> Iterator[tuple[Log, Log, Any, Any]]:
        """Epochs by which a read and a write may be answered, and who answers neither.

        A majority by an older epoch is in use while none of its members knows a newer one: whoever
        does says so, and the coordinator validates its plan again. Neighbours are left out: without
        that exchange they were judged when the second one was committed.
        """
        logs = [events]
        while len(logs[-1]) > min(applied):
            logs.append(logs[-1].shorter())
        if len(logs) <= APART:
            return
        begun = (event for event in events if isinstance(event, Begin))
        dead = {self.tcm.cluster.resolved[event.operation].dead for event in begun} - {None}

        def silent(known: int) -> Any:
            return frozenset(dead.union(code for code, at in enumerate(applied) if at > known))

        epochs = [(log, len(log), silent(len(log))) for log in reversed(logs)]
        for (older, known, first), (newer, epoch, second) in combinations(epochs, 2):
            if epoch - known >= APART:
                yield older, newer, first, second
                yield newer, older, second, first

    def pairings(self, events: Log, applied: tuple[int, ...]) -> Iterator[Pairing]:
        """Whose majorities must meet: neighbouring epochs', then those of all epochs in use."""
        yield from self.tcm.neighbours(events)
        for reader, writer, *silent in self.in_use(events, applied):
            yield self.tcm.snapshot(reader), self.tcm.snapshot(writer), *silent

    def _quorum_gap(self, reader: Log, writer: Log, deaf: Any, dumb: Any) -> str | None:
        by = self.tcm.snapshot(reader), self.tcm.snapshot(writer)
        return quorums_meet([(*by, deaf, dumb)])

    @always("INV-LOG", title="What a node applied is a prefix of the log")
    def log_prefix(self, s: Any) -> str | None:
        """No node has a gap in what it has applied."""
        return self.log.log_prefix(s.log)

    def keeps_barriers(self) -> bool:
        """Whether steps wait for majorities of old and new: in the documents, unless left out."""
        return self.parameters.barrier and self.parameters.edition == "documents"

    @step(
        "INV-ONESTEP",
        title="Each event waits until a majority has applied the event before it",
        when=keeps_barriers,
    )
    def one_step(self, before: Any, action: Any, after: Any) -> str | None:
        """In each moving range, a majority of the old and new replicas knew the previous step."""
        event = action.action
        if not isinstance(event, Advance):
            return None
        sequence = self.tcm.under_way(before.tcm, event.node)
        known = self.applied(before)
        dead = sequence.plan.resolved.dead
        for moved in sequence.plan.movements:
            for range_, union in zip(moved.locked, moved.affected, strict=True):
                members = [code for code in union if code != dead]
                knowing = [code for code in members if known[code] >= sequence.epoch]
                if 2 * len(knowing) <= len(members):
                    there = ", ".join(self.names[code] for code in members)
                    label = range_.label(self.tcm.cluster.ring.space)
                    return (
                        f"{sequence.next.name} is committed although only {len(knowing)} of "
                        f"{there} applied epoch {sequence.epoch}: no majority in {label}"
                    )
        return None

    # -- what a history shows ----------------------------------------------------------------------

    def milestone(self, before: Any, action: Any, after: Any) -> str | None:
        """Each committed epoch."""
        if isinstance(action.action, Event):
            return f"epoch {self.snapshot(after).metadata.epoch}"
        return None

    def place(self, key: str, before: Any, after: Any) -> str:
        """A node is at its first token on the ring, now or before, or on its row."""
        if (name := key.removeprefix("n:")) not in self.codes:
            return key
        tokens = self.tcm.tokens_of(after.tcm, name) or self.tcm.tokens_of(before.tcm, name)
        return spot(name, tokens[0]) if tokens else f"strip:{name}"

    def to_begin(self, s: Any) -> Iterator[Any]:
        """Every operation on the list that has not begun yet, permitted now or not."""
        begun = {event.operation for event in s.tcm.events if isinstance(event, Begin)}
        listed = self.parameters.operations or (self.tcm.cluster.operations[0].text,)
        for operation in self.tcm.cluster.operations:
            if operation not in begun and operation.text in listed:
                yield self.wrap["tcm"](Begin(operation))

    def suggest(self, s: Any) -> Any | None:
        """Apply, restart, stream, commit what has waited longest; then begin what is next."""
        for part, kind in (("log", Apply), ("tcm", Restart), ("tcm", Stream)):
            if (action := next(self._enabled(s, part, kind), None)) is not None:
                return action
        epochs = {sequence.node: sequence.epoch for sequence in self.tcm.sequences(s.tcm)}
        commits = self._enabled(s, "tcm", Advance)
        first = min(commits, key=lambda action: epochs[action.action.node], default=None)
        if first is not None:
            return first
        wanted = set(self.to_begin(s))
        return next((action for action in self._enabled(s, "tcm", Begin) if action in wanted), None)

    def _enabled(self, s: Any, part: str, kind: type[Any]) -> Iterator[Any]:
        return (action for action, _ in self.lifted[part, kind].ready(s))


# -- all of a kind at once ------------------------------------------------------------------------


def follow(m: TcmCluster, s: Any, names: Iterable[str] | None = None) -> Iterator[Any]:
    """Each of these nodes applies all that it lacks. None: all that are up and have a part."""
    if names is None:
        names = (name for name in m.tcm.present(s.tcm) if name not in s.tcm.down)
    chosen = {*names}
    for name, applied, held in zip(m.names, s.log.applied, s.log.held, strict=True):
        if name in chosen:
            lacking = len(s.log.entries) - applied - (held >> applied).bit_count()
            yield from (m.wrap["log"](Apply(name)) for _ in range(lacking))


def stream(m: TcmCluster, s: Any, node: str | None = None) -> Iterator[Any]:
    """Every streaming task that is still to be done (of one operation), permitted now or not."""
    wanted = (task for task in m.tcm.to_stream(s.tcm) if node in (None, task[0]))
    return (m.wrap["tcm"](Stream(*task)) for task in wanted)


def commit(m: TcmCluster, s: Any, node: str | None = None) -> Iterator[Any]:
    """The next step of every operation under way (or of one), permitted now or not."""
    return (m.wrap["tcm"](Advance(each)) for each in m.tcm.busy(s.tcm) if node in (None, each))


class Driver:
    """A model's run so far: its state, and the actions that led there, each of them enabled."""

    def __init__(self, model: TcmCluster) -> None:
        self.model = model
        self.state: Any = model.start()
        self.actions: list[Any] = []

    @property
    def metadata(self) -> rules.Metadata:
        """The newest metadata."""
        return self.model.snapshot(self.state).metadata

    def bring_about(self, event: Event) -> bool:
        """Commit an event; a step of an operation after all that it waits for. False: refused."""
        commit = self.model.wrap["tcm"](event)
        if not isinstance(event, Advance):
            return self._did(commit)
        for task in stream(self.model, self.state, event.node):
            self._once_ready(task)
        return self._once_ready(commit)

    def _did(self, action: Any) -> bool:
        if self.model.refusal(self.state, action) is not None:
            return False
        self.state = self.model.apply(self.state, action)
        self.actions.append(action)
        return True

    def _once_ready(self, action: Any) -> bool:
        """Do it after those who are missing have come back and followed. False: in vain."""
        while (refusal := self.model.refusal(self.state, action)) is not None:
            before = self.state
            for name in refusal.missing:
                if name not in before.tcm.down or self._did(self.model.wrap["tcm"](Restart(name))):
                    for step in follow(self.model, self.state, (name,)):
                        self._did(step)
            if self.state is before:
                return False
        return self._did(action)
