"""Raft on a network: servers that elect a leader, which brings one log to all of them.

Each step is one message, one timeout, one client or one fault; ``core`` says what it makes of a
server. A timeout may run out at any time (or, with ``clock``, after ticks): a search meets every
speed of clocks and messages.
Sources: Raft paper; Ongaro's thesis; Scylla, Raft in Scylla.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache, partial
from itertools import combinations, pairwise, product
from typing import Any, get_args

from msgspec import convert

from kit.errors import BadInput, Refusal
from kit.masks import majority
from kit.model import declared
from kit.model.actors import STILL, Post, receives
from kit.model.declared import always, budget, entry, parameter, refused, safeguard, sometimes, step
from kit.model.log import refined_by_logs
from kit.model.machines import Answer, MachineModel, MachineState, Turn
from kit.model.model import CommutingDeliveries, Refinement
from kit.model.network import Envelope
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.raft import core, words
from kit.protocols.raft.beginning import NAMES, RaftNode, begun, impossible, members_of
from kit.protocols.raft.messages import Install, Installed, Message
from kit.protocols.raft.rules.configuration import Configuration, tally
from kit.protocols.raft.rules.log import Log
from kit.protocols.raft.state import (
    Edition,
    Leader,
    Options,
    Output,
    RaftSafeguards,
    Server,
    Stored,
)
from kit.protocols.raft.symmetry import renaming_alike

MOST, FEW = 1 << 16, 9
RAFT = ("INV-RAFT",)
TIMERS = {
    "election": (
        "A server that has not heard from a leader for long enough asks whether it could lead."
    ),
    "repeat": "A leader repeats what followers might have missed, so that they all catch up.",
    "quorum": "A leader that does not hear from a majority cannot commit, so it steps down.",
}
"""What timers are for."""
IDLE = {"repeat": "has nothing to resend", "election": "cannot ask for votes"}
QUIET: dict[str, Any] = {"requests": (), "terms": 1, "most_in_flight": 2}


class Raft(MachineModel):
    """A group of servers with one log."""

    name, title, revision = "raft", "Raft: one log through elections and replication", 3
    premise = (
        "Servers elect a leader, and only the leader adds to the log. "
        "An entry is committed once a majority of voters stores it."
    )
    about = "The servers, how they start, what clients ask for, and what can go wrong."

    nodes: int = parameter(3, "how many servers there are, named A, B, C, …", ge=1, le=len(NAMES))
    members: str = parameter(
        "A B C", "the first members; lowercase for members without a vote", written=True
    )
    edition: Edition = parameter("documents", "the documents, or the published server")
    begins: tuple[str, ...] = parameter(
        (),
        "how each server starts: the terms of its entries, then the rest, such as 1 1 2, leads",
        written=True,
    )
    requests: tuple[str, ...] = parameter(
        ("x",),
        "what clients ask for, in order: x, x at B, read at B, members A B D, transfer, snapshot",
        written=True,
    )
    terms: int = parameter(
        3, "the last term in which a server can ask for votes", ge=1, le=9, counts=True
    )
    clock: bool = parameter(
        False, "whether timeouts are counted in ticks; if not, they can run out at any time"
    )
    timeout: int = parameter(3, "the shortest timeout in ticks (with a clock)", ge=2, le=20)
    detector: bool = parameter(
        False, "whether servers suspect a leader only when they hear nothing from it"
    )
    most_in_flight: int = parameter(
        0, "the most messages on their way at once (0: any number)", ge=0, le=40
    )
    fifo: bool = parameter(False, "whether messages on a link arrive in the order they were sent")
    crashes: int = budget(0, "how many times a server crashes", le=FEW, own=False)
    drops: int = budget(0, "how many times a message is lost", le=FEW, own=False)
    duplicates: int = budget(0, "how many times a message is duplicated", le=FEW, own=False)
    holds: int = budget(0, "how many times a message is held back", le=FEW, own=False)
    partitions: int = budget(0, "how many times the network is partitioned", le=FEW, own=False)
    cuts: int = budget(0, "how many times a single link is cut", le=FEW, own=False)
    writes_apart: bool = parameter(False, "whether writing to disk is a separate step")

    # fmt: off
    majority: bool = safeguard(
        "S-32", "An entry is committed once a majority of the voters stores it", RAFT,
        smallest={"begins": ("1, leads", ", term 1, votes A", ""), **QUIET, "requests": ("x",)})
    stored_vote: bool = safeguard(
        "S-33", "A vote is on disk before it is given", ("INV-LEADER",),
        smallest={"begins": ("1, leads", ", term 1, votes A", ""), **QUIET, "crashes": 1})
    newest_log: bool = safeguard(
        "S-34", "A server votes only for a candidate whose log is at least as up to date as its "
        "own", RAFT,
        smallest={"begins": ("1, commit 1, leads", "1", ""), **QUIET, "terms": 2})
    joint: bool = safeguard(
        "S-35", "Members change through a joint configuration: both groups need a majority",
        ("INV-LEADER", "INV-RAFT"), wider={"INV-LEADER": {"crashes": 1}},
        smallest={"begins": ("1", "1", "1, commit 1, leads"), **QUIET,
                  "requests": ("members C",), "terms": 2})
    persist_first: bool = safeguard(
        "S-86", "A server writes to its disk before it answers", RAFT,
        smallest={"begins": ("1, leads", ", term 1, votes A", ""), **QUIET,
                  "crashes": 1, "writes_apart": True})
    own_term: bool = safeguard(
        "S-87", "A leader counts only entries of its own term; earlier ones are committed with "
        "them", RAFT,
        smallest={"begins": ("1 2 4, leads", "1, term 4", "1 3, term 4"), **QUIET, "terms": 5,
                  "most_in_flight": 3, "drops": 1, "fifo": True, "detector": True})
    one_change: bool = safeguard(
        "S-88", "Members change again only once the last change is committed", RAFT,
        smallest={"begins": ("1, commit 1, leads", "1", "1"), **QUIET, "terms": 2,
                  "requests": ("members A B", "members A")})
    own_entry_first: bool = safeguard(
        "S-89", "A leader changes members only once it has committed an entry of its own term",
        RAFT, smallest={"nodes": 4, "members": "A B C D", **QUIET, "requests": ("members B C D",),
                  "begins": ("1 1=ABC, term 2", "1 2, commit 1, leads", "1, term 2", "1, term 2"),
                  "terms": 3, "most_in_flight": 3})
    step_down: bool = safeguard(
        "S-91", "A leader that does not hear from a majority steps down", ("INV-PROGRESS",),
        smallest={"begins": ("1, commit 1, leads", "1, follows A", "1, follows A"), **QUIET,
                  "terms": 2, "detector": True, "cuts": 2})
    pre_vote: bool = safeguard(
        "S-93", "A server asks whether it could win before it starts a term", ("INV-PROGRESS",),
        smallest={**QUIET, "most_in_flight": 3, "partitions": 1})
    read_quorum: bool = safeguard(
        "S-94", "A leader answers no read before a majority confirms that it still leads",
        ("INV-LIN",),
        smallest={"begins": ("1, commit 1, leads", "1 2, leads", "1 2"), **QUIET, "terms": 2,
                  "requests": ("x", "read at A")})
    old_terms: bool = safeguard(
        "S-100", "A pre-vote of an old term is answered with the newer term", ("INV-PROGRESS",),
        smallest={"nodes": 2, "members": "A B", "begins": ("1", ", term 3"), **QUIET, "terms": 5})
    own_leader: bool = safeguard(
        "S-101", "A server that no longer leads gets pre-votes from those that still follow it",
        ("INV-PROGRESS",),
        smallest={"nodes": 2, "members": "A B", "begins": ("1, commit 1, leads", "1, follows A"),
                  **QUIET, "terms": 3, "edition": "server", "detector": True, "partitions": 1})
    own_disk: bool = safeguard(
        "S-102", "A leader counts its own entry only once it is on its disk", RAFT,
        smallest={"nodes": 1, "members": "A", **QUIET, "requests": ("x",), "writes_apart": True})
    # fmt: on

    def newest_epoch(self, s: Any) -> int:
        """The highest term that a server knows."""
        return max(int(node.server.term) for node in s.nodes)

    def set_up(self) -> None:
        """Take the members and beginnings. Raises BadInput for those of no node, members twice, or
        a command that looks like an entry.
        """
        names = tuple(NAMES[: self.nodes])
        self.first_members = members_of(self.members, names)
        for what in self.requests:
            if len(words.entry_texts(what)) > 1:
                allowed = "a command without a word such as 2:y, for so the entries of a log begin"
                raise BadInput("requests", what, allowed)
            if what.startswith("members "):
                members_of(what.partition(" at ")[0].removeprefix("members "), names, "requests")
        if len(self.begins) > self.nodes:
            raise BadInput("begins", self.begins, f"at most {self.nodes} texts")
        safeguards = convert(self, RaftSafeguards, from_attributes=True)
        self.raft = Options(
            *(self.edition, self.timeout, 1, self.clock),
            writes_apart=self.writes_apart,
            safeguards=safeguards,
        )
        self.connect(names, self.befallen(requests=len(self.requests), ticks=None))
        self.idle = {} if self.clock else IDLE
        if not self.detector and not self.fifo:
            self.partial_order = CommutingDeliveries(watched=self.gist, timers=self.undisturbed)
        if self.begins:
            self.check_beginning()
        links = self.cuts or self.partitions or self.writes_apart or self.fifo
        self.symmetry = None if links or self.holds else renaming_alike(self)

    def check_beginning(self) -> None:
        """See that servers can have come to where they begin. Raises BadInput with the reason."""
        s = self.start()
        kept = self.one_leader_a_term, self.logs_match, self.leader_has_all, self.committed_is_kept
        said = (promise(s) for promise in kept)
        reason = impossible([n.server for n in s.nodes]) or next(filter(None, said), "")
        if reason:
            raise BadInput("begins", self.begins, f"a state that can be reached ({reason})")

    def begin(self, node: str) -> tuple[RaftNode, tuple[Post, ...]]:
        """A server begins, perhaps with a log."""
        member = any(each.id == node for each in self.first_members)
        stored = core.first_stored(self.first_members) if member else Stored()
        texts = dict(zip(self.names, self.begins, strict=False))
        if texts.get(node):
            return begun(node, stored, texts), ()
        first = core.written(core.restart(node, stored, self.raft).server, self.raft)
        return self.after(RaftNode(Server(node)), first)[0], ()

    # -- a server and what befalls it --------------------------------------------------------------

    def after(self, state: RaftNode, output: Output) -> Turn:
        """The outcome of an event: what is committed is applied at once."""
        machine = state.machine
        if output.snapshot:
            machine = words.entry_texts(output.snapshot.state)
        machine += tuple(map(words.entry_text, output.committed))
        final = core.apply(output.server, output.server.commit, self.raft)
        every = (*output.answers, *final.answers)
        answers = (Answer(each.request, words.answer_text(each)) for each in every)
        posts = (Post(each.target, each.message) for each in output.messages)
        return RaftNode(final.server, machine), (*posts, *answers)

    @receives(*get_args(Message))
    def receives_message(self, state: RaftNode, sent: Envelope[Any]) -> Turn:
        """A message arrives."""
        return self.after(state, core.receive(state.server, sent.source, sent.message, self.raft))

    def disk(self, state: RaftNode) -> Stored:
        """The part that outlives a crash: of the documents not the commit index."""
        return core.durable(state.server.stored, self.raft)

    def restarted(self, node: str, disk: Stored) -> RaftNode:
        """It knows its disk alone."""
        return RaftNode(Server(node, disk, timeout=self.timeout))

    def persist(self, s: Any, node: int) -> Any:
        """A leader has written: now its own disk counts."""
        end = super().persist(s, node)
        if isinstance(end, Refusal) or not is_leader(s.nodes[node].server):
            return end
        counted = core.written(s.nodes[node].server, self.raft)
        return self.turned(end, node, self.after(s.nodes[node], counted))

    def wakes(self, node: str, state: RaftNode) -> Turn:
        """It applies what it knows to be committed; a single voter leads at once."""
        return self.after(state, core.restart(node, state.server.stored, self.raft))

    def timers(self, state: RaftNode) -> tuple[str, ...]:
        """An election's; of a leader those of what it repeats, and of its wait for a majority."""
        server = state.server
        leads = isinstance(server.role, Leader)
        if self.clock:
            late = not leads and server.elapsed + 1 >= server.timeout
            return tuple(map(str, range(self.timeout, 2 * self.timeout))) if late else ("clock",)
        if leads:
            return ("repeat", "quorum") if self.step_down else ("repeat",)
        return ("election",) if server.term < self.terms else ()

    def undisturbed(self, state: RaftNode) -> tuple[str, ...]:
        """The timers that may run out while every server hears all others."""
        return tuple(timer for timer in self.timers(state) if timer != "quorum")

    def fires(self, node: str, state: RaftNode, timer: str) -> Turn:
        """A timeout has run out."""
        server, options = state.server, self.raft
        events = {"election": core.campaign, "repeat": core.remind, "quorum": core.step_down}
        return self.after(state, events[timer](server, options))

    def rings(self, s: MachineState, node: int, timer: str) -> Turn:
        """With a clock, a tick has passed, and the next wait is drawn."""
        if not self.clock:
            return super().rings(s, node, timer)
        draw, state = 0 if timer == "clock" else int(timer), s.nodes[node]
        return self.after(state, core.tick(state.server, self.raft, self.heard(s, node), draw))

    def horizon(self, s: Any) -> Iterator[tuple[Any, str]]:
        """Elections in a term that the model does not have."""
        for i, (name, each) in enumerate(zip(self.names, s.nodes, strict=True)):
            is_last = not self.clock and each.server.term >= self.terms
            waits = self.detector and self.heard_leader(s, i)
            if is_last and not waits and not self.is_down(s, name) and not is_leader(each.server):
                yield MachineModel.tick(name, "election"), f"terms={self.terms}"

    def tick(self, s: Any, node: int, timer: str) -> Any:
        """A timer that is set may run out, where that may be and changes anything."""
        if timer == "quorum" and not self.is_deaf(s, node):
            return None
        if timer == "election" and self.detector and self.heard_leader(s, node):
            return refused(f"{self.names[node]} hears from its leader")
        return super().tick(s, node, timer)

    def why(self, action: Any) -> str:
        """Of a timer what it is for."""
        return TIMERS.get(getattr(action, "timer", "")) or super().why(action)

    def drop(self, s: Any, envelope: Envelope[Any]) -> Any:
        """A message is lost. Of a snapshot the leader is told, which probes again."""
        end, message = super().drop(s, envelope), envelope.message
        if not isinstance(message, Install | Installed) or not isinstance(end, MachineState):
            return end
        ends = envelope.source, envelope.target
        leader, other = ends if isinstance(message, Install) else ends[::-1]
        server = end.nodes[self.index[leader]].server
        if server.term != message.term:
            return end
        probing = core.snapshot_failed(server, other, self.raft).server
        return end.at(self.index[leader], server=probing)

    def is_deaf(self, s: MachineState, node: int) -> bool:
        """Whether a server hears no majority of the voters that it knows."""
        if not (s.down or s.cut or s.network.apart):
            return False
        return tally(s.nodes[node].server.configuration, self.heard(s, node)) != "won"

    def heard_leader(self, s: MachineState, node: int) -> str:
        """The leader that a server has and hears: in the documents by its heartbeats, while it
        leads; the server's failure detector tells only that it is up. Empty: nobody.
        """
        server = s.nodes[node].server
        name = server.leader
        if not name or name not in self.heard(s, node):
            return ""
        if self.edition == "server":
            return name if server.configuration.votes(name) else ""
        return name if is_leader(s.nodes[self.index[name]].server) else ""

    def gist(self, node: RaftNode) -> Any:
        """The part that properties read: all but what a leader notes of the others."""
        server = node.server
        leads = isinstance(server.role, Leader)
        return leads, server.term, server.log, server.commit, node.machine

    def is_brought(self, s: MachineState) -> bool:
        """Whether a server leads that is not to hand over, and all members know what it has."""
        commits, leaders = {n.server.id: n.server.commit for n in s.nodes}, leading(s)
        return bool(leaders) and not any(
            reign.transfer or commits[name] != server.log.last_index
            for server, reign in leaders
            for name in server.configuration.members
        )

    def is_settled(self, s: Any) -> bool:
        """Whether all is brought, too: until then leaders have to know whom they still lack."""
        return self.is_brought(s) and super().is_settled(s)

    # -- clients -----------------------------------------------------------------------------------

    def asks(self, s: MachineState) -> Iterable[str]:
        """The next request; a read says after which answered index it begins."""
        nth = len(self.requests) - (s.left.requests or 0)
        newest = max((index_in(a.outcome) for a in s.answers), default=0)
        for what in self.requests[nth : nth + 1]:
            yield f"{what} after {newest}" if what.startswith("read") else what

    def requested(self, node: str, state: RaftNode, what: str) -> Turn | Refusal:
        """A client of a server asks: without a name only whoever leads."""
        server, options = state.server, self.raft
        text, _, at = what.partition(" at ")
        word, *names = text.split()
        if at and at.split()[0] != node:
            return refused(f"the client asks {at.split()[0]}")
        if not at and server.leader != node:
            return refused(f"{node} does not lead")
        if word == "members":
            wanted = members_of(" ".join(names), self.names)
            result = core.configure(server, wanted, options, what)
        elif word == "transfer":
            result = core.transfer(server, options, " ".join(names))
        elif word == "snapshot":
            result = core.take_snapshot(server, " ".join(state.machine), options)
        elif word == "read":
            result = core.read_barrier(server, options, what)
        else:
            result = core.submit(server, word, options, what)
        return result if isinstance(result, Refusal) else self.after(state, result)

    # -- properties --------------------------------------------------------------------------------

    @always("INV-LEADER")
    def one_leader_a_term(self, s: MachineState) -> str | None:
        """A term has at most one leader."""
        for (a, _), (b, _) in combinations(leading(s), 2):
            if a.term == b.term:
                return f"{a.id} and {b.id} both lead in term {a.term}"
        return None

    @step("INV-RAFT")
    def leader_only_appends(self, before: Any, action: Any, after: Any) -> str | None:
        """A leader never changes or removes an entry in its log."""
        for was, now in zip(before.nodes, after.nodes, strict=True):
            a, b = was.server, now.server
            leads = isinstance(a.role, Leader) and isinstance(b.role, Leader)
            if leads and a.term == b.term and _lacks(b.log, a.log, a.log.last_index):
                return f"{a.id} leads, but has lost entries from its log"
        return None

    @always("INV-RAFT")
    def logs_match(self, s: MachineState) -> str | None:
        """Two logs that share an entry (index and term) agree up to it."""
        for a, b in combinations([n.server for n in s.nodes], 2):
            if not _agree(a.log, b.log):
                return f"the logs of {a.id} and {b.id} differ before an entry that both have"
        return None

    @always("INV-RAFT")
    def leader_has_all(self, s: MachineState) -> str | None:
        """A leader has every entry that was committed in an earlier term."""
        for (leader, _), other in product(leading(s), [n.server for n in s.nodes]):
            index = _lacks(leader.log, other.log, other.commit)
            if index and other.term <= leader.term:
                return f"{leader.id} leads without entry {index}, which {other.id} has committed"
        return None

    @always("INV-RAFT")
    def machines_agree(self, s: MachineState) -> str | None:
        """State machines apply the same entries in the same order."""
        longest = max(s.nodes, key=lambda n: len(n.machine))
        for n in s.nodes:
            if n.machine != longest.machine[: len(n.machine)]:
                both = " and ".join(sorted((n.server.id, longest.server.id)))
                return f"{both} have applied different entries"
        return None

    @always("INV-RAFT")
    def committed_is_kept(self, s: MachineState) -> str | None:
        """Every entry that a server considers committed is on the disks of a majority."""
        unsaved = {each.node: each.disk.log for each in s.unsaved}
        disks = tuple(unsaved.get(i, n.server.log) for i, n in enumerate(s.nodes))
        for server in (n.server for n in s.nodes):
            if server.commit and not _is_kept(server.log, server.commit, self.names, disks):
                return f"{server.id} considers index {server.commit} committed without a majority"
        return None

    @always("INV-LIN", of=lambda s: s.answers)
    def reads_see_writes(self, s: MachineState) -> str | None:
        """A read sees every write that was answered before it began."""
        for stale in filter(_is_stale, s.answers):
            wish, seen = self.wish(stale.request), index_in(stale.outcome)
            return f"the client that asked {wish} sees entries only up to index {seen}"
        return None

    @always("INV-PROGRESS", when=lambda m: m.detector)
    def nobody_waits_for_the_deaf(self, s: MachineState) -> str | None:
        """A majority does not wait for a leader that cannot hear it."""
        followed = [] if self.step_down else [self.heard_leader(s, i) for i in range(self.nodes)]
        for i, name in enumerate(self.names):
            others = sum(each == name for j, each in enumerate(followed) if j != i)
            if others >= majority(self.nodes) and self.is_deaf(s, i):
                return f"{name} does not hear from a majority, yet a majority waits for it"
        return None

    @step("INV-PROGRESS", on=(MachineModel.tick,))
    def terms_need_others(self, before: Any, action: Any, after: Any) -> str | None:
        """A server that cannot reach a majority does not begin a term."""
        i = self.names.index(action.node)
        was, now = before.nodes[i].server, after.nodes[i].server
        if now.term > was.term and self.is_deaf(before, i):
            return f"{now.id} cannot reach a majority, but begins term {now.term}"
        return None

    @declared.live("INV-PROGRESS")
    def led_again(self, s: MachineState) -> bool:
        """While a majority is up and hears one another, a leader is elected."""
        ears = tuple(frozenset(self.heard(s, i)) for i in range(self.nodes))
        up = ((n, n not in self.named(s.down)) for n in self.names)
        hear = {a: ears[i] for i, (a, is_up) in enumerate(up) if is_up}
        near = {a: frozenset(b for b in each if a in hear.get(b, ())) for a, each in hear.items()}
        for server, _ in leading(s):
            if tally(server.configuration, near.get(server.id, ())) == "won":
                return True
        known = tuple((n.server.id, n.server.configuration) for n in s.nodes)
        return not _can_elect(known, tuple(near.items()))

    @always(sign=lambda m: True)
    def majorities_meet(self, s: MachineState) -> str | None:
        """Majorities of two successive configurations in a log always overlap."""
        for server in (n.server for n in s.nodes):
            held = [e.data for e in server.log if isinstance(e.data, Configuration)]
            for first, other in pairwise((server.log.snapshot.configuration, *held)):
                if not _meet(first, other):
                    both = " and ".join(map(words.configuration_text, (first, other)))
                    return f"{both} have majorities that do not overlap"
        return None

    @sometimes()
    def leads(self, s: MachineState) -> bool:
        """A server leads."""
        return bool(leading(s))

    @sometimes(when=lambda m: bool(m.requests))
    def answered(self, s: MachineState) -> bool:
        """A client has its answer."""
        return bool(s.answers) or s.left.requests == 0

    # -- words and names ---------------------------------------------------------------------------

    wish = staticmethod(words.wish_text)
    in_short, in_verbs = staticmethod(words.message_text), staticmethod(words.verb)
    in_full = staticmethod(partial(words.message_text, fully=True))

    def suggest(self, s: Any) -> Any | None:
        """As on any network; no timer, once a leader has brought all it has to everybody."""
        step = super().suggest(s)
        return None if isinstance(step, MachineModel.tick) and self.is_brought(s) else step

    def milestone(self, before: Any, action: Any, after: Any) -> str | None:
        """Somebody leads a term, a command is committed; or what befalls a node or a link."""
        reigns = {server.term for server, _ in leading(before)}
        for server, _ in leading(after):
            if server.term not in reigns:
                return f"{server.id} leads term {server.term}"
        known = max(n.server.commit for n in before.nodes)
        for server in (n.server for n in after.nodes if n.server.commit > known):
            new = server.log.part(known + 1, server.commit - known)
            if data := next(filter(None, (each.data for each in new)), None):
                return f"{words.data_text(data)} is committed"
        reached = super().milestone(before, action, after)
        return None if reached == STILL else reached

    def readable(self, s: Any) -> dict[str, Any]:
        """Each server in a line, then the network."""
        servers = (n.server for n in s.nodes)
        lines = {x.id: words.server_text(x, is_down=self.is_down(s, x.id)) for x in servers}
        return super().readable(s) | lines


