"""A cluster that programs are connected to: one history, its nodes, the requests that are open.

Whoever acts, a person with a Player or a program with a request, acts on the same history. What
goes on by itself are the requests of programs: their messages arrive and their clients are
answered, except where somebody holds a node.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec.structs import asdict

from kit.clients.events import Change, Known, changes, known
from kit.clients.tables import Addresses, Catalog
from kit.console.clients import RowAnswer, RowRequest, RowServers
from kit.console.drill import DrillMoment, done
from kit.console.server import NOT_MODELLED, Servers
from kit.errors import BadInput, KitError, Refused
from kit.model.family import server_places
from kit.model.model import Model
from kit.model.registry import build, check_one_of
from kit.model.timeline import Moment, Timeline
from kit.playing.opening import replayed
from kit.playing.session import Session

Tell = Callable[[RowAnswer], object]
Listener = Callable[[int, Change], None]


def tools_of(model: Model[Any, Any]) -> Servers:
    """The tools of a model's servers. Raises Refused where they have none."""
    places = server_places()
    if model.name not in places:
        why = f"programs cannot connect to the servers of {model.name}"
        raise Refused(f"{NOT_MODELLED}{why}, only to those of {', '.join(places)}")
    family, place = places[model.name]
    tools: Servers = family.load(place)
    return tools


