"""Protocol families: what the rest of the kit may know of one, and how they are found.

A family is a folder below ``kit/protocols`` with a ``family.py`` that holds ``FAMILY``. Nothing
else names it: the command line, the Player, the lessons, Spark and the tests ask here. What a
family declares are *places*, ``module:NAME`` below its own folder, so that nothing is loaded before
it is needed and ``import kit`` stays quick.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kit.edge.arguments import at_edge

PROTOCOLS = Path(__file__).resolve().parent.parent / "protocols"


class HuntGround(Struct, frozen=True):
    """The safeguards of a model that lessons hide: one of them is missing in each variant.

    ``of`` names the protocol whose hunt it belongs to. ``safeguards`` are ids, ``about`` says what
    a variant is about, ``planned`` is the model's attribute that holds what may be under way, as
    texts or as things with a ``title``; ``budgets`` are parameters that all variants have, so that
    none says by its budgets what it lacks. Nobody can suspect what is ``silent``: without it no run
    ends in a state that shows it.
    """

    of: str
    about: str
    safeguards: tuple[str, ...]
    planned: str
    budgets: Mapping[str, Any] = field(default_factory=dict)
    silent: tuple[str, ...] = ()


class TimedSearch(Struct, frozen=True):
    """A search of a model's configuration that ``make bench`` times, joined by ``symmetry`` or not.

    ``about`` says in a few words what is searched.
    """

    about: str
    model: str
    parameters: Mapping[str, Any]
    symmetry: bool = False


class FileKind(Struct, frozen=True):
    """A kind of file from outside that a family can read.

    ``title`` says what it is, ``recognises`` is the place below ``kit`` of a function that looks at
    a text, or its beginning, and says whether it is one (parsers stand in ``kit/operators``),
    ``commands`` are the words of the command line that read it. ``rehearsal`` is the place below
    the family's folder of what opens such a file as a Player; empty: nothing does. ``explainer`` is
    that of what makes questions of such files (``kit.operators.explain``).
    """

    title: str
    recognises: str
    commands: tuple[str, ...]
    rehearsal: str = ""
    explainer: str = ""

    def is_one(self, text: str) -> bool:
        """Whether a text looks like a file of this kind."""
        module, _, name = self.recognises.partition(":")
        return bool(getattr(import_module(f"kit.{module}"), name)(text))


class Family(Struct, frozen=True):
    """The declaration of a protocol family.

    ``order`` is its place in lists, ``models`` gives each model's name the place of its registry
    entry, ``views`` the place of the Views that draw it, ``scenario_output`` that of what scenario
    files show of it, where its entry does not have it. ``public`` are the names that the family
    adds to the kit's own packages (``lessons``, ``spark``, or the kit itself: the empty text), by
    the modules that have them; a module without names is added itself. ``tasks`` are modules with
    exercises (``TASKS``), ``hunts`` gives a model's name what lessons hide in it, ``commands``
    gives a word of the command line its help and its place; ``images`` is a module that draws
    committed pictures (``pictures`` as SVG, ``graphs`` as DOT text, ``diagrams`` of states).
    ``trace_tables`` gives a model's name the place of what makes rows of its runs,
    ``pipeline_tables`` are other tables that Spark makes, ``repeats`` places of functions that do
    the run of such a row again (None for other rows), ``shrinks`` of those that make a row's run
    small which failed in something else than a property of its model (of a row and its history: a
    shorter one; None for other rows). ``searches`` are what ``make bench`` times.
    ``drills`` gives a model's name the place of its drill (``kit.console.drill``), ``servers`` that
    of what its servers' tools answer (``kit.console.server``), ``zooms`` that of what tells which
    run of a finer model achieves a step of it (``kit.search.zoom``).
    ``editions`` is the place of what tells its transition tables in an edition: for each state, and
    each edge out of it, the table, the state, where the edge leads (a state: empty) and its words.
    ``composes`` names the families that this one joins: it alone may import them.
    """

    name: str
    title: str
    order: int
    models: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    scenario_output: Mapping[str, str] = field(default_factory=dict)
    public: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    hunts: Mapping[str, HuntGround] = field(default_factory=dict)
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    importers: tuple[FileKind, ...] = ()
    images: str = ""
    trace_tables: Mapping[str, str] = field(default_factory=dict)
    pipeline_tables: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    shrinks: tuple[str, ...] = ()
    searches: tuple[TimedSearch, ...] = ()
    drills: Mapping[str, str] = field(default_factory=dict)
    zooms: Mapping[str, str] = field(default_factory=dict)
    servers: Mapping[str, str] = field(default_factory=dict)
    editions: str = ""
    composes: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of the family's files."""
        return PROTOCOLS / self.name

    def load(self, place: str) -> Any:
        """The object ``module:NAME`` below the family's folder; the module, without a name."""
        module, _, name = place.partition(":")
        loaded = import_module(f"kit.protocols.{self.name}.{module}")
        return getattr(loaded, name) if name else loaded


@cache
def families() -> tuple[Family, ...]:
    """Every family below ``kit/protocols``, in the order in which lists show them."""
    names = sorted(path.parent.name for path in PROTOCOLS.glob("*/family.py"))
    scanned = [import_module(f"kit.protocols.{name}.family").FAMILY for name in names]
    return tuple(sorted(scanned, key=lambda family: (family.order, family.name)))


def model_places() -> dict[str, tuple[Family, str]]:
    """Each model's name with its family and the place of its entry."""
    return {name: (family, place) for family in families() for name, place in family.models.items()}


def drill_places() -> dict[str, tuple[Family, str]]:
    """Each model that has a drill, with its family and the place of the drill."""
    return {name: (family, place) for family in families() for name, place in family.drills.items()}


def server_places() -> dict[str, tuple[Family, str]]:
    """Each model whose servers have tools, with its family and the place of what these answer."""
    return {name: (each, place) for each in families() for name, place in each.servers.items()}


def public_places(package: str) -> Iterator[tuple[str, Family, str]]:
    """The names that families add to a package of the kit: name, family, place."""
    for family in families():
        for module, names in family.public.get(package, {}).items():
            yield from ((name, family, f"{module}:{name}") for name in names.split())
            if not names:
                yield module.rpartition(".")[2], family, module


def public_name(module: str, own: Mapping[str, str], name: str) -> Any:
    """A public name of ``kit``, ``kit.lessons`` or ``kit.spark``, loaded on first use.

    It is the package's own (``own`` gives each name its module) or one that a family adds. Here is
    the edge of all three: a function checks its arguments against their annotations.

    Raises AttributeError when there is no such name, as a module without it would.
    """
    if name in own:
        return at_edge(getattr(import_module(own[name]), name))
    if not name.startswith("_"):
        for known, family, place in public_places(module.partition(".")[2]):
            if known == name:
                return at_edge(family.load(place))
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