def index_in(outcome: str) -> int:
    """The index in ``committed at 2``; 0 where there is none."""
    return int(outcome.partition(" at ")[2] or 0)


def is_leader(server: Server) -> bool:
    """Whether a server takes itself for the leader."""
    return isinstance(server.role, Leader)


@lru_cache(MOST)
def _can_elect(
    known: tuple[tuple[str, Configuration], ...], near: tuple[tuple[str, frozenset[str]], ...]
) -> bool:
    configurations, hears = dict(known), dict(near)
    voters = [name for name in hears if configurations[name].votes(name)]
    groups = (some for n in range(1, len(voters) + 1) for some in combinations(voters, n))
    return any(
        all({*some} <= hears[each] for each in some)
        and all(tally(configurations[each], some) == "won" for each in some)
        for some in groups
    )


@lru_cache(MOST)
def _is_stale(answer: Answer) -> bool:
    floor = int(answer.request.partition(" after ")[2] or 0)
    return answer.outcome.startswith("read") and index_in(answer.outcome) < floor


@lru_cache(MOST)
def _agree(log: Log, other: Log) -> bool:
    rest = log.part(log.shared(other) + 1)
    pairs = [(e, held) for e in rest if (held := other.entry(e.index))]
    equal = all(a == b for a, b in pairs if a.term == b.term)
    return equal and (False, True) not in pairwise(a == b for a, b in pairs)


