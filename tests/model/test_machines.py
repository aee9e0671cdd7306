"""Nodes with disks, timers and clients: what a crash leaves, what a cut lets pass, what waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import KitError
from kit.model import registry
from kit.model.machines import Answer, MachineModel, MachineState, Turn
from kit.model.model import Model, PartialOrder
from kit.model.network import DeliverMessage, DropMessage, Heal, line
from kit.model.registry import register
from kit.search.check import check
from tests.examples import examples
from tests.model.keeping import KEEPING, Keeper, Keeping, keeping
from tests.model.toys import walk
from tests.saying import like
from tests.stories import rewritten

ALL = {"crashes": 1, "cuts": 1, "drops": 1, "ticks": 1}


def played(model: Model[Any, Any], *verbs: str) -> Any:
    """The state after actions by their verbs."""
    state = model.start()
    for verb in verbs:
        (action,) = (each for each in model.actions(state) if model.verb(each) == verb)
        state = model.apply(state, action)
    return state


def refused(model: Model[Any, Any], state: Any) -> dict[str, str]:
    """Why each action that one could think of may not happen."""
    return {model.verb(action): why.reason for action, why in model.waiting(state)}


def in_flight(state: MachineState) -> list[str]:
    """The messages on their way, as lines."""
    return [line(each) for each in state.network.in_flight]


# -- disk, then network ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("crash", "disk"), [("crash A", ""), ("crash-written A", "hello")], ids=("before", "between")
)
def test_a_crash_before_or_after_the_disk_is_written(crash: str, disk: str) -> None:
    """Before, all is lost; after, the disk is kept. The messages are lost both times."""
    state = played(keeping(writes_apart=True, crashes=1), "request A hello", crash)
    assert (state.nodes[0], in_flight(state), state.unsaved) == (Keeper(disk), [], ())


@pytest.mark.parametrize("apart", [False, True])
def test_promises_before_the_disk_are_lost_in_a_crash(apart: bool) -> None:
    """With the safeguard off, a search finds a crash that loses what was promised, where writing
    is a step of its own; with it on, nothing.
    """
    options = {**ALL, "writes_apart": apart}
    assert check(keeping(**options)).violation is None
    violation = check(keeping(("persist-first",), **options)).violation
    assert (violation.witness if violation else None) == ("A has lost it" if apart else None)


def test_a_disk_that_changes_by_a_crash_is_a_mistake_of_the_model() -> None:
    """What a node knows after a restart has to be on its disk as it was."""

    class Forgetful(Keeping):
        def restarted(self, node: str, disk: str) -> Keeper:
            return Keeper()

    with pytest.raises(KitError, match=like("restarted gives A another disk")):
        played(Forgetful(network=keeping(crashes=1).network), "request A hello", "crash A")


# -- cuts ------------------------------------------------------------------------------------------


def test_a_link_is_cut_one_way_while_the_other_passes() -> None:
    """B is not told, but A would hear it; healed, B is told."""
    model = keeping(cuts=1)
    state = played(model, "request A hello", "cut A>B")
    assert refused(model, state)["deliver A>B keep hello"] == "the link A→B is cut"
    assert (model.cut_off(state, "A", "B"), model.cut_off(state, "B", "A")) == (True, False)
    state = played(model, "request A hello", "deliver A>B keep hello", "cut A>B",
                   "deliver B>A kept hello", "heal")  # fmt: skip
    assert (state.answers, state.cut) == ((Answer("hello", "kept"),), 0)


# -- what may not be -------------------------------------------------------------------------------


# -- walks, searches, traces -----------------------------------------------------------------------


@given(choices=st.lists(st.integers(0, 40), max_size=25), off=st.booleans(), fifo=st.booleans())
@examples(150)
def test_on_any_walk_the_disk_says_what_a_crash_leaves(
    choices: list[int], off: bool, fifo: bool
) -> None:
    """Who is down holds its disk and takes no turn; budgets only shrink; and what is sent was on
    disk before it left, unless the safeguard is off.
    """
    model = keeping(("persist-first",) * off, **ALL, fifo=fifo, writes_apart=True)
    for before, action, after in walk(model, choices):
        for place, name in enumerate(model.names):
            if before.down >> place & 1:
                assert after.nodes[place] == before.nodes[place] or isinstance(
                    action, MachineModel.restart
                )
                assert Keeper(model.on_disk(before, place)) == before.nodes[place]
            sent = [each for each in after.network.in_flight if each.source == name]
            assert off or not sent or model.on_disk(after, place) == "hello"
        for field in ("crashes", "cuts", "ticks", "requests"):
            assert 0 <= getattr(after.left, field) <= getattr(before.left, field)


class Quiet(Keeping):
    """A node that starts again waits to be told."""

    def wakes(self, node: str, state: Keeper) -> Turn:
        """Nothing."""
        return state, ()


def late(s: MachineState, action: Any) -> Iterator[tuple[Any, ...]]:
    """A node starts again, and a cut heals, when something looks at it; a loss nobody looks at."""
    leads: list[tuple[Any, ...]] = [()]
    node = getattr(action, "node", "")
    if isinstance(action, DeliverMessage):
        node = action.envelope.target
    if node and s.down >> "AB".index(node) & 1:
        leads += [(Quiet.restart(node),)]
    if s.cut and type(action) in (DeliverMessage, Quiet.cut.struct):
        leads += [(*lead, Heal()) for lead in leads]
    yield from leads


WAITING = (DropMessage, Heal, Quiet.restart.struct)


@pytest.mark.parametrize("off", [(), ("persist-first",)], ids=("on", "off"))
def test_a_partial_order_over_crashes_cuts_and_losses_is_sound(off: tuple[str, ...]) -> None:
    """Restarts, healing and losses wait: fewer states, and the same verdict."""
    quiet = Quiet(None, off, network=keeping(**ALL, writes_apart=True).network)
    judged = [each for each in quiet.properties if each.kind == "always"]
    full = check(quiet, judged, partial_order=False)
    quiet.partial_order = PartialOrder(WAITING, late)
    less = check(quiet, judged, partial_order=True)
    assert bool(full.violation) == bool(less.violation) == bool(off)
    assert off or less.states < full.states


def test_an_order_that_leaves_out_what_a_restart_sends_is_found_out() -> None:
    """Where a node sends as it starts again, its restart may not wait."""
    model = keeping(**ALL)
    model.partial_order = PartialOrder(WAITING, late)
    judged = [each for each in model.properties if each.kind == "always"]
    with pytest.raises(KitError, match="is left out"):
        check(model, judged, partial_order=True)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is registered for one test."""
    monkeypatch.setattr(registry, "_ENTRIES", {})
    register(KEEPING)


