"""The engine behind ``kit.search.check``: nodes that are visited once, and the way to each.

A *node* is a state; where monitors watch, a tuple of a state and what each of them remembers. Every
node has a *key*, by which it counts as visited: the node itself, or, with symmetry, the one that
stands for all that differ from it in names only. The frontier holds real nodes, so that a run is a
run of the model; a key remembers only the key that it was reached from, and the run to it is built
by replay.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.edge.progress import Progress
from kit.errors import BadInput, KitError, shorten
from kit.model import vet
from kit.model.liveness import Lassos, loop_words
from kit.model.model import Cost, Model, Monitor, Property, Rule, by_kind
from kit.model.source import place


class Nodes:
    """The nodes of one search of a model.

    ``successors`` gives every step from a node, ``canonical`` the node that stands for all that
    differ from it in names only (None: a search without symmetry).
    """

    def __init__(
        self, model: Model[Any, Any], monitors: Sequence[Monitor], *, symmetry: bool
    ) -> None:
        """With ``symmetry``, the model has one and each monitor knows how to rename."""
        self.model, self.monitors = model, tuple(monitors)
        self._model_steps = vet.steps_of(model)
        self._watching_on: dict[type, tuple[bool, ...]] = {}
        self.successors = self._watched if monitors else self._model_steps
        self.canonical = self._canonical() if symmetry else None

    def first(self) -> Any:
        """The node to begin with."""
        start = self.model.start()
        if not self.monitors:
            return start
        return (start, *(monitor.begin() for monitor in self.monitors))

    def state_of(self, node: Any) -> Any:
        """The model's state in a node."""
        return node[0] if self.monitors else node

    def key_of(self, node: Any) -> Any:
        """The key that a node counts as."""
        return node if self.canonical is None else self.canonical(node)

    def run_to(self, parents: Mapping[Any, Any], key: Any) -> tuple[tuple[Any, ...], Any]:
        """The run by which a key was first reached, and the real node it ends in, by replay.

        ``parents`` gives for each key the one that it was reached from; the first has itself.

        Raises KitError when the model's symmetry joins states that do not behave alike, or the
        model does not do the same thing twice.
        """
        keys = []
        while parents[key] != key:
            keys.append(key)
            key = parents[key]
        node, actions = self.first(), []
        for wanted in reversed(keys):
            for action, after in self.successors(node):
                if self.key_of(after) == wanted:
                    actions.append(action)
                    node = after
                    break
            else:
                raise self.other_than_before(len(actions))
        return tuple(actions), node

    def other_than_before(self, steps: int) -> KitError:
        """That a run does not go on after so many steps as it did when it was searched."""
        why = "its symmetry merges states that behave differently"
        if self.monitors:
            why += ", or a monitor remembers what tells them apart"
        if self.canonical is None:
            why = "it does not do the same thing twice; a model must use no randomness and no clock"
        return KitError(f"{self.model.name}: {why}; after {steps} steps a run cannot be replayed")

    def _watched(self, node: Any) -> Iterator[tuple[Any, Any]]:
        before, *memories = node
        for action, after in self._model_steps(before):
            kind = type(action)
            if kind not in self._watching_on:
                self._watching_on[kind] = tuple(not m.on or kind in m.on for m in self.monitors)
            looks = self._watching_on[kind]
            if True not in looks:
                yield action, (after, *memories)
                continue
            watching = zip(self.monitors, memories, looks, strict=True)
            yield (
                action,
                (
                    after,
                    *(
                        monitor.step(memory, before, action, after) if look else memory
                        for monitor, memory, look in watching
                    ),
                ),
            )

    def _canonical(self) -> Callable[[Any], Any]:
        canonical = self.model.symmetry
        assert canonical is not None
        if not self.monitors:
            return lambda node: canonical(node)[0]
        renamers: Any = tuple(monitor.rename for monitor in self.monitors)

        def key(node: Any) -> Any:
            state, permutation = canonical(node[0])
            memories = zip(renamers, node[1:], strict=True)
            return (state, *(rename(memory, permutation) for rename, memory in memories))

        return key


