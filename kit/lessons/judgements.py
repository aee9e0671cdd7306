"""A verdict: whether an answer is right, and the facts that settle it, as text and as HTML."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.lessons.stills import Still
from kit.views.fragment import Frag, h
from kit.views.parts import prose
from kit.views.static import static_html


class Judgement(Struct, frozen=True):
    """What is said of an answer.

    ``heading`` is one sentence, ``lines`` are the facts behind it, ``evidence`` is the moment of
    the run that settles it, where there is one.
    """

    passed: bool
    heading: str
    lines: tuple[str, ...] = ()
    evidence: Still | None = None

    @property
    def sign(self) -> str:
        """A tick or a cross: colour is never the only sign."""
        return "✓" if self.passed else "✗"

    def draw(self, *, spoken: bool = False) -> Frag:
        """The heading, the facts, and the picture below them.

        ``spoken`` has a screen reader say the heading and the facts as soon as they appear.
        """
        kind = "badge" if self.passed else "badge busy"
        return h(
            "div",
            h(
                "div",
                h("p", h("span", prose(f"{self.sign} {self.heading}"), class_=kind)),
                [h("p", prose(line), class_="say") for line in self.lines],
                role="alert" if spoken else None,
            ),
            self.evidence.draw() if self.evidence else None,
        )

    def __repr__(self) -> str:
        return "\n".join([f"{self.sign} {self.heading}", *(f"  {line}" for line in self.lines)])

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": static_html(self.draw())}
