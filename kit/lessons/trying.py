"""What a cell tries: actions that may have to wait, and a model with rules switched off."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from msgspec import Struct

import kit
from kit.edge.arguments import checked
from kit.edge.paths import whole_path
from kit.errors import BadInput, KitError
from kit.lessons.judge import HOME
from kit.lessons.replays import Ground, broken_run, guards_goals, shortest_breach
from kit.model.registry import entry_of
from kit.model.timeline import Timeline, played_out
from kit.playing.opening import open_named
from kit.search.search import DEADLOCK, STUCK
from kit.views.fragment import Frag, h
from kit.views.static import Sheet, Shown
from kit.widgets.player import Player

NOT_ALL = "not all states seen"


class Attempt(Struct, frozen=True):
    """One action that was tried: what happened, or the reasons for which it must wait."""

    verb: str
    said: str
    done: bool
    reasons: tuple[str, ...] = ()

    @property
    def head(self) -> str:
        """Whether it was done, and what happened."""
        return f"{'done' if self.done else 'must wait'}: {self.said}"


class Attempts(Struct, Shown, frozen=True):
    """Actions that were tried one after the other; reasons stand below each other."""

    attempts: tuple[Attempt, ...]

    def draw(self) -> Frag:
        """A list, with a list of reasons where something must wait."""
        items = []
        for each in self.attempts:
            reasons = [h("li", reason) for reason in each.reasons]
            inner = h("ul", reasons) if reasons else None
            items.append(h("li", h("code", each.verb), f" – {each.head}", inner))
        return h("ul", items)

    def __repr__(self) -> str:
        lines = ((f"{each.verb} – {each.head}", *each.reasons) for each in self.attempts)
        return "\n".join(map("\n  - ".join, lines))


@checked
def attempt(player: Player, *verbs: str) -> Attempts:
    """Try actions by their verbs, one after the other, and skip those that must wait.

    Raises BadInput for a verb that is not an action at the moment shown.
    """
    return Attempts(tuple(_tried(player, verb) for verb in verbs))


def _tried(player: Player, verb: str) -> Attempt:
    option = player.model.find(player.state, verb)
    why = option and option[1]
    if why is None:
        return Attempt(verb, player.act(verb).say, done=True)
    missing = (f"missing: {', '.join(why.missing)}",) if why.missing else ()
    return Attempt(verb, why.reason, False, (*why.evidence, *missing))


@checked
def finished(source: str) -> Timeline:
    """Play a scenario to its end. Raises BadInput for an unknown name, or if it does not end."""
    return played_out(open_named(source).timeline)


@checked
def without(source: str, *safeguards: str, **parameters: Any) -> Player:
    """Open a Player on the shortest run that breaks a promise while safeguards are off.

    ``source`` is a scenario or a model, and the search uses its own ring. The Player shows the step
    that breaks the promise.

    Raises BadInput for an unknown name, or when no run breaks anything.
    """
    if (run := broken_run(Ground(source, parameters, safeguards).model())) is None:
        allowed = "safeguards that are needed here to keep a promise"
        raise BadInput("safeguards", safeguards, allowed)
    return Player(run, controls=False)


@checked
def harms(source: str, *safeguards: str, **parameters: Any) -> Sheet:
    """Show what breaks first on a scenario's or model's own ring, with one safeguard off at a time.

    The last row is the search with every safeguard on.
    """
    rows = [_harm(Ground(source, parameters, off)) for off in (*((s,) for s in safeguards), ())]
    heads = "off", "safeguard", "states seen", "steps to the break"
    return Sheet(f"What breaks first: {source}", (*heads, "what is broken"), tuple(rows))


@checked
def side_by_side(first: str, second: str, *safeguards: str) -> Sheet:
    """Show what breaks first in two models with the same safeguards, with one safeguard off at a
    time.

    ``safeguards`` are ids, such as ``S-05``. Each search uses the small configuration that the
    model names for the safeguard. The last row is that of the first safeguard, with every safeguard
    on.

    Raises BadInput for an unknown model or safeguard.
    """
    models = first, second
    rows = [_row_of(models, id_, off=True) for id_ in safeguards]
    rows += [_row_of(models, id_, off=False) for id_ in safeguards[:1]]
    each = "steps", "states seen"
    heads = ("off", *(word for name in models for word in (name, *each)))
    names = ", ".join(models)
    return Sheet(f"What breaks first: {names}", heads, tuple(rows))


def _row_of(models: tuple[str, str], id_: str, *, off: bool) -> tuple[str, ...]:
    cells = [id_ if off else "nothing"]
    for name in models:
        known = {safeguard.id: safeguard for safeguard in entry_of(name).safeguards}
        if id_ not in known:
            raise BadInput("safeguards", id_, f"ids in {name}: {', '.join(known)}")
        model = Ground(name, known[id_].smallest, (known[id_].name,) if off else ()).model()
        result = shortest_breach(model)
        harm = result.violation
        watched: list[Any] = [*model.properties, *model.monitors]
        titles = {each.name: each.title for each in watched}
        words = titles[harm.property] if harm else "nothing" if result.complete else NOT_ALL
        cells += [words, str(len(harm.actions)) if harm else "–", f"{result.states:,}"]
    return tuple(cells)


def _harm(ground: Ground) -> tuple[str, ...]:
    model = ground.model()
    result = shortest_breach(model)
    off = ground.off[0] if ground.off else "nothing"
    rule = next((each for each in model.safeguards if off in (each.id, each.name)), None)
    title = rule.title if rule else ""
    if (violation := result.violation) is None:
        whole = "every state seen: nothing breaks" if result.complete else NOT_ALL
        whole += "; goals were not judged" if rule and guards_goals(model, rule) else ""
        return off, title, f"{result.states:,}", "–", whole
    # Of a deadlock every action has its reason: too many for a cell.
    broken = STUCK if violation.property == DEADLOCK else violation.witness
    return off, title, f"{result.states:,}", str(len(violation.actions)), broken


def refusal(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """The one line in which the kit refuses a call. Raises KitError when it is not refused."""
    try:
        call(*arguments, **options)
    except KitError as refused:
        return str(refused)
    name = getattr(call, "__name__", type(call).__name__)
    raise KitError(f"refusal: {name} was not refused")


PACKAGES = ("jupyterlab", "ipywidgets", "anywidget", "matplotlib", "graphviz", "pyspark", "nbval")


def versions() -> str:
    """The versions of Python, of the kit and of what the notebooks use, a line each."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    installed = {"python": python, "kit": kit.__version__}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return "\n".join(f"{name:<12} {number}" for name, number in installed.items())


LONGEST_LINE = 10_000  # characters


def terminal(line: str, folder: str | os.PathLike[str]) -> str:
    """The output of ``python -m kit LINE`` in ``folder``, and its exit status.

    Raises BadInput for a line that no shell could pass on, or a folder that is not there.
    """
    allowed = f"a command and its words, with closed quotes, at most {LONGEST_LINE} characters"
    try:
        os.fsencode(line)
        words = shlex.split(line)
    except ValueError:  # half of a surrogate pair, an open quote
        raise BadInput("line", line, allowed) from None
    if "\0" in line or len(line) > LONGEST_LINE:
        raise BadInput("line", line, allowed)
    if not whole_path(folder, "folder", "a folder").is_dir():
        raise BadInput("folder", str(folder), "a folder that exists")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kit", *words],
        check=False,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": HOME},
        capture_output=True,
        encoding="utf-8",
        errors="backslashreplace",
    )
    shown = (done.stdout + done.stderr).rstrip()
    return f"$ python -m kit {line}\n{shown}\n[exit status {done.returncode}]"
