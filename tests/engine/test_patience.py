"""A student's function without end is stopped, named with its line, and the history stays."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Struct

from kit.engine import patience
from kit.engine.careful import KIT
from kit.engine.check import check
from kit.engine.fuzz import fuzz
from kit.engine.model import Model, Monitor, always
from kit.engine.patience import attended, ended_after, patient, stoppable
from kit.engine.timeline import Timeline
from kit.errors import BadInput
from tests.pairs import paired


class Up(Struct, frozen=True, tag="up"):
    """One more."""


class Count(Struct, frozen=True):
    """How many."""

    count: int = 0


def spins(s: Any) -> Any:
    """Go round for ever, from 2 on, whatever error it meets."""
    while s.count == 2:
        try:
            sum(range(1000))
        except Exception:
            continue
    return None


def counting(**spoiled: Callable[..., Any]) -> Model[Any, Any]:
    """A model that counts, with some of its functions replaced."""
    model: Model[Any, Any] = Model()
    model.name, model.title, model.State, model.Action = "mine", "Mine", Count, Up
    rule: dict[str, Callable[..., Any]] = {
        "candidates": lambda s: (Up(),),
        "condition": lambda s, a: None,
        "effect": lambda s, a: Count(s.count + 1),
    }
    own = {name: spoiled.pop(name) for name in tuple(spoiled) if name in rule}
    model.rules = (paired(Up, "up", **{**rule, **own}),)
    for name, function in {"start": Count, **spoiled}.items():
        setattr(model, name, function)
    return model


def offered(s: Count) -> Iterator[Up]:
    """Nothing is ever offered from 2 on: it goes on looking."""
    spins(s)
    yield Up()


SPOILED: dict[str, dict[str, Any]] = {
    "candidates": {"candidates": offered},
    "condition": {"condition": lambda s, a: spins(s)},
    "effect": {"effect": lambda s, a: spins(s) or Count(s.count + 1)},
    "property": {"properties": (always("p", "P", spins),)},
    "describe": {"describe": lambda before, a, after: str(spins(after))},
    "milestone": {"milestone": lambda before, a, after: spins(after)},
    "monitor": {
        "monitors": (
            Monitor("m", "M", lambda: 0, lambda m, b, a, after: spins(after), lambda m: None),
        )
    },
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_never_ends_is_stopped(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step that leads there is refused, by function and line; one may go back and on."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    timeline: Any = Timeline(counting(**SPOILED[what]))
    timeline.do(Up())
    with pytest.raises(BadInput, match=r"spins, line \d+ of test_patience.py .*no answer after"):
        timeline.do(Up())
    assert timeline.state == Count(1)
    assert len(timeline.moments) == 2
    assert timeline.back().state == Count(0)


def test_a_start_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """So is what is suggested, and what a state is looked at for when a history begins."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    with pytest.raises(BadInput, match="spins, line"):
        Timeline(counting(start=lambda: Count(2), candidates=offered))
    timeline: Any = Timeline(counting(suggest=lambda s: spins(Count(2))))
    with pytest.raises(BadInput, match="spins, line"):
        timeline.forward()


