"""What is asked of a replica, and what it holds: an eye, a pencil, a disk, the key of a session.

A filled eye is read from now, a filled pencil written to; hollow ones are not. A disk is as full as
what has arrived of what it is to hold.
"""

from __future__ import annotations

from kit.edge.words import say
from kit.views.fragment import Frag, h

EYE = "M-8 0Q0 -9 8 0Q0 9 -8 0Z"
PENCIL = "M-7 6L-5 1L3 -7L7 -3L-1 5Z"
KEY = "M0 0A3.5 3.5 0 1 0 -7 0A3.5 3.5 0 1 0 0 0H9M5 0V4M9 0V4"
ENVELOPE, OPENED = "M-5 -4H5V4H-5ZM-5 -4L0 1L5 -4", "M-5 -3L0 -7L5 -3V4H-5ZM-5 -3L0 1L5 -3"
MARK = 18
"""How wide an eye or a pencil is, with a little air."""
DISK_WIDE, DISK_HIGH = 36, 28


def legend() -> str:
    """What the signs at a replica mean."""
    return say("eye: read; pencil: written; filled: asked now")


def asked_words(read: bool, written: bool) -> str:
    """Say what is asked of a replica."""
    if read:
        return say("read and written") if written else say("read")
    return say("written") if written else say("neither read nor written")


def eye(x: float, y: float, *, filled: bool) -> Frag:
    """Draw an eye: whether a replica is read from now."""
    pupil = h("circle", r=2.2, class_="pupil")
    return _mark(EYE, x, y, pupil, filled=filled)


def pencil(x: float, y: float, *, filled: bool) -> Frag:
    """Draw a pencil: whether a replica is written to now."""
    return _mark(PENCIL, x, y, None, filled=filled)


def _mark(path: str, x: float, y: float, inside: Frag | None, *, filled: bool) -> Frag:
    return h(
        "g",
        h("path", d=path),
        inside,
        class_="asked on" if filled else "asked",
        transform=f"translate({x:.0f} {y:.0f})",
    )


def key(x: float, y: float) -> Frag:
    """Draw the key that a copier carries: its session."""
    return h("path", d=KEY, class_="inked", transform=f"translate({x:.0f} {y:.0f})")


def envelope(x: float, y: float, *, opened: bool = False) -> Frag:
    """Draw a message on its way; one that is opened has arrived and is worked on."""
    shape = OPENED if opened else ENVELOPE
    return h("path", d=shape, class_="envelope", transform=f"translate({x:.0f} {y:.0f})")


def disk(x: float, y: float, share: float, words: str = "") -> Frag:
    """Draw a disk around a point, filled so far, with a few letters."""
    wide, high, lid = DISK_WIDE / 2, DISK_HIGH / 2, 4
    side = f"V{high - lid}A{wide} {lid} 0 0 1 {-wide} {high - lid}V{lid - high}"
    body = f"M{-wide} {lid - high}A{wide} {lid} 0 0 1 {wide} {lid - high}{side}"
    top = high - lid - (2 * (high - lid)) * min(1.0, max(0.0, share))
    level = (
        f"M{-wide} {top:.1f}A{wide} {lid} 0 0 0 {wide} {top:.1f}V{high - lid}"
        f"A{wide} {lid} 0 0 1 {-wide} {high - lid}Z"
    )
    rim = f"M{-wide} {lid - high}A{wide} {lid} 0 0 0 {wide} {lid - high}"
    return h(
        "g",
        h("path", d=body, class_="box"),
        h("path", d=level, class_="level") if share > 0 else None,
        h("path", d=rim, class_="rim"),
        h("text", words, y=6, text_anchor="middle", class_="on") if words else None,
        transform=f"translate({x:.0f} {y:.0f})",
    )