SMALL = 500  # nodes of a search of which each is compared
SHARE = 64  # of a larger one, one in so many
SHOWN = 300  # characters of a state in a message
# The type of a step's action and what stands for its end; the properties that it breaks.
Way = tuple[tuple[type, Any], tuple[str, ...]]
Judge = tuple[str, Callable[[Any], Any]]


class SymmetryCheck:
    """Compares nodes of a search with those that stand for them in its symmetry.

    A symmetry says which states differ in names only, and a search believes it. That is right only
    if what stands for a state stands for itself, too, and if both break the same properties and go
    on alike. Of a large search a part is compared: what is found wrong is refused, what is not is
    no proof. ``compared`` counts the nodes whose steps were: always the same of the same search.
    """

    def __init__(self, nodes: Nodes, properties: Sequence[Property]) -> None:
        assert nodes.canonical is not None
        self.nodes, self.canonical = nodes, nodes.canonical
        self.state = nodes.state_of
        self.name = symmetry_name(nodes.model)
        self.judges: tuple[Judge, ...] = tuple(
            (prop.name, prop.check) for prop in properties if prop.kind != "step"
        )
        self.steps = tuple(prop for prop in properties if prop.kind == "step")
        self.verdicts: tuple[Judge, ...] = tuple((m.name, m.verdict) for m in nodes.monitors)
        self.compared = 0

    def compare(self, nodes: Collection[Any]) -> None:
        """Look at what follows each of these nodes, or some of them when they are many.

        Raises KitError naming the symmetry, or a property that it does not fit, and two states.
        """
        small = len(nodes) <= SMALL
        for number, node in enumerate(islice(nodes, 0, None, 1 if small else SHARE)):
            self._judged_alike(node)
            after = (end for _, end in self.nodes.successors(node))
            other = [end for end in after if self._judged_alike(end)]
            for end in other if small or not other else (other[number % len(other)],):
                self._go_on_alike(end, self.canonical(end))

    def _go_on_alike(self, node: Any, key: Any) -> None:
        self.compared += 1
        mine, theirs = self._ways(node), self._ways(key)
        if Counter(way for way, _ in mine) != Counter(way for way, _ in theirs):
            if self._states_of(mine) == self._states_of(theirs):
                raise self._tied(node, key)
            raise KitError(
                f"{self.name}: {self._brief(key)} does not behave like {self._brief(node)}, with "
                "which it is joined: not the same steps are possible, or they lead elsewhere"
            )
        for of, silent, more in (
            (node, key, Counter(mine) - Counter(theirs)),
            (key, node, Counter(theirs) - Counter(mine)),
        ):
            for (kind, _), broken in more:
                if broken:
                    raise self._unfit(broken[0], f"a step {kind.__name__}", of, silent)

    def _states_of(self, ways: list[Way]) -> Counter[Any]:
        return Counter((kind, self.state(after)) for (kind, after), _ in ways)

    def _tied(self, node: Any, key: Any) -> KitError:
        """Several changes of names give one state, and a memory tells them apart (or is renamed
        wrongly): what stands for a node is then not the same for all that are alike.
        """
        monitors = ", ".join(name for name, _ in self.verdicts)
        return KitError(
            f"{self.name}: {self._brief(key)} and {self._brief(node)}, which it joins, lead to the "
            f"same states, but not to the same memory of {monitors}: a memory tells apart names "
            "that the state does not, or is renamed wrongly; search without symmetry, or without "
            "monitors"
        )

    def _ways(self, node: Any) -> list[Way]:
        before, ways = self.state(node), []
        for action, after in self.nodes.successors(node):
            judged = ((p.name, p.of_step(before, action, self.state(after))) for p in self.steps)
            broken = tuple(name for name, witness in judged if witness is not None)
            ways.append(((type(action), self.canonical(after)), broken))
        return ways

    def _judged_alike(self, node: Any) -> bool:
        """Whether another stands for a node: every property must say the same of it."""
        key = self.canonical(node)
        if key == node:
            return False
        if type(self.state(key)) is not type(self.state(node)):
            wanted = f"a {type(self.state(node)).__name__}, and how its names were changed"
            raise BadInput(self.name, self.state(key), wanted)
        vet.check_stands(key, self.name, self.canonical)
        again = self.canonical(key)
        if again != key:
            raise KitError(
                f"{self.name}: it gives {self._brief(key)} for {self._brief(node)}, "
                f"but {self._brief(again)} for that; what stands for a state must stand for itself"
            )
        for name, check in self.judges:
            self._same(name, check(self.state(node)), check(self.state(key)), node, key)
        for place_of, (name, verdict) in enumerate(self.verdicts, start=1):
            self._same(name, verdict(node[place_of]), verdict(key[place_of]), node, key)
        return True

    def _same(self, name: str, witness: Any, other: Any, node: Any, key: Any) -> None:
        """A witness on both sides or on none; a *sometimes* or *goal* reached on both or on none.

        What is said of a violation may name names, so that only whether there is one counts.
        """
        if _speaks(witness) == _speaks(other):
            return
        said, of, silent = (witness, node, key) if _speaks(witness) else (other, key, node)
        raise self._unfit(name, shorten(said), of, silent)

    def _unfit(self, name: str, said: str, of: Any, silent: Any) -> KitError:
        return KitError(
            f"property {name}: it says {said} of {self._brief(of)}, but not of "
            f"{self._brief(silent)}, which {self.name} joins with it; search without symmetry, "
            "or judge all names alike"
        )

    def _brief(self, node: Any) -> str:
        return shorten(self.state(node), SHOWN)