def leading(s: MachineState) -> list[tuple[Server, Leader]]:
    """The servers that take themselves for the leader, each with its reign."""
    return [(n.server, n.server.role) for n in s.nodes if isinstance(n.server.role, Leader)]


@lru_cache(MOST)
def _lacks(log: Log, other: Log, commit: int) -> int:
    rest = (e for e in other.part(log.shared(other) + 1) if e.index <= commit)
    return next((e.index for e in rest if not log.matches(e.index, e.term)), 0)


@lru_cache(MOST)
def _is_kept(log: Log, commit: int, names: tuple[str, ...], disks: tuple[Log, ...]) -> bool:
    if (term := log.term(commit)) is None:
        return True
    storing = [n for n, d in zip(names, disks, strict=True) if d.matches(commit, term)]
    held, then = log.configuration, log.configuration_at(commit)
    if not then.current:  # a newcomer knows from a joint configuration alone who was there before
        then = Configuration(held.previous)
    known = {held, then} - {Configuration()}
    return not known or any(tally(each, storing) == "won" for each in known)


def _meet(first: Configuration, other: Configuration) -> bool:
    every = {*first.voters, *other.voters}
    sides = ({*some} for size in range(len(every)) for some in combinations(every, size))
    return not any(tally(first, each) == "won" == tally(other, every - each) for each in sides)