STORY = """\
# A keeps a word and tells B. It crashes; the other one crashes before its answer has left.
model keeping
network {"requests": 1, "crashes": 2, "cuts": 1, "writes_apart": true}

request A hello
persist A
crash A
deliver A>B keep hello
crash-written B
crash B
----
A client asks A for hello.
A writes to its disk, and then its messages leave.
A crashes: only what is on its disk is left.
B receives keep hello from A and has to write before it sends kept hello to A.
B writes to its disk and crashes before its messages leave.
refused: B is down

restart B
restart A
cut A>B
deliver A>B keep hello
heal
deliver A>B keep hello
deliver B>A kept hello
verdicts
----
B restarts with what is on its disk.
A restarts with what is on its disk.
From now on, no message gets through on A>B.
refused: the link A→B is cut
The network is whole again.
B receives keep hello from A and sends kept hello to A.
A receives kept hello from B. The client that asked for hello gets its answer: kept.
the one promise holds
"""


@pytest.mark.usefixtures("registered")
def test_a_scenario_with_disks_and_crashes(tmp_path: Path) -> None:
    """A scenario file drives crashes, cuts and clients by verbs, and shows what is refused."""
    path = tmp_path / "kept.txt"
    path.write_text(STORY, encoding="utf-8")
    assert rewritten(path) == STORY


# -- smaller searches, and what nodes hear ---------------------------------------------------------
