"""What a replica holds and what is on its way, as signs, letters and disks. A disk is as full as
what has arrived of what it is to hold.
"""

from collections.abc import Container, Mapping, Sequence

from kit.views.fragment import Frag, h
from kit.views.labels import LINE, SIZE, measured
from kit.views.parts import fresh

KEY = "M0 0A3.5 3.5 0 1 0 -7 0A3.5 3.5 0 1 0 0 0H9M5 0V4M9 0V4"
SIGNS: Mapping[str, str] = {
    "key": KEY,
    "ban": "M6 0a6 6 0 1 1-.01-.1zM-4-4l8 8",
    "joining": "M0-6v12M-6 0h12",
    "gone": "M-5-5L5 5M-5 5L5-5",
}
"""What stands at a shoulder; colour says none of it."""
DISK_WIDE, LID = 36, 4.0
GAP = 2.5
"""How far below a line of words the middle of a fill's edge is; its sides are lower."""


def asked_words(read: bool, written: bool) -> str:
    """Say what is asked of a replica."""
    if read:
        return "read and written" if written else "read"
    return "written" if written else "neither read nor written"


def key(x: float, y: float) -> Frag:
    """Draw the key that a copier carries: its session."""
    return h("path", d=KEY, class_="inked", transform=f"translate({x:.0f} {y:.0f})")


def envelope_path(reach: float = 5, *, opened: bool = False) -> str:
    """The outline of an envelope around a point; an open one has its flap up."""
    half = reach * 0.7
    fold = (
        f"M{reach} {-half}L0 {reach * 0.2}L{-reach} {-half}"  # the way round of the rest: no hole
    )
    top = f"L0 {-half - reach * 0.8}L{reach} {-half}" if opened else f"H{reach}"
    return f"M{-reach} {-half}{top}V{half}H{-reach}Z{fold}"


def disk_size(lines: Sequence[str], most: float = DISK_WIDE, least: float = 0) -> tuple[float, ...]:
    """How wide and how high a disk is that has these lines."""
    wide = min(most, max([least, *(measured(line) + 12 for line in lines)]))
    return wide, LINE * max(len(lines), 1) + 5 + 2 * LID


def _between(lows: Sequence[float], level: float) -> float:
    """Where a disk's fill ends: its edge strikes no line of words, which end at ``lows``."""
    if not lows or level - LID < lows[0] - SIZE or level > lows[-1]:
        return level
    gaps = (low + LID + GAP for low in (lows[0] - LINE, *lows[:-1]))
    return min(gaps, key=lambda gap: abs(level - gap))


def disk(
    x: float,
    y: float,
    share: float,
    lines: Sequence[str] = (),
    wide: float = DISK_WIDE,
    *,
    news: Container[str] = (),
    refilled: bool = False,
) -> Frag:
    """Draw a disk around a point, filled so far, with short lines; ``news`` are those that the step
    changed, and a disk is ``refilled`` where it changed how full it is.
    """
    half, bottom = wide / 2, disk_size(lines)[1] / 2 - LID

    def drum(top: float) -> str:
        return (
            f"M{-half:.0f} {top:.1f}a{half:.0f} {LID:.0f} 0 0 1 {2 * half:.0f} 0"
            f"V{bottom:.1f}a{half:.0f} {LID:.0f} 0 0 1 {-2 * half:.0f} 0z"
        )

    written = [(line, LINE * (i + 1) + 1 - bottom) for i, line in enumerate(lines)]
    level = _between([low for _, low in written], bottom - 2 * bottom * min(1.0, max(0.0, share)))
    rim = f"M{-half:.0f} {-bottom:.1f}a{half:.0f} {LID:.0f} 0 0 0 {2 * half:.0f} 0"
    return h(
        "g",
        h("path", d=drum(-bottom), class_="drum"),
        h("path", d=drum(level), class_="level") if share > 0 else None,
        h("path", d=rim, class_="rim moved" if refilled else "rim"),
        [
            (fresh(0, low - SIZE * 0.36, measured(line) + 8) if line in news else None,
             h("text", line, y=low, text_anchor="middle", class_="on soft"))
            for line, low in written
        ],
        transform=f"translate({x:.0f} {y:.1f})",
    )  # fmt: skip