def symmetry_name(model: Model[Any, Any]) -> str:
    """``symmetry in_order of twophase, line 12 of model.py (…)``."""
    symmetry: Any = model.symmetry
    name = getattr(symmetry, "__name__", type(symmetry).__name__)
    return place(f"symmetry {name} of {model.name}", symmetry)


def _speaks(said: Any) -> bool:
    """Whether a judge says anything: a witness (also an empty one), or that it is reached."""
    return isinstance(said, str) or bool(said)


Steps = Callable[[Any], Iterator[tuple[Any, Any]]]


def may_rest(model: Model[Any, Any], state: Any, judged: Sequence[Property] = ()) -> bool:
    """Whether a run may come to rest in a state: where a goal holds, or an operator is awaited, or
    anywhere if the model does not declare that. It does not depend on what is ``judged``, but that
    may hold further goals.
    """
    if not model.rests_at_goals or _holds_a_goal(model, state, judged):
        return True
    return next(iter(model.helped(state)), None) is not None


def _holds_a_goal(model: Model[Any, Any], state: Any, judged: Sequence[Property] = ()) -> bool:
    every = dict.fromkeys((*judged, *model.properties, *model.signs))
    return any(prop.check(state) for prop in every if prop.kind == "goal")


def awaits_operator(model: Model[Any, Any], state: Any) -> str:
    """Why a run with nothing left to do waits for its operator, in a clause; empty: it does not."""
    said = model.told_why(state) if model.rests_at_goals else ""
    return "" if not said or _holds_a_goal(model, state) else said


