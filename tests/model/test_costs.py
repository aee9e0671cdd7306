"""Known costs: what a protocol itself does not keep is told with its source, and ends no search."""

from __future__ import annotations

from typing import Any

import pytest

from kit.commands.cli import main
from kit.errors import BadInput
from kit.model.declared import (
    Cost,
    Declared,
    State,
    action,
    always,
    budget,
    goal,
    parameter,
    safeguard,
    step,
)
from kit.model.model import Monitor
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.search.fuzz import fuzz

SOURCE = "the paper, section 4"


def cost(name: str, **where: Any) -> Cost:
    """A cost of the counter."""
    return Cost(name, "The counter is lost.", SOURCE, **where)


class CounterState(State, frozen=True):
    """A counter, and whether it is broken for good."""

    crashes: int = 0
    at: int = 0
    broken: bool = False


class Counter(Declared[CounterState]):
    """Counts to three; a crash breaks it for good, which its documents admit."""

    name, title, State = "counter", "A counter", CounterState
    rests_at_goals = True
    most: int = parameter(3, "how far it counts", ge=1, le=9)
    crashes: int = budget(0, "how often it breaks", le=3)
    careful: bool = safeguard("S-90", "It counts one by one", ("whole",))

    def set_up(self) -> None:
        """What watches it."""
        self.monitors = (
            Monitor(
                "watched",
                "It never crashed",
                lambda: False,
                lambda memory, before, action, after: memory or after.broken,
                lambda memory: "it has crashed" if memory else None,
            ),
        )

    @action()
    def count(self, s: CounterState) -> CounterState | None:
        """It counts on."""
        if s.broken or s.at >= self.most:
            return None
        return s.but(at=s.at + (1 if self.careful else 2))

    @action(spends="crashes", fault=True)
    def crash(self, s: CounterState) -> CounterState | None:
        """It crashes."""
        return None if s.broken else s.but(broken=True)

    @always()
    def whole(self, s: CounterState) -> str | None:
        """It is whole."""
        return f"broken at {s.at}" if s.broken else None

    @always()
    def small(self, s: CounterState) -> str | None:
        """It stays below five."""
        return "five" if s.at >= 5 else None

    @step()
    def stays(self, before: CounterState, action: Any, after: CounterState) -> str | None:
        """No step breaks it."""
        return "broken by a step" if after.broken else None

    @goal()
    def full(self, s: CounterState) -> bool:
        """It comes to its end."""
        return s.at >= self.most


ALL = ("whole", "stays", "watched", "full", "deadlock")


def counter(*names: str, off: tuple[str, ...] = (), **given: Any) -> Any:
    """The counter with the costs of these names, wherever it can crash."""
    kind = type(
        "Costly", (Counter,), {"costs": tuple(cost(n, when=lambda m: m.crashes > 0) for n in names)}
    )
    return kind(off=off, **given)


def test_a_search_goes_on_past_every_kind_of_cost() -> None:
    """A property of states or steps, a monitor, a goal and a deadlock: all states are visited, each
    cost is told with its source and a run, and nothing is called a violation.
    """
    result = check(counter(*ALL, crashes=1))
    assert (result.violation, result.verdict, result.states) == (None, "known cost", 8)
    assert {met.property for met in result.costs} == {*ALL}
    assert "no violation but known costs of the protocol: " in result.sentence
    for met in result.costs:
        assert Timeline.along(counter(*ALL, crashes=1), met.actions).state.broken
        assert f"{met.property}: a known cost of the protocol. The counter is lost." in repr(result)
        assert SOURCE in met.remark
        assert len(met.actions) == 1


@pytest.mark.parametrize("left", ALL)
def test_every_other_promise_is_judged(left: str) -> None:
    """What no cost names stays a violation, in whatever kind."""
    found = check(counter(*(name for name in ALL if name != left), crashes=1))
    assert found.violation is not None
    assert found.violation.property == left
    assert found.verdict == "violated"


