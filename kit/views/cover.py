"""How a run begins and ends: a card with what is told and who is who, and a kind last word."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from kit.errors import counted
from kit.model.registry import build, registered
from kit.model.timeline import Timeline
from kit.views.dangers import Danger, worst
from kit.views.fragment import Frag, h
from kit.views.headlines import MOST_WORDS, small, told_as, words_of
from kit.views.labels import clause
from kit.views.panel import Scene
from kit.views.parts import act_button
from kit.views.promises import promises_badge, scene_verdicts

ROOM, MOST = 470.0, 1_000
"""The width of the next story's title, in three lines; stories of a model."""
LARGE = "act suggested kp-next rest"
AGAIN = {"first": "Watch again", "film": "film", "print": "print"}
SAME = "The same in the other database"
MOST_NAMED = 8
"""Parts of the picture that are introduced; the others are counted."""
_SENTENCE = re.compile(r"(?<=[.;?])\s")


class Story(Struct, frozen=True):
    """What a run tells: its title, why it is worth seeing, and how many steps it has (0: unknown).

    A step is shown for a second, unless the reader wants another speed. ``breaks``: it comes to a
    step that breaks a promise.
    """

    title: str
    premise: str = ""
    steps: int = 0
    breaks: bool = False


def titled(title: str) -> tuple[str, str]:
    """The name of a story, which is the first sentence of its title, and the line about it."""
    name, *line = _SENTENCE.split(title, maxsplit=1)
    return name.rstrip(".;"), "".join(f"{each.rstrip('.')}." for each in line).replace("?.", "?")


def draw_cover(story: Story, scene: Scene, picture: Frag | None) -> Frag:
    """Draw the card that lies beside the first picture."""
    title, line = titled(story.title)
    alike: dict[str, list[str]] = {}
    roles = words_of(scene.model.name).cast
    for name, said in dict(_cast(picture)).items() if picture else ():
        alike.setdefault(small(told_as(roles, said)) or said, []).append(name)
    known = [h("li", h("strong", ", ".join(names)), f" {said}") for said, names in alike.items()][
        :MOST_NAMED
    ]
    rest = sum(map(len, [*alike.values()][MOST_NAMED:]))
    guarded = worst(scene.model)
    watch = f"Watch ({counted(story.steps, 'second')})" if story.steps else "Watch"
    return h(
        "div",
        h("button", "×", type="button", data_do="uncover", aria_label="close the cover"),
        h("h3", title),
        [h("p", words) for words in (line, story.premise) if words],
        list(_stake(story, scene, guarded)),
        h(
            "p",
            h("button", watch, type="button", class_="act suggested", data_do="watch"),
            h("button", "Step by hand", type="button", class_="act", data_do="myself"),
            class_="kp-begin",
        ),
        h("h4", "Who is who") if known else None,
        h("ul", known, h("li", f"and {rest} more") if rest else None) if known else None,
        k="cover",
        class_="kp-cover kp-sheet",
        role="group",
        aria_label="cover",
        data_quiet=True,
    )


def _stake(story: Story, scene: Scene, danger: Danger | None) -> Iterator[Frag]:
    model = scene.model
    gone = ", ".join(each.id for each in model.safeguards if each.name in model.off)
    promise = next((each.title for each in model.properties if each.kind == "always"), "")
    if danger and danger.needs and promise and not gone:
        danger = None  # the story cannot meet it
    if danger is None:
        words = f"What must always hold: {promise}." if promise else ""
    elif gone:
        words = f"With {gone} off, {danger.clause}."
    else:
        words = f"Without this rule ({danger.safeguard.id}), {danger.clause}."
    if words:
        yield h("p", f"{danger.safeguard.title}. " if danger else None, h("strong", words))
    if danger and danger.needs:
        settings = " and ".join(danger.needs.replace("_", " ").replace("; ", ", ").rsplit(", ", 1))
        yield h("p", f"Not in this story: a search finds it with {settings}.")
    if gone and story.breaks:
        yield h("p", "Watch what happens.")
    elif gone:
        closed = scene.closed or not danger or danger.needs
        more = "" if closed else "Choose other actions until a promise breaks."
        yield h("p", "This story breaks no promise.", f" {more}" if more else "")


def _cast(picture: Frag) -> Iterator[tuple[str, str]]:
    """Each character of a picture, else each thing that is no part of another one, with what its
    part says of itself. What is on its way is nobody; who stands before a gate was named already.
    """
    things = [part for part in picture.walk() if part.get("data-of") and not _is_a(part, "missing")]
    played = [part for part in things if _is_a(part, "character")]
    for part in played or (part for part in things if not _is_a(part, "envelope")):
        thing = part.get("data-of") or ""
        title = next((kid for kid in part.kids if isinstance(kid, Frag) and kid.tag == "title"), 0)
        said = part.get("aria-label") or (title.text() if isinstance(title, Frag) else "")
        if ":" not in thing and said:
            again = said == thing or said.startswith((f"{thing}:", f"{thing},", f"{thing} "))
            yield thing, said[len(thing) :].lstrip(": ,·") if again else said