class ServedCluster:
    """The nodes of a Player, or of a timeline, as programs meet them.

    ``listeners`` hear what each node tells its clients, by the node's place. Programs act in a
    thread of their own: ``lock`` is held by whoever acts. ``rows`` are the servers, where clients
    can write and read rows.
    """

    def __init__(self, source: Session | Timeline) -> None:
        self.source, self.endpoints = source, Addresses(())
        self.tools = tools = tools_of(self.timeline.model)
        self.rows = tools if isinstance(tools, RowServers) else None
        self.lock = source.lock if isinstance(source, Session) else threading.RLock()
        self.listeners: list[Listener] = []
        self.held: dict[str, int] = {}
        self.values: dict[int, str] = {}
        self.waiting: dict[int, Tell] = {}
        self._asked = threading.Condition(self.lock)
        self.names: tuple[str, ...] = tuple(self.model.names)
        self._own: set[int] = set()
        self._acting, self._shown = False, self.timeline
        self._seen = self._knowledge()
        if isinstance(source, Session):
            source.watchers.append(self.look)

    @property
    def timeline(self) -> Timeline:
        """The history that is shown, with what programs have done."""
        return self.source.timeline if isinstance(self.source, Session) else self.source

    @property
    def model(self) -> Any:
        """The model of that moment."""
        return self.timeline.here

    def now(self, at: int, timeline: Timeline | None = None) -> DrillMoment:
        """The moment that is shown, as one asks a node.

        Raises Refused where another cluster is shown meanwhile.
        """
        with self.lock:  # a step that is only drawn ahead has not happened
            t = timeline or self.timeline
            here: Any = t.here
            if tuple(here.names) != self.names:
                raise Refused("a different cluster is now shown: serve that one")
            run = tuple(t.moments[each] for each in t.path(t.at))
            return DrillMoment(t.here, run, self.names[at])

    def catalog(self, at: int) -> Catalog:
        """The tables of a node."""
        return Catalog(self.tools, self.now(at), self.endpoints)

    def is_up(self, at: int) -> bool:
        """Whether the server of a node runs."""
        with self.lock:
            return self.tools.is_up(self.now(at), at)

    # -- what a person does ------------------------------------------------------------------------

    def step(self) -> Moment:
        """One step on. Raises Refused at the end."""
        if isinstance(self.source, Session):
            return self.source.step()
        with self.lock:
            if (moment := self.source.forward()) is None:
                raise Refused("no step comes next on its own")
            self.look()
            return moment

    def act(self, action: Any) -> Moment:
        """An action, as itself or by its verb. Raises BadInput for none, Refused with why."""
        with self.lock:
            if isinstance(self.source, Session):
                return self.source.act(action)
            if isinstance(action, str):
                if (option := self.source.here.find(self.source.state, action)) is None:
                    here = self.source.here
                    verbs = ", ".join(map(here.verb, here.actions(self.source.state)))
                    raise BadInput("action", action, verbs or "nothing: no action is possible here")
                action = option[0]
            done(self.source, action)
            self.look()
            return self.source.now

    def hold(self, *nodes: str) -> None:
        """Let no request reach these nodes by itself; coordinators plan by the epoch they know now.

        What you do yourself still happens: ``step`` lets a held replica apply an epoch. And where a
        barrier waits for all nodes (``vnodes``, ``tablet``), it also reaches a coordinator that is
        held: after the barrier that one plans by no older version.

        Raises BadInput for a name of no node.
        """
        with self.lock:
            self._check(nodes)
            for name in nodes:
                at = self.names.index(name)
                self.held[name] = self.rows.epoch(self.now(at), at) if self.rows else 0

    def release(self, *nodes: str) -> None:
        """Hold these nodes no longer; without names, none.

        Raises BadInput for a name of no node.
        """
        with self.lock:
            self._check(nodes)
            for name in nodes or tuple(self.held):
                self.held.pop(name, None)
            self.look()

    def _check(self, nodes: Iterable[str]) -> None:
        for name in nodes:
            check_one_of("node", name, self.names)

    def copy(self) -> ServedCluster:
        """The same moment beside it, where nothing that is asked changes anything here."""
        with self.lock:
            twin = ServedCluster(replayed(self.timeline))
            twin.endpoints, twin.held, twin.values = self.endpoints, {**self.held}, {**self.values}
            twin._own = {*self._own}
            return twin

    def close(self) -> None:
        """Nobody is answered any more."""
        with self.lock:
            self._begin_anew()
            if isinstance(self.source, Session):
                self.source.watchers.remove(self.look)

    # -- what a program asks -----------------------------------------------------------------------

    def coordinator(self, at: int) -> str:
        """The coordinator of what a node is asked: itself, or the first one that it can hand it on
        to.

        A driver knows only those that own tokens, and replicas only store in these models.
        """
        rows, every = self.rows, (at, *range(len(self.names)))
        able = (n for n in every if rows is None or rows.coordinates(self.now(n), n))
        return self.names[next(able, at)]

    def ask(self, request: RowRequest, value: str | None, tell: Tell) -> None:
        """A program asks a coordinator; ``tell`` is called with the answer, perhaps much later.

        Raises Refused where the history is shown at an earlier step, or there is one request too
        many; BadInput for a level, or rows, that the model has not.
        """
        with self.lock:
            if (rows := self.rows) is None:
                raise BadInput("table", "rows", f"{NOT_MODELLED}{self.model.name} has no rows")
            at = self.names.index(request.coordinator)
            if self.timeline.at != self.timeline.tip:
                raise Refused("the history is shown at an earlier step: go to its end, or fork it")
            try:
                model, number = rows.with_request(self.now(at), request, self._own)
            except Refused:
                if not self._forget(rows):
                    raise
                model, number = rows.with_request(self.now(at), request, self._own)
            changed = self._with(model)
            refusal = rows.refusal(self.now(at, changed), number, self.held)
            if refusal is not None:
                tell(refusal)
                return
            if value is not None:
                self.values[number] = value
            self._own.add(number)
            self.waiting[number] = tell
            self._show(changed)
            self.look()
            self._asked.notify_all()

    def wait(self, seconds: float = 60) -> None:
        """Return once a program waits for its answer. Raises KitError when none does in time."""
        with self.lock:
            if not self._asked.wait_for(lambda: self.waiting, seconds):
                raise KitError(f"no program has sent a request within {seconds:g} seconds")

    def value_of(self, number: int) -> str:
        """The value that a request wrote: what its client gave, or else its name."""
        return self.values.get(number, f"write {number + 1}")

    def _show(self, timeline: Timeline) -> None:
        self._shown = timeline
        if isinstance(self.source, Session):
            self.source.put(timeline, ahead=False)  # at the same cost, however long it is
        else:
            self.source = timeline

    def _forget(self, rows: RowServers) -> bool:
        """Leave requests of programs out of the branch that is shown, where they are over, and
        everything that is stored stays as it is; whether there are such ones.
        """
        old = self.timeline
        if (slim := rows.slimmer(self.now(0), self._own - {*self.waiting})) is None:
            return False
        model, kept, today = slim
        new, given = Timeline(model, old.script), asdict(model.parameters)
        models: dict[Any, Any] = {old.here.off: model}
        try:
            for each in map(old.moments.__getitem__, old.path()[1:]):
                off = old.model_at(each.id).off
                models.setdefault(off, model if off == model.off else build(model.name, given, off))
                if (action := today(each.action)) is not None:
                    new.do(action, fold=each.fold, model=models[off])
        except (Refused, BadInput):
            return False
        everyone = range(len(self.model.workload))
        if rows.stored(self.now(0, new), kept) != rows.stored(self.now(0), everyone):
            return False
        new.tell(old.story, old.premise, old)
        numbers = {number: at for at, number in enumerate(kept)}
        self._own = {numbers[each] for each in self._own if each in numbers}
        self.values = {numbers[n]: value for n, value in self.values.items() if n in numbers}
        self.waiting = {numbers[n]: tell for n, tell in self.waiting.items()}
        self._show(new)
        return True

    def _with(self, model: Model[Any, Any]) -> Timeline:
        """The history with another workload; of other branches, as far as they read the same."""
        old = self.timeline
        new, places, models = Timeline(model, old.script), {0: 0}, {old.here.off: model}
        for each in old.moments[1:]:
            here = old.model_at(each.id)
            if here.off not in models:
                given: Mapping[str, Any] = asdict(model.parameters)
                models[here.off] = build(model.name, given, here.off)
            if each.parent not in places:
                continue
            new.goto(places[each.parent])
            try:
                moment = new.do(each.action, fold=each.fold, model=models[here.off])
            except (Refused, BadInput):
                continue
            if moment.say == each.say:
                places[each.id] = moment.id
        new.tip = places[old.tip]
        new.at = places[old.at]
        new.tell(old.story, old.premise, old)
        return new

    # -- what goes on by itself --------------------------------------------------------------------

    def look(self) -> None:
        """See what came of a step: go on by itself, answer clients, tell what nodes tell."""
        with self.lock:
            if self._acting or tuple(self.model.names) != self.names:
                return
            self._acting = True
            try:
                if self._shown is not self.timeline:
                    self._begin_anew()
                self._tell()
                while self.timeline.at == self.timeline.tip and self._go_on():
                    self._tell()
                self._answer()
            finally:
                self._acting = False

    def _begin_anew(self) -> None:
        self._shown = self.timeline
        for tell in self.waiting.values():
            tell(RowAnswer("failure", why="a different history is shown now"))
        for each in (self.waiting, self.values, self.held, self._own):
            each.clear()

    def _go_on(self) -> bool:
        if (rows := self.rows) is None:
            return False
        for number in sorted(self._own):
            action = rows.next_step(self.now(0), number, self.held, begins=number in self.waiting)
            if action is not None:
                act = partial(self.timeline.do, action)
                _ = self.source.after(act) if isinstance(self.source, Session) else act()
                return True
        return False

    def _answer(self) -> None:
        for number, tell in [*self.waiting.items()]:
            if self.rows and (answer := self.rows.answer(self.now(0), number)) is not None:
                del self.waiting[number]
                tell(answer)

    def _knowledge(self) -> list[Known]:
        return [known(self.catalog(at)) for at in range(len(self.names))]

    def _tell(self) -> None:
        before, self._seen = self._seen, self._knowledge()
        for at, (was, has) in enumerate(zip(before, self._seen, strict=False)):
            for change in changes(was, has):
                for listener in self.listeners:
                    listener(at, change)
