"""A run that another tool has recorded, as a record: each step reads the next of its states.

So the Player, pages, films and comparisons show it as they show any run. What else could happen in
its states nobody knows: nothing else is enabled.
"""

import os
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from msgspec import Struct

from kit.edge.arguments import checked
from kit.edge.json_text import to_json
from kit.edge.reading import read_text
from kit.formats.itf import MAP, META, TUPLE, ItfTrace, members, order, parse, plain, words
from kit.model.declared import NodeModel
from kit.model.model import Model, content
from kit.model.record import ReadOn, Record, RecordState
from kit.model.timeline import Timeline
from kit.model.trace import MOST_BYTES


class RecordedRun(Record):
    """The states of a trace, one after the other."""

    name = "recorded"

    def __init__(self, trace: ItfTrace) -> None:
        super().__init__(trace.states[1:])
        self.trace, self.title = trace, trace.source or "A recorded run"
        self.ends = "The recorded run ends here."
        if trace.loop is not None:
            self.ends = f"From step {trace.loop}, the run repeats itself."

    def label(self, s: RecordState, action: ReadOn) -> str:
        """The action that leads to the next state, where somebody says."""
        return "".join(self.trace.names[s.read + 1 : s.read + 2]) or self.verb(action)

    def describe(self, before: RecordState, action: ReadOn, after: RecordState) -> str:
        """The name of the action, and which variables have changed."""
        former, now = self.trace.states[before.read], self.trace.states[after.read]
        # As they are written down: True is not 1 there.
        changed = (name for name in now if content(now[name]) != content(former[name]))
        names = ", ".join(changed) or "–"
        repeats = after.read == len(self.entries) and self.trace.loop is not None
        again = f" {self.ends}" if repeats else ""
        return f"{self.label(before, action)}. Changed: {names}.{again}"

    def milestone(self, before: RecordState, action: ReadOn, after: RecordState) -> str | None:
        """The run comes to what it repeats."""
        return "the loop begins" if after.read == self.trace.loop else None

    def readable(self, s: RecordState) -> dict[str, Any]:
        """Each variable by its name, as a person reads it."""
        read = self.trace.states[s.read]
        return {name: in_words(value) or words(value) for name, value in read.items()}

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The nodes: the keys that most variables share. Where all keys differ, those of a map that
        has the same ones in all states; of several such maps of the one that others name most.
        """
        states = self.trace.states
        keys = {n: frozenset(k for state in states for k in members(state[n])) for n in states[0]}
        shared = Counter(filter(None, keys.values()))
        best = max(shared, key=lambda keys: (shared[keys], len(keys)), default=frozenset())
        if shared[best] == 1:
            steady = [
                own
                for n, own in keys.items()
                if own and all(members(s[n]).keys() == own and MAP in s[n] for s in states)
            ]
            named = {own: self._naming(own) for own in steady}
            most = [own for own, count in named.items() if count == max(named.values())]
            best = most.pop() if len(most) == 1 else frozenset()
        return tuple(sorted(best, key=order))

    def _naming(self, keys: Iterable[str]) -> int:
        texts = [to_json([each[n] for each in self.trace.states]) for n in self.trace.states[0]]
        quoted = [to_json(key) for key in keys]
        return sum(any(key in text for key in quoted) for text in texts)

    def changed(self, before: RecordState, after: RecordState) -> dict[str, dict[str, str]]:
        """For each node of which a step says something else, what that is."""
        was, now, rows = self.table(before), self.table(after), dict[str, dict[str, str]]()
        for node, column in {**was, **now}:
            if (said := now.get((node, column), "–")) != was.get((node, column), "–"):
                rows.setdefault(node, {})[column] = said
        return {node: rows[node] for node in self.nodes if node in rows}

    def table(self, s: RecordState) -> dict[tuple[str, str], str]:
        """Each variable's value at each node; of a record there is a column for each field."""
        return {
            (node, f"{name}.{part}" if part else name): said
            for name, value in self.trace.states[s.read].items()
            if members(value).keys() <= {*self.nodes}
            for node, each in members(value).items()
            for part, said in (in_words(each) or {"": words(each)}).items()
        }


def in_words(value: Any) -> dict[str, str]:
    """The members of a map or a record, as a person reads them."""
    return {key: words(each) for key, each in members(value).items()}


@checked
def read_itf(path: str | os.PathLike[str]) -> Timeline:
    """The run in a file: a trace of Apalache or Quint (ITF), or an error trace as TLC prints it.

    Raises BadInput when the file cannot be read, or for the first thing in it that is wrong.
    """
    model = RecordedRun(parse(read_text(path, "file", MOST_BYTES), str(path)))
    timeline = model.read_through()
    timeline.tell(model.title)
    return timeline


@checked
def itf_of(timeline: Timeline) -> str:
    """The run that is shown, of any model, as a trace in ITF.

    The variables are the fields of a state; what each node has is a map by the names of the nodes.
    """
    model, path, loop = timeline.model, [timeline.moments[at] for at in timeline.path()], {}
    names = [model.verb(moment.action) if moment.action else "" for moment in path]
    if isinstance(model, RecordedRun):
        names = list(model.trace.names)
        if model.trace.loop is not None and len(path) == len(names):
            loop = {"loop": model.trace.loop}
    states = [
        {META: {"index": number} | ({"action": name} if name else {}), **_variables(model, m.state)}
        for number, (m, name) in enumerate(zip(path, names, strict=False))
    ]
    about = {"format": "ITF", "source": model.title, "description": model.name}
    variables = [name for name in states[0] if name != META]
    return to_json({META: about, "vars": variables, "states": states, **loop}, 1) + "\n"


def _variables(model: Model[Any, Any], state: Any) -> dict[str, Any]:
    if isinstance(model, RecordedRun):
        return dict(model.trace.states[state.read])
    whole: dict[str, Any] = plain(state) if isinstance(state, Struct) else {"state": plain(state)}
    nodes, names = whole.get("nodes"), model.names if isinstance(model, NodeModel) else ()
    if isinstance(nodes, dict) and names and len(nodes.get(TUPLE, ())) == len(names):
        whole["nodes"] = {MAP: [*map(list, zip(names, nodes[TUPLE], strict=True))]}
    return whole