def _is_a(part: Frag, kind: str) -> bool:
    return kind in (part.get("class") or "").split()


def draw_end(scene: Scene, head: str) -> Frag:
    """Draw the last word of a run that waits or has broken a promise: look again."""
    words, _ = promises_badge(scene)
    return h(
        "div",
        h("span", h("strong", head), h("small", f"{words}.")),
        h("button", "again", type="button", data_do="first") if scene.action else None,
        _break_it(scene),
        class_="kp-next rest",
    )


def _break_it(scene: Scene) -> Frag | None:
    """A button to the safeguards; it names the worst that happens in this very configuration."""
    if scene.closed or not scene.model.safeguards:
        return None
    known = worst(scene.model)
    here = known and not known.needs and not scene.model.off and known
    words = h("small", f"Without {here.safeguard.id}, {here.clause}") if here else None
    return h("button", h("span", "Break it"), words, type="button", class_="act", data_do="setup")


def draw_told(
    scene: Scene, story: Story | None = None, more: Sequence[Frag | None] = ()
) -> list[Frag | None]:
    """Draw what a run that ended well has shown, and why it came so, in the words of its story;
    else what its history shows to have held, and what ``more`` is to be told of the last step.
    """
    own, why = _own_end(scene, story) if story else ("", "")
    if own:
        return _last_words(own, f"{why}.")
    model, judged = scene.model, len(scene_verdicts(scene))
    goals = (each for each in model.properties if each.kind == "sometimes")
    names, waits = _passed(scene)
    last = [f"{name[0].upper()}{name[1:]}" for name in names]
    done = ["This is the end", *last, *(g.title for g in goals if g.check(scene.state))][-1]
    head = f"{done}, and no promise was broken"
    kinds = {name.partition(" ")[0] for name in names}
    passed = counted(len(names), kinds.pop() if kinds in ({"epoch"}, {"version"}) else "milestone")
    waited = f", and {counted(waits, 'wait')} for others" if waits else ""
    gone = ", ".join(f"without {each.id}" for each in model.safeguards if each.name in model.off)
    held = [counted(judged, "promise") + " held", f"in {counted(len(scene.way()), 'step')}", gone]
    line = f"{' '.join(filter(None, held))}.{f' On the way: {passed}{waited}.' if names else ''}"
    said = h("p", f"The last step: {scene.say}", k="more", class_="kp-why", data_quiet=True)
    is_short = judged and len(head.split()) <= MOST_WORDS
    return [*_last_words(head if is_short else done, line), said, *more]


def _last_words(head: str, line: str) -> list[Frag | None]:
    return [
        h("h2", head, k="say", class_="say", data_quiet=True),
        h("p", line, k="held", data_quiet=True),
    ]


def _own_end(scene: Scene, story: Story) -> tuple[str, str]:
    """A story's words for its end, and why it came so, where the run came to that very state."""
    ends, entry = words_of(scene.model.name).ends, registered(scene.model)
    for scenario in entry.scenarios if entry and ends else ():
        if scenario.title == story.title and scenario.name in ends:
            run = Timeline(
                build(scene.model.name, scenario.parameters, scenario.off), scenario.script
            )
            for _ in scene.way():
                run.forward()
            is_same = run.state == scene.state and run.model.off == scene.model.off
            return ends[scenario.name] if is_same else ("", "")
    return "", ""


def _passed(scene: Scene) -> tuple[list[str], int]:
    """The milestones of a run, and before how many of them somebody was waited for."""
    model, names, waits, since = scene.model, list[str](), 0, list[Any]()
    for step in scene.way():
        if name := model.milestone(step.before, step.action, step.after):
            names.append(name)
            refusals = (model.refusal(state, step.action) for state in since)
            waits += any(why.missing or why.awaited for why in refusals if why)
            since = []
        since.append(step.after)
    return names, waits


def draw_further(scene: Scene, story: Story | None) -> list[Frag]:
    """Draw where to go from a run that ended well, and how to look at it again."""
    entry, own = registered(scene.model), scene.model.name
    stories = entry.scenarios if entry and story and not scene.closed else ()
    at = next((i for i, each in enumerate(stories) if story and each.title == story.title), MOST)
    same = [words_of(own).siblings.get(each.name) for each in stories[at : at + 1]]
    further = [
        act_button(clause(f"Next: {titled(each.title)[0]}", ROOM, bold=True), "end:next",
                   f"story:{own}/{each.name}", kind=f"{LARGE} long")
        for each in stories[at + 1 : at + 2]
    ]  # fmt: skip
    kind = "kp-other" if further else LARGE
    again, *others = (
        h("button", words, type="button", class_=kind if do == "first" else "kp-other", data_do=do)
        for do, words in AGAIN.items()
    )
    ways = [
        *filter(None, [_break_it(scene)]),
        *(act_button(SAME, "end:same", f"story:{name}") for name in same if name),
    ]
    return [*further, *ways, again, *others] if further else [again, *ways, *others]