def test_what_takes_long_to_leave_is_stopped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Much memory is given back on the way out, and more than one look falls into that time."""
    monkeypatch.setattr(patience, "SECONDS", 0.05)
    monkeypatch.setattr(patience, "_LOOK", 0.0001)

    def fills(s: Any) -> Any:
        return [str(number) for number in itertools.count()] if s.count == 1 else None

    timeline: Any = Timeline(counting(candidates=lambda s: fills(s) or (Up(),)))
    for _ in range(5):
        with pytest.raises(BadInput, match="no answer after"):
            timeline.do(Up())
    assert timeline.state == Count(0)


def test_what_ends_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Afterwards nobody watches any more, whatever is computed."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    with patient():
        watching = [thread for thread in threading.enumerate() if thread.name == "patience"]
    assert watching
    for thread in watching:  # one that is about to end may be among them
        thread.join()
    begun = time.thread_time()
    while time.thread_time() < begun + 0.5:
        pass


def test_a_long_search_of_short_functions_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each function comes back; all together compute for much longer than one of them may."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    monkeypatch.setattr(patience, "_LOOK", 0.01)
    begun = time.thread_time()
    model = counting(candidates=lambda s: (Up(),) if s.count < 10_000 else ())
    while time.thread_time() < begun + 5 * patience.SECONDS:
        assert check(model).states == 10_001
        assert fuzz(model, range(20), steps=200).walks == 20


@contextmanager
def attended_inside() -> Iterator[None]:
    """As whatever searches attends to what happens inside."""
    with attended():
        yield


@contextmanager
def further_inside() -> Iterator[None]:
    """The same, entered together with another one."""
    with ExitStack() as stack:
        stack.enter_context(attended_inside())
        yield


@pytest.mark.parametrize("attends", [attended, attended_inside, further_inside])
def test_what_never_comes_back_is_stopped_however_it_was_entered(
    attends: Callable[[], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Context managers on the way there have left by then; what they hold inside has not."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    monkeypatch.setattr(patience, "_LOOK", 0.01)
    begun = time.thread_time()

    def stays() -> None:
        while time.thread_time() < begun + 2:
            pass

    said = r"stays, line \d+ of test_patience.py .*no answer after"
    with pytest.raises(BadInput, match=said), attends():
        stays()


def test_what_a_context_decorates_is_attended_call_by_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each function that it calls comes back; it may take its time itself."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    monkeypatch.setattr(patience, "_LOOK", 0.01)

    @contextmanager
    def aside() -> Iterator[None]:
        yield

    @aside()
    def works() -> int:
        begun, calls = time.thread_time(), 0
        with attended():
            while time.thread_time() < begun + 3 * patience.SECONDS:
                calls += bool(sum(number for number in range(1000)))
        return calls

    assert works() > 0


def test_a_thread_sleeps_that_computes_nothing_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """At most half a thousandth of a second since then counts as nothing; who debugs a function
    may look at it for as long as he likes.
    """
    clock, used = 0.0, 0.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    asleep = patience._idle(lambda: used)
    debugged: Any = SimpleNamespace(f_trace=print)
    frame: Any = SimpleNamespace(f_trace=None)
    looks: list[tuple[float, float, Any, bool]] = [  # the clock, what was computed, the frame
        (10.0, 0.0, frame, False),  # the first look
        (39.75, 0.0, frame, False),
        (40.0, 0.0, frame, True),
        (41.0, 0.0005, None, True),
        (42.0, 0.0006, None, False),
        (71.75, 0.001, frame, False),
        (72.0, 0.001, frame, True),
        (73.0, 0.001, debugged, False),
        (102.75, 0.001, frame, False),
        (103.0, 0.001, frame, True),
        (104.0, 9.0, frame, False),
    ]
    for at, computed, now, is_asleep in looks:
        clock, used = at, computed
        assert asleep(now) is is_asleep, at


def test_one_thread_looks_at_all_work() -> None:
    """To start a thread for every step took longer than most steps do."""
    with patient(), patient():
        first = patience._WATCH._thread
    with patient():
        assert patience._WATCH._thread is first
        assert first is not None
        assert first.is_alive()
        assert first.daemon  # a process that ends does not wait for it


@pytest.mark.parametrize(
    "work", [patient, attended, lambda: ended_after(60), lambda: stoppable(threading.Event())]
)
@pytest.mark.parametrize("alone", [True, False])
def test_where_python_has_one_thread_nobody_looks(
    work: Callable[[], AbstractContextManager[Any]], alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thread begins in a page; elsewhere one does, and looks at this work."""
    watch = patience._Watch()
    monkeypatch.setattr(patience, "ALONE", alone)
    monkeypatch.setattr(patience, "_WATCH", watch)
    with work():
        assert (len(watch.works), watch._thread is None) == (0 if alone else 1, alone)


def test_a_signal_that_comes_late_stops_nothing() -> None:
    """What was to be stopped may have ended by then; what has not is stopped, once."""
    ended, goes_on = (patience._Work(lambda frame: True, patience._TooLong) for _ in range(2))
    ended.end()
    patience._STOPPED[:] = [ended]
    patience._woken(0, None)
    patience._STOPPED[:] = [ended, goes_on]
    with pytest.raises(patience._TooLong):
        patience._woken(0, None)
    patience._woken(0, None)


def test_work_of_other_threads_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search in the background takes nothing from a press of a button."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    other = threading.Thread(target=lambda: sum(range(30_000_000)))
    with patient():
        other.start()
        other.join()


def test_a_press_on_a_thread_of_its_own_is_stopped_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """JupyterLab answers presses on other threads than the main one."""
    monkeypatch.setattr(patience, "SECONDS", 0.1)
    timeline: Any = Timeline(counting(candidates=offered))
    timeline.do(Up())
    told: list[str] = []

    def press() -> None:
        try:
            timeline.do(Up())
        except BadInput as error:
            told.append(str(error))

    thread = threading.Thread(target=press)
    thread.start()
    thread.join()
    assert "spins, line" in told[0]
    assert timeline.state == Count(1)


