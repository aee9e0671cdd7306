"""Simulated groups of Raft: commands a second with every step kept, beside a Raft on loopback.

The group runs through the library, in one process, without a clock: time is counted in ticks, and
a seed says what is lost, which message comes next and who crashes. A published Raft answers the
same number of commands of one client over sockets, and a simulator of events does nothing in each.
Both are installed into an environment of their own that is thrown away.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median

from msgspec import Struct

from benchmarks.figures import Figure, seconds, show, spoken, unmeasured
from kit.protocols.raft import core
from kit.protocols.raft.library import Commands, GroupRegistry, Network, RaftServer
from kit.protocols.raft.rules.configuration import Member
from kit.protocols.raft.state import Leader, Options, Server
from kit.protocols.raft.tables import RaftTables

GROUP = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
SIZES, COMMANDS, FAULTY, WINDOW = (3, 5), 10_000, 5_000, 64
ROUNDS = 2
LONG, PART = 100_000, 5_000
FLAT = 1.5
RAFT, EVENTS = "pysyncobj==0.3.17", "simpy==4.1.2"
LONGEST = 180  # seconds
LOSS, CRASH, MIXED = 0.02, 0.002, 0.5


class Step(Struct, frozen=True):
    """One event of a simulation, and the server that it left behind."""

    event: str
    server: Server


class Simulation:
    """A group of so many servers, with a client that keeps a window of commands under way."""

    def __init__(self, size: int, seed: int, window: int = WINDOW, *, faults: bool = False) -> None:
        self.chance, self.window, self.faults = Random(seed), window, faults
        self.names = "ABCDEFG"[:size]
        self.network, self.steps = Network(), list[Step]()
        self.tables = {name: RaftTables() for name in self.names}
        self.machines = {name: Commands() for name in self.names}
        self.members = [Member(name) for name in self.names]
        for name in self.names:
            self.start(name)

    def start(self, name: str) -> None:
        """A server begins with what its tables hold; its machine runs the log again."""
        self.machines[name] = Commands()
        options = Options(edition="documents")
        server = RaftServer(
            GROUP, name, self.tables[name], self.network, self.machines[name], options, self.members
        )
        registry = self.network.nodes[name] = GroupRegistry()
        registry.add(server)
        self.keep(f"start {name}", server)

    def keep(self, event: str, server: RaftServer) -> None:
        """Every step stays; its server shares what did not change with those before."""
        self.steps.append(Step(event, server.server))

    def at(self, name: str) -> RaftServer:
        """A server."""
        return self.network.nodes[name].find(GROUP)

    @property
    def leader(self) -> RaftServer | None:
        """Who leads, in the newest term."""
        leading = [self.at(n) for n in self.names if isinstance(self.at(n).server.role, Leader)]
        return max(leading, key=lambda each: each.server.term, default=None)

    def tick(self) -> None:
        """A tick of all clocks."""
        for name in self.names:
            server = self.at(name)
            server.do(core.tick, draw=self.chance.randint(10, 20))
            self.keep(f"tick {name}", server)

    def deliver(self) -> None:
        """All that is on its way arrives; with faults some is lost, and some comes out of turn."""
        flying = self.network.in_flight
        while flying:
            if self.faults:
                if self.chance.random() < MIXED:
                    flying.rotate(-self.chance.randrange(min(len(flying), 4)))
                if self.chance.random() < LOSS:
                    flying.popleft()
                    continue
                if self.chance.random() < CRASH:
                    self.start(self.chance.choice(self.names))
            routed = self.network.deliver()
            self.keep("deliver", self.at(routed.target.id))

    def run(self, count: int) -> None:
        """So many commands are sent until all servers have run each of them."""
        wanted = {f"set {number}" for number in range(count)}
        ahead = sorted(wanted, reverse=True)
        while True:
            leader = self.leader
            if leader is not None and not getattr(leader.server.role, "transfer", None):
                under_way = len(leader.server.log.part(leader.server.applied + 1))
                if not ahead and not under_way:
                    done = self.machines[leader.server.id].lines.get(GROUP, ())
                    ahead = sorted(wanted.difference(done))  # what was lost is sent again
                    if not ahead and self.agreed():
                        return
                for _ in range(min(self.window - under_way, len(ahead))):
                    leader.do(core.submit, ahead.pop())
                    self.keep(f"submit {leader.server.id}", leader)
            self.deliver()
            self.tick()

    def agreed(self) -> bool:
        """Whether all machines have run the same commands."""
        lines = [self.machines[name].lines.get(GROUP) for name in self.names]
        return all(each == lines[0] for each in lines)


def figures() -> Iterator[Figure]:
    """The rows of the table."""
    with installed() as python:
        for size in SIZES:
            yield from rates(size, python)
        yield bare(python)
    yield growing()


def rates(size: int, python: str) -> Iterator[Figure]:
    """Commands a second of a group: steady, then with loss, disorder and crashes.

    Steady, all commands are under way at once: that is when the published Raft is quickest, too.
    """
    steady, theirs = list[tuple[float, int]](), list[float | None]()
    for _ in range(ROUNDS):
        steady.append(measured(Simulation(size, size, COMMANDS), COMMANDS))
        theirs.append(answer(python, PUBLISHED, size, COMMANDS, COMMANDS))
    faulty = [measured(Simulation(size, seed, faults=True), FAULTY) for seed in range(ROUNDS)]
    peer = max((each for each in theirs if each), default=None)
    for what, measures in (("steady", steady), ("under faults", faulty)):
        ours, steps = max(measures)
        name = f"commands/s, Raft of {size}, {what} ({steps:,} steps kept)"
        if peer is None:
            yield Figure(name, f"{ours:,.0f}", f"{RAFT} cannot be had here")
        elif what == "steady":
            yield Figure(
                name, f"{ours:,.0f}", f"{RAFT} {peer:,.0f}", peer / ours, "< 1", peer < ours
            )
        else:
            yield Figure(name, f"{ours:,.0f}", f"the same, without {peer:,.0f}", peer / ours)


def measured(simulation: Simulation, count: int) -> tuple[float, int]:
    """Commands a second of a simulation, and how many steps it keeps."""
    rate = count / seconds(lambda: simulation.run(count))
    return rate, len(simulation.steps)


def growing() -> Figure:
    """The cost of a command in a log that grows to 100,000 entries: first against last part."""
    simulation = Simulation(3, seed=0)
    simulation.run(1)
    times = []
    for _ in range(LONG // PART):
        simulation.machines = {name: Commands() for name in simulation.names}
        for name in simulation.names:
            simulation.at(name).machine = simulation.machines[name]
        times.append(seconds(lambda: simulation.run(PART)) / PART)
        simulation.steps.clear()
    first, last = median(times[:4]), median(times[-4:])
    name = f"a command in a log of {LONG:,}, against the first {4 * PART:,}"
    return Figure(name, spoken(last), spoken(first), last / first, f"< {FLAT}", last < FLAT * first)


PUBLISHED = """
import socket, sys, threading, time
from multiprocessing import Process
from pysyncobj import SyncObj, SyncObjConf, replicated

