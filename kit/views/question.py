"""Predict, then reveal: questions whose answers are computed from the step itself."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from msgspec import Struct

from kit.errors import counted
from kit.model.flows import OF_NODES, whose
from kit.views.default import compared
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene

MOST = 8
"""Choices a question offers at most."""
VOTED = "123456789"
"""The keys of the choices: they tick, or in a class each press is a vote. Digits, because nodes
have letters.
"""
_WORD = re.compile(r"\w+")
_OF_NODE = re.compile(r"(?:^|\.)(?:nodes|views)\[(\d+)\]")


class Question(Struct, frozen=True):
    """A question on a step that is still hidden: its choices, the right ones, and the reason.

    ``right`` is a subset of ``choices``; an empty one means "none of them", which is offered too.
    ``things`` says of the first choices what in the picture (``data_of``) stands for each; who
    presses it there ticks the choice.
    ``reasons`` say more than ``because``, each for itself.
    """

    text: str
    choices: tuple[str, ...]
    right: tuple[str, ...]
    because: str
    reasons: tuple[str, ...] = ()
    things: tuple[str, ...] = ()

    def draw(self) -> Frag:
        """Draw the question as a form that the player's module can judge."""
        none = "none of these"
        offered, right = (*self.choices, none), self.right or (none,)
        labels = []
        for key, choice, thing in zip_longest(VOTED, offered, self.things, fillvalue=""):
            if choice:
                good, place = choice in right, thing or None
                box = h("input", type="checkbox", value=choice, data_right=good, data_thing=place)
                votes = h("progress", value=0, max=1, hidden=True) if key else None
                named = h("kbd", key) if key else None
                labels.append(h("label", box, " ", named, f" {choice} ", votes, h("b")))
        where = (
            h("small", "Tick an answer, or press it in the picture.") if any(self.things) else None
        )
        keys = ", ".join(VOTED[: len(offered)])
        each = f"each press of {keys} is one vote; no names are stored"
        return h(
            "div",
            h("fieldset", h("legend", self.text), where, labels),
            _button("Answer", "answer", "act suggested"),
            _button("Show without answering", "reveal"),
            _button("Let the class vote", "vote", aria_pressed="false", title=each),
            k="question",
            class_="question",
            data_because=" ".join((self.because, *self.reasons)),
        )


def _button(words: str, act: str, kind: str = "act", **more: str) -> Frag:
    return h("button", words, type="button", class_=kind, data_do=act, **more)


def coming(scene: Scene, behind: int = 0) -> str:
    """Which step a question is about, ``behind`` so many others that nobody asks about."""
    verb = scene.model.verb(scene.action)
    if behind:
        return f"After {counted(behind, 'other step')}: {verb}."
    return f"Next: {verb}."


def receivers(scene: Scene, picture: Panel | None) -> Question | None:
    """Ask who gets what a step sends: a write, an entry, a question.

    None where nothing is sent, where the name of the step tells who gets it, and where there are
    too few to choose from.
    """
    flows, former = scene.flows(), scene.former()
    if not flows or former is None or picture is None:
        return None
    first = flows[0].kind, flows[0].from_key, flows[0].label
    sent = [each for each in flows if (each.kind, each.from_key, each.label) == first]
    names = getattr(scene.model, "names", ())
    right = {whose(each.to_key, names) for each in sent}
    verb = scene.model.verb(scene.action)
    if right & {*_WORD.findall(verb)}:
        return None
    sender = whose(flows[0].from_key, names)
    seen = _standing(former.once("picture", lambda: picture.draw(former)), names)
    things = {name: thing for name, thing in seen.items() if name != sender}
    if not right <= things.keys() or not len(right) < len(things) <= MOST:
        return None
    return Question(
        f"{coming(scene)} Which nodes get {(flows[0].label or 'it').rstrip('?')}?",
        tuple(things),
        tuple(name for name in things if name in right),
        scene.say,
        tuple(each.text for each in sent),
        tuple(things.values()),
    )


def _standing(drawn: Frag, names: Sequence[str]) -> dict[str, str]:
    nodes = {}
    for part in drawn.walk():
        kind, _, rest = (part.key or "").partition(":")
        if kind in OF_NODES and rest and rest == whose(part.key or "", names):
            inner = (of for inside in part.walk() if (of := inside.get("data-of")))
            nodes[rest] = next(inner, part.key or "")
    return nodes


def changed_parts(scene: Scene, tabs: dict[str, bool] | None = None) -> Question | None:
    """Ask which nodes the step changes, and what else: of ``tabs``, by their titles, where they say
    whether they change; else which fields of the state.

    None when there is too little to choose, or too much.
    """
    if scene.action is None:
        return None
    given = getattr(scene.model, "names", ())
    names = tuple(given) if isinstance(given, tuple | list) else ()
    parts: dict[str, bool] = {}
    for path, changed in compared(scene.before, scene.state):
        part = _part(path, names)
        if not tabs or part in names:
            parts[part] = parts.get(part, False) or changed
    several = (parts, {**parts, **tabs}, tabs) if tabs else (parts,)
    for parts in several:
        right = [part for part, changed in parts.items() if changed]
        if len(parts) >= 2 and right and len(right) <= MOST:
            break
    else:
        return None
    others = [part for part in parts if part not in right]
    kept = {*right, *others[: MOST - len(right)]}
    offered = tuple(part for part in parts if part in kept)
    are_nodes = all(part in names for part in offered)
    ask = "Which nodes change?" if are_nodes else "Which of these change?"
    return Question(
        f"{coming(scene)} {ask}",
        offered,
        tuple(right),
        f"{scene.say} {'Changed: {parts}.'.format(parts=', '.join(right))}",
        things=tuple(part if part in names else "" for part in offered),
    )


def _part(path: str, names: tuple[str, ...]) -> str:
    node = _OF_NODE.search(path)
    return names[int(node[1])] if node and int(node[1]) < len(names) else path
