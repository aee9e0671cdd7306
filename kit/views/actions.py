"""What may be done at a moment: the next action large, what must wait and why, all the others."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec import Struct

from kit.errors import Refusal, are, counted
from kit.model.model import Model
from kit.search.search import awaits_operator
from kit.views.cover import draw_end
from kit.views.fragment import Frag, h
from kit.views.headlines import act_words
from kit.views.panel import Scene
from kit.views.parts import act_button, sheet, soft

if TYPE_CHECKING:
    from kit.views.gate import Gate

MOST_EVIDENCE, LEAST_EVIDENCE = 24, 4
"""Facts told of a refusal; fewer where many are refused."""
MOST_LISTED = 200
"""Actions of a kind that are listed; of more, the first that may happen now."""
MANY = 12
"""Above this many actions of a kind, it is told how many may happen now."""
MOST_THINGS = 16
"""Names in the fields of an action, by which the things that it concerns know it."""
MOST_WAITING = 40
"""Waiting actions whose reasons are listed."""
ONE_LINE = 28
"""Letters of what the next action does that are in a line of large type; and of the command below
it: a longer one is its title."""
MOST_KEYS = 9
MOST_OTHERS = 2
"""Actions that stand beside the next one; the others are among all."""

Option: TypeAlias = tuple[Any, Refusal | None]


class Macro(Struct, frozen=True):
    """A named run of ordinary actions that is offered as one button."""

    name: str
    title: str


def mark(model: Model[Any, Any], action: Any) -> str:
    """Return the digest by which a button names its action: 12 hex digits."""
    return _digest(model.name, action)


@lru_cache(8192)
def _digest(name: str, action: Any) -> str:
    plain = repr((type(action).__name__, msgspec.to_builtins(action)))
    return hashlib.blake2b(f"{name} {plain}".encode(), digest_size=6).hexdigest()


def refusal_text(refusal: Refusal, most: int = MOST_EVIDENCE) -> str:
    """Write a refusal as one line: the reason, its evidence, who is missing.

    Of more than ``most`` facts or nodes the rest is counted.
    """
    parts = [refusal.reason.rstrip("."), *some_of(refusal.evidence, most, refusal.untold)]
    if refusal.missing:
        parts.append(f"missing: {', '.join(some_of(refusal.missing, most))}")
    return "; ".join(parts) + "."


def some_of(words: tuple[str, ...], most: int, untold: int = 0) -> list[str]:
    """The first of these words; the rest is counted."""
    rest = max(len(words) - most, 0) + untold
    return [*words[:most], f"and {rest} more"] if rest > 0 else list(words)


# The slot below the picture.


def draw_actions(
    scene: Scene,
    macros: Sequence[Macro] = (),
    gates: Sequence[Gate] = (),
    ways: Sequence[Frag] | None = None,
    what_if: Frag | None = None,
) -> list[Frag]:
    """Draw the next action and two others, and who must wait, if anybody; or else the ``ways`` on
    from a broken promise. Behind a button are all actions.

    ``gates`` are those of the scene: somebody waits at a closed one, also where no refusal says so.
    Where there is also ``what_if``, one action fewer stands beside the next.
    """
    options = scene.options()
    refused = [(action, refusal) for action, refusal in options if refusal is not None]
    waiting = [option for option in refused if _waits(option[1])]
    absent, shut = [{*why.missing} for _, why in waiting], [g for g in gates if not g.is_open]
    closed = [
        gate
        for gate in shut
        if not (gate.missing and any(names.issuperset(gate.missing) for names in absent))
    ]
    number = len(waiting) + len(closed)
    must_wait = h("summary", f"{counted(number, 'step')} wait{'s' * (number == 1)}")
    count = f"{len(options) - len(refused)} can happen"
    possible = h("summary", "…", title=count, aria_label=f"all actions; {count}")
    impossible = [option for option in refused if not _waits(option[1])]
    reasons = (
        _reasons(scene, "What must wait, and why", waiting, closed),
        _reasons(scene, "What is not possible now", impossible),
    )
    return [
        *(ways or (_next(scene, closed), *_others(scene, options, bool(number and what_if)))),
        sheet(possible, action_board(scene, macros), kind="kp-pop more"),
        *([sheet(must_wait, reasons, kind="kp-pop waiting")] if number and not ways else []),
        *([what_if] if what_if else []),
    ]


def _waits(refusal: Refusal | None) -> bool:
    return refusal is not None and bool(refusal.awaited or refusal.missing)


def _next(scene: Scene, closed: Sequence[Gate]) -> Frag:
    if scene.suggested is None:
        return draw_end(scene, end_words(scene, closed))
    return next_button(scene)


def next_button(scene: Scene, words: str = "", kind: str = "act suggested kp-next") -> Frag:
    """Draw what does the next action; in other ``words`` than its own where they are given."""
    action = scene.suggested
    verb, sentence = scene.model.label(scene.state, action), words or act_words(scene, action)
    command = verb if sentence not in (words, verb) and len(verb) <= ONE_LINE else ""
    # A page shows the step that was done there: the next one, or the first of another branch.
    recorded, fork = scene.following.get(action), len(scene.following) > 1
    is_closed = bool(scene.closed) and recorded is None
    return h(
        "button",
        h("span", h("b", sentence), h("small", command) if command else None),
        type="button",
        title=None if verb in (sentence, command) else verb,
        class_=f"{kind} long" if len(sentence) > ONE_LINE else kind,
        data_act=f"do:{mark(scene.model, action)}" if recorded is None else None,
        data_do=None if recorded is None else "visit" if fork else "step",
        data_moment=recorded if fork else None,
        data_key=1,
        aria_disabled="true" if is_closed else None,
    )


def first_waiting(scene: Scene) -> tuple[Any, Refusal] | None:
    """The waiting action to show, and why: the first that counts nodes, or else names some.

    Where nothing more happens by itself it is the last that names the fewest: others wait for it.
    """
    waits = [(action, why) for action, why in scene.options() if why and _waits(why)]
    if scene.suggested is None:
        waits.reverse()
        waits.sort(key=lambda option: len(option[1].missing))
    return min(waits, key=lambda option: not option[1].awaited, default=None)


def end_words(scene: Scene, closed: Sequence[Gate] = ()) -> str:
    """Say kindly that this is the end, and what holds up the rest."""
    if reasons := _held_up(scene, closed):
        why, _, _ = reasons[0].partition(": ")  # the rest is told where one asks
        return f"This is the end. Nothing more happens on its own: {why.rstrip('.')}."
    return "This is the end."


def _held_up(scene: Scene, closed: Sequence[Gate]) -> list[str]:
    """Why nothing more happens by itself, the first reason first; none where all is done."""
    if down := awaits_operator(scene.model, scene.state):
        return [down]
    cause = first_waiting(scene)
    return [cause[1].reason] if cause else [gate.why or gate.sentence for gate in closed]


def ends_well(scene: Scene, gates: Sequence[Gate] = ()) -> bool:
    """Whether a run has come to its end, waits for nothing and has broken no promise."""
    if scene.suggested is not None or scene.action is None or scene.breaches():
        return False
    return not _held_up(scene, [gate for gate in gates if not gate.is_open])


def _others(scene: Scene, options: Sequence[Option], fewer: int) -> list[Frag]:
    """Draw two more actions that may happen now: one that goes on, and one that goes wrong."""
    model, first = scene.model, dict[tuple[bool, type], Any]()
    for action, refusal in options:
        if refusal is None and action != scene.suggested:
            first.setdefault((model.kind(action) in model.faults, type(action)), action)
    good, bad = ([first[key] for key in first if key[0] is fault] for fault in (False, True))
    return (
        [
            act_button(
                act_words(scene, action),
                f"other:{mark(model, action)}",
                f"do:{mark(model, action)}",
                scene.closed,
                kind="kp-other",
                title=model.label(scene.state, action),
            )
            for action in [*good[:1], *bad[:1], *good[1:], *bad[1:]][: MOST_OTHERS - fewer]
        ]
        if not scene.closed
        else []
    )


def _reasons(
    scene: Scene, title: str, waiting: Sequence[Option], closed: Sequence[Gate] = ()
) -> Frag | None:
    if not waiting and not closed:
        return None
    shown = [h("li", gate.sentence, k=f"wait:{gate.thing}") for gate in closed[:MOST_WAITING]]
    shown += [_reason(scene, action, why) for action, why in waiting[:MOST_WAITING] if why]
    rest = len(waiting) + len(closed) - len(shown)
    more = soft(f"and {counted(rest, 'more action')}" if rest else "")
    return h("div", h("h3", title), h("ul", shown, class_="kp-reasons"), more)


def _reason(scene: Scene, action: Any, refusal: Refusal) -> Frag:
    facts = some_of(refusal.evidence, LEAST_EVIDENCE, refusal.untold)
    missing = ", ".join(some_of(refusal.missing, MOST_EVIDENCE))
    return h(
        "li",
        h("strong", scene.model.label(scene.state, action)),
        h("span", f" {refusal.reason.rstrip('.')}."),
        h("ul", [h("li", fact) for fact in facts]) if facts else None,
        h("small", f" missing: {missing}") if missing else None,
        k=f"wait:{mark(scene.model, action)}",
    )


# All actions, by kind.


def action_board(scene: Scene, macros: Sequence[Macro] = ()) -> Frag:
    """Draw the actions of a state grouped by kind: what may happen, and what must wait and why.

    The first that may happen are numbered; in the Player their digits perform them.
    """
    model = scene.model
    options = sorted(scene.options(), key=lambda option: option[1] is not None)
    rows = [(model.kind(action), action, refusal) for action, refusal in options]
    order = {kind: i for i, kind in reversed(list(enumerate(kind for kind, _, _ in rows)))}
    rows.sort(key=lambda row: (row[0] in model.faults, order[row[0]]))
    numbers = count(1 if scene.suggested is None else 2)
    boards = []
    for kind, group in groupby(rows, key=lambda row: row[0]):
        items = [(action, refusal) for _, action, refusal in group]
        boards.append(_kind(kind, f"actions: {kind}", _buttons(scene, items, numbers), kind))
    runs = []
    for macro in macros:
        key, digit = f"macro:{macro.name}", _digit(scene.closed, numbers)
        button = act_button(macro.title, key, key, scene.closed, digit=digit)
        runs.append(h("li", button, k=f"item:{key}"))
    find = h("input", type="search", data_filter=True, autocomplete="off")
    return h(
        "div",
        h("label", h("h3", "All actions"), find) if options else h("h3", "All actions"),
        h(
            "div",
            boards or soft("Nothing can happen here."),
            _kind("runs", "runs of several actions", [h("ul", runs)], " runs") if runs else None,
            data_find="all",
        ),
        class_="actions",
        data_sift=True,
    )


def _digit(why: str | None, numbers: Iterator[int]) -> int | None:
    number = None if why else next(numbers)
    return number if number is not None and number <= MOST_KEYS else None


def _kind(title: str, label: str, body: list[Frag], group: str) -> Frag:
    return h(
        "div",
        h("h4", title),
        body,
        k=f"kind:{group}",
        class_="kind",
        role="group",
        aria_label=label,
        data_group=group,
    )


def _buttons(scene: Scene, items: list[Option], numbers: Iterator[int]) -> list[Frag]:
    stuck = len(items) <= 2 and all(refusal is not None for _, refusal in items)
    many, ready = len(items) > MANY, [item for item in items if item[1] is None]
    listed = items if len(items) <= MOST_LISTED else (ready or items)[:MOST_LISTED]
    buttons = []
    for action, refusal in listed:
        verb, name = scene.model.label(scene.state, action), mark(scene.model, action)
        why = refusal_text(refusal, LEAST_EVIDENCE if many else MOST_EVIDENCE) if refusal else None
        suggested = action == scene.suggested
        digit = None if suggested or many else _digit(why or scene.closed, numbers)
        things, hand = concerned(scene.model, action), scene.model.hand(scene.state, action)
        gesture = None if hand is None else msgspec.json.encode(hand).decode()
        reason = refusal.reason if refusal is not None and stuck else None
        given = things, suggested, digit, gesture, reason
        buttons.append(_item(verb, name, why or scene.closed, *given))
    lines = [h("ul", buttons)]
    if many:
        few = f"; {len(listed)} {are(len(listed))} listed" if len(listed) < len(items) else ""
        words = f"{len(ready)} of {len(items)} can happen now" + few
        lines.insert(0, h("small", words, class_="soft"))
    return lines


@lru_cache(8192)
def _item(
    verb: str,
    name: str,
    why: str | None,
    things: str,
    suggested: bool,
    digit: int | None,
    gesture: str | None,
    reason: str | None,
) -> Frag:
    """Draw one action of the list; in a large cluster most are the same in every frame."""
    below = None if reason is None else h("small", reason, k=f"why:{name}", class_="why")
    kind = "act suggested" if suggested else "act"
    more = {"data_names": things, "data_hand": gesture}
    button = act_button(verb, f"act:{name}", f"do:{name}", why, "", kind, digit, **more)
    return h("li", button, below, k=f"item:{name}")


@lru_cache(8192)
def concerned(model: Model[Any, Any], action: Any) -> str:
    """The things that an action concerns, as a list in JSON: those that its fields name (nodes,
    tables, messages, ``epoch 3``), and those that its model says.
    """
    names = dict.fromkeys((*model.things(action), *_leaves(msgspec.to_builtins(action))))
    return msgspec.json.encode([*names][:MOST_THINGS]).decode()


def _leaves(value: Any) -> Iterator[str]:
    """The words and numbers in plain data; a shard ``A:0`` also names its node."""
    if isinstance(value, dict):
        yield from (f"{name} {each}" for name, each in value.items() if type(each) is int)
        value = [each for name, each in value.items() if name != "type"]
    if isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, str):
        yield value
        yield from re.split(r"[\s:,]+", value)