class Lines(SyncObj):
    def __init__(self, own, others):
        super().__init__(own, others, SyncObjConf(commandsWaitLeader=True, commandsQueueSize=10**6))
        self.lines = []

    @replicated
    def put(self, line):
        self.lines.append(line)

def free():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]

def serve(own, others):
    Lines(own, others)
    threading.Event().wait()

size, count, window = map(int, sys.argv[1:])
names = [f"127.0.0.1:{free()}" for _ in range(size)]
others = [Process(target=serve, args=(n, [o for o in names if o != n]), daemon=True)
          for n in names[1:]]
for each in others:
    each.start()
mine = Lines(names[0], names[1:])
while not mine.isReady():
    time.sleep(0.05)
room, done = threading.Semaphore(window), threading.Event()
left = count

def answered(result, error):
    global left
    left -= 1
    room.release()
    if left == 0:
        done.set()

began = time.perf_counter()
for number in range(count):
    room.acquire()
    mine.put(f"set {number}", callback=answered)
done.wait(60)
assert left == 0
print(count / (time.perf_counter() - began))
"""
BARE = """
import time, simpy
def ticking(env):
    while True:
        yield env.timeout(1)
env = simpy.Environment()
env.process(ticking(env))
began = time.perf_counter()
env.run(until=300_000)
print(300_000 / (time.perf_counter() - began))
"""


def bare(python: str) -> Figure:
    """Our events a second, each of which a server works through, and a simulator's empty ones."""
    simulation = Simulation(3, seed=1)
    took = seconds(lambda: simulation.run(COMMANDS))
    ours, theirs = len(simulation.steps) / took, answer(python, BARE)
    name = "events/s of a simulated group of 3"
    if theirs is None:
        return unmeasured(name, f"{EVENTS} cannot be had here")
    return Figure(name, f"{ours:,.0f}", f"{EVENTS}, empty events {theirs:,.0f}", theirs / ours)


def answer(python: str, program: str, *given: int) -> float | None:
    """The number that a program prints; None where it cannot run, or does not come to an end."""
    if not python:
        return None
    words = [python, "-c", program, *map(str, given)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return None
    return float(done.stdout) if done.returncode == 0 else None


@contextmanager
def installed() -> Iterator[str]:
    """A Python that has both packages; empty: they cannot be had here."""
    with tempfile.TemporaryDirectory(prefix="kit-raft-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, check=True)
        python = str(Path(folder) / "bin" / "python")
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", RAFT, EVENTS],
            capture_output=True,
            check=False,
            timeout=LONGEST,
        )
        yield python if done.returncode == 0 else ""


if __name__ == "__main__":
    show(figures())
