"""Why a promise broke: the steps without which it does not, and from where a search reaches it."""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from kit.edge.arguments import checked, whole_number
from kit.edge.progress import Progress, shown
from kit.errors import BadInput
from kit.model.model import Model
from kit.model.parameters import plainly
from kit.model.registry import made_again
from kit.model.vet import exploring
from kit.search.fuzz import PropertyJudges, Trial
from kit.search.search import REPORT_EVERY, Nodes

MOST_STATES = 200_000
"""States that a search for the break sees from one step of the run."""


class Cause(Struct, frozen=True):
    """The steps of a run (numbers from 0) that break a promise, and do not without any of them."""

    steps: tuple[int, ...]
    witness: str


class Possible(Struct, frozen=True):
    """From where a search reaches a break: after ``step`` steps of the run, by these ``actions``.

    It saw ``states`` states then. One step earlier a search of ``most`` states does not reach it
    (``step`` 0: there is none). ``stopped``: somebody ended it before that was known.
    """

    step: int
    actions: tuple[Any, ...]
    states: int
    most: int
    stopped: bool = False


def judging(model: Model[Any, Any], name: str) -> PropertyJudges:
    """What judges one promise of a model alone. Raises BadInput when there is none of this name."""
    properties = tuple(p for p in model.properties if p.name == name and p.kind in JUDGED)
    monitors = tuple(monitor for monitor in model.monitors if monitor.name == name)
    if not properties and not monitors:
        known = [p.name for p in model.properties if p.kind in JUDGED]
        names = ", ".join([*known, *(monitor.name for monitor in model.monitors)])
        raise BadInput("promise", name, f"one of {names or 'none: the model has no promises'}")
    return PropertyJudges.of(model, properties, monitors)


JUDGED = ("always", "step", "live")
"""Kinds of promises that a step can break, or the last step of a loop."""


@checked
def smallest_cause(
    model: Model[Any, Any], actions: Sequence[Any], name: str, progress: Progress | None = None
) -> Cause:
    """The smallest cause of a break: the steps of a run without which the promise does not break.

    Parts of the run are replayed through the same model; in each, steps that have become refused
    are dropped. ``progress`` hears how many parts were tried, and how many steps are left.

    Raises BadInput for an unknown promise, or a run that does not break it.
    """
    with exploring(model):
        steps, witness = Trial(model, actions, name, judging(model, name), progress).shrunk()
    if not witness:
        raise BadInput("actions", f"{len(actions)} steps", f"a run that breaks {name}")
    return Cause(steps, witness)


@checked
def first_possible(
    model: Model[Any, Any],
    actions: Sequence[Any],
    name: str,
    *,
    max_states: int = MOST_STATES,
    progress: Progress | bool | None = None,
) -> Possible:
    """From where on a run that breaks a promise could break it, as far as searches see.

    Each search begins at a step of the run and sees at most ``max_states`` states. The last step is
    known; from there one goes back further and further, until a search does not reach the break,
    and halves what is between. ``progress`` hears how many states were seen, and from which step;
    whoever interrupts it gets what is known by then.

    Raises BadInput for an unknown promise, or a run that does not break it.
    Raises Refused for a run that is none of the model.
    """
    whole_number("max_states", max_states, 1)
    judges = judging(model, name)
    nodes = Nodes(model, judges.monitors, symmetry=False)
    way = [nodes.first()]
    words = "{done:,} states searched from step {now}"
    with exploring(model), shown(progress, words, max_states) as report:
        for action in actions:
            way.append(_after(nodes, judges, way[-1], action))
            if _breaks(nodes, judges, way[-2], action, way[-1]):
                break
        else:
            raise BadInput("actions", f"{len(actions)} steps", f"a run that breaks {name}")
        least, known = -1, len(way) - 2  # from the one it is not found, from the other it is
        best = Possible(known, (actions[known],), 1, max_states)
        far = 1
        try:
            while known - least > 1:
                step = max(least + 1, known - far) if least < 0 else (least + known) // 2
                far *= 2
                nearer = _reached(nodes, judges, way[step], step, max_states, report)
                if nearer is None:
                    least = step
                else:
                    best, known = nearer, step
        except KeyboardInterrupt:
            best = Possible(best.step, best.actions, best.states, max_states, stopped=True)
    return best


def _breaks(nodes: Nodes, judges: PropertyJudges, node: Any, action: Any, after: Any) -> bool:
    memories = after[1:] if judges.monitors else ()
    return judges.broken(nodes.state_of(node), action, nodes.state_of(after), memories) is not None


def _after(nodes: Nodes, judges: PropertyJudges, node: Any, action: Any) -> Any:
    state = nodes.state_of(node)
    after = nodes.model.act(state, action)
    if not judges.monitors:
        return after
    return (after, *judges.remember(node[1:], state, action, after))


def _reached(
    nodes: Nodes, judges: PropertyJudges, first: Any, step: int, most: int, report: Progress | None
) -> Possible | None:
    came: dict[Any, tuple[Any, Any] | None] = {first: None}
    todo = deque([first])
    while todo:
        node = todo.popleft()
        for action, after in nodes.successors(node):
            if _breaks(nodes, judges, node, action, after):
                way, back = [action], came[node]
                while back is not None:
                    way.append(back[1])
                    back = came[back[0]]
                return Possible(step, tuple(reversed(way)), len(came), most)
            if after in came:
                continue
            if len(came) >= most:
                return None
            came[after] = node, action
            todo.append(after)
            if report is not None and len(came) % REPORT_EVERY == 0:
                report(len(came), step)
    return None


class Parted(Struct, frozen=True):
    """Where a run parts from the same one with a safeguard: step ``step`` (from 0) is ``refused``
    there, or comes out otherwise; ``said`` is the reason, or what is told of it, if it is told
    otherwise at all.
    """

    step: int
    said: str
    refused: bool


def parted(model: Model[Any, Any], actions: Iterable[Any], safeguard: str) -> Parted | None:
    """Where a run parts from the same one with a safeguard (its name) that is off.

    None where it never does; one with the safeguard may start differently (step -1).
    """
    off = tuple(name for name in model.off if name != safeguard)
    other, here = made_again(model, plainly(model.parameters), off), model.start()
    there, silently = other.start(), None
    if here != there:
        return Parted(-1, "", refused=False)
    for number, action in enumerate(actions):
        if (refusal := other.refusal(there, action)) is not None:
            return Parted(number, refusal.reason, refused=True)
        now, then = model.act(here, action), other.act(there, action)
        said = other.describe(there, action, then)
        if said != model.describe(here, action, now):
            return Parted(number, said, refused=False)
        if now != then and silently is None:
            silently = Parted(number, "", refused=False)
        here, there = now, then
    return silently


class Restored(Struct, frozen=True):
    """A run done again with a safeguard (its id): the branch's last moment, what is refused there.

    ``left_out`` has the numbers of the steps (from 0) with the reasons, ``broken`` the titles of
    the promises that break on that branch, too.
    """

    safeguard: str
    tip: int
    left_out: tuple[tuple[int, str], ...]
    broken: tuple[str, ...]
    parted: Parted | None = None


class Inquiry(Struct, frozen=True):
    """The findings about a step that breaks a promise."""

    cause: Cause | None = None
    possible: Possible | None = None
    restored: tuple[Restored, ...] = ()
