"""What a search goes through: states, or states with what monitors remember of the way to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kit.engine.model import Model, Monitor
from kit.engine.purity import steps_of
from kit.errors import KitError


class Nodes:
    """The nodes of one search of a model.

    A node is a state; where monitors watch, a tuple of a state and what each of them remembers.
    ``successors`` gives every step from a node, ``canonical`` the node that stands for all that
    differ from it in names only (None: a search without symmetry).
    """

    def __init__(
        self, model: Model[Any, Any], monitors: Sequence[Monitor], *, symmetry: bool
    ) -> None:
        """With ``symmetry``, the model has one and each monitor knows how to rename."""
        self.model, self.monitors = model, tuple(monitors)
        self._model_steps = steps_of(model)
        self._watching_on: dict[type, tuple[bool, ...]] = {}
        self.successors = self._watched if monitors else self._model_steps
        self.canonical = self._canonical() if symmetry else None

    def first(self) -> Any:
        """The node to begin with."""
        start = self.model.start()
        if not self.monitors:
            return start
        return (start, *(monitor.begin() for monitor in self.monitors))

    def state_of(self, node: Any) -> Any:
        """The model's state in a node."""
        return node[0] if self.monitors else node

    def key_of(self, node: Any) -> Any:
        """What a node counts as."""
        return node if self.canonical is None else self.canonical(node)

    def run_to(self, parents: Mapping[Any, Any], key: Any) -> tuple[tuple[Any, ...], Any]:
        """The run by which a key was first reached, and the real node it ends in, by replay.

        ``parents`` gives for each key the one that it was reached from; the first has itself.

        Raises:
            KitError: when the model's symmetry joins states that do not behave alike, or the model
                does not do the same thing twice.
        """
        keys = []
        while parents[key] != key:
            keys.append(key)
            key = parents[key]
        node, actions = self.first(), []
        for wanted in reversed(keys):
            for action, after in self.successors(node):
                if self.key_of(after) == wanted:
                    actions.append(action)
                    node = after
                    break
            else:
                why = "its symmetry joins states that do not behave alike"
                if self.canonical is None:
                    why = "it does not do the same thing twice: no chance, no clock in a model"
                raise KitError(
                    f"{self.model.name}: {why}; after {len(actions)} steps a run cannot be replayed"
                )
        return tuple(actions), node

    def _watched(self, node: Any) -> Iterator[tuple[Any, Any]]:
        """Every step from a watched node: the monitors see it, too."""
        before, *memories = node
        for action, after in self._model_steps(before):
            kind = type(action)
            if kind not in self._watching_on:
                self._watching_on[kind] = tuple(not m.on or kind in m.on for m in self.monitors)
            looks = self._watching_on[kind]
            if True not in looks:
                yield action, (after, *memories)
                continue
            watching = zip(self.monitors, memories, looks, strict=True)
            yield (
                action,
                (
                    after,
                    *(
                        monitor.step(memory, before, action, after) if look else memory
                        for monitor, memory, look in watching
                    ),
                ),
            )

    def _canonical(self) -> Callable[[Any], Any]:
        """From a node to the one that stands for it."""
        canonical = self.model.symmetry
        assert canonical is not None
        if not self.monitors:
            return lambda node: canonical(node)[0]
        renamers = tuple(monitor.rename for monitor in self.monitors)

        def key(node: Any) -> Any:
            state, permutation = canonical(node[0])
            news = [
                rename(memory, permutation)
                for rename, memory in zip(renamers, node[1:], strict=True)
                if rename is not None
            ]
            return (state, *news)

        return key