def test_a_break_behind_a_cost_is_found() -> None:
    """A search that went past a cost finds what breaks only later."""
    found = check(counter(*ALL, crashes=1, most=9))
    assert found.violation is not None
    assert (found.violation.property, len(found.violation.actions)) == ("small", 5)
    assert [met.property for met in found.costs if met.property == "whole"]


def test_a_cost_is_bound_to_its_configurations_and_states() -> None:
    """Where it does not apply, the same break is a violation."""
    bound = type(
        "Bound", (Counter,), {"costs": tuple(cost(n, where=lambda m, s: s.at < 2) for n in ALL)}
    )
    found = check(bound(crashes=1))
    assert found.violation is not None
    assert len(found.violation.actions) == 3
    assert check(counter(*ALL, crashes=0)).verdict == "complete"
    other = type("Other", (Counter,), {"costs": (cost("whole", when=lambda m: m.most > 3),)})
    assert check(other(crashes=1)).violation is not None


def test_no_cost_counts_while_a_safeguard_is_off() -> None:
    """What breaks without a safeguard is a violation."""
    found = check(counter(*ALL, off=("careful",), crashes=1))
    assert found.violation is not None


def test_walks_tell_a_cost_and_go_on() -> None:
    """No walk that only meets costs counts as broken, and one that breaks more does."""
    walked = fuzz(counter(*ALL, crashes=1), range(40))
    assert walked.findings == ()
    assert {*walked.costs} == {"whole", "stays", "watched", "full"}
    assert SOURCE in repr(walked)
    assert fuzz(counter("whole", crashes=1), range(40)).findings


def test_a_cost_must_be_one_of_the_models_promises() -> None:
    """A cost of something that the model does not promise is refused where the model is made."""
    wrong = type("Wrong", (Counter,), {"costs": (cost("hole"),)})
    with pytest.raises(BadInput, match="cost of counter: got 'hole'"):
        wrong()


def test_the_command_line_has_an_exit_code_for_costs(capsys: pytest.CaptureFixture[str]) -> None:
    """4 where nothing but known costs is found, with the run to each; JSON has them, too."""
    words = ["-p", 'operations=["leave C"]', "-p", "clients=1", "-p", "failures=1", "--symmetry"]
    words = ["check", "topology", "-p", "edition=server", *words]
    assert main(words) == 4
    said = " ".join(capsys.readouterr().out.split())
    assert "shut-down-unused: a known cost of the protocol." in said
    assert "shut-down-unused breaks first so:" in said
    assert main([*words, "--json"]) == 4
    assert '"verdict": "known cost"' in capsys.readouterr().out


LOCAL = ("K1@dc1 write LOCAL_QUORUM", "K2@dc1 read LOCAL_QUORUM")
CENTERS = {"nodes": 4, "dcs": 2, "rf": 1, "strategy": "network"}


@pytest.mark.parametrize(
    ("name", "given", "broken"),
    [
        ("gossip_join", {"cuts": 1}, "kept"),
        ("gossip_join", {"operation": "removenode", "rf": 3, "cuts": 1}, "restored"),
        ("discovery", {"seeds": ("A", "B")}, "one-group"),
        ("tcm", {"rf": 3, "level": "ONE"}, "one-step"),
        ("tcm", {**CENTERS, "rf": 2, "level": "LOCAL_QUORUM"}, "one-step"),
        ("tcm", {"rf": 3, "level": "QUORUM", "relax": "ONE"}, "quorums"),
        ("dataplane", {"mode": "gossip", "rf": 1}, "visible"),
        ("dataplane", {**CENTERS, "requests": LOCAL}, "quorums-in-use"),
    ],
)
def test_what_gossip_and_weak_levels_cost_is_known(
    name: str, given: dict[str, Any], broken: str
) -> None:
    """The cost is met, and nothing else breaks; at the default there is none of it."""
    found = check(build(name, given), max_states=6_000)
    assert found.violation is None, found
    assert broken in [met.property for met in found.costs]
    assert check(build(name), max_states=2_000).costs == ()
    ends_there = check(build(name, given), max_states=6_000, past_costs=False)
    assert ends_there.violation is not None
