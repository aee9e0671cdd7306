"""The gate before the next step: who is missing stands before it, who has come is behind it.

A family declares what it waits for; whom a refusal names beside that stands before a gate of its
own (``gates_of``). The first ones are drawn beside the picture, closed ones first: what may happen
then, and a row each. Who is missing does a step of its own by a press, or has its menu.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any, get_args

from msgspec import Struct

from kit.errors import Refusal
from kit.masks import majority
from kit.views.actions import first_waiting, mark, some_of
from kit.views.busts import Health, head_of, letter_of
from kit.views.fragment import Frag, copied, h
from kit.views.headlines import capital, told_as, words_of
from kit.views.labels import SIZE, brief, measured, tags
from kit.views.panel import Scene
from kit.views.parts import fresh, soft
from kit.views.replicas import SIGNS

MOST_GATES = 6
"""Gates that are drawn."""
MOST_TOLD = 40
"""Refusals that are looked at."""
MOST_COME = 7
"""Nodes that stand behind a gate one by one; of more, they are counted."""
MOST_LETTERS = 72
"""Of what is said above a gate without words of its family: two lines of the smallest board."""
MOST_JOINED = 3
"""Below so many, all are named in what is said above a gate."""
MOST_NAMED = 24
"""Nodes that the sentence of a gate names on each side."""
MISSING, THERE = "Missing: {names}.", "Present: {names}."
AGAINST = "Refused: {names}."
_MIDDLE = 16.0
ROOM = 256.0
"""The width of a row, on the smallest board."""


class Heads(Struct, frozen=True):
    """How those who are missing are drawn: the radius of a head, from one to the next, in how many
    rows.
    """

    reach: float
    step: float
    rows: int = 1

    def wide(self, count: int) -> float:
        """The room of so many."""
        return self.step * ceil(count / self.rows)


LARGE, SMALL = Heads(15.0, 34.0), Heads(11.0, 25.0)
"""Those of who has come are small where these have room for their letters."""
HEADS = LARGE, Heads(10.5, 25.0), Heads(8.0, 21.0, rows=2)
DOWN = 20.0
"""From row to row."""


def heads_for(count: int, room: float, sizes: Sequence[Heads] = HEADS) -> Heads | None:
    """The largest heads for which there is room; None: so many can only be counted."""
    return next((each for each in sizes if each.wide(count) <= room), None)


class Gate(Struct, frozen=True):
    """``needed`` of all who are concerned must know something before the next step.

    ``thing`` is the key of what it is about, which is lit with it (a range), ``what`` the name of
    the next step; of several gates of that step this is the one of ``where``. ``knows`` says what
    is to be known: ``applied epoch 2``. Who knows it is ``there``. Where nobody is counted, ``why``
    is the reason to wait; it may name nobody. Of those ``missing``, ``against`` have said no:
    nobody waits for them. In a model of several parts this is the gate of a ``part``, whose actions
    begin with its name.
    """

    thing: str
    what: str
    knows: str
    there: tuple[str, ...]
    missing: tuple[str, ...]
    needed: int
    why: str = ""
    where: str = ""
    against: tuple[str, ...] = ()
    part: str = ""

    @property
    def awaited(self) -> tuple[str, ...]:
        """Those that are missing and have not said no."""
        return tuple(name for name in self.missing if name not in self.against)

    @property
    def step(self) -> str:
        """The name of the step, of whatever part of the model."""
        return f"{self.part}: {self.what}" if self.part else self.what

    @property
    def title(self) -> str:
        """The name of the step, and which of its gates this is."""
        what = self.step.partition(" (")[0]
        return f"{what} for {self.where}" if self.where else what

    @property
    def is_open(self) -> bool:
        """Whether enough of them know it."""
        return len(self.there) >= self.needed

    @property
    def sentence(self) -> str:
        """The gate in words: how many have come, who is missing, who is there."""
        come, all_ = len(self.there), len(self.there) + len(self.missing)
        said = f"{self.title} must wait: {self.why.rstrip('.')}."
        if self.why and self.needed < all_:  # some of them are enough
            said += f" It has {come} of {all_} and needs {self.needed}."
        elif not self.why:
            way = "open" if self.is_open else "closed"
            said = f"The gate for “{self.title}” is {way}. {self.counted}"
        for words, names in (
            (MISSING, self.awaited), (AGAINST, self.against), (THERE, self.there)
        ):  # fmt: skip
            if names:
                said += f" {words.format(names=', '.join(some_of(names, MOST_NAMED)))}"
        return said

    @property
    def counted(self) -> str:
        """How many know it, of how many, and how many are needed; empty where nobody is counted."""
        if self.why:
            return ""
        come, all_ = len(self.there), len(self.there) + len(self.missing)
        know = f"{'has' if come == 1 else 'have'} {self.knows} ({self.needed} needed)"
        return f"{come} of {all_} {know}."

    @property
    def lead(self) -> str:
        """What may happen once who has done what; or why it must wait."""
        names = (*self.there, *self.missing)
        who = " and ".join(names) if self.needed == len(names) < MOST_JOINED else "all"
        who = f"{self.needed} of {len(names)}" if self.needed < len(names) else who
        what = capital(self.step.partition(" (")[0])
        if not self.knows:
            whole = f"{what} must wait: {self.why}".rstrip(": .")
            return whole if len(whole) <= MOST_LETTERS else f"{what} must wait:"
        have = "has" if len(names) == 1 else "have"
        return f"{what} may follow once {who} {have} {self.knows}:"

    @property
    def decides(self) -> str:
        """The gate of a quorum in words: how many of whom are enough, who is there."""
        names = ", ".join(sorted((*self.there, *self.missing)))
        return f"{self.what}: any {self.needed} of {names}; up: {', '.join(self.there) or 'nobody'}"

    @property
    def absent(self) -> str:
        """How many are missing, where they are too many to stand there one by one."""
        return f"{len(self.missing)} missing"

    @property
    def count(self) -> str:
        """How many have come, of how many; nothing where there are no two to count."""
        if len(self.there) + len(self.missing) < 2:
            return ""
        if len(self.there) + len(self.missing) > self.needed:  # some of them are enough
            return f"{len(self.there)} ({self.needed} needed)"
        return f"{len(self.there)} of {self.needed}"


Declared = Callable[[Scene], Iterable[Gate]]


def of_members(
    thing: str,
    what: str,
    knows: str,
    groups: Sequence[Collection[str]],
    done: Collection[str],
    enough: int | None = None,
    against: Collection[str] = (),
) -> Iterator[Gate]:
    """The majority of each group of members, or ``enough`` of them; those ``against`` have said
    no. Two groups are those before and after a change of the members.
    """
    wheres = ("",) if len(groups) == 1 else ("the old members", "the new members")
    for group, where in zip(groups, wheres, strict=True):
        there = tuple(name for name in group if name in done)
        missing = tuple(name for name in group if name not in done)
        needed = enough or majority(len(group))
        no = tuple(name for name in missing if name in against)
        yield Gate(thing, what, knows, there, missing, needed, where=where, against=no)


def gates_of(scene: Scene, declared: Declared) -> tuple[Gate, ...]:
    """Every gate of a scene, closed ones first: those that its family declares, then one for each
    refusal that names somebody who stands before none of them.
    """

    def work() -> tuple[Gate, ...]:
        gates: dict[str, Gate] = {}
        for gate in declared(scene):
            if gates.setdefault(gate.thing, gate).is_open:  # of two before one thing, the closed
                gates[gate.thing] = gate
        for action, refusal in _refused(scene):
            closed = (gate.missing for gate in gates.values() if not gate.is_open)
            before = {name for names in closed if {*names} <= {*refusal.missing} for name in names}
            rest = tuple(dict.fromkeys(name for name in refusal.missing if name not in before))
            if rest:
                thing, what = mark(scene.model, action), scene.model.label(scene.state, action)
                there, needed = next(
                    ((come, group.needed) for group, lacking, come in refusal.counts()
                     if lacking == rest), ((), len(rest)),
                )  # fmt: skip
                gates[thing] = Gate(thing, what, "", there, rest, needed, refusal.reason)
        return tuple(sorted(gates.values(), key=lambda gate: gate.is_open))

    kept: tuple[Gate, ...] = scene.once(("gates", declared), work)
    return kept


def _refused(scene: Scene) -> Iterator[tuple[Any, Refusal]]:
    """What is refused since somebody is missing, first what is told as waiting; each set of the
    missing once.
    """
    first = first_waiting(scene)
    waiting = {} if first is None else {first[1].missing: first}
    for action, why in scene.options():
        if why is not None and why.missing:
            waiting.setdefault(why.missing, (action, why))
        if len(waiting) >= MOST_TOLD:
            break
    return (each for missing, each in waiting.items() if missing)


def awaited_gates(scene: Scene) -> Iterator[Gate]:
    """The gates that refusals tell of: whatever the model, where it counts nodes."""
    for refusal in filter(None, (refusal for _, refusal in scene.options())):
        for group, lacking, there in refusal.counts():
            if group.what:
                yield Gate(group.what, group.what, "done it", there, lacking, group.needed)


# -- drawing ---------------------------------------------------------------------------------------


def came(gate: Gate, before: Iterable[Gate]) -> set[str]:
    """Who has come to a gate since."""
    missed = {name for each in before if each.thing == gate.thing for name in each.missing}
    return missed.intersection(gate.there)


class Cast(Struct, frozen=True):
    """How heads at a gate are drawn: their letters, how each is, the hue of who has come; who was
    missing ``before`` and has come since is marked.
    """

    letters: Mapping[str, str]
    health: Mapping[str, str]
    before: Sequence[Gate] = ()
    hues: Mapping[str, str] = {}

    def heads(self, come: Iterable[str]) -> Heads:
        """How large those are who have come: each says its name as in the picture."""
        letters = (self.letters.get(name, name) for name in come)
        widest = max((measured(each, SIZE, bold=True) for each in letters), default=0)
        return SMALL if widest <= 2 * SMALL.reach + 2 else LARGE


def former_gates(scene: Scene, declared: Declared) -> tuple[Gate, ...]:
    """The gates of the moment before."""
    former = scene.former()
    return gates_of(former, declared) if former else ()


def draw_gates(
    scene: Scene, gates: Sequence[Gate], picture: Frag | None = None, before: Sequence[Gate] = ()
) -> Frag | None:
    """Draw the gates of the next step, a row for each, below what may happen; of several parts of a
    model the first of each. The cast of a picture has the same heads here. Nothing where nobody
    waits.
    """
    health, colours = _cast_of(picture) if picture and gates else ({}, {})
    first = {gate.part: gate for gate in reversed(gates)}
    near = [gate for gate in gates if gate.step == first[gate.part].step]
    if len(first) > 1:
        near = [gate for gate in near if gate is first[gate.part]]
    shown: list[Frag] = []
    named = ""
    for at, gate in enumerate(near[:MOST_GATES]):
        if gate.step != named:
            shown.append(h("b", brief(lead_of(scene, gate))))
            named = gate.step
        cast = Cast(tags((*gate.missing, *gate.there)), health, before, colours)
        shown.append(_row(scene, gate, cast, at == 0))
    rest = soft(f"and {len(near) - MOST_GATES} more" if len(near) > MOST_GATES else "")
    return h("div", shown, rest, k="gates", class_="kp-gates", data_rove=True) if shown else None


def lead_of(scene: Scene, gate: Gate) -> str:
    """What stands above the gates of a step: the family's words, else the gate's own."""
    text = f"{gate.step}\n{gate.knows or gate.why}\n{gate.where}"
    return told_as(words_of(scene.model.name).gates, text) or gate.lead


def _cast_of(picture: Frag) -> tuple[dict[str, str], dict[str, str]]:
    """How each character of a picture is, and the hue of each thing in it that has one."""
    health, colours = dict[str, str](), dict[str, str]()
    for part in picture.walk():
        name, looks = part.get("data-of"), (part.get("class") or "").split()
        if name and "character" in looks:
            health[name] = next((each for each in looks if each in get_args(Health)), "")
        if name and (hue := next((each for each in looks if each.startswith("h-")), "")):
            colours[name] = hue
    return health, colours


def _row(scene: Scene, gate: Gate, cast: Cast, is_first: bool) -> Frag:
    come = gate.there if len(gate.there) <= MOST_COME else ()
    behind, count = cast.heads(come).wide(len(come)), "✓ enough" if gate.is_open else gate.count
    heads = heads_for(len(gate.missing), ROOM - behind - measured(count), HEADS[:2])
    post = 8 + (heads.wide(len(gate.missing)) if heads else 0)
    width, high = post + behind + 8, 2 * _MIDDLE
    return h(
        "div",
        h("span", gate.where, class_="soft") if gate.where else None,
        None if heads else h("span", gate.absent),
        h(
            "svg",
            _crowd(scene, gate, cast, post, _MIDDLE, heads, come, is_stop=is_first),
            viewBox=f"0 0 {width:.0f} {high:.0f}",
            role="group",
            aria_label=gate.sentence,
        ),
        h("span", count),
        k=f"gate:{gate.thing}",
        class_="gate open" if gate.is_open else "gate",
        data_of=gate.thing,
    )


def draw_quorums(
    scene: Scene, gates: Sequence[Gate], picture: Frag, y: float, wide: float
) -> Iterator[Frag]:
    """Draw side by side in a picture how many decide: who can, behind a bar, who cannot before."""
    health, colours = _cast_of(picture)
    for i, gate in enumerate(gates):
        names, words = (*gate.missing, *gate.there), f"{gate.what}: any {gate.needed}"
        cast = Cast(tags(names), health, (), colours)
        parts = [h("title", gate.decides), h("text", words, x=2, y=y + 4.5, class_="strong")]
        post = measured(words, bold=True) + 12 + SMALL.wide(len(gate.missing))
        if post + SMALL.wide(len(gate.there)) <= wide / len(gates) - 8:
            parts += map(copied, _crowd(scene, gate, cast, post, y, SMALL, gate.there))
        yield h("g", parts, k=gate.thing, transform=f"translate({wide / len(gates) * i + 4:.0f} 0)")


def _crowd(
    scene: Scene,
    gate: Gate,
    cast: Cast,
    post: float,
    y: float,
    heads: Heads | None,
    come: Sequence[str],
    *,
    is_stop: bool = True,
) -> list[Frag]:
    """Draw the gate itself, who stands before it, and who has come. Of those who are missing a
    press does their next step, or opens their menu.
    """
    missing, look = gate.missing if heads else (), heads or LARGE
    row, top = ceil(len(missing) / look.rows), y - DOWN * (look.rows - 1) / 2
    steps = _steps(scene, gate) if missing and not scene.closed else {}
    key = f"gate:{gate.thing}"
    letters, health, new = cast.letters, cast.health, came(gate, cast.before)
    small = cast.heads(come)

    def at(x: float, y: float = y) -> str:
        return f"translate({x:.0f} {y:.0f})"

    before = [
        h(
            "g",
            head_of("node", look.reach),
            letter_of(letters.get(name, name), look.reach),
            _dead(look.reach) if health.get(name) == "gone" else None,
            k=f"{key}:{name}",
            class_=f"character missing {health.get(name, '')}".rstrip(),
            transform=at(post - 8 - look.reach - look.step * (i % row), top + DOWN * (i // row)),
            **_control(scene, name, steps.get(name), is_stop and i == 0),
        )
        for i, name in enumerate(missing)
    ]
    behind = [
        h(
            "g",
            h("title", f"{name} has arrived"),
            fresh(0, 0, 2 * small.reach + 2, 2 * small.reach + 6) if name in new else None,
            head_of("node", small.reach),
            letter_of(letters.get(name, name), small.reach),
            k=f"{key}:{name}",
            class_=f"character come {health.get(name, '')} {cast.hues.get(name, '')}".rstrip(),
            transform=at(post + 6 + small.reach + small.step * i),
        )
        for i, name in enumerate(come)
    ]
    bar = h("path", d=f"M{post:.0f} {y - _MIDDLE + 2:.0f}V{y + _MIDDLE - 2:.0f}", class_="leaf")
    return [*before, *behind] if gate.is_open else [*before, bar, *behind]


def _dead(head: float) -> Frag:
    place = f"translate({0.8 * head:.0f} {-0.75 * head:.0f}) scale(.8)"
    return h("path", d=SIGNS["gone"], class_="sign gone", transform=place)


def _control(scene: Scene, name: str, step: Any, is_stop: bool) -> dict[str, Any]:
    words = f"{name} is missing"
    attrs: dict[str, Any] = {
        "role": "button",
        "tabindex": "0" if is_stop else "-1",
        "data_of": name,
    }
    if step is None:
        return attrs | {"aria_label": words, "data_roving": True, "data_spot": name}
    return attrs | {
        "aria_label": f"{words}: {scene.model.label(scene.state, step)}",
        "data_roving": True,
        "data_act": f"do:{mark(scene.model, step)}",
    }


def _steps(scene: Scene, gate: Gate) -> dict[str, Any]:
    model, steps = scene.model, dict[str, Any]()
    able = (action for action, why in scene.options() if why is None)
    for action in (*filter(None, [scene.suggested]), *able):
        is_there = model.verb(action).startswith(gate.part)
        if model.kind(action) in model.faults or not is_there:
            continue
        if (name := model.actor_of(scene.state, action)) in gate.missing:
            steps.setdefault(name, action)
    return steps
