"""What a search goes through: states, or states with what monitors remember of the way to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kit.engine.model import Model, Monitor
from kit.engine.purity import steps_of


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
