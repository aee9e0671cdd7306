"""How far apart two colours are, for every kind of eye.

Sources: Machado, Oliveira and Fernandes 2009 (simulated dichromats); CIEDE2000.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from kit.views.palette import linear

_MACHADO = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
EYES = ("normal", *_MACHADO)


def difference(colour: str, other: str, eye: str = "normal") -> float:
    """Return the CIEDE2000 difference of two colours as one of ``EYES`` sees them."""
    return _ciede2000(_lab(_seen(colour, eye)), _lab(_seen(other, eye)))


def _seen(colour: str, eye: str) -> list[float]:
    rgb = linear(colour)
    if eye == "normal":
        return rgb
    rows = (zip(row, rgb, strict=True) for row in _MACHADO[eye])
    return [min(1.0, max(0.0, sum(a * b for a, b in row))) for row in rows]


def _lab(rgb: Sequence[float]) -> tuple[float, float, float]:
    red, green, blue = rgb
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883
    fx, fy, fz = map(_bend, (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def _bend(t: float) -> float:
    return t ** (1 / 3) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116


def _ciede2000(colour: Sequence[float], other: Sequence[float]) -> float:
    """CIEDE2000 with unit weights (Sharma, Wu and Dalal 2005)."""
    l1, a1, b1 = colour
    l2, a2, b2 = other
    mean_c = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    grey = 0.5 * (1 - math.sqrt(mean_c**7 / (mean_c**7 + 25**7)))
    a1, a2 = a1 * (1 + grey), a2 * (1 + grey)
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    dl, dc = l2 - l1, c2 - c1
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dh = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    light, c = (l1 + l2) / 2, (c1 + c2) / 2
    hue = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = (
        1
        - 0.17 * math.cos(math.radians(hue - 30))
        + 0.24 * math.cos(math.radians(2 * hue))
        + 0.32 * math.cos(math.radians(3 * hue + 6))
        - 0.20 * math.cos(math.radians(4 * hue - 63))
    )
    sl = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    sc, sh = 1 + 0.045 * c, 1 + 0.015 * c * t
    rc = 2 * math.sqrt(c**7 / (c**7 + 25**7))
    rt = -rc * math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    parts = (dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rt * (dc / sc) * (dh / sh)
    return math.sqrt(max(0.0, parts))
