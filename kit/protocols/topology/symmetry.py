"""Which control states differ in names only: those of bystanders, and those of state ids.

A bystander is a member that no request names and nobody ignores; as far as the coordinator's work
goes, two of them are alike. A state id matters only as equal, next or older than another one.
"""

from functools import lru_cache

from msgspec.structs import replace

from kit.masks import nodes_in, within
from kit.protocols.group0.rules.commands import Command
from kit.protocols.topology.control import Attempted, Control, ControlState
from kit.protocols.topology.rules.cluster import MASKS, NOBODY, ClusterTopology, Mutation
from kit.protocols.topology.rules.work import may_tie

Places = tuple[int, ...]
Ids = tuple[int, ...]
# A search meets each part of a state many times: what it is renamed to is worked out once.
_MOST = 1 << 16
_within = lru_cache(_MOST)(within)


def bystanders(model: Control) -> tuple[int, ...]:
    """The members that are interchangeable at first; none where later voters may tie."""
    leaves = any(request.kind == "leave" for request in model.plan.requests)
    if model.limited and may_tie(model.plan.racks, model.voter_rules, leaves=leaves):
        return ()
    named = {i for request in model.plan.requests for i in (request.node, request.replaced)}
    start = model.start()
    apart = start.topology.ignored | start.topology.tablets_on | model.start_down
    apart |= model.plan.mask(model.zero_tokens, "zero_tokens")
    apart |= model.plan.mask(model.newer, "newer")
    alike = start.topology.members & (start.chosen or start.topology.members)
    members = nodes_in(alike & ~apart)
    return tuple(i for i in members if i not in named)


class ControlSymmetry:
    """The state that stands for all that differ in names only."""

    def __init__(self, model: Control) -> None:
        self.alike = bystanders(model)

    def __call__(self, s: ControlState) -> tuple[ControlState, Places]:
        """That state, and the number in ``s`` of the node at each place in it."""
        places = list(range(len(s.applied)))
        for target, node in zip(self.alike, _in_order(s, self.alike), strict=True):
            places[target] = node
        return renamed(s, tuple(places)), tuple(places)


def _in_order(s: ControlState, alike: tuple[int, ...]) -> list[int]:
    """The bystanders by what sets each apart; all stay normal, since no request names one."""
    commands = (s.attempted.command, s.deposed)
    cells = [row for command in commands if command is not None for row in command.change.nodes]

    def key(node: int) -> tuple[object, ...]:
        row = s.topology.nodes[node]
        return (
            s.coordinator != node,
            s.client != node,
            s.leftover_at != node,
            s.applied[node],
            s.up >> node & 1,
            s.cut >> node & 1,
            s.unheard >> node & 1,
            s.chosen >> node & 1,
            s.addresses and s.addresses[node],
            s.attempted.answered >> node & 1,
            row.cleanup,
            row.rack,
            row.shards,
            [values for i, values in cells if i == node],
        )

    return sorted(alike, key=key)


def renamed(s: ControlState, places: Places) -> ControlState:
    """The same state, with each node in another place and ids that are as small as can be."""
    ids = _ids(s)
    fresh = _fresh(ids)
    return replace(
        s,
        topology=_topology(s.topology, places, fresh[s.topology.session]),
        state_id=fresh[s.state_id],
        views=tuple(
            replace(view, session=fresh[view.session]) if view.session else view for view in s.views
        ),
        applied=tuple(s.applied[node] for node in places),
        up=_within(places, s.up),
        cut=_within(places, s.cut),
        chosen=_within(places, s.chosen),
        coordinator=_number(s.coordinator, places),
        attempted=_attempted(s.attempted, places, ids),
        deposed=_command(s.deposed, places, ids),
        client=_number(s.client, places),
        leftover=fresh[s.leftover],
        leftover_at=_number(s.leftover_at, places),
        addresses=tuple(s.addresses[node] for node in places) if s.addresses else (),
        unheard=_within(places, s.unheard),
    )


def _ids(s: ControlState) -> Ids:
    ids = {s.state_id, s.topology.session, s.leftover, *(view.session for view in s.views)}
    for command in (s.attempted.command, s.deposed):
        if command is not None:
            ids.add(command.new - 1)
            ids.update(value for name, value in command.change.static if name == "session")
    ids.discard(0)
    return tuple(sorted(ids))


@lru_cache(_MOST)
def _fresh(ids: Ids) -> dict[int, int]:
    # A session that a command would open is that command's own id: one above what it was built on.
    fresh: dict[int, int] = {0: 0}
    last = newest = 0
    for number in ids:
        newest += 1 if number == last + 1 else 2
        fresh[number], last = newest, number
    return fresh


def _number(node: int, places: Places) -> int:
    return NOBODY if node == NOBODY else places.index(node)


@lru_cache(_MOST)
def _topology(given: ClusterTopology, places: Places, session: int) -> ClusterTopology:
    return replace(
        given,
        nodes=tuple(given.nodes[node] for node in places),
        session=session,
        **{name: _within(places, getattr(given, name)) for name in MASKS},
    )


@lru_cache(_MOST)
def _attempted(given: Attempted, places: Places, ids: Ids) -> Attempted:
    return replace(
        given,
        answered=_within(places, given.answered),
        command=_command(given.command, places, ids),
    )


@lru_cache(_MOST)
def _command(given: Command | None, places: Places, ids: Ids) -> Command | None:
    if given is None:
        return None
    fresh = _fresh(ids)
    change: Mutation = given.change
    static = dict(change.static)
    static |= {name: _within(places, static[name]) for name in MASKS if name in static}
    static |= {"session": fresh[static["session"]]} if "session" in static else {}
    rows = tuple(sorted((_number(i, places), cells) for i, cells in change.nodes))
    built_on = fresh[given.new - 1]
    previous = None if given.previous is None else built_on
    change = replace(change, static=tuple(static.items()), nodes=rows)
    return Command(change, previous, built_on + 1, "")
