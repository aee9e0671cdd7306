"""Which states differ in names of servers only: those of servers that begin alike."""

from collections.abc import Callable
from functools import lru_cache
from itertools import chain, permutations, product
from operator import attrgetter, itemgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.model.model import content
from kit.model.network import by_content

MOST = 1 << 18
_content = lru_cache(MOST)(content)


class _Renaming:
    """Servers by other names; what a search meets again is renamed once."""

    def __init__(self, names: tuple[str, ...], places: tuple[int, ...]) -> None:
        self.places, self.names = places, tuple(names[i] for i in places)
        self.new = {names[old]: names[at] for at, old in enumerate(places)}
        self.node: Callable[[Any], Any] = lru_cache(MOST)(
            lambda node: node.but(server=self._renamed(node.server))
        )
        self.envelope: Callable[[Any], Any] = lru_cache(MOST)(self._renamed)

    def _renamed(self, value: Any) -> Any:
        match value:
            case str():
                return self.new.get(value, value)
            case tuple():
                return _in_order(tuple(map(self._renamed, value)))
            case Struct():
                fields = value.__struct_fields__
                return type(value)(*(self._renamed(getattr(value, name)) for name in fields))
        return value

    def of(self, s: Any) -> tuple[Any, ...]:
        """The parts of a state that hold names, under the new ones, behind what orders them."""
        nodes = tuple(self.node(s.nodes[i]) for i in self.places)
        in_flight = tuple(sorted(map(self.envelope, s.network.in_flight), key=by_content))
        down = sum(1 << at for at, i in enumerate(self.places) if s.down >> i & 1)
        order = [*map(_content, nodes)], [*map(by_content, in_flight)], down
        return order, nodes, in_flight, down, self.names


def _in_order(some: tuple[Any, ...]) -> tuple[Any, ...]:
    match some:
        case (str(), *_):
            return tuple(sorted(some))
        case (first, *_) if hasattr(first, "id"):
            return tuple(sorted(some, key=attrgetter("id")))
    return some


def renaming_alike(m: Any) -> Callable[[Any], tuple[Any, tuple[str, ...]]] | None:
    """From a state to the one that stands for it; None where no two servers begin alike.

    A server that a request or a beginning names is like no other.
    """
    texts = (*m.begins, *[""] * m.nodes)
    known = {name for each in (*m.requests, *texts) for name in each.replace(",", " ").split()}
    votes = {each.id: each.can_vote for each in m.first_members}
    kinds = [
        n if n in known else (text, votes.get(n)) for n, text in zip(m.names, texts, strict=False)
    ]
    alike = [[i for i, kind in enumerate(kinds) if kind == each] for each in dict.fromkeys(kinds)]
    if max(map(len, alike)) == 1:
        return None
    orders = (dict(zip(chain(*alike), chain(*some), strict=True))
              for some in product(*map(permutations, alike)))  # fmt: skip
    renamings = [_Renaming(m.names, tuple(each[at] for at in range(m.nodes))) for each in orders]

    def canonical(s: Any) -> tuple[Any, tuple[str, ...]]:
        _, nodes, in_flight, down, names = min(
            (each.of(s) for each in renamings), key=itemgetter(0)
        )
        network = replace(s.network, in_flight=in_flight)
        return s.but(nodes=nodes, network=network, down=down), names

    return canonical