def look_further(
    nodes: Iterable[Any],
    successors: Steps,
    key_of: Callable[[Any], Any],
    known: Container[Any],
    sources: dict[Any, list[Any]],
    most: int,
) -> tuple[list[Any], list[Any]]:
    """Go on from nodes that were not looked at, to at most so many that were not ``known``.

    ``sources`` learns of every step. Returns the keys of the nodes that are new, and those of the
    nodes at which it stopped.
    """
    todo = deque((node, key_of(node)) for node in nodes)
    new: dict[Any, None] = {}
    while todo and len(new) < most:
        node, own = todo.popleft()
        for _, after in successors(node):
            key = key_of(after)
            sources.setdefault(key, []).append(own)
            if key not in known and key not in new:
                new[key] = None
                todo.append((after, key))
    return list(new), [key for _, key in todo]


def ways_on(
    model: Model[Any, Any], rules: Sequence[Rule[Any, Any]], state: Any
) -> tuple[list[tuple[Any, Any]], dict[Any, Any]]:
    """The steps that progress may rely on, and those that an operator is told to take."""
    ready = [w for rule in rules for w in rule.ready(state) if model.relied(state, w[0])]
    helped = dict(model.helped(state))
    return [*ready, *helped.items()], helped


def out_of_reach(
    model: Model[Any, Any], rules: Sequence[Rule[Any, Any]], goal: Property, state: Any, most: int
) -> bool:
    """Whether a *goal* is lost in a state, where at most ``most`` further ones are to be seen."""

    def steps(s: Any) -> Iterator[tuple[Any, Any]]:
        return iter(ways_on(model, rules, s)[0])

    new, unknown = look_further([state], steps, lambda s: s, (), {}, most)
    return not unknown and not any(map(goal.check, (state, *new)))


def lead_to(ends: Iterable[Any], sources: Mapping[Any, Iterable[Any]], able: set[Any]) -> None:
    """Add the ends, and all nodes from which a way leads to one, to those that are ``able``.

    ``sources`` are those one step back.
    """
    todo = [end for end in ends if end not in able]
    able.update(todo)
    while todo:
        for source in sources.get(todo.pop(), ()):
            if source not in able:
                able.add(source)
                todo.append(source)


REPORT_EVERY = 4096  # nodes, and sooner of few: they may be large
NO_LIMIT = 1 << 62
DEADLOCK = "deadlock"
"""The name of the violation that is a rest where no goal holds; no property's."""
STUCK = "nothing more can happen"
LOST = "from here the goal is out of reach"
FURTHER = 1000  # nodes at least in which a lost goal is looked for beside a longer violation


class Violation(Struct, frozen=True):
    """A broken promise, why, and a run that shows it.

    A known cost of the protocol has a ``remark`` with its source; no search ends there.

    The run is the shortest of all properties and monitors, of coming to rest where no *goal* holds,
    and of losing a *goal*, as far as the states visited and as many again show. Of equally short
    ones it is the one met first: states in the order in which they were found, steps in that of the
    rules; of one step what *step* properties say, then *always*, then monitors, each in the model's
    order; after all these coming to rest, and a *goal* last. A *live* property is judged when all
    else holds: ``loop`` is the number of steps after which the run is where its last step leads
    back to (all of them: it rests there).
    """

    property: str
    witness: str
    actions: tuple[Any, ...]
    remark: str = ""
    loop: int | None = None