def commands(server: Server) -> tuple[str, ...]:
    """The commands that a server knows to be committed, in order.

    Entries of leaders and configurations are no commands.
    """
    log = server.log
    behind = log.part(max(log.first_index, log.snapshot.index + 1))
    known = [words.entry_text(each) for each in behind if each.index <= server.commit]
    texts = (text.partition(":")[2] for text in (*words.entry_texts(log.snapshot.state), *known))
    return tuple(text for text in texts if text != "-" and "{" not in text)


def refined_by(parameters: Any) -> Refinement:
    """How Raft refines the log that takes each command in one step (``kit.model.log``).

    A command is in that log once a server knows it to be committed, and a server has applied as
    many as it knows; ``group0`` runs on it. Of the documents a crash takes the commit index, so
    that this holds there without crashes only; the server stores it.
    """
    fine = Raft(parameters)
    requests = (each.partition(" at ")[0] for each in fine.requests)
    return refined_by_logs(fine, lambda s: [commands(n.server) for n in s.nodes], requests)


ENTRY = entry(
    Raft,
    scenarios=(Scenario("election", (
"A is elected and stores x on all three. It "
"replicates a command to the others"
)),),
    refinement=refined_by,
    compared={"begins": ("1, commit 1, leads", "1", "1"), "requests": ("x", "y"), "terms": 2,
              "most_in_flight": 2},
    fuzzing=Fuzzing(
        {"nodes": 5, "members": "A B C D E", "requests": ("x", "y", "read at B"), "terms": 6,
         "crashes": 2, "drops": 4, "duplicates": 2, "holds": 2, "partitions": 1, "cuts": 2},
        {"tick": 0.05, "crash": 0.05, "drop": 0.1, "duplicate": 0.1, "hold": 0.1,
         "partition": 0.05, "cut": 0.05, "heal": 0.2},
    ),
)  # fmt: skip
