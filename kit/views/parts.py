"""Parts that the panels of all families share: chips, bulbs, buttons, heads of tables, amounts.

Each is drawn with a sign or a shape beside its colour.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Literal

from kit.errors import counted
from kit.views.fragment import Frag, Kid, h

Mark = Literal["added", "removed", "pending", "small"]
SIGNS: dict[Mark, str] = {"added": "+", "removed": "−"}
BULBS = {"✓": "bulb", "!": "bulb alarm"}
UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")


def chip(name: str, *marks: Mark, key: str, hue: str = "") -> Frag:
    """Draw a replica in its hue; what came has a plus, what went a minus, what is written to and
    not read is hatched.
    """
    sign = "".join(SIGNS.get(mark, "") for mark in marks)
    return h(
        "span",
        f"{sign}{name}",
        k=key,
        class_=" ".join(filter(None, ("chip", *marks, hue))),
        data_of=name,
    )


def signed(names: Sequence[str], added: Iterable[str], removed: Iterable[str]) -> str:
    """Write a group with the signs of its chips: ``B, C, +X, −A``."""
    came = set(added)
    marked = [f"+{name}" if name in came else name for name in names]
    return ", ".join([*marked, *(f"−{name}" for name in removed)])


def prose(text: str) -> list[Kid]:
    """Split a text into kids: what stands between two backticks is code, all else is as it is."""
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # the last backtick has no partner: it is a letter
        pieces[-2:] = ["`".join(pieces[-2:])]
    return [h("code", piece) if at % 2 else piece for at, piece in enumerate(pieces) if piece]


def soft(words: str, key: str | None = None) -> Frag | None:
    """Draw a sentence in grey; without words there is none."""
    return h("p", words, k=key, class_="soft") if words else None


def unlisted(rest: int, thing: str, ending: str) -> Frag | None:
    """Say how many things are not in a list, in grey; of none, nothing."""
    return soft(f"{counted(rest, thing)} {ending}" if rest else "")


def bulb(sign: str, label: str, kind: str = "") -> Frag:
    """Draw a bulb: lit for ✓, an alarm for !, waiting for any other sign; ``label`` says it."""
    kind = kind or BULBS.get(sign, "bulb waits")
    return h("span", sign, class_=kind, role="img", aria_label=label)


def lamp(good: bool, yes: str, no: str) -> Frag:
    """Draw a bulb that is lit where something holds, else an alarm; each has its words."""
    return bulb("✓", yes) if good else bulb("!", no)


def act_button(
    words: str | Sequence[Kid],
    key: str,
    act: str,
    why: str | None = None,
    said: str = "",
    kind: str = "act",
    digit: int | None = None,
    **more: str | None,
) -> Frag:
    """Draw a button that acts, or says ``why`` not.

    ``act`` names what it does (``do:`` and the mark of an action), ``said`` is how it is spoken
    where that is more than its ``words``; ``digit`` is the key that presses it; ``more`` are
    attributes beside these.
    """
    return h(
        "button",
        words,
        k=key,
        type="button",
        class_=kind,
        data_act=act,
        data_key=digit,
        data_refused=why,
        aria_disabled="true" if why else None,
        aria_label=f"{said or words} is not possible now: {why}" if why else said or None,
        **more,
    )


def scroll(label: str, *kids: Kid, kind: str = "", searched: bool | str = False) -> Frag:
    """Draw a part that scrolls when it is large; keys reach it, and it has a name.

    A ``searched`` one is the list of a search box: what is found is shown, of ``"all"`` everything
    while nothing is asked for.
    """
    return h(
        "div",
        *kids,
        class_=f"scroll {kind}".rstrip(),
        tabindex=0,
        role="group",
        aria_label=label,
        data_find=searched,
    )


def sheet(
    summary: Frag, *kids: Kid, key: str | None = None, kind: str = "kp-pop", quiet: bool = False
) -> Frag:
    """Draw what opens a sheet over the board; of all there are one is open, and keys scroll it."""
    body = h("div", *kids, class_="kp-sheet", tabindex=0)
    return h("details", summary, body, k=key, class_=kind, name="kp-sheet", data_quiet=quiet)


def heads(*words: str) -> Frag:
    """Draw the head of a table; the name of a column may be broken after an underline.

    Raises ValueError for a column without a name: who hears a table knows its cells by it.
    """
    if not all(words):
        raise ValueError(f"a column has no name: {words}")
    names = [word.replace("_", "_\u200b") for word in words]
    return h("thead", h("tr", [h("th", name, scope="col") for name in names]))


def fresh(x: float, y: float, width: float, height: float = 15) -> Frag:
    """Mark what the step changed in a drawing: a framed plate behind it, around a point."""
    return h("rect", x=round(x - width / 2, 1), y=round(y - height / 2, 1), width=round(width, 1),
             height=height, rx=3, class_="moved")  # fmt: skip


def moved(changed: bool) -> str | None:
    """The class of a row that the step changed."""
    return "moved" if changed else None


def volume(size: int | None) -> str:
    """Write bytes: ``1.5 GiB``; unknown ones as a question mark."""
    if size is None:
        return "?"
    if size < 1024:
        return counted(size, "byte")
    amount = float(size)
    for unit in UNITS:
        amount /= 1024
        if amount < 1024 or unit == UNITS[-1]:
            break
    return f"{amount:,.1f} {unit}"


def drawing(label: str, width: float, height: float, *kids: Kid, fluid: bool = False) -> Frag:
    """Draw a picture with what it says in words; a ``fluid`` one is as wide as its place."""
    return h(
        "svg",
        *kids,
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=None if fluid else width,
        role="img",
        aria_label=label,
    )


def box(
    x: float, y: float, width: float, height: float, kind: str | None, rx: float | None = None
) -> Frag:
    """Draw a rectangle, whose corners may be round."""
    return h("rect", x=x, y=y, width=width, height=height, rx=rx, class_=kind)


def hatched(left: float, top: float, wide: float, high: float, step: float = 6) -> str:
    """Slanting lines across a box."""
    lines, at = "", step / 2
    while at < wide + high:
        x1, x2 = max(0.0, at - high), min(at, wide)
        lines += f"M{left + x1:.1f} {top + at - x1:.1f}L{left + x2:.1f} {top + at - x2:.1f}"
        at += step
    return lines


def hatched_disc(reach: float) -> str:
    """Slanting lines across a disc around a point."""
    lines = ""
    for at in range(-int(reach * 1.4), int(reach * 1.4) + 1, 6):
        middle, half = at / 2, sqrt(max(0.0, reach * reach - at * at / 2)) * 0.7071
        x1, y1, x2, y2 = middle - half, middle + half, middle + half, middle - half
        lines += f"M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"
    return lines


def word(
    text: str, x: float, y: float, kind: str | None = None, anchor: str | None = "middle"
) -> Frag:
    """Draw a word in a picture, around its place if nothing else is said."""
    return h("text", text, x=x, y=y, text_anchor=anchor, class_=kind)
