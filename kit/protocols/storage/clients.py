"""What a program meets that writes and reads the row: its requests are those of the model.

A request takes the place of the coordinator's first one that has not begun and is no program's, or
it is added to the workload. Messages arrive by themselves, in the order of replicas, and the
coordinator answers when nothing more is to come; whatever is held waits for somebody's hand. An
assumption: a coordinator knows at once who is down, and says *unavailable* before it sends
anything. Source: native protocol v4, section 9; CEP-21, "Read/Write Path Integration".
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec.structs import asdict, replace

from kit.console.clients import RowAnswer, RowRequest, RowServers, Verdict
from kit.console.drill import DrillMoment
from kit.console.server import Servers, UserTable
from kit.errors import BadInput, Refused
from kit.model.flows import ServerHost, address_of, host_id
from kit.model.model import Model
from kit.model.registry import build
from kit.protocols.storage.coordinating import Finish, Start, TimeOut
from kit.protocols.storage.rules import levels
from kit.protocols.storage.rules import requests as rules
from kit.protocols.storage.storage import Admit, Serve, StorageState, WriteBack
from kit.ring.replication import Keyspace, SimpleStrategy
from kit.ring.tokens import MURMUR3, TokenSpace, murmur3_token

TABLE, COLUMNS = "items", {"key": "bigint", "value": "text"}
KEYSPACE = "ks"
MOST_KEYS = 100_000
"""Keys that are tried, where tokens are hashes."""
ALIKE = {"LOCAL_ONE": "ONE"}
"""Levels that mean another one where there is one datacenter."""


def key_of(space: TokenSpace, left: int, right: int) -> int:
    """A key whose row is in a range: the right end itself, unless tokens are hashes of keys.

    Raises BadInput where no small key is in the range.
    """
    if space != MURMUR3:
        return right
    for key in range(MOST_KEYS):
        if left < murmur3_token(key.to_bytes(8, "big")) <= right:
            return key
    raise BadInput("range", f"({left}, {right}]", f"a range that contains a key below {MOST_KEYS}")


class StorageServers(RowServers):
    """The servers of a model on the storage model: replicas and coordinators are nodes."""

    lacks: Mapping[str, str] = {
        **Servers.lacks,
        "nodetool describecluster": "there is no schema version",
        "nodetool ring": "only programs can read the ring",
    }

    def space(self, now: DrillMoment) -> TokenSpace:
        """The line of tokens."""
        raise NotImplementedError

    def keyspaces(self, now: DrillMoment) -> tuple[Keyspace, ...]:
        """The keyspaces; the row is in the first one."""
        return (Keyspace(KEYSPACE, SimpleStrategy(len(now.model.history.replicas))),)

    def schema(self, now: DrillMoment, at: int) -> tuple[tuple[Keyspace, ...], list[UserTable]]:
        """One table of one row."""
        keyspaces = self.keyspaces(now)
        return keyspaces, [UserTable(keyspaces[0].name, TABLE, COLUMNS)]

    def hosts(self, now: DrillMoment) -> list[ServerHost]:
        """Every machine; a coordinator is in the datacenter that its requests say."""
        m = now.model
        homes = dict(zip(m.history.replicas, m.history.dcs, strict=True))
        for each in m.workload:
            homes[each.coordinator] = each.dc or m.history.dcs[0]
        return [
            ServerHost(address_of(at), host_id(at), homes.get(name, m.history.dcs[0]))
            for at, name in enumerate(m.names)  # some may never have the range
        ]

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs; coordinators do not fail in these models."""
        return not now.state.down >> at & 1

    def known(self, now: DrillMoment, at: int) -> int:
        """The index of the epoch that a node knows; who coordinates nothing now hears of all."""
        m, s = now.model, now.state
        if at < m.replicas:
            return int(s.known[at])
        for request, ask in zip(s.requests, m.workload, strict=True):
            if m.names[at] == ask.coordinator and request.phase in rules.AT_WORK:
                return int(request.coordinator_epoch)
        return len(m.views(s)) - 1

    def key(self, now: DrillMoment) -> int:
        """A key of the range that the model follows."""
        return key_of(self.space(now), now.model.history.left, now.model.history.right)

    def coordinates(self, now: DrillMoment, at: int) -> bool:
        """Replicas only store in these models."""
        return now.model.names[at] in now.model.coordinators

    # -- requests ----------------------------------------------------------------------------------

    def with_request(
        self, now: DrillMoment, request: RowRequest, taken: Collection[int]
    ) -> tuple[Model[Any, Any], int]:
        """The same model with other requests."""
        m, s = now.model, now.state
        alike = ALIKE if len(m.datacenters) == 1 else {}
        level = alike.get(request.level, request.level)
        if level not in levels.LEVELS:
            allowed = f"one of {', '.join([*levels.LEVELS, *alike])}"
            raise BadInput("consistency level", request.level, allowed)
        mine = [n for n, ask in enumerate(m.workload) if ask.coordinator == request.coordinator]
        waiting = (n for n in mine if n not in taken and s.requests[n].phase == rules.WAITING)
        number = next(waiting, len(m.workload))
        if number >= rules.MOST_REQUESTS:
            raise Refused(f"at most {number} requests fit in one history: begin a new one")
        home = next((m.workload[n].dc for n in mine), None)
        dc = f"@{home}" if home else ""
        lines = [*m.parameters.requests]
        lines[number : number + 1] = [f"{request.coordinator}{dc} {request.kind} {level}"]
        given = {**asdict(m.parameters), "requests": tuple(lines)}
        return build(m.name, {**given, "together": True, "timeouts": True}, m.off), number

    def slimmer(
        self, now: DrillMoment, finished: Collection[int]
    ) -> tuple[Model[Any, Any], Sequence[int], Callable[[Any], Any]] | None:
        """Without requests of which no message is on its way, that taught nobody an epoch, and no
        cell of which is left; but each coordinator's first one, for nodes are named by them.
        """
        m, s = now.model, now.state
        held = {rules.timestamp(cell) for cell in (*s.cells, *s.copies)} - {0}
        asks = [ask.coordinator for ask in m.workload]
        gone = {n for n in finished if not s.requests[n].in_flight and asks.index(asks[n]) < n}
        gone = {n for n in gone if s.requests[n].timestamp not in held}
        for before, after in pairwise(now.run):
            if before.state.known != after.state.known:
                gone.discard(getattr(after.action, "request", -1))
        kept = [n for n in range(len(m.workload)) if n not in gone]
        if not gone:
            return None

        def today(action: Any) -> Any:
            number = getattr(action, "request", None)
            if number is None:
                return action
            return None if number in gone else replace(action, request=kept.index(number))

        lines = tuple(m.parameters.requests[n] for n in kept)
        return build(m.name, {**asdict(m.parameters), "requests": lines}, m.off), kept, today

    def stored(self, now: DrillMoment, numbers: Sequence[int]) -> object:
        """Cells by the requests that wrote them, and what replicas know."""
        s = now.state
        stamps = {r.timestamp: n for r, n in zip(s.requests, numbers, strict=True) if r.timestamp}
        cells = [
            (stamps.get(rules.timestamp(c)), rules.is_tombstone(c)) if c > 0 else c
            for c in (*s.cells, *s.copies)
        ]
        return cells, s.trail, s.known, s.down, s.cleaned, s.lost, s.late_left

    def epoch(self, now: DrillMoment, at: int) -> int:
        """The epoch that a node knows."""
        return int(now.model.epoch(now.state, self.known(now, at)))

    def _plan(self, now: DrillMoment, number: int, held: Mapping[str, int]) -> Start | None:
        able = now.model.actions(now.state)
        starts = [each for each in able if isinstance(each, Start) and each.request == number]
        since = held.get(now.model.workload[number].coordinator)
        if since is not None:
            return next((each for each in starts if each.epoch >= since), None)
        return starts[-1] if starts else None

    def refusal(self, now: DrillMoment, number: int, held: Mapping[str, int]) -> RowAnswer | None:
        """Of what its level wants, too few live."""
        m, s = now.model, now.state
        start = self._plan(now, number, held)
        if start is None:
            return None
        wanted = m.wanted(s, number, m.trails[s.trail].index(start.epoch))
        if levels.enough(wanted, ~s.down):
            return None
        short = next(q for q in wanted if (q.replicas & ~s.down).bit_count() < q.needed)
        alive = (short.replicas & ~s.down).bit_count()
        why = f"{m.title_of(number)} needs {short.needed} of {m.listing(short.replicas)}"
        return RowAnswer("unavailable", short.needed, alive, why=f"{why}; live: {alive}")

    def next_step(
        self, now: DrillMoment, number: int, held: Mapping[str, int], *, begins: bool
    ) -> Any | None:
        """It begins, its messages arrive, its client is answered, or it is given up."""
        m, s = now.model, now.state
        request = s.requests[number]
        if request.phase == rules.WAITING:
            return self._plan(now, number, held) if begins else None
        able = [action for action, refusal in m.options(s) if refusal is None]
        own = [each for each in able if getattr(each, "request", None) == number]
        for each in own:
            if isinstance(each, Admit | Serve | WriteBack) and each.replica not in held:
                return each
        for each in own:
            if isinstance(each, Finish):
                return each
        waits = any(name in held for name in m.history.names(request.in_flight & ~s.down))
        return next((each for each in own if isinstance(each, TimeOut) and not waits), None)

    def answer(self, now: DrillMoment, number: int) -> RowAnswer | None:
        """As its last step ended it."""
        m, phase = now.model, now.state.requests[number].phase
        if phase not in (rules.DONE, rules.FAILED):
            return None
        for before, after in reversed([*pairwise(now.run)]):
            if before.state.requests[number].phase in rules.AT_WORK:
                if phase == rules.DONE:
                    writer = _writer(m, before.state, number)
                    return RowAnswer("done", writer=writer, why=after.say)
                return _failed(m, before.state, after, number)
        return None


def _writer(m: Any, s: StorageState, number: int) -> int | None:
    cell = s.requests[number].newest_seen
    if cell == rules.NOTHING or rules.is_tombstone(cell):
        return None
    return [each.timestamp for each in s.requests].index(rules.timestamp(cell))


def _failed(m: Any, before: StorageState, after: Any, number: int) -> RowAnswer:
    request = before.requests[number]
    wanted = m.wanted(before, number, m.judged_by(before, number))
    stale = isinstance(after.action, Finish)  # it had its answers, but by another plan
    valid = m.valid(before, number) if stale else request.acked
    short = next((q for q in wanted if (q.replicas & valid).bit_count() < q.needed), wanted[0])
    sent = m.views(before)[request.epoch].group(m.writing(before, number))
    failures = (sent & ~request.in_flight & ~valid).bit_count()
    received = (short.replicas & valid).bit_count()
    verdict: Verdict = "failure" if failures or stale else "timeout"
    return RowAnswer(verdict, short.needed, received, failures, why=after.say)
