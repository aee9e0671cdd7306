"""A step that breaks a promise: what contradicts it, who is to blame in the picture, and why."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kit.errors import are, counted
from kit.model.model import Model
from kit.model.timeline import Breach, PassedStep
from kit.search.causes import Inquiry, Possible, Restored
from kit.views.actions import concerned
from kit.views.fragment import Frag, h
from kit.views.lanes import how_seen, known_parts, mermaid, seen
from kit.views.panel import Scene
from kit.views.parts import act_button, soft
from kit.views.promises import Named
from kit.views.spacetime import only_of

CONTRADICTS = re.compile(
    r"; |,? (?:but|while|though) |, and (?=\w+ (?:has|have|is|are)\b|the \w+ took\b)"
)
"""Where a witness puts one fact against another."""
HEADLESS = re.compile(r"(?:is|are|has|have) ")
"""How a fact begins that is about the subject of the other one."""
WHICH = re.compile(
    r"^(?P<now>.* (?P<thing>\w+ \d+)), which (?:(?P<then>had .*)|(?P<others>its .*))$"
)
"""Where it adds another fact: ``misses write 1, which had succeeded``."""
LEAST = 2
"""Words of a fact."""
MOST_STEPS = 400
"""Steps of a run that are listed."""


def breaking(scene: Scene) -> tuple[Breach, ...]:
    """The promises that the step which led here is the first to break."""
    if scene.action is None:
        return ()
    breaches = scene.breaches()
    last = len(scene.way()) - 1 if breaches else 0
    return tuple(breach for breach in breaches if breach.step == last)


def facts(witness: str) -> tuple[str, ...]:
    """The facts that contradict a promise: the two halves of a witness, or all of it."""
    if said := WHICH.match(witness):
        now, thing, then, others = said.groups()
        return (f"{thing} {then}", now) if then else (now, f"{others} {thing}")
    for first, other in (witness.split(cut[0], 1) for cut in CONTRADICTS.finditer(witness)):
        if min(len(first.split()), len(other.split())) >= LEAST:
            subject = first.partition(" ")[0].rstrip(",")
            return first, f"{subject} {other}" if HEADLESS.match(other) else other
    return (witness,)


def culprits(scene: Scene, picture: Frag | None, witness: str, named: Named) -> list[str]:
    """The things of a picture that a witness names, or else those that the step concerns."""
    things = _things(picture)
    blamed = sorted(named(scene, witness))
    blamed += [thing for thing in things if any(_names(name, witness) for name in _called(thing))]
    if not {*blamed} & {*things}:
        about = {*json.loads(concerned(scene.model, scene.action))}
        blamed += [thing for thing in things if about & {*_called(thing)}]
    return [*dict.fromkeys(blamed)]


def _things(picture: Frag | None) -> list[str]:
    parts = picture.walk() if picture else ()
    return sorted({part.get("data-of") or "" for part in parts} - {""})


def _called(thing: str) -> Iterator[str]:
    names = re.split(r"[\s:|]+", thing)
    yield from (thing, " ".join(names[1:]), " ".join(names))


def _names(name: str, words: str) -> bool:
    return bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) is not None


def draw_break(scene: Scene, picture: Frag | None, named: Named) -> Frag | None:
    """Draw what lies beside the picture when the step breaks a promise; None when it does not."""
    broken = breaking(scene)
    if not broken:
        return None
    first, inquiry = broken[0], scene.inquiry or Inquiry()
    step = scene.counted(first.step)
    others = "; ".join(each.title for each in broken[1:])
    former = "; ".join(
        f"{each.title} (step {scene.counted(each.step)})"
        for each in scene.breaches()
        if each not in broken
    )
    judges = (*scene.model.properties, *scene.model.monitors)
    invariant = next((each.invariant for each in judges if each.name == first.name), "")
    blamed = culprits(scene, picture, first.witness, named)
    head = f"Broken at step {step}"
    if first.cost:
        head = f"A known cost of the protocol, at step {step}"
    return h(
        "div",
        h("button", "×", type="button", data_do="unbreak", aria_label="close"),
        h("h3", h("span", "!", class_="bulb broken", aria_hidden="true"), " ", head),
        h("p", h("strong", first.title), f" ({invariant})" if invariant else None),
        h("p", first.cost.sentence, " ", h("small", first.cost.source)) if first.cost else None,
        h("p", "Evidence:"),
        h("ul", [h("li", fact, class_="witness") for fact in facts(first.witness)]),
        soft(f"Also broken in this step: {others}." if others else ""),
        soft(f"Already broken: {former}." if former else ""),
        h("p", _buttons(scene, inquiry), class_="kp-asks"),
        h("p", role="status", class_="kp-told"),
        act_button("Stop", "break:stop", "break:stop", scene.closed, kind="act kp-stop"),
        [h("p", line) for line in _answers(scene, inquiry)],
        _cause(scene, first, inquiry, picture) if inquiry.cause else None,
        k="break",
        class_="kp-break kp-sheet",
        role="group",
        aria_label=f"{head}: {first.title}",
        data_names=json.dumps([*blamed, f"step:{first.step + 1}"]),
        data_quiet=True,
    )


def _buttons(scene: Scene, inquiry: Inquiry) -> Iterator[Frag]:
    yield _button("Why?", "why", kind="act suggested")
    loop = next((breach.loop for breach in breaking(scene)), None)
    if loop is not None:  # no single step makes a run go on for ever
        if scene.moments():
            there = (0, *scene.moments())[loop]
            yield _button(
                "Go to where the loop begins", "visit", "break:loop", moment=there, loop=there
            )
    elif inquiry.possible is None or inquiry.possible.stopped:
        words = "Show where the break became possible"
        yield act_button(words, "break:possible", "break:possible", scene.closed)
    elif scene.moments():
        moment = (0, *scene.moments())[inquiry.possible.step]
        yield _button("Go to where the break became possible", "visit", moment=moment)
    done = {each.safeguard: each for each in inquiry.restored}
    for safeguard in scene.model.safeguards:
        if safeguard.name not in scene.model.off:
            continue
        again, name = done.get(safeguard.id), safeguard.id
        key = f"break:back:{name}"
        if again is None:
            words = f"Put {name} back and compare"
            yield act_button(words, key, key, scene.closed)
        else:
            yield _button(f"Compare with {name} on", "compare", key, leaf=again.tip)


def _button(
    words: str,
    do: str,
    key: str | None = None,
    kind: str = "act",
    moment: int | None = None,
    leaf: int | None = None,
    loop: int | None = None,
) -> Frag:
    given = {"data_moment": moment, "data_leaf": leaf, "data_loop": loop}
    return h("button", words, k=key, type="button", class_=kind, data_do=do, **given)


def _answers(scene: Scene, inquiry: Inquiry) -> Iterator[str]:
    if inquiry.possible is not None:
        yield possible_words(scene, inquiry.possible)
    yield from (restored_words(scene, each) for each in inquiry.restored)


def possible_words(scene: Scene, possible: Possible) -> str:
    """From where the break is possible, as far as searches saw, and where they did not find it."""
    number = len(possible.actions)
    steps = f"{counted(number, 'step')} {'suffices' if number == 1 else 'suffice'}"
    suffice = f"{steps} ({counted(possible.states, 'state')} searched)"
    if not possible.step:
        return f"The break is possible from the start: {suffice}."
    step = scene.counted(possible.step - 1)
    if possible.stopped:
        far = f"As far as it got, the break is possible from step {step}: {suffice}."
        return f"The search was stopped. {far}"
    here = f"The break became possible at step {step}: {suffice}."
    if possible.step == 1:
        return f"{here} A search from the start found no break within {possible.most:,} states."
    before = scene.counted(possible.step - 2)
    beyond = f"A search from step {before} found no break within {possible.most:,} states."
    return f"{here} {beyond}"


def restored_words(scene: Scene, again: Restored) -> str:
    """What becomes of a run when a safeguard is put back."""
    name = again.safeguard
    words = f"With {name} on, every step is still possible."
    if again.left_out:
        number, reason = again.left_out[0]
        words = f"With {name} on, step {scene.counted(number)} is refused: {reason.rstrip('.')}."
    if (others := len(again.left_out) - 1) > 0:
        words += f" {counted(others, 'more step')} {are(others)} refused as well."
    still = "; ".join(again.broken)
    after = f"It still breaks a promise: {still}." if still else "No promise breaks."
    return f"{words} {after}"


def _cause(scene: Scene, breach: Breach, inquiry: Inquiry, picture: Frag | None) -> Frag:
    assert inquiry.cause is not None
    way, steps, ids = scene.way(), inquiry.cause.steps, scene.moments()
    known = seen(scene)
    known_steps = {node: known[node] for node in _things(picture) if known.get(node)}
    become = dict(_become(scene.model, way, steps))
    rows = [
        _row(
            *(scene, number, ids[number] if ids else None),
            *(number in steps, become.get(number, ""), known_steps),
        )
        for number in range(max(0, len(way) - MOST_STEPS), len(way))
    ]
    parts = {
        node: json.dumps(known_parts(picture, node)) for node in sorted(known_steps) if picture
    }
    needed = "Leave out any one of these, and the break does not happen."
    if len(steps) < len(way):
        needed += " The other steps do not matter."
    if become:
        needed += " In brackets is what a step becomes without the others."
    unknown = soft("This model does not say what a single node has seen.")
    return h(
        "div",
        h("h4", f"The smallest cause: {len(steps)} of {len(way)} steps"),
        h("p", needed),
        [only_of(parts, data_names=parts), soft(how_seen(scene))] if parts else unknown,
        h("ol", rows),
        _button("Copy as Mermaid", "copy"),
        h(
            "pre",
            mermaid(scene.model, way, steps, breach),
            tabindex=0,
            role="region",
            aria_label="as Mermaid",
        ),
        class_="kp-cause",
    )


def _become(
    model: Model[Any, Any], way: Sequence[PassedStep], steps: Iterable[int]
) -> Iterator[tuple[int, str]]:
    state = way[0].before
    for number in steps:
        action = way[number].action
        if (label := model.label(state, action)) != model.label(way[number].before, action):
            yield number, label
        state = model.act(state, action)


def _row(
    scene: Scene,
    number: int,
    moment: int | None,
    needed: bool,
    becomes: str,
    known_steps: dict[str, frozenset[int]],
) -> Frag:
    step = scene.way()[number]
    verb = scene.model.label(step.before, step.action)
    words = f"{scene.counted(number)}. {verb}{f' ({becomes})' if becomes else ''}"
    button = h("button", words, type="button", data_do="visit", data_moment=moment)
    sign = h("span", "●", role="img", aria_label="needed") if needed else h("span", "·")
    return h(
        "li",
        sign,
        button if moment is not None else h("span", words),
        class_="needed" if needed else None,
        data_of=f"why:{number + 1}",
        data_names=concerned(scene.model, step.action),
        data_seen=" ".join(node for node, steps in known_steps.items() if number in steps),
        data_cause=moment if needed else None,
    )


def break_lines(scene: Scene) -> list[str]:
    """The same in words, for readers without scripts."""
    broken: Sequence[Breach] = breaking(scene)
    if not broken:
        return []
    first, inquiry = broken[0], scene.inquiry or Inquiry()
    lines = [
        f"Broken: {first.title}.",
        *([first.cost.remark()] if first.cost else []),
        f"Evidence: {'. '.join(facts(first.witness))}.",
        *_answers(scene, inquiry),
    ]
    if inquiry.cause is not None:
        steps = ", ".join(str(scene.counted(number)) for number in inquiry.cause.steps)
        lines.append(f"The smallest cause: steps {steps}.")
    return lines
