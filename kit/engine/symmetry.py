"""Whether a model's symmetry keeps its word, looked at where a search came by.

A symmetry says which states differ in names only, and a search believes it: of those that are alike
one is visited. That is right only if what stands for a state stands for itself, too, and if both
break the same properties and go on alike. All of a small search is compared, of a larger one a
part, spread evenly: what is found wrong is refused, what is not is no proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any

from kit.engine.answers import check_stands, place
from kit.engine.model import Model, Property
from kit.engine.nodes import Nodes
from kit.errors import BadInput, KitError, shorten

SMALL = 500  # nodes of a search of which each is compared
SHARE = 64  # of a larger one, one in so many
SHOWN = 300  # characters of a state in a message
# The type of a step's action and what stands for its end; the properties that it breaks.
Way = tuple[tuple[type, Any], tuple[str, ...]]
Judge = tuple[str, Callable[[Any], Any]]


class SymmetryCheck:
    """Compares nodes of a search with those that stand for them.

    ``compared`` counts the nodes whose steps were; the same search always compares the same.
    """

    def __init__(self, nodes: Nodes, properties: Sequence[Property]) -> None:
        """Walks of a search whose nodes have a ``canonical``, and which judges the properties."""
        assert nodes.canonical is not None
        self.nodes, self.canonical = nodes, nodes.canonical
        self.state = nodes.state_of
        self.name = symmetry_name(nodes.model)
        self.judges: tuple[Judge, ...] = tuple(
            (prop.name, prop.check) for prop in properties if prop.kind != "step"
        )
        self.steps = tuple(prop for prop in properties if prop.kind == "step")
        self.verdicts: tuple[Judge, ...] = tuple((m.name, m.verdict) for m in nodes.monitors)
        self.compared = 0

    def compare(self, nodes: Collection[Any]) -> None:
        """Look at what follows each of these nodes, or some of them when they are many.

        Raises:
            KitError: naming the symmetry, or a property that it does not fit, and two states.
        """
        small = len(nodes) <= SMALL
        for number, node in enumerate(islice(nodes, 0, None, 1 if small else SHARE)):
            self._judged_alike(node)
            after = (end for _, end in self.nodes.successors(node))
            other = [end for end in after if self._judged_alike(end) != end]
            for end in other if small or not other else (other[number % len(other)],):
                self._go_on_alike(end, self.canonical(end))

    def _go_on_alike(self, node: Any, key: Any) -> None:
        """The steps from a node and from what stands for it are the same, but for names."""
        self.compared += 1
        mine, theirs = self._ways(node), self._ways(key)
        if Counter(way for way, _ in mine) != Counter(way for way, _ in theirs):
            raise KitError(
                f"{self.name}: {self._shown(key)} does not behave like {self._shown(node)}, with "
                "which it is joined: not the same steps are possible, or they lead elsewhere"
            )
        for of, silent, more in (
            (node, key, Counter(mine) - Counter(theirs)),
            (key, node, Counter(theirs) - Counter(mine)),
        ):
            for (kind, _), broken in more:
                if broken:
                    raise self._unfit(broken[0], f"a step {kind.__name__}", of, silent)

    def _ways(self, node: Any) -> list[Way]:
        """The steps from a node."""
        return [self._way(node, *step) for step in self.nodes.successors(node)]

    def _way(self, node: Any, action: Any, after: Any) -> Way:
        """A step but for names."""
        kind, before, now = type(action), self.state(node), self.state(after)
        broken = tuple(
            prop.name for prop in self.steps if prop.of_step(before, action, now) is not None
        )
        return (kind, self.canonical(after)), broken

    def _judged_alike(self, node: Any) -> Any:
        """What stands for a node, of which every property must say the same."""
        key = self.canonical(node)
        if key == node:
            return key
        if type(self.state(key)) is not type(self.state(node)):
            wanted = f"a {type(self.state(node)).__name__}, and how its names were changed"
            raise BadInput(self.name, self.state(key), wanted)
        check_stands(key, self.name, self.canonical)
        again = self.canonical(key)
        if again != key:
            raise KitError(
                f"{self.name}: it gives {self._shown(key)} for {self._shown(node)}, "
                f"but {self._shown(again)} for that; what stands for a state must stand for itself"
            )
        for name, check in self.judges:
            self._same(name, check(self.state(node)), check(self.state(key)), node, key)
        for place_of, (name, verdict) in enumerate(self.verdicts, start=1):
            self._same(name, verdict(node[place_of]), verdict(key[place_of]), node, key)
        return key

    def _same(self, name: str, witness: Any, other: Any, node: Any, key: Any) -> None:
        """A witness on both sides or on none; a *sometimes* or *goal* reached on both or on none.

        What is said of a violation may name names, so that only whether there is one counts.
        """
        if _speaks(witness) == _speaks(other):
            return
        said, of, silent = (witness, node, key) if _speaks(witness) else (other, key, node)
        raise self._unfit(name, shorten(said), of, silent)

    def _unfit(self, name: str, said: str, of: Any, silent: Any) -> KitError:
        return KitError(
            f"property {name}: it says {said} of {self._shown(of)}, but not of "
            f"{self._shown(silent)}, which {self.name} joins with it; search without symmetry, "
            "or judge all names alike"
        )

    def _shown(self, node: Any) -> str:
        return shorten(self.state(node), SHOWN)


def symmetry_name(model: Model[Any, Any]) -> str:
    """``symmetry in_order of twophase, line 12 of model.py (…)``."""
    symmetry: Any = model.symmetry
    name = getattr(symmetry, "__name__", type(symmetry).__name__)
    return place(f"symmetry {name} of {model.name}", symmetry)


def _speaks(said: Any) -> bool:
    """Whether a judge says anything: a witness (also an empty one), or that it is reached."""
    return isinstance(said, str) or bool(said)