Given = Callable[..., Any]
# what never ends -> a model of it; the function that never ends goes through ``asking`` first
ENDLESS: dict[str, Callable[[Callable[[Given], Given]], dict[str, Any]]] = {
    "candidates": lambda asking: {"candidates": asking(offered)},
    "condition": lambda asking: {"condition": asking(lambda s, a: spins(s))},
    "effect": lambda asking: {"effect": asking(lambda s, a: spins(s) or Count(s.count + 1))},
    "property": lambda asking: {"properties": (always("p", "P", asking(spins)),)},
    "monitor": lambda asking: {
        "monitors": (
            Monitor("m", "M", int, asking(lambda m, b, a, after: spins(after)), lambda m: None),
        )
    },
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_search_that_never_ends_is_stopped_when_asked(what: str) -> None:
    """It tells what it has seen, and the function and line that were at work."""
    asked = threading.Event()

    def asking(function: Given) -> Given:
        def first(*given: Any) -> Any:
            if Count(2) in given:
                asked.set()
            return function(*given)

        return first

    with stoppable(asked):
        found = check(counting(**ENDLESS[what](asking)))
    assert found.verdict == "interrupted"
    assert found.states in (2, 3)
    assert found.at_work.startswith("spins, line ")
    assert found.sentence.endswith(f" (it stopped in {found.at_work})")


def test_a_search_that_nobody_stops_is_left_alone() -> None:
    """Nothing is raised in it, nor after it when somebody asks too late."""
    asked = threading.Event()
    with stoppable(asked):
        found = check(counting(), max_states=3)
    asked.set()
    begun = time.thread_time()
    while time.thread_time() < begun + 0.5:
        pass
    assert (found.verdict, found.at_work) == ("bounded", "")


def test_signals_of_somebody_elses_are_left_alone() -> None:
    """Neither the timer of virtual time nor who listens to it is taken away."""
    known = signal.signal(signal.SIGVTALRM, signal.SIG_IGN)
    try:
        with patient():
            assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_IGN
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_VIRTUAL, 1000.0)
        with patient():
            left, again = signal.getitimer(signal.ITIMER_VIRTUAL)
        assert left > 100
        assert again == 0
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, known)


def test_another_thread_than_the_main_one_sets_no_signals() -> None:
    """Python would not let it; it is attended all the same."""
    known = [
        (each, signal.signal(each, signal.SIG_DFL)) for each in (signal.SIGURG, signal.SIGVTALRM)
    ]
    ended = []

    def work() -> None:
        with patient():
            ended.append("well")

    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert ended == ["well"]
    finally:
        for each, handler in known:
            signal.signal(each, handler)


