"""Words of earlier versions: what old traces and scenario files say, and today's word for it.

What a state holds keeps the names under which it is written down, for the fingerprints in a trace
are made of them: a field of a state that is renamed gets ``msgspec.field(name="old")``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from kit.errors import BadInput

FORMER_EDITIONS = {
    "seed": "documents",
    "cep": "documents",
    "code": "server",
    "implementation": "server",
}
"""The words that the editions of a protocol had, in whatever model: the values of ``edition``."""

TAGS = ("type", "part")
"""Keys under which plain data says which action it is, or which part of a product acts."""


class Former(Struct, frozen=True, kw_only=True):
    """For one model, each word that was renamed (the key) with today's (the value).

    Those of the editions (``variant``, ``seed``, ``code`` and so on) need not be told: where
    ``editions`` is on, they are understood.

    ``actions`` are tags of actions, ``fields`` fields of actions behind today's tag
    (``start.epoch``), ``parameters`` names of parameters (today's may lie within another one:
    ``cluster.rf``), ``unsaid`` the value by which a former parameter said nothing, ``narrowing``
    those of them that only left runs out, ``values`` their values by today's name of the parameter,
    ``safeguards`` names of safeguards, ``verbs`` the first words of a line of a scenario file,
    ``shown`` what such a file asks to be shown, ``scenarios`` names of scenarios. ``said`` are
    the first words of what a field of an action holds, at any depth, by the field's name.
    """

    actions: Mapping[str, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, str] = field(default_factory=dict)
    unsaid: Mapping[str, Any] = field(default_factory=dict)
    narrowing: frozenset[str] = frozenset()
    values: Mapping[str, Mapping[str | bool, str]] = field(default_factory=dict)
    safeguards: Mapping[str, str] = field(default_factory=dict)
    verbs: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    scenarios: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    editions: bool = False

    def action_today(self, plain: Any) -> Any:
        """An action as plain data, in today's words; so are the actions that it contains."""
        if isinstance(plain, list):
            return [self.action_today(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        inner = {name: self.action_today(value) for name, value in plain.items()}
        for name, words in self.said.items():
            if isinstance(inner.get(name), str):
                inner[name] = beginning_today(words, inner[name])
        tags = {key: _word(self.actions, inner[key]) for key in TAGS if key in inner}
        inner |= tags
        return {
            self.fields.get(f"{tags.get('type')}.{name}", name): value
            for name, value in inner.items()
        }

    def parameters_today(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters in today's words.

        Raises:
            BadInput: when one is given under both its names.
        """
        today: dict[str, Any] = {}
        for name, value in given.items():
            new = self.parameter_today(name)
            if name in self.unsaid and value == self.unsaid[name]:
                continue
            if new in today or (new != name and new in given):
                raise BadInput("parameter", name, f"only {new}, its name today")
            within = isinstance(value, dict)
            today[new] = self.parameters_today(value) if within else self.value_today(new, value)
        return today

    def parameter_today(self, name: str) -> str:
        """A parameter's name, or path, in today's words."""
        outer, dot, last = name.rpartition(".")
        if self.editions and last == "variant":
            return f"{outer}{dot}edition"
        return self.parameters.get(name, name)

    def parameters_recorded(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of a recorded run without those that only left others out.

        The run is one without them, too. Under today's name they may forbid more than they did.
        """
        return {name: value for name, value in given.items() if name not in self.narrowing}

    def value_today(self, parameter: str, value: Any) -> Any:
        """A parameter's value, or each item of a list, in today's words."""
        words: Mapping[Any, str] = self.values.get(parameter, {})
        if self.editions and parameter.rpartition(".")[2] == "edition":
            words = FORMER_EDITIONS
        if isinstance(value, list | tuple):
            return type(value)(_word(words, item) for item in value) if words else value
        return _word(words, value)

    def safeguards_today(self, names: Iterable[str]) -> tuple[str, ...]:
        """Safeguards by today's names."""
        return tuple(self.safeguards.get(name, name) for name in names)

    def command_today(self, line: str) -> str:
        """A command of a scenario file in today's words: a verb, or what to show."""
        return beginning_today({**self.verbs, **self.shown}, line)


def edition_today(word: str) -> str:
    """The name of an edition in today's words."""
    return FORMER_EDITIONS.get(word, word)


def beginning_today(words: Mapping[str, str], line: str) -> str:
    """A line whose first words had another name; of several that fit, the longest."""
    for old in sorted(words, key=len, reverse=True):
        if line == old or line.startswith(old + " "):
            return words[old] + line[len(old) :]
    return line


def _word(words: Mapping[Any, str], value: Any) -> Any:
    return words.get(value, value) if isinstance(value, str | bool) else value