def _due_after(nodes: int) -> int:
    return nodes + min(REPORT_EVERY, max(16, nodes // 4))


class _Sought:
    """A key that is looked for by what it says now.

    A dict takes one object for itself where it comes upon it, also when that is no longer its
    place; whether it does depends on the chance of hashes.
    """

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return bool(self.key == other)


class Search:
    """One search: what was visited, how it was reached, and the counts."""

    def __init__(
        self,
        model: Model[Any, Any],
        properties: Iterable[Property],
        monitors: Sequence[Monitor],
        *,
        symmetry: bool,
        most: int,
        past_costs: bool = True,
    ) -> None:
        """A search of at most ``most`` nodes.

        With ``symmetry``, the model has one and each monitor knows how to rename.
        """
        self.judged = judged = tuple(properties)
        self.always, self.steps, self.awaited, self.goals, self.lives = by_kind(judged)
        self.model = model
        self.is_own = vet.is_own(model)
        self.monitors = tuple(map(vet.careful_monitor, monitors))
        self.most, self.past_costs = most, past_costs
        self.steps_on: dict[type, tuple[Any, ...]] = {}
        self.within: dict[str, None] = {}
        self.parents: dict[Any, Any] = {}
        self.sources: dict[Any, list[Any]] = {}
        self.frontier: list[Any] = []
        self.keys: list[Any] = []
        self.transitions = 0
        self.depth = 0
        self.complete = True
        self.costs: dict[Cost, Violation] = {}
        self.short = False
        self.due = _due_after(0)  # the number of nodes with which the progress is told next
        self.nodes = Nodes(model, self.monitors, symmetry=symmetry)
        self.successors, self.state_of = self.nodes.successors, self.nodes.state_of
        self.canonical, self.key_of = self.nodes.canonical, self.nodes.key_of
        self.alike = SymmetryCheck(self.nodes, judged) if symmetry else None
        self.stopped_at: Any = None
        self.relied = model.relied if type(model).relied is not Model.relied else None

    def run(self, progress: Progress) -> Violation | None:
        """Visit nodes until a violation, a bound or the end; then judge possible progress."""
        start = self.nodes.first()
        vet.check_purity(self.model, self.state_of(start))
        vet.check_start(self.model, self.state_of(start))
        if self.alike is not None:
            self.alike.compare([start])
        key = self.key_of(start)
        self.parents[key] = key
        self.frontier, self.keys = [start], [key]
        violation = self._judge(start, key) or self._breadth_first(progress)
        if not self.is_own and any(_Sought(key) not in self.parents for key in self.parents):
            vet.blame_states(self.model, [self.state_of(key) for key in self.parents])
        if violation is None and self.complete:
            return self._lost_goal() or self._lasso()
        return violation

    def _lasso(self) -> Violation | None:
        """The shortest of the runs found that go on for ever without what a *live* one promises.

        ``within`` learns of the bounds that other runs ended at.
        """
        nodes, runs = self.nodes, list[Violation]()
        for prop in self.lives:
            lassos = Lassos(self.model, self.parents, self.successors, self.state_of, prop)
            for node, around in lassos.loops():
                way, _ = nodes.run_to(self.parents, node)
                said = loop_words(len(way) + len(around), len(way))
                lasso = Violation(prop.name, said, (*way, *around), loop=len(way))
                kept = self._unless_known(prop.name, self.state_of(node), partial(replace, lasso))
                runs += [kept] if kept else []
            self.within.update(lassos.bounds)
        return min(runs, key=lambda each: len(each.actions), default=None)

    def forget(self) -> None:
        """Give back the memory of all that was visited."""
        for kept in (self.parents, self.sources, self.frontier, self.keys):
            kept.clear()

    def under_way(self) -> list[Any]:
        """The nodes whose steps are being taken."""
        return self.frontier

    def _breadth_first(self, progress: Progress) -> Violation | None:
        """Level by level, so that the first run found to a node is a shortest one."""
        while self.frontier and self.complete:
            if not self.is_own:
                vet.check_purity(self.model, self.state_of(self.frontier[0]))
            reached: list[Any] = []
            keys: list[Any] = []
            violation = self._level(reached, keys, progress)
            self.depth += bool(reached)
            if violation is not None:
                self.depth = max(self.depth, len(violation.actions))
                return self._shortest(violation, reached)
            self.frontier, self.keys = reached, keys
        return None

    def _shortest(self, violation: Violation, reached: list[Any]) -> Violation:
        """The violation that was found at a level, or one that needs fewer steps and was not looked
        at.

        A step and its end are judged when the step is taken, rest only one level later, and goals
        at the end of all. So the level's other nodes may rest; and whether a goal is lost is
        looked for among as many nodes again.
        """
        at = self.keys.index(self.stopped_at)
        if self.model.rests_at_goals:
            for node, key in zip(self.frontier[at:], self.keys[at:], strict=True):
                if next(iter(self.successors(node)), None) is not None:
                    continue
                if (rest := self._deadlock(node, key)) is not None:
                    violation = rest
                    break
        if not self.goals:
            return violation
        most = min(self.most, max(FURTHER, len(self.parents)))
        further = look_further(
            *([*self.frontier[at:], *reached], self._relied_steps, self.key_of),
            *(self.parents, self.sources, most),
        )
        lost = self._lost_goal(*further)
        return min(violation, lost or violation, key=lambda each: len(each.actions))

    def _level(self, reached: list[Any], keys: list[Any], progress: Progress) -> Violation | None:
        """Take every enabled step of a level's nodes; what is new goes to ``reached`` and ``keys``.

        The time of a search is spent here, so names are looked up once, outside the loops.
        """
        successors, canonical = self.successors, self.canonical
        parents, judge = self.parents, self._judge
        looking = bool(self.steps or self.goals)
        ends = self.model.rests_at_goals
        room, due = self.most, self.due
        taken = 0
        try:
            for node, own in zip(self.frontier, self.keys, strict=True):
                moved = False
                for action, after in successors(node):
                    moved = True
                    key = after if canonical is None else canonical(after)
                    fresh = key not in parents
                    if fresh and len(parents) >= room:
                        self.complete = False
                        return None
                    taken += 1
                    if looking:
                        violation = self._look(node, own, action, after, key)
                        if violation is not None:
                            return violation
                    if fresh:
                        parents[key] = own
                        reached.append(after)
                        keys.append(key)
                        violation = judge(after, key)
                        if violation is not None:
                            return violation
                if ends and not moved:
                    violation = self._deadlock(node, own)
                    if violation is not None:
                        return violation
                if len(parents) >= due:
                    progress(len(parents), len(self.frontier))
                    self.due = due = _due_after(len(parents))
                    room = self.most  # memory may have become short
        finally:
            self.transitions += taken
            self.stopped_at = own
        return None

    # -- judging ----------------------------------------------------------------------------------

    def _look(self, node: Any, own: Any, action: Any, after: Any, key: Any) -> Violation | None:
        if self.goals and (self.relied is None or self.relied(self.state_of(node), action)):
            self.sources.setdefault(key, []).append(own)
        kind = type(action)
        if kind not in self.steps_on:
            judging = (prop for prop in self.steps if not prop.on or kind in prop.on)
            self.steps_on[kind] = tuple((prop, prop.check) for prop in judging)
        if self.steps_on[kind]:
            before, now = self.state_of(node), self.state_of(after)
            for prop, allows in self.steps_on[kind]:
                witness = allows(before, action, now)
                if witness is not None:
                    vet.witness_of(prop.name, allows, witness)
                    broken = partial(self._broken_step, prop, own)
                    if (violation := self._unless_known(prop.name, now, broken)) is not None:
                        return violation
        return None

    def _judge(self, node: Any, key: Any) -> Violation | None:
        state = self.state_of(node)
        for prop in self.always:
            witness = prop.check(state)
            if witness is not None:
                vet.witness_of(prop.name, prop.check, witness)
                broken = partial(self._broken, prop.name, witness, key)
                if (violation := self._unless_known(prop.name, state, broken)) is not None:
                    return violation
        for prop in self.awaited:
            if prop.check(state):
                self.awaited = tuple(other for other in self.awaited if other is not prop)
        for at, monitor in enumerate(self.monitors, start=1):
            witness = monitor.verdict(node[at])
            if witness is not None:
                vet.witness_of(monitor.name, monitor.verdict, witness)
                broken = partial(self._broken, monitor.name, witness, key)
                if (violation := self._unless_known(monitor.name, state, broken)) is not None:
                    return violation
        return None

    def _unless_known(
        self, name: str, state: Any, broken: Callable[[], Violation]
    ) -> Violation | None:
        cost = self.model.known_cost(name, state) if self.past_costs else None
        if cost is None:
            return broken()
        if cost not in self.costs:
            self.costs[cost] = broken()
        return None

    def _broken(self, name: str, witness: str, key: Any) -> Violation:
        return Violation(name, witness, self.nodes.run_to(self.parents, key)[0])

    def _broken_step(self, prop: Property, own: Any) -> Violation:
        """The run that ends in a step that ``prop`` forbids.

        With symmetry it may be another step than the one seen: a nearer way to what it begins at.
        """
        way, end = self.nodes.run_to(self.parents, own)
        before = self.state_of(end)
        for action, after in self.model.successors(before):
            witness = prop.of_step(before, action, after)
            if witness is not None:
                return Violation(prop.name, witness, (*way, action))
        raise self.nodes.other_than_before(len(way))

    def _deadlock(self, node: Any, key: Any) -> Violation | None:
        state = self.state_of(node)
        if may_rest(self.model, state, self.goals):
            return None
        return self._unless_known(DEADLOCK, state, partial(self._stuck, key))

    def _stuck(self, key: Any) -> Violation:
        actions, end = self.nodes.run_to(self.parents, key)
        reasons = [
            f"{self.model.verb(action)}: {refusal.reason}"
            for action, refusal in self.model.waiting(self.state_of(end))
        ]
        return Violation(DEADLOCK, "; ".join([STUCK, *reasons]), actions)

    def _relied_steps(self, node: Any) -> Iterator[tuple[Any, Any]]:
        state = self.state_of(node)
        for action, after in self.successors(node):
            if self.relied is None or self.relied(state, action):
                yield action, after

    def _help(self, goal: Property, lost: Sequence[Any], able: set[Any]) -> None:
        """Make nodes ``able`` that come to a goal when operators do what they are told to.

        Their steps lead to nodes that no search need have visited. The last nodes come first: ways
        from others lead there.
        """
        sources = {key: [*ways] for key, ways in self.sources.items()}
        todo, entered = list[tuple[Any, Any]](), {*lost}
        for first in reversed(lost):
            todo.append((first, first))
            while todo and first not in able:
                node, own = todo.pop()
                if own in able:
                    continue
                if goal.check(self.state_of(node)):
                    lead_to([own], sources, able)
                    continue
                helped = self.model.helped(self.state_of(node))
                ends = [(end, *node[1:]) if self.monitors else end for _, end in helped]
                if own not in self.parents:  # else its own steps are known
                    ends += [end for _, end in self._relied_steps(node)]
                for end in ends:
                    key = self.key_of(end)
                    sources.setdefault(key, []).append(own)
                    if key in able:
                        lead_to([own], sources, able)
                    elif key not in entered:
                        entered.add(key)
                        todo.append((end, key))

    def _lost_goal(
        self, further: Sequence[Any] = (), unknown: Sequence[Any] = ()
    ) -> Violation | None:
        """The first node visited from which a *goal* cannot be reached without luck.

        ``further`` was looked at, too; what is ``unknown`` was not, and may lead to any goal.
        """
        violations: list[Violation] = []
        for prop in self.goals:
            seen, able = [*self.parents, *further], set[Any]()
            ends = [key for key in seen if prop.check(self.state_of(key))]
            lead_to([*ends, *unknown], self.sources, able)
            lost = [key for key in seen if key not in able]
            if lost and type(self.model).helped is not Model.helped:
                self._help(prop, lost, able)
            for key in (key for key in lost if key in self.parents and key not in able):
                broken = partial(self._broken, prop.name, LOST, key)
                violation = self._unless_known(prop.name, self.state_of(key), broken)
                if violation is not None:
                    violations.append(violation)
                    break
        return min(violations, key=lambda violation: len(violation.actions), default=None)
