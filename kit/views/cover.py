"""How a run begins and ends: a card with what is told and who is who, and a kind last word."""

from collections.abc import Iterator

from msgspec import Struct

from kit.errors import counted
from kit.views.dangers import Danger, worst
from kit.views.fragment import Frag, h
from kit.views.panel import Scene
from kit.views.parts import soft
from kit.views.promises import promises_badge

MOST_NAMED = 8
"""Parts of the picture that are introduced; the others are counted."""


class Story(Struct, frozen=True):
    """What a run tells: its title, why it is worth seeing, and how many steps it has (0: unknown).

    A step is shown for a second, unless the reader wants another speed. ``breaks``: it comes to a
    step that breaks a promise.
    """

    title: str
    premise: str = ""
    steps: int = 0
    breaks: bool = False


def draw_cover(story: Story, scene: Scene, picture: Frag | None) -> Frag:
    """Draw the card that lies beside the first picture."""
    alike: dict[str, list[str]] = {}
    for name, said in dict(_cast(picture)).items() if picture else ():
        alike.setdefault(said, []).append(name)
    known = [h("li", h("strong", ", ".join(names)), f" {said}") for said, names in alike.items()][
        :MOST_NAMED
    ]
    rest = sum(map(len, [*alike.values()][MOST_NAMED:]))
    guarded = worst(scene.model)
    watch = f"Watch ({counted(story.steps, 'second')})" if story.steps else "Watch"
    return h(
        "div",
        h("button", "×", type="button", data_do="uncover", aria_label="close the cover"),
        h("h3", story.title),
        h("p", story.premise) if story.premise else None,
        list(_stake(story, scene, guarded)),
        h(
            "p",
            h("button", watch, type="button", class_="act suggested", data_do="watch"),
            h("button", "Step by hand", type="button", class_="act", data_do="myself"),
            class_="kp-begin",
        ),
        soft(f"{guarded.safeguard.id}: {guarded.safeguard.title}." if guarded else ""),
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
    if danger is None:
        words = f"What must always hold: {promise}." if promise else ""
    elif gone:
        words = f"With {gone} off, {danger.clause}."
    else:
        words = f"Without {danger.safeguard.id}, {danger.clause}."
    needs = danger.needs if danger else ""
    if words:
        yield h("p", h("strong", words))
    if needs:
        yield h("p", f"A search finds this in another configuration: {needs}.")
    if gone and story.breaks:
        yield h("p", "Watch what happens.")
    elif gone:
        more = "" if scene.closed or needs else "Choose other actions until a promise breaks."
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
    """Draw the last word in the place of the next action: look again, or break something."""
    words, good = promises_badge(scene)
    judged = f"{words} kept." if good else f"{words}."
    broken = h(
        "button",
        "break a safeguard",
        type="button",
        data_do="break",
        aria_disabled="true" if scene.closed else None,
    )
    return h(
        "div",
        h("span", h("strong", head), h("small", judged)),
        h("button", "again", type="button", data_do="first") if scene.action else None,
        broken if scene.model.safeguards else None,
        class_="kp-next rest",
    )
