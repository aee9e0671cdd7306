"""A step that breaks a promise: what contradicts it, who is to blame in the picture, and why."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kit.errors import are, counted
from kit.model.model import Model, Safeguard
from kit.model.timeline import Breach, PassedStep
from kit.search.causes import Inquiry, Parted, Possible, Restored, parted
from kit.views.actions import concerned, mark, next_button
from kit.views.dangers import needed, without
from kit.views.fragment import Frag, Kid, h
from kit.views.headlines import MOST_WORDS, break_told, headline, what_if
from kit.views.lanes import how_seen, known_parts, mermaid, seen
from kit.views.panel import Scene
from kit.views.parts import act_button, soft
from kit.views.promises import Named
from kit.views.spacetime import only_of

CONTRADICTS = re.compile(
    r"; |,? (?:but|while|though) |, and (?=\w+ (?:has|have|is|are)\b|the \w+ took\b)"
)
"""Where a witness puts one fact against another."""
HEADLESS = re.compile(r"(?:is|are|has|have|lacks|gets|begins|cannot) ")
"""How a fact begins that is about the subject of the other one."""
LEAST = 2
"""Words of a fact."""
MOST_NAME = 2
"""Letters of a name that a sentence may begin with (``ks``)."""
MOST_REPEATED = 100
"""Steps of a run that *What if …?* does again."""
MOST_STEPS = 400
"""Steps of a run that are listed."""
MOST_WAYS = 5
"""Buttons that lead on from a broken promise."""
NO_ACTION = "there is no such action here"
NO_RULE = "No rule is off here: there is none that could keep it."


def breaking(scene: Scene) -> tuple[Breach, ...]:
    """The promises that the step which led here is the first to break."""
    if scene.action is None:
        return ()
    breaches = scene.breaches()
    last = len(scene.way()) - 1 if breaches else 0
    return tuple(breach for breach in breaches if breach.step == last)


def facts(witness: str) -> tuple[str, ...]:
    """The facts that contradict a promise: the two halves of a witness, or all of it."""
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


def contradiction(scene: Scene, breach: Breach) -> tuple[str, tuple[str, ...]]:
    """The headline of a broken promise, which is a contradiction, and the facts below it.

    Where the family has no words of its own for them, both come from the witness.
    """
    head, *own = break_told(scene.model.name, breach.name, breach.witness) or ("",)
    two = tuple(own) or facts(breach.witness)
    heads = (head, breach.witness, " – ".join(two), headline(breach.witness)[0], *reversed(two))
    other = f"{breach.name.replace('-', ' ')} is broken"
    fit = (each for each in heads if 0 < len(each.split()) <= MOST_WORDS)
    return sentence(next(fit, other)), two


def sentence(words: str) -> str:
    """The same with a capital letter, unless it begins with a name."""
    first = words.partition(" ")[0]
    is_plain = first.isalpha() and (len(first) > MOST_NAME or first in ("a", "no"))
    return words[0].upper() + words[1:] if is_plain else words


def draw_break(scene: Scene, picture: Frag | None, named: Named) -> Frag | None:
    """Draw the words of a step that breaks a promise; None where it does not."""
    broken = breaking(scene)
    if not broken:
        return None
    first, inquiry = broken[0], scene.inquiry or Inquiry()
    others = "; ".join(each.title for each in broken[1:])
    former = "; ".join(
        f"{each.title} (step {scene.counted(each.step)})"
        for each in scene.breaches()
        if each not in broken
    )
    blamed = culprits(scene, picture, first.witness, named)
    head, evidence = contradiction(scene, first)
    kind = "A known cost of the protocol" if first.cost else "A promise breaks"
    return h(
        "div",
        h("b", f"✗ {kind}", class_="bad"),
        h("h2", head, k="say", class_="say"),
        h("ol", [h("li", fact, class_="witness") for fact in evidence if fact != head]),
        h("p", _promised(scene, first), class_="kp-why"),
        h("p", first.cost.sentence, " ", h("small", first.cost.source)) if first.cost else None,
        soft(f"Also broken in this step: {others}." if others else ""),
        soft(f"Already broken: {former}." if former else ""),
        h("p", role="status", class_="kp-told"),
        act_button("Stop", "break:stop", "break:stop", scene.closed, kind="act kp-stop"),
        [h("p", line) for line in _answers(scene, inquiry)],
        _cause(scene, first, inquiry, picture, evidence) if inquiry.cause else None,
        k="break",
        class_="kp-break",
        role="group",
        aria_label=f"{kind} at step {scene.counted(first.step)}: {head}",
        data_names=json.dumps([*blamed, f"step:{first.step + 1}"]),
        data_quiet=True,
    )


def _promised(scene: Scene, breach: Breach) -> list[Kid]:
    judges = (*scene.model.properties, *scene.model.monitors)
    invariant = next((each.invariant for each in judges if each.name == breach.name), "")
    gone = _gone(scene, invariant)
    rules = "; ".join(f"{each.title.rstrip('.')} ({each.id})" for each in gone)
    off = f"You switched off the rule that keeps it: {rules}." if gone else NO_RULE
    name = f" ({invariant})" if invariant else ""
    return ["Promised: ", h("strong", breach.title), f"{name}. {off}"]


def _gone(scene: Scene, invariant: str = "") -> list[Safeguard]:
    """The safeguards that are off; where some of them protect an invariant, these."""
    gone = [each for each in scene.model.safeguards if each.name in scene.model.off]
    return [each for each in gone if invariant in each.protects] or gone


def draw_ways(scene: Scene) -> list[Frag] | None:
    """Draw what may be done where a promise breaks, in the place of actions; None elsewhere."""
    broken = breaking(scene)
    if not broken:
        return None
    inquiry, gone = scene.inquiry or Inquiry(), _gone(scene)
    large = "act suggested kp-next"
    first, second = ("act", large) if scene.closed and gone else (large, "act")
    questions = [*_questions(scene, inquiry, broken, second)]
    ways = [*_put_back(scene, inquiry, gone, first), *questions]
    if scene.closed:  # whoever reads a page can only ask what is answered in it
        ways = [*questions, *ways[: -len(questions)]]
    if scene.suggested is not None:
        words = "or go on anyway" if gone else scene.model.label(scene.state, scene.suggested)
        ways.insert(
            len(ways) if gone else 0, next_button(scene, words, "kp-other" if gone else large)
        )
    else:
        ways.append(_button("again", "first", kind="kp-other"))
    back = _button("back one step", "back", kind="kp-other")
    return [*ways, back][:MOST_WAYS]  # ← does the same


def draw_what_if(scene: Scene) -> Frag | None:
    """Draw a link that does what waits here, without a safeguard that is known to matter."""
    model, way = scene.model, scene.way()
    if scene.closed or not 0 < len(way) <= MOST_REPEATED or scene.breaches():
        return None
    waits = [action for action, why in scene.options() if why and (why.missing or why.awaited)]
    for each in needed(model) if waits else ():
        other = without(model, each.name)
        if other.start() == way[0].before and all(
            other.comes_to(step.before, step.action) == step.after for step in way
        ):
            for action in (each for each in waits if other.refusal(scene.state, each) is None):
                act, words = f"off:{each.name}:{mark(model, action)}", what_if(model.name, each)
                return act_button(words, "what-if", act, kind="kp-other kp-what", title=each.title)
    return None


def _put_back(
    scene: Scene, inquiry: Inquiry, gone: Sequence[Safeguard], large: str
) -> Iterator[Frag]:
    done = {each.safeguard: each for each in inquiry.restored}
    run = [step.action for step in scene.way()]
    for at, safeguard in enumerate(gone):
        again, name = done.get(safeguard.id), safeguard.id
        key, kind = f"break:back:{name}", "kp-other" if at else large
        words = f"Put {f'{name} back' if at else 'the rule back'} and compare"
        there = parted_words(scene, name, parted(scene.model, run, safeguard.name))
        where = there.partition(" on, ")[2].partition(":")[0].rstrip(".")
        small = None if at or scene.closed else h("small", where)
        if again is None:
            yield act_button([h("span", words, small)], key, key, scene.closed, words, kind)
        else:
            yield _button(f"Compare with {name} on", "compare", key, kind, leaf=again.tip)


def _questions(
    scene: Scene, inquiry: Inquiry, broken: Sequence[Breach], kind: str
) -> Iterator[Frag]:
    yield _button("Why?", "why", kind=kind)
    loop = next((breach.loop for breach in broken), None)
    if loop is not None:  # no single step makes a run go on for ever
        if scene.moments():
            there = (0, *scene.moments())[loop]
            yield _button(
                "Go to where the loop begins", "visit", "break:loop", moment=there, loop=there
            )
    elif inquiry.possible is None or inquiry.possible.stopped:
        words = "When did it become possible?"
        yield act_button(words, "break:possible", "break:possible", scene.closed)
    elif scene.moments():
        moment = (0, *scene.moments())[inquiry.possible.step]
        yield _button("Go to where it became possible", "visit", moment=moment)


def _button(
    words: str, do: str, key: str | None = None, kind: str = "act", **given: int | None
) -> Frag:
    more: dict[str, Any] = {f"data_{name}": each for name, each in given.items()}
    return h("button", words, k=key, type="button", class_=kind, data_do=do, **more)


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
    words = parted_words(scene, again.safeguard, again.parted)
    others = len(again.left_out) - bool(again.parted and again.parted.refused)
    if others > 0:
        words += f" {counted(others, 'more step')} {are(others)} refused as well."
    still = "; ".join(again.broken)
    after = f"It still breaks a promise: {still}." if still else "No promise breaks."
    return f"{words} {after}"


def parted_words(scene: Scene, safeguard: str, there: Parted | None) -> str:
    """Where a run parts from the same one with a safeguard."""
    if there is None:
        return f"With {safeguard} on, every step is still possible, and comes out as here."
    if there.step < 0:
        return f"With {safeguard} on, the run starts differently."
    step, said = scene.counted(there.step), there.said.rstrip(".")
    becomes = "is refused" if there.refused else "comes out otherwise"
    if not said:
        return f"With {safeguard} on, step {step} leads to another state."
    if said.endswith(NO_ACTION):
        return f"With {safeguard} on, there is no step {step} as here."
    return f"With {safeguard} on, step {step} {becomes}: {said}."


def _cause(
    scene: Scene, breach: Breach, inquiry: Inquiry, picture: Frag | None, evidence: Sequence[str]
) -> Frag:
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
        h("p", f"{'. '.join(each.rstrip('.') for each in evidence)}."),
        [h("p", line) for line in _without(scene, inquiry)],
        h(
            "details",
            h("summary", f"The smallest cause: {len(steps)} of {len(way)} steps"),
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
            k="cause",
        ),
        class_="kp-cause",
    )


def _without(scene: Scene, inquiry: Inquiry) -> Iterator[str]:
    """Where the run would have parted with each rule that is off; one that was put back told so."""
    known = {again.safeguard for again in inquiry.restored}
    run = [step.action for step in scene.way()]
    for each in _gone(scene):
        if each.id not in known:
            yield parted_words(scene, each.id, parted(scene.model, run, each.name))


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
        f"Evidence: {'. '.join(each.rstrip('.') for each in contradiction(scene, first)[1])}.",
        *_answers(scene, inquiry),
    ]
    if inquiry.cause is not None:
        steps = ", ".join(str(scene.counted(number)) for number in inquiry.cause.steps)
        lines.append(f"The smallest cause: steps {steps}.")
    return lines
