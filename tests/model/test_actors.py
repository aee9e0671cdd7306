"""Actors on a network: searches over every kind of it, words, schedules, scenarios, determinism."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from kit.errors import BadInput
from kit.model import registry
from kit.model.actors import ActorState, NetworkModel, Next, Post, Turn, receives
from kit.model.declared import Node, action, parameter, refused
from kit.model.model import fingerprint
from kit.model.network import Envelope, Heal, NetworkOptions
from kit.model.registry import register
from kit.search.check import check
from tests.model.counting import COUNTING, Add, Done, counting
from tests.stories import rewritten

NETWORKS = [
    dict(zip(("fifo", "drops", "duplicates", "partitions"), values, strict=True))
    for values in itertools.product((False, True), (0, 1), (0, 1), (0, 1))
]
every_network = pytest.mark.parametrize("options", NETWORKS, ids=str)


# -- searches --------------------------------------------------------------------------------------


@every_network
def test_with_de_duplication_every_network_counts_once(options: dict[str, Any]) -> None:
    """Where B remembers all, no network makes it count twice or answer what it did not count."""
    result = check(counting(**options))
    assert result.complete, result
    assert result.violation is None, result
    lost = options["drops"] > 0
    assert set(result.unreached) <= ({"done"} if lost else set())


@every_network
def test_without_de_duplication_copies_are_counted_twice(options: dict[str, Any]) -> None:
    """Where B remembers nothing, the search finds the double count wherever there are copies."""
    model = counting(off=("de-duplication",), **options)
    violation = check(model).violation
    if not options["duplicates"]:
        assert violation is None
        return
    assert violation is not None
    assert (violation.property, violation.witness) == ("counted-once", "3 of 2 are counted")
    verbs = [model.verb(action) for action in violation.actions]
    assert sorted(verb.split()[0] for verb in verbs) == ["deliver"] * 3 + ["duplicate"]


@every_network
def test_remembering_the_last_is_enough_in_order_only(options: dict[str, Any]) -> None:
    """Where B remembers the last addition only, its count is right on links that keep their order,
    and wrong on others.
    """
    violation = check(counting(remembers="last", **options)).violation
    if options["fifo"]:
        assert violation is None
    else:
        assert violation is not None
        assert (violation.property, violation.witness) == (
            "counted-all",
            "all are answered, 1 counted",
        )


class Ball(Struct, frozen=True, cache_hash=True, tag="ball"):
    """The ball goes to and fro with a number."""

    number: int


class Loose(Struct, tag="loose"):
    """A message that can be written to."""

    number: int = 0


class PingPong(NetworkModel):
    """Both send the ball back, with the next number at each turn of A, so many times."""

    name, title, most = "ping-pong", "A ball", 9
    Parameters = NetworkOptions

    def set_up(self) -> None:
        """Two players on the network of the parameters."""
        self.connect(("A", "B"), self.parameters)

    def begin(self, node: str) -> Turn:
        """A has the ball at first."""
        return 0, (Post("B", Ball(0)),) if node == "A" else ()

    @receives(Ball)
    def hit(self, state: int, envelope: Envelope[Ball]) -> Turn:
        """The expected ball goes back; any other is left alone."""
        if envelope.message.number != state or state >= self.most:
            return state, ()
        return state + 1, (Post(envelope.source, Ball(state + (envelope.target == "A"))),)


def ping_pong(most: int, **options: Any) -> PingPong:
    """Two players on a network."""

    class Rally(PingPong):
        pass

    Rally.most = most
    return Rally(NetworkOptions(**options))


def no_turn(self: Any, state: Any, envelope: Any) -> Any:
    """A message without the comma that makes a tuple of it."""
    return state, Post("A", Ball(1))


def told_twice() -> Any:
    """Two methods for one type of message."""

    class Twice(PingPong):
        @receives(Ball)
        def miss(self, state: int, envelope: Envelope[Ball]) -> Turn:
            """It is missed."""
            return state, ()

        @receives(Ball)
        def lose(self, state: int, envelope: Envelope[Ball]) -> Turn:
            """It is lost."""
            return state, ()

    return Twice


def a_game(base: Any = NetworkModel, **methods: Any) -> Any:
    """A game that is made a little differently."""
    return type("Game", (base,), {"name": "game", "title": "A game", **methods})


MISTAKES: dict[str, tuple[Any, str]] = {
    "no parentheses": (lambda: receives(no_turn), "^@receives: got 'no_turn'.*types of messages"),
    "of nothing": (receives, "^@receives: got None"),
    "twice": (told_twice, "^miss and lose of Twice: got 'Ball'; allowed: one method"),
    "no network": (a_game(), "^set_up of game: got 'no network'.*self.connect"),
    "no messages": (
        a_game(set_up=lambda m: m.connect(("A",))),
        "^message of game: got 'nothing'.*@receives",
    ),
    "no names": (
        a_game(PingPong, set_up=lambda m: m.connect("AB")),
        "^nodes of game: got 'AB'; allowed: a tuple of names",
    ),
    "no name": (
        a_game(PingPong, set_up=lambda m: m.connect(("A", 7))),
        r"^nodes of game: got \('A', 7\); allowed: a tuple of names",
    ),
    "nobody": (
        a_game(PingPong, set_up=lambda m: m.connect(())),
        r"^nodes of game: got \(\); allowed: a tuple of names",
    ),
    "more than a turn": (
        lambda: a_game(PingPong, begin=lambda m, node: (0, (), ()))().start(),
        "^begin of game, line .*; allowed: the node's next state and what it sends",
    ),
    "no beginning": (
        lambda: a_game(PingPong, begin=NetworkModel.begin)().start(),
        "^begin of game: got 'nothing'; allowed: a method that returns",
    ),
    "a bare state": (
        lambda: a_game(PingPong, begin=lambda m, node: 0)().start(),
        "^begin of game, line .*: got 0; allowed: the node's next state and what it sends",
    ),
    "no tuple": (
        lambda: check(a_game(PingPong, hit=receives(Ball)(no_turn))()),
        "^hit of game, line .*: got .*; allowed: the node's next state and what it sends",
    ),
    "a bare tuple": (
        lambda: check(a_game(PingPong, hit=receives(Ball)(lambda m, s, e: (s, (("A", 1),))))()),
        r"^B sends: got \('A', 1\); allowed: Post\(target, message\)",
    ),
    "nobody receives it": (
        lambda: check(a_game(PingPong, begin=lambda m, node: (0, (Post("B", 7),)))()),
        "^A sends: got 7; allowed: a message that a method receives: Ball$",
    ),
    "a loose message": (
        lambda: a_game(
            PingPong,
            hit=receives(Loose)(PingPong.hit),
            begin=lambda m, node: (0, (Post("B", Loose()),)),
        )().start(),
        "^A sends: got Loose.number=0.; allowed: values that never change",
    ),
    "without an envelope": (
        a_game(PingPong, hit=receives(Ball)(lambda m, s: (s, ()))),
        "^<lambda> of game, line .*; allowed: a function of state, envelope",
    ),
    "a changed list": (
        lambda: check(a_game(PingPong, hit=receives(Ball)(lambda m, s, e: ([], ())))()),
        "^outcome of deliver A>B ball 0: got .*; allowed: values that never change",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_an_actor_is_named(name: str) -> None:
    """In the words of actors: what is missing or wrong, and what is allowed."""
    make, said = MISTAKES[name]
    with pytest.raises(BadInput, match=said):
        make()


@pytest.mark.parametrize(("most", "states"), [(1, 14), (5, 4094)])
def test_the_published_counts_of_the_same_model(most: int, states: int) -> None:
    """Ping-pong on a network that loses messages and delivers them any number of times has as many
    states as stateright's own tests say of theirs.
    """
    assert check(ping_pong(most, drops=None, duplicates=None)).states == states


# -- words -----------------------------------------------------------------------------------------


# -- what a protocol adds --------------------------------------------------------------------------


class Rally(NetworkModel):
    """Ping-pong as one class: what a node makes of the ball, and who takes a rest."""

    name, title = "rally", "A ball"
    most: int = parameter(2, "how often each player hits the ball", ge=1, le=9)

    def set_up(self) -> None:
        """Two players, and a ball that may be lost once."""
        self.connect(("A", "B"), NetworkOptions(drops=1))

    def begin(self, node: str) -> Turn:
        """A has the ball at first."""
        return 0, (Post("B", Ball(0)),) if node == "A" else ()

    @receives(Ball)
    def hit(self, state: int, envelope: Envelope[Ball]) -> Turn:
        """The ball goes back."""
        if state == self.most:
            return state, ()
        return state + 1, (Post(envelope.source, Ball(state + 1)),)

    @action(when=lambda m: m.most > 1)
    def rest(self, s: ActorState, node: Node) -> Next:
        """{node} forgets how often it was."""
        if s.network.in_flight:
            return refused("the ball is in the air")
        return self.turned(s, node, (0, ()))


# -- traces, scenarios, determinism ----------------------------------------------------------------


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is registered for one test."""
    monkeypatch.setattr(registry, "_ENTRIES", {})
    register(COUNTING)


