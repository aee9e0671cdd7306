"""What becomes of a cluster of one's own: its files, opened by the family that reads them."""

from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

import ipywidgets

from kit.edge.bundles import beginning
from kit.errors import BadInput
from kit.model.family import families
from kit.model.timeline import Timeline
from kit.playing.stored import stored_run
from kit.views.fragment import Frag, h
from kit.views.static import bundle_of, static_html
from kit.widgets.player import Player


class Rehearsal:
    """A Player and the warnings above it; a family adds what else is to be read first.

    ``timeline`` is the history that is played, ``warnings`` are lines, ``player`` steps through it.
    """

    def __init__(
        self, timeline: Timeline, warnings: Iterable[str], *, controls: bool = False
    ) -> None:
        self.timeline = timeline
        self.warnings = tuple(warnings)
        self.player = Player(timeline, controls=controls)
        introduction = ipywidgets.HTML(h("div", self._introduction(), class_="kp").html())
        self.box = ipywidgets.VBox([introduction, self.player])

    def _introduction(self) -> list[Frag]:
        lines = [h("li", h("b", "! "), line, class_="soft") for line in self.warnings]
        return [h("ul", lines, aria_label="warnings")]

    def _lines(self) -> Sequence[str]:
        return ()

    def text(self) -> str:
        """All of it as text: warnings first, then the moment that is shown."""
        warnings = (f"warning: {line}" for line in self.warnings)
        return "\n".join([*warnings, *self._lines(), self.player.text()])

    def static(self) -> str:
        """All of it as HTML that survives an untrusted notebook."""
        return self._above() + self.player.static()

    def _above(self) -> str:
        return static_html(*self._introduction())

    def __repr__(self) -> str:
        return f"Rehearsal({self.timeline.model.title}, {self.timeline.now.say})"

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        data = bundle_of(self.box, **options)
        data = {**data, "text/plain": repr(self), "text/html": self.static()}
        return data, stored_run(self.timeline, None, above=len(self._above()))


def rehearse(source: Any, *arguments: Any, **options: Any) -> Any:
    """Open a cluster of one's own, and what is to be done with it, in a Player.

    ``source`` is a file, or several files of one cluster. The first of them says what it is, and so
    which family opens it; what else may be given is said by ``rehearse`` of the family's lessons.

    Raises BadInput for what is not acceptable, in one line that names it.
    """
    kinds = [(family, kind) for family in families() for kind in family.importers]
    rehearsed = [each for each in kinds if each[1].rehearsal]
    first = source[0] if isinstance(source, list | tuple) and source else source
    text = beginning(first)
    fitting = [each for each in kinds if text and each[1].is_one(text)]
    titles = " or ".join(each.title for _, each in rehearsed)
    if fitting and not fitting[0][1].rehearsal:
        raise BadInput("source", str(first), f"{titles}; this looks like {fitting[0][1].title}")
    # What is no file of a known kind may be a ring given in another way, or is refused where the
    # arguments say that it should be read.
    refused = []
    for family, kind in fitting[:1] or rehearsed:
        opens = family.load(kind.rehearsal)
        why_not = _misfit(opens, source, *arguments, **options)
        if not why_not:
            return opens(source, *arguments, **options)
        refused.append(f"{kind.title} ({why_not})")
    given = ", ".join(["source", *map(repr, arguments), *options])
    raise BadInput("rehearse", given, " or ".join(refused))


def _misfit(opens: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    try:
        signature(opens).bind(*arguments, **options)
    except TypeError as error:
        return str(error)
    return ""
