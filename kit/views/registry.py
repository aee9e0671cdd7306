"""From a model to its panels and macros; a model nobody drew yet gets the default ones."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from kit.formats.recorded import RecordedRun
from kit.model.actors import NetworkModel
from kit.model.family import families
from kit.model.model import Model
from kit.model.registry import model_names, registered
from kit.views.actions import Macro
from kit.views.declared import Badges, status
from kit.views.default import ACTORS, NODES, STATE
from kit.views.frame import Slots
from kit.views.panel import Panel, Scene
from kit.views.promises import LAMPS
from kit.views.question import Question, changed_parts, receivers
from kit.views.spacetime import MESSAGES

Run = Callable[[Model[Any, Any], Any], Iterator[Any]]


class Views(Slots, frozen=True):
    """All a player needs to show a model: its panels, which slots they fill, what is asked.

    ``question`` asks about the step of a scene before it is shown; None where nothing is worth
    asking. Nobody is asked about a scene that is not ``may_ask``. ``runs`` are the
    macros with the generator of their ordinary actions.
    ``evidence`` names the panels that settle a question of a lesson (none: those that stay), and
    ``offered`` the kinds of action that such questions choose from (none: all).
    """

    panels: tuple[Panel, ...]
    runs: tuple[tuple[Macro, Run], ...] = ()
    question: Callable[[Scene], Question | None] = changed_parts
    may_ask: Callable[[Scene], bool] = lambda scene: True
    evidence: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()

    def asks(
        self,
        scene: Scene,
        panels: Iterable[Panel],
        changed: Collection[str],
        *,
        anywhere: bool = False,
    ) -> Question | None:
        """The question about a step: the family's own, or who gets what it sends, or what changes.

        ``panels`` are those that are shown, ``changed`` the names of those that it changes. What
        changes is asked at milestones only, unless ``anywhere``.
        """
        others = (self.picture, self.badges, LAMPS.name, STATE.name)
        panels = tuple(panels)
        tabs = {p.title: p.name in changed for p in panels if p.name not in others}
        picture = next((panel for panel in panels if panel.name == self.picture), None)
        if not self.may_ask(scene):
            return None
        if self.question is not changed_parts and (own := self.question(scene)):
            return own
        sent = receivers(scene, picture)
        asked_here = anywhere or scene.milestone is not None
        if sent or not asked_here or self.question is not changed_parts:
            return sent
        return changed_parts(scene, tabs)

    @property
    def macros(self) -> tuple[Macro, ...]:
        """The macros without what they do, as a frame shows them."""
        return tuple(macro for macro, _ in self.runs)


def staged(badges: Callable[[Scene], Badges], picture: Panel, table: Panel, *tabs: Panel) -> Views:
    """Views with a ``picture``, and a ``table`` that explains it and settles what is asked."""
    return Views(
        (status(badges, "badges"), picture, table, *tabs, LAMPS),
        evidence=(table.name,),
        picture=picture.name,
        table=table.name,
        badges="badges",
    )


DEFAULT = Views((STATE, LAMPS), table="state")
ON_A_NETWORK = Views((ACTORS, STATE, MESSAGES, LAMPS), picture="actors", table="state")
"""What a model of actors has by default."""
_VIEWS: dict[str, Views] = {}


def register(family: str, views: Views) -> None:
    """Draw every model whose name is ``family``, or begins with ``family/``, with ``views``."""
    _VIEWS[family] = views


def for_model(model: Model[Any, Any]) -> Views:
    """Return the views of a model: those of its name, of its family, or the default ones."""
    stranger = model.name in model_names() and registered(model) is None
    for name in () if stranger else (model.name, model.name.split("/", maxsplit=1)[0]):
        if name in _VIEWS:
            return _VIEWS[name]
        for family in families():
            if name in family.views:
                views = family.load(family.views[name])
                assert isinstance(views, Views)
                return views
    if isinstance(model, RecordedRun):
        return Views((NODES, STATE, LAMPS), picture="nodes", table="state")
    return ON_A_NETWORK if isinstance(model, NetworkModel) else DEFAULT