@pytest.mark.parametrize("lacks", ["threads", "clocks"])
def test_where_nobody_counts_by_thread_the_clock_does(
    lacks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some systems have one thread, or cannot tell what each has computed."""
    if lacks == "threads":
        monkeypatch.setattr(patience, "ALONE", True)
    else:
        monkeypatch.delattr(time, "pthread_getcpuclockid")
    asked = []
    monkeypatch.setattr(time, "monotonic", lambda: asked.append(1) or 0.0)
    with patient():
        assert len(asked) >= 2


def test_a_watch_whose_thread_has_ended_starts_another_one() -> None:
    """So it is after a fork: threads of the parent are not alive there."""
    watch, work = patience._Watch(), patience._Work(lambda frame: False, KeyboardInterrupt)
    work.end()
    dead = threading.Thread(target=lambda: None)
    dead.start()
    dead.join()
    watch._thread = dead
    watch.add(work)
    begun = watch._thread
    assert begun.is_alive()
    watch.add(work)
    assert watch._thread is begun


def test_the_main_thread_is_woken_to_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a signal, also out of a sleep; who listens to that signal is somebody else's elsewhere."""
    work, woken = patience._Work(lambda frame: True, patience._TooLong), []
    monkeypatch.setattr(signal, "pthread_kill", lambda *given: woken.append(given))
    monkeypatch.setattr(patience, "_STOPPED", [])
    known = signal.signal(signal.SIGURG, patience._woken)
    try:
        look = threading.Thread(target=work.look)
        look.start()
        look.join()
    finally:
        signal.signal(signal.SIGURG, known)
    assert woken == [(threading.main_thread().ident, signal.SIGURG)]
    (stopped,) = patience._STOPPED
    assert stopped is work


def test_the_timer_looks_twice_in_the_time_that_a_function_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And rests afterwards."""
    monkeypatch.setattr(patience, "SECONDS", 1000.0)
    known = signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    try:
        with patient():
            left, again = signal.getitimer(signal.ITIMER_VIRTUAL)
            assert signal.getsignal(signal.SIGVTALRM) is patience._ticked
        assert 400 < left <= 501
        assert 499 < again < 501
        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    finally:
        signal.signal(signal.SIGVTALRM, known)


def compute(seconds: float) -> None:
    """Do nothing that ends before."""
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        pass


def test_work_ends_after_so_many_seconds_of_computing() -> None:
    """It is interrupted where it is, and says so; what is through before has no end."""
    with ended_after(60) as is_over:
        pass
    assert not is_over()
    with pytest.raises(KeyboardInterrupt), ended_after(0.01) as is_over:
        compute(seconds=30)
    assert is_over()


def looked_at(
    work: Callable[[], AbstractContextManager[Any]], monkeypatch: pytest.MonkeyPatch
) -> Any:
    """What is asked at each look at this work, which has ended."""
    dues = list[Any]()

    def watched(due: Any, error: type[BaseException]) -> AbstractContextManager[None]:
        dues.append(due)
        return nullcontext()

    monkeypatch.setattr(patience, "_watched", watched)
    with work():
        pass
    [due] = dues
    return due


def test_who_is_asked_to_stop_may_do_so_by_itself_until_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is raised at the first look that finds it asked."""
    asked = threading.Event()
    due = looked_at(lambda: stoppable(asked), monkeypatch)
    looks = [due(None), due(None)]
    asked.set()
    assert [*looks, due(None), due(None), due(None)] == [False, False, False, True, True]


def test_only_what_happens_inside_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what the thread is at elsewhere, though it would have taken too long."""
    due = looked_at(attended, monkeypatch)
    monkeypatch.setattr(patience, "SECONDS", 0.0)
    answers = list[bool]()

    def elsewhere() -> None:
        answers.append(due(sys._getframe()))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert answers == [False]
    assert due(None) is False


def test_a_frame_is_entered_by_a_context_of_python_itself() -> None:
    """Not by one of somebody's own, and not where nobody has called it."""
    answers = list[bool]()

    def is_entered() -> None:
        answers.append(patience._is_entered(sys._getframe(1)))

    class Own:
        """Somebody's own."""

        def __enter__(self) -> None:
            self.enters()

        def __exit__(self, *error: object) -> None:
            pass

        def enters(self) -> None:
            is_entered()

    @contextmanager
    def pythons() -> Iterator[None]:
        is_entered()
        yield

    with Own(), pythons():
        outermost: Any = SimpleNamespace(f_back=None)
        assert [*answers, patience._is_entered(outermost)] == [False, True, False]


def frame_of(file: str, back: Any = None, name: str = "f") -> Any:
    """What looks like a frame that is at work in a file."""
    code = SimpleNamespace(co_filename=file, co_name=name)
    return SimpleNamespace(f_code=code, f_back=back, f_trace=None)


MINE, LEAVES = frame_of("mine.py"), frame_of(contextlib.__file__)
MAIN = threading.main_thread().ident
OTHER = -1


@pytest.mark.parametrize(
    ("changed", "happens"),
    [
        ({}, "woken"),
        ({"ended": True}, "nothing"),
        ({"frame": LEAVES}, "nothing"),
        ({"frame": frame_of(patience.__file__)}, "nothing"),
        ({"frame": None}, "woken"),
        ({"due": False}, "nothing"),
        ({"handler": signal.SIG_IGN}, "raised"),
        ({"worker": OTHER}, "raised"),
        ({"worker": OTHER, "handler": signal.SIG_IGN}, "raised"),
        ({"worker": OTHER, "frame": LEAVES}, "nothing"),
    ],
)
def test_a_look_stops_what_is_due_and_not_on_its_way_out(
    changed: dict[str, Any], happens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The main thread is woken where it listens; any other one has the error raised in it."""
    case = {"ended": False, "frame": MINE, "due": True, "handler": patience._woken, "worker": MAIN}
    case |= changed
    asked, did = list[Any](), list[Any]()
    work = patience._Work(lambda frame: asked.append(frame) or case["due"], KeyboardInterrupt)
    work.worker, work.ended = case["worker"], case["ended"]
    monkeypatch.setattr(sys, "_current_frames", lambda: {case["worker"]: case["frame"]})
    monkeypatch.setattr(signal, "getsignal", lambda number: case["handler"])
    monkeypatch.setattr(signal, "pthread_kill", lambda *given: did.append(("woken", *given)))
    monkeypatch.setattr(
        patience.ctypes.pythonapi,
        "PyThreadState_SetAsyncExc",
        lambda thread, error: did.append(("raised", thread.value, error.value)),
    )
    earlier: Any = ["earlier", "later"]
    monkeypatch.setattr(patience, "_STOPPED", stopped := [*earlier])
    work.look()
    raised = ("raised", ctypes.c_ulong(case["worker"]).value, KeyboardInterrupt)
    assert (
        did
        == {"woken": [("woken", MAIN, signal.SIGURG)], "raised": [raised], "nothing": []}[happens]
    )
    assert stopped == ([work] if happens == "woken" else earlier)
    assert asked == ([case["frame"]] if happens != "nothing" or not case["due"] else [])


@pytest.mark.parametrize(
    ("caller", "entered"),
    [
        (frame_of(contextlib.__file__, name="__enter__"), True),
        (frame_of(patience.__file__, name="__enter__"), True),
        (frame_of(contextlib.__file__, name="inner"), False),
        (frame_of("mine.py", name="__enter__"), False),
        (None, False),
    ],
)
def test_a_context_on_its_way_in_is_called_by_what_enters_it(caller: Any, entered: bool) -> None:
    """Not by a method of somebody else's that has the same name."""
    assert patience._is_entered(frame_of("mine.py", caller)) is entered


@pytest.mark.parametrize("frame", [MINE, LEAVES, None])
@pytest.mark.parametrize("ended", [(), (True,), (False,), (True, False)])
def test_a_signal_stops_what_has_not_ended(
    frame: Any, ended: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the thread is on its way out; whatever it does, the signal is answered then."""
    works: list[Any] = [SimpleNamespace(ended=each, error=KeyboardInterrupt) for each in ended]
    monkeypatch.setattr(patience, "_STOPPED", works)
    stops = False in ended and frame is not LEAVES
    with pytest.raises(KeyboardInterrupt) if stops else contextlib.nullcontext():
        patience._woken(0, frame)
    assert works == []


@pytest.mark.parametrize(
    ("changed", "stops"),
    [
        ({}, True),
        ({"frame": None}, True),
        ({"frame": LEAVES}, False),
        ({"worker": OTHER}, False),
        ({"ended": True}, False),
        ({"due": lambda frame: False}, False),
    ],
)
def test_the_timer_stops_what_is_due_in_the_main_thread(
    changed: dict[str, Any], stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a look does, while no other thread can look."""
    frame = changed.pop("frame", MINE)
    case = {"worker": MAIN, "ended": False, "due": lambda given: given is frame, **changed}
    work = SimpleNamespace(error=KeyboardInterrupt, **case)
    monkeypatch.setattr(patience, "_WATCH", SimpleNamespace(works=[work]))
    with pytest.raises(KeyboardInterrupt) if stops else contextlib.nullcontext():
        patience._ticked(0, frame)


@pytest.mark.parametrize(("ends_at", "sleeps"), [(0, 5), (1, 5), (3, 7)])
def test_nobody_looks_after_five_looks_at_nothing(
    ends_at: int, sleeps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fifth of a second each. What has ended is looked at no more."""
    watch, slept, looked = patience._Watch(), list[float](), list[int]()
    work: Any = SimpleNamespace(ended=not ends_at, look=lambda: looked.append(len(slept)))
    really = time.sleep

    def sleep(seconds: float) -> None:
        if threading.current_thread() is not threading.main_thread():
            really(seconds)  # whoever looks at other work
            return
        slept.append(seconds)
        work.ended = len(slept) >= ends_at
        assert len(slept) < 20, "it never ends"

    monkeypatch.setattr(time, "sleep", sleep)
    begun: Any = threading.current_thread()
    watch.works, watch._thread = [work], begun
    watch._run()
    assert slept == [0.2] * sleeps
    assert looked == list(range(1, ends_at))
    assert (watch.works, watch._thread) == ([], None)


@pytest.mark.parametrize(
    ("handler", "then"),
    [(signal.SIG_DFL, patience._woken), (signal.SIG_IGN, signal.SIG_IGN)],
)
def test_the_main_thread_listens_where_nobody_else_does(handler: Any, then: Any) -> None:
    """A signal that somebody else uses stays as it is."""
    known = signal.signal(signal.SIGURG, handler)
    try:
        with patient():
            assert signal.getsignal(signal.SIGURG) is then
    finally:
        signal.signal(signal.SIGURG, known)


def test_an_error_that_comes_while_it_ends_arrives_and_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else it would be looked at for ever."""
    works = list[Any]()

    class Late(patience._Work):
        """It is stopped just when it ends."""

        __slots__ = ("ends",)

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.ends = 0
            works.append(self)

        def end(self) -> None:
            """Meet an error the first time."""
            self.ends += 1
            if self.ends == 1:
                raise KeyboardInterrupt
            super().end()

    monkeypatch.setattr(patience, "_Work", Late)
    with pytest.raises(KeyboardInterrupt), ended_after(60):
        pass
    assert [each.ended for each in works] == [True]


class Watching:
    """When work would be stopped, asked by hand, while a test says what has been computed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.used = self.clock = 1.0
        self.due: Callable[[Any], bool] = bool
        self.error: type[BaseException] = Exception
        monkeypatch.setattr(time, "monotonic", lambda: self.clock)
        monkeypatch.setattr(patience, "_processor_time", lambda thread: lambda: self.used)
        monkeypatch.setattr(patience, "_watched", self.watched)

    @contextmanager
    def watched(self, due: Callable[[Any], bool], error: type[BaseException]) -> Iterator[None]:
        """Look at nothing."""
        self.due, self.error = due, error
        yield

    def is_due(self, frame: Any, used: float, clock: float = 1.0) -> bool:
        """Whether a frame is stopped then."""
        self.used, self.clock = used, clock
        return self.due(frame)


def test_one_step_is_stopped_after_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of computing, or thirty of sleeping."""
    watching = Watching(monkeypatch)
    with patient():
        assert not watching.is_due(MINE, 5.999, clock=10.0)
        assert not watching.is_due(MINE, 5.999, clock=39.5)
        assert watching.is_due(MINE, 5.999, clock=40.0)
        assert watching.is_due(MINE, 6.0, clock=41.0)
        assert watching.is_due(MINE, 7.0, clock=42.0)
    assert watching.error is patience._TooLong


def test_a_call_is_stopped_after_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outermost one of somebody else's counts, as long as it is the same one."""
    watching = Watching(monkeypatch)
    with attended():
        kits, aside = frame_of(f"{KIT}engine/check.py"), frame_of("mine.py")
        kits.f_back = sys._getframe()
        call, again = frame_of("mine.py", kits), frame_of("mine.py", kits)
        deeper = frame_of("mine.py", frame_of(kits.f_code.co_filename, call))
        looks: list[tuple[Any, float, bool]] = [
            (call, 2.0, False),
            (deeper, 6.5, False),
            (call, 6.999, False),
            (deeper, 7.0, True),
            (call, 7.5, True),
            (again, 8.0, False),
            (again, 13.0, True),
            (call, 14.0, False),
            (kits, 18.0, False),
            (kits, 30.0, False),
            (call, 31.0, False),
            (aside, 35.0, False),  # which was not called from inside
            (aside, 45.0, False),
            (None, 46.0, False),
            (call, 47.0, False),
            (call, 52.0, True),
        ]
        for frame, used, stops in looks:
            assert watching.is_due(frame, used) is stops, used
        for frame, clock, stops in (
            (again, 2.0, False),
            (again, 31.75, False),
            (again, 32.0, True),
            (kits, 33.0, False),
        ):
            assert watching.is_due(frame, 53.0, clock) is stops, clock
    assert watching.error is patience._TooLong


def test_work_is_interrupted_again_after_five_seconds_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From the moment on that it was given, until it ends."""
    watching = Watching(monkeypatch)
    with ended_after(2.0) as is_over:
        for used, stops in ((2.5, False), (3.0, True), (3.5, False), (7.5, False), (8.0, True)):
            assert watching.is_due(MINE, used) is stops, used
            assert is_over() is (used >= 3), used
    assert watching.error is KeyboardInterrupt


def test_whoever_looks_itself_has_a_moment_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first look after it was asked to leaves it alone."""
    watching, stop = Watching(monkeypatch), threading.Event()
    with stoppable(stop):
        assert [watching.due(MINE) for _ in range(3)] == [False, False, False]
        stop.set()
        assert [watching.due(MINE) for _ in range(3)] == [False, True, True]
    assert watching.error is KeyboardInterrupt