STORY = """\
# The network makes a copy of an addition; B remembers what it counted, and counts it once.
model counting
adds 1
network {"duplicates": 1, "partitions": 1}

partition A | B
deliver A>B add 1
heal
----
The network is cut: A | B.
refused: the link A→B is cut
The network is whole again.

duplicate A>B add 1
duplicate A>B add 1
waiting partition
----
The network duplicates A's message to B: add 1.
refused: the budget of duplicates is used up
partition A | B: the budget of partitions is used up

deliver A>B add 1
deliver A>B add 1
verdicts
enabled
----
B receives add 1 from A and sends done 1 to A.
B receives add 1 from A and sends done 1 to A.
all 2 promises hold
deliver B>A done 1
"""


@pytest.mark.usefixtures("registered")
def test_a_scenario_on_a_network(tmp_path: Path) -> None:
    """A scenario file drives the network by verbs, and shows what it does and refuses."""
    path = tmp_path / "copy.txt"
    path.write_text(STORY, encoding="utf-8")
    assert rewritten(path) == STORY


def test_a_state_has_one_fingerprint_however_it_was_reached() -> None:
    """Two runs that differ only in the order of independent steps end in one state."""
    model = counting()
    first, second = (Envelope("A", "B", Add(number)) for number in (1, 2))
    ends = []
    for order in ((first, second), (second, first)):
        state = model.start()
        for envelope in order:
            wanted = next(a for a in model.actions(state) if a.envelope == envelope)
            state = model.act(state, wanted)
        ends.append(state)
    assert ends[0] == ends[1]
    assert fingerprint(ends[0]) == fingerprint(ends[1])
    assert [e.message for e in ends[0].network.in_flight] == [Done(1), Done(2)]
    assert Heal() not in list(model.actions(ends[0]))
