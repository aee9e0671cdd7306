"""Raft as a pure machine: a server, an event, and the server after it with all that it causes.

Nothing here knows of networks, clocks, chance or files. Whoever drives a server calls these
functions, stores what the ``Output`` says, sends its messages *afterwards*, applies what is
committed (``apply``), and gives clients their answers. A refused request is a ``Refusal``.
Sources: Raft paper, figures 2, 13; Ongaro's thesis, chapters 3, 4, 6, 9; Scylla, Raft in Scylla.
"""

from collections.abc import Callable, Collection
from inspect import get_annotations, isfunction
from typing import Any

from msgspec.structs import replace

from kit.errors import BadInput, Refusal
from kit.protocols.raft import messages as say
from kit.protocols.raft import state
from kit.protocols.raft.rules import progress as flow
from kit.protocols.raft.rules.configuration import Configuration, Member, in_order, reached, tally
from kit.protocols.raft.rules.log import Data, Entry, Log, Snapshot
from kit.protocols.raft.rules.progress import Progress
from kit.protocols.raft.state import Leader, Options, Output, Server, Stored, Waiting, Wanted

NOBODY = Refusal("this configuration has no voters")
IN_PROGRESS = Refusal("a membership change is in progress and must be committed first")
NOT_YET = Refusal("the leader has not committed an entry of its own term yet")
HANDING_OVER = Refusal("leadership is being handed over, so nothing new is accepted")


# -- what drives a server --------------------------------------------------------------------------


def first_stored(members: Collection[Member]) -> Stored:
    """The disk of a member of a new group. Raises BadInput for a server twice."""
    return Stored(log=Log(Snapshot(configuration=Configuration(in_order(members)))))


def durable(stored: Stored, options: Options) -> Stored:
    """The part that outlives a crash: the commit index only on the edition ``server``."""
    vote = stored.vote if options.safeguards.stored_vote else ""
    commit = stored.log.snapshot.index if options.hears else stored.commit
    return replace(stored, vote=vote, commit=commit)


def restart(name: str, stored: Stored, options: Options, draw: int = 0) -> Output:
    """A server begins (again) with its disk and a timeout of ``draw``; a single voter leads."""
    kept = durable(stored, options)
    turn = _Turn(Server(name, kept, timeout=draw or options.election), options)
    if turn.server.configuration.voters == (name,):
        turn.campaign(trial=False)
    return turn.done()


def receive(server: Server, source: str, message: say.Message, options: Options) -> Output:
    """A message has arrived. Raises BadInput for entries that contradict committed ones."""
    turn = _Turn(server, options)
    if turn.takes(source, message):
        _RECEIVED[type(message)](turn, source, message)
    return turn.done()


def tick(server: Server, options: Options, alive: Collection[str] = (), draw: int = 0) -> Output:
    """One tick passes; a failure detector knows who is ``alive``, ``draw`` is the next timeout."""
    turn = _Turn(server, options, draw)
    if isinstance(server.role, Leader):
        turn.lead_on(alive)
        return turn.done()
    detected = server.leader in alive and server.leader in server.configuration.voters
    turn.set(elapsed=0 if detected and not options.hears else server.elapsed + 1)
    if turn.server.elapsed >= server.timeout:
        turn.campaign(trial=options.safeguards.pre_vote)
    return turn.done()


def campaign(server: Server, options: Options) -> Output:
    """The timeout has run out: an election begins, with a pre-vote."""
    turn = _Turn(server, options)
    if not isinstance(server.role, Leader):
        turn.campaign(trial=options.safeguards.pre_vote)
    return turn.done()


def remind(server: Server, options: Options) -> Output:
    """A leader sends again what has not been answered, and tells how far all is committed."""
    turn = _Turn(server, options)
    if isinstance(server.role, Leader):
        turn.repeat(always=options.hears)
    return turn.done()


def step_down(server: Server, options: Options) -> Output:
    """A leader without a majority gives up."""
    turn = _Turn(server, options)
    if isinstance(server.role, Leader):
        turn.follow("")
    return turn.done()


def written(server: Server, options: Options) -> Output:
    """What a leader has appended is on its disk now, where that is told apart."""
    turn = _Turn(server, options)
    if isinstance(server.role, Leader):
        turn.commit_more()
    return turn.done()


def submit(
    server: Server, command: str, options: Options, request: str = "", until: Wanted = "committed"
) -> Output | Refusal:
    """A client asks for an entry: a leader appends it, another server forwards it to the leader.

    The client of ``request`` has its answer once the entry is committed or applied here.
    """
    turn = _Turn(server, options)
    if not (leader := server.leader):
        return Refusal(f"{server.id} knows no leader")
    if isinstance(server.role, Leader) and server.role.transfer:
        return HANDING_OVER
    turn.wait(Waiting(request, until))
    turn.send(leader, say.Forward(request, command))
    return turn.done()


def configure(
    server: Server, members: Collection[Member], options: Options, request: str = ""
) -> Output | Refusal:
    """The leader begins to change the members. Raises BadInput for a server that is there twice."""
    role, log, safeguards = server.role, server.log, options.safeguards
    if not isinstance(role, Leader):
        return Refusal(f"{server.id} is not the leader")
    if role.transfer:
        return HANDING_OVER
    wanted, held = in_order(members), log.configuration
    if not any(m.can_vote for m in wanted):
        return NOBODY
    if safeguards.one_change and (held.is_joint or log.configured_at > server.commit):
        return IN_PROGRESS
    if options.hears and safeguards.own_entry_first and log.term(server.commit) != server.term:
        return NOT_YET
    turn = _Turn(server, options)
    joint = safeguards.joint and (not options.hears or held.changes(wanted) > 1)
    turn.wait(Waiting(request, "committed", server.term, log.last_index + 1))
    turn.add(Configuration(wanted, held.current if joint else ()))
    return turn.done()


def transfer(
    server: Server, options: Options, target: str = "", ticks: int | None = None
) -> Output | Refusal:
    """The leader hands over, to ``target`` or a voter with all entries, within so many ticks.

    Until then it takes nothing new. To ask for the same once more changes nothing.
    """
    role, others = server.role, [v for v in server.configuration.groups[-1] if v != server.id]
    if not isinstance(role, Leader):
        return Refusal(f"{server.id} is not the leader")
    if not others or (target and target not in others):
        return Refusal(f"{target} is not a voter" if target else "there is no other voting member")
    turn = _Turn(server, options)
    if role.transfer is None or role.transfer.target != target:
        turn.hand_over(state.Transfer(target, left=ticks))
    return turn.done()


def read_barrier(server: Server, options: Options, request: str = "") -> Output | Refusal:
    """A client wants to read what is newest: the leader tells how far that is."""
    turn = _Turn(server, options)
    if not server.leader:
        return Refusal(f"{server.id} knows no leader")
    turn.wait(Waiting(request, "read"))
    turn.send(server.leader, say.ReadRequest(request))
    return turn.done()


def apply(server: Server, index: int, options: Options) -> Output:
    """All entries up to an index are applied. Raises BadInput for one not known as committed."""
    if index > server.commit:
        raise BadInput("index", index, f"an index up to {server.commit}, the last committed one")
    turn = _Turn(server, options)
    turn.set(applied=max(server.applied, index))
    return turn.done()


def take_snapshot(server: Server, state: str, options: Options) -> Output | Refusal:
    """The state machine's own ``state`` stands from now on for all entries that it has applied."""
    index, log = server.applied, server.log
    term = log.term(index)
    if index <= log.snapshot.index or term is None:
        return Refusal(f"{server.id} has applied nothing since its last snapshot")
    turn = _Turn(server, options)
    snapshot = Snapshot(index, term, log.configuration_at(index), state)
    turn.store(log=log.compacted(snapshot, options.trailing))
    return turn.done()


def give_up(server: Server, request: str, options: Options) -> Output:
    """A client waits no longer: whether its request takes effect, nobody can tell."""
    turn = _Turn(server, options)
    for each in server.waiting:
        if each.request == request:
            turn.end(each, "refused" if each.until == "read" else "unknown")
    return turn.done()


def ping(server: Server, options: Options) -> Output:
    """A server that knows no leader asks the voters who leads, by a rejection of nothing."""
    turn = _Turn(server, options)
    if not server.leader:
        for voter in server.configuration.voters:
            turn.send(voter, say.Rejected(server.term, server.commit, 0, 0))
    return turn.done()


def snapshot_failed(server: Server, follower: str, options: Options) -> Output:
    """The transport says that a snapshot did not arrive: who waits for that probes again."""
    turn = _Turn(server, options)
    if known := turn.progress(follower):
        turn.know(flow.snapshot_done(known))
    return turn.done()


# -- one event -------------------------------------------------------------------------------------


class _Turn:
    """One event under way: the server as it becomes, and what it sends and answers.

    A method with a message ``m`` receives those of its kind.
    """

    def __init__(self, server: Server, options: Options, draw: int = 0) -> None:
        self.before = self.server = server
        self.options, self.safeguards = options, options.safeguards
        self.messages: list[state.Sent] = []
        self.answers: list[state.Answer] = []
        self.draw, self.aborted = draw, False

    def done(self) -> Output:
        self.settle()
        messages, answers = tuple(self.messages), tuple(self.answers)
        return Output(self.before, self.server, messages, answers, self.aborted)

    @property
    def role(self) -> Any:
        return self.server.role

    def set(self, **fields: Any) -> None:
        self.server = replace(self.server, **fields)

    def store(self, **fields: Any) -> None:
        self.set(stored=replace(self.server.stored, **fields))

    def reign(self, **fields: Any) -> None:
        self.set(role=replace(self.role, **fields))

    def send(self, target: str, message: say.Message) -> None:
        """A message leaves; what it says to itself it receives at once."""
        if target == self.server.id:
            _RECEIVED[type(message)](self, target, message)
        else:
            self.messages.append(state.Sent(target, message))

    # -- terms and roles ---------------------------------------------------------------------------

    def takes(self, source: str, message: Any) -> bool:
        """Whether a message counts: one of an older term does not, a newer one ends a reign."""
        if not isinstance(message, say.OfTerm):
            return True
        term, of_leader = message.term, isinstance(message, _OF_LEADER)
        if isinstance(message, say.VoteRequest) and self.withholds(message):
            return False
        if term < self.server.term:
            self.correct(source, message)
            return False
        if term > self.server.term:
            trial = getattr(message, "trial", False)
            if not trial or (isinstance(message, say.VoteReply) and not message.granted):
                self.store(term=term, vote="")
                self.follow(source if of_leader else "")
        elif of_leader and isinstance(self.role, Leader):
            if isinstance(message, say.Install):
                self.send(source, say.Installed(term, False))
            return False
        elif of_leader and self.server.leader != source:
            self.follow(source)
        if of_leader:
            self.set(elapsed=0)
        elif isinstance(message, say.Accepted | say.Rejected):
            self.ask_again(source)
        return True

    def withholds(self, message: say.VoteRequest) -> bool:
        """Edition ``documents``: who has heard a leader of late does not even look."""
        if not self.options.hears or message.forced or not self.server.leader:
            return False
        return not self.options.timers or self.server.elapsed < self.options.election

    def correct(self, source: str, message: Any) -> None:
        """Who leads in an older term has to hear of the newer; who answers can be asked to vote."""
        s = self.server
        if isinstance(message, say.Append | say.ReadQuorum):
            self.send(source, say.Rejected(s.term, s.commit, 0, s.log.last_index, s.log.last_term))
        elif isinstance(message, say.Install):
            self.send(source, say.Installed(s.term, False))
        elif isinstance(message, say.VoteRequest) and message.trial:
            if not self.safeguards.old_terms:
                return
            self.send(source, say.VoteReply(s.term, False, True))
        elif isinstance(message, say.Accepted | say.Rejected):
            self.ask_again(source)

    def follow(self, leader: str) -> None:
        reads = self.role.reads if isinstance(self.role, Leader) else ()
        self.set(role=state.Follower(leader))
        if self.options.timers:
            self.set(elapsed=0, timeout=self.draw or self.server.timeout)
        for read in reads:
            self.readable(read.source, read.request, None)

    # -- elections ---------------------------------------------------------------------------------

    def campaign(self, *, trial: bool, forced: bool = False) -> None:
        """A voter asks for votes, and so does a former one until its removal is committed."""
        log, known, me = self.server.log, self.server.configuration, self.server.id
        self.follow("")
        is_new = log.configured_at > self.server.commit
        former = log.configuration_at(log.configured_at - 1) if is_new else known
        if me not in (*known.voters, *former.voters):
            return
        self.set(role=state.Candidate(trial))
        if not trial:
            self.store(term=self.server.term + 1, vote=me)
        for voter in known.voters:
            if voter != me:
                self.ask(voter, forced=forced)
        self.counted(me, granted=True)

    def ask(self, voter: str, *, forced: bool = False) -> None:
        s, log, trial = self.server, self.server.log, self.role.trial
        request = say.VoteRequest(s.term + trial, log.last_index, log.last_term, trial, forced)
        self.send(voter, request)

    def ask_again(self, voter: str) -> None:
        """A candidate hears of a voter that has not answered: its question may be lost."""
        if isinstance(self.role, state.Candidate) and self.awaits(voter):
            self.ask(voter)

    def counted(self, voter: str, *, granted: bool) -> None:
        role = self.role
        for_ = {*role.granted, voter} if granted else role.granted
        against = role.refused if granted else {*role.refused, voter}
        self.reign(granted=tuple(sorted(for_)), refused=tuple(sorted(against)))
        result = tally(self.server.configuration, for_, against)
        if result == "won":
            self.campaign(trial=False) if role.trial else self.lead()
        elif result == "lost":
            self.follow("")

    def vote_asked(self, source: str, m: say.VoteRequest) -> None:
        """Its one vote of the term goes to the first that asks and whose log is no older."""
        vote = self.server.stored.vote
        free = (not vote and not self.server.leader) or m.term > self.server.term  # a trial's
        newest = self.server.log.admits(m.last, m.last_term) or not self.safeguards.newest_log
        granted = newest and (vote == source or free)
        if m.trial and not self.safeguards.own_leader and self.server.leader:
            granted = False
        if granted and not m.trial:
            self.store(vote=source)
            self.set(elapsed=0)
        self.send(source, say.VoteReply(m.term if granted else self.server.term, granted, m.trial))

    def voted(self, source: str, m: say.VoteReply) -> None:
        """A vote for it, or against it; a second answer of one voter says nothing."""
        asks = isinstance(self.role, state.Candidate) and self.role.trial == m.trial
        if asks and self.awaits(source):
            self.counted(source, granted=m.granted)

    def awaits(self, voter: str) -> bool:
        return voter not in (*self.role.granted, *self.role.refused)

    def told_to_lead(self, source: str, m: say.TimeoutNow) -> None:
        """The leader hands over: no pre-vote, and nobody withholds a vote."""
        if isinstance(self.role, state.Follower):
            self.campaign(trial=False, forced=True)

    # -- a reign -----------------------------------------------------------------------------------

    def lead(self) -> None:
        """It leads. Its first entry holds nothing, and commits all that is before it."""
        self.set(role=Leader(), elapsed=0)
        self.add(None)

    def add(self, data: Data) -> None:
        """An entry goes into its log, where a configuration holds at once, and to all members."""
        log, index = self.server.log, self.server.log.last_index + 1
        self.store(log=log.appended(Entry(self.server.term, index, data)))
        others = (name for name in self.server.configuration.members if name != self.server.id)
        self.reign(progress=tuple(self.progress(n) or Progress(n, index) for n in others))
        for each in self.role.progress:
            self.send_to(each.id)
        self.commit_more()

    def progress(self, name: str) -> Progress | None:
        held = self.role.progress if isinstance(self.role, Leader) else ()
        for each in held:
            if each.id == name:
                return each
        return None

    def know(self, changed: Progress) -> None:
        every = (changed if p.id == changed.id else p for p in self.role.progress)
        self.reign(progress=tuple(every))

    def send_to(self, name: str, *, empty: bool = False) -> None:
        """A member is sent what it lacks, as far as its flow lets it; once even nothing."""
        log, options = self.server.log, self.options
        while (p := self.progress(name)) and flow.may_send(p, options.in_flight):
            if p.next > log.last_index and not empty:
                return
            before = log.term(p.next - 1)
            if before is None:
                self.know(flow.sending_snapshot(p, log.snapshot.index))
                self.send(name, say.Install(self.server.term, log.snapshot))
                return
            entries = log.part(p.next, 1 if p.mode == "probe" else options.batch)
            commit = self.server.commit
            self.send(name, say.Append(self.server.term, p.next - 1, before, commit, entries))
            self.know(flow.sent(p, len(entries)))
            empty = False

    def commit_more(self) -> None:
        """What a majority of the voters stores is committed, if it is of this term (figure 8)."""
        matched = {each.id: each.match for each in self.role.progress}
        unsaved = self.options.writes_apart and self.safeguards.own_disk
        mine = self.before.log if unsaved else self.server.log  # the one it had is on its disk
        matched[self.server.id] = mine.last_index
        was, known = self.server.commit, self.server.configuration
        index = reached(known, matched, was, by_majority=self.safeguards.majority)
        if index == was:
            return
        if self.safeguards.own_term and self.server.log.term(index) != self.server.term:
            return
        self.store(commit=index)
        configured_at = self.server.log.configured_at
        if known.is_joint and configured_at <= index:  # or was: before this leader came to power
            self.add(Configuration(known.current))
        elif was < configured_at <= index and not known.votes(self.server.id):
            self.hand_over(state.Transfer())

    def lead_on(self, alive: Collection[str]) -> None:
        """A tick of a leader: who is there, heartbeats, what was not answered, a transfer's end."""
        role, options = self.role, self.options
        present = role.heard if options.hears else alive
        met = tally(self.server.configuration, {*present, self.server.id}) == "won"
        elapsed = 0 if met and not options.hears else self.server.elapsed + 1
        self.set(elapsed=elapsed)
        if elapsed >= options.election:
            if not met and self.safeguards.step_down:
                return self.follow("")
            self.set(elapsed=0)
            self.reign(heard=())
        if role.transfer and role.transfer.left is not None:
            left = role.transfer.left - 1
            self.aborted = left <= 0
            self.reign(transfer=replace(role.transfer, left=left) if left > 0 else None)
        beat = options.hears and role.ticks + 1 >= options.heartbeat
        self.reign(ticks=0 if beat else (role.ticks + 1) * options.hears)
        return self.repeat(always=beat)

    def repeat(self, *, always: bool) -> None:
        """What was not answered is sent again: to probe, to tell the commit index, to read."""
        s, held = self.server, self.server.log.snapshot
        for each in self.role.progress:
            self.know(flow.ticked(each, self.options.in_flight))
            if each.mode == "snapshot" and always:  # it has to hear that its leader lives
                self.send(each.id, say.Append(s.term, held.index, held.term, s.commit))
            elif each.match < s.log.last_index or each.commit < s.commit or always:
                self.send_to(each.id, empty=True)
        if self.role.reads:
            self.ask_majority()
        if (handing := self.role.transfer) and handing.heir:
            self.send(handing.heir, say.TimeoutNow(self.server.term))

    def hand_over(self, handing: state.Transfer) -> None:
        self.reign(transfer=handing)
        if heir := next(filter(self.is_heir, self.role.progress), None):
            self.tell_to_lead(heir.id)
        elif handing.target:
            self.send_to(handing.target, empty=True)

    def is_heir(self, p: Progress) -> bool:
        handing = self.role.transfer
        if handing is None or handing.heir or handing.target not in ("", p.id):
            return False
        return p.match == self.server.log.last_index and self.server.configuration.votes(p.id)

    def tell_to_lead(self, name: str) -> None:
        self.send(name, say.TimeoutNow(self.server.term))
        self.reign(transfer=replace(self.role.transfer, heir=name))
        if self.server.id not in self.server.configuration.members:
            self.follow("")

    # -- entries -----------------------------------------------------------------------------------

    def append_asked(self, source: str, m: say.Append) -> None:
        s, log = self.server, self.server.log
        if not log.matches(m.before, m.before_term):
            newest = log.newest(m.before, m.before_term)
            return self.send(source, say.Rejected(s.term, s.commit, m.before, *newest))
        last = m.entries[-1].index if m.entries else m.before
        sure = [e for e in m.entries if e.index <= s.commit]
        agree = all(log.term(e.index) in (None, e.term) for e in sure)
        if self.safeguards == state.RaftSafeguards() and not agree:
            allowed = f"entries that agree with the committed ones up to index {s.commit}"
            raise BadInput("entries", sure, allowed)
        self.store(log=log.merged(m.entries))
        self.store(commit=max(s.commit, min(m.commit, last)))
        return self.send(source, say.Accepted(self.server.term, self.server.commit, last))

    def heard_of(self, source: str, commit: int) -> Progress | None:
        """The progress of a member that has answered a leader; None: it does not lead that one."""
        if known := self.progress(source):
            if self.options.hears and self.options.timers:
                self.reign(heard=tuple(sorted({*self.role.heard, source})))
            self.know(known := replace(known, commit=max(known.commit, commit)))
        return known

    def accepted(self, source: str, m: say.Accepted) -> None:
        if known := self.heard_of(source, m.commit):
            self.know(now := flow.accepted(known, m.last))
            if self.is_heir(now):
                self.tell_to_lead(source)
            if isinstance(self.role, Leader):
                self.commit_more()
                self.send_to(source)

    def rejected(self, source: str, m: say.Rejected) -> None:
        """Logs differ: probe further down. A rejection of nothing asks who leads."""
        known = self.heard_of(source, m.commit)
        if m.mismatch == m.last == 0:
            self.send_to(source, empty=True)
        elif known and not flow.is_stray(known, m.mismatch, m.last):
            agreed, _ = self.server.log.newest(m.last, m.last_term)
            self.know(flow.rejected(known, m.mismatch, agreed))
            self.send_to(source)

    # -- snapshots ---------------------------------------------------------------------------------

    def install(self, source: str, m: say.Install) -> None:
        taken = m.snapshot.index > self.server.commit
        if taken:
            self.store(log=self.server.log.compacted(m.snapshot), commit=m.snapshot.index)
        self.send(source, say.Installed(self.server.term, taken))

    def installed(self, source: str, m: say.Installed) -> None:
        """The snapshot has arrived: probe what comes behind it. Refused: that waits for a tick."""
        known = self.heard_of(source, 0)
        if known and known.mode == "snapshot":
            self.know(flow.snapshot_done(known))
            if m.success:
                self.send_to(source)

    # -- reads -------------------------------------------------------------------------------------

    def read_asked(self, source: str, m: say.ReadRequest) -> None:
        """A member wants to read: the leader notes its commit index, and asks whether it leads."""
        role, commit = self.role, self.server.commit
        leads = isinstance(role, Leader)
        member = source in (self.server.id, *self.server.configuration.members)
        if not leads or not member or self.server.log.term(commit) != self.server.term:
            return self.readable(source, m.request, None)
        if not self.safeguards.read_quorum:
            return self.readable(source, m.request, commit)
        read = state.Read(role.barrier + 1, commit, source, m.request)
        self.reign(barrier=read.number, reads=(*role.reads, read))
        self.ask_majority()
        return self.resolve_reads()

    def ask_majority(self) -> None:
        s, number = self.server, self.role.barrier
        for each in self.role.progress:
            if each.id in s.configuration.voters:
                self.send(each.id, say.ReadQuorum(s.term, min(each.match, s.commit), number))

    def follows(self, source: str, m: say.ReadQuorum) -> None:
        self.store(commit=max(self.server.commit, m.commit))
        self.send(source, say.ReadQuorumReply(self.server.term, self.server.commit, m.number))

    def followed(self, source: str, m: say.ReadQuorumReply) -> None:
        if known := self.heard_of(source, m.commit):
            self.know(replace(known, read=max(known.read, m.number)))
            self.resolve_reads()

    def resolve_reads(self) -> None:
        """Reads with a majority behind them are answered; those of one number with all earlier."""
        role = self.role
        answered = {each.id: each.read for each in role.progress} | {self.server.id: role.barrier}
        number = reached(self.server.configuration, answered)
        ready = tuple(read for read in role.reads if read.number <= number)
        self.reign(reads=role.reads[len(ready) :])
        for read in ready:
            self.readable(read.source, read.request, read.index)

    def readable(self, target: str, request: str, index: int | None) -> None:
        self.send(target, say.ReadReply(request, index, self.server.leader))

    def read_told(self, source: str, m: say.ReadReply) -> None:
        for each in self.asking(m.request):
            if m.index is None:
                self.end(each, "refused", leader=m.leader)
            else:
                self.instead(each, replace(each, index=m.index))

    # -- clients -----------------------------------------------------------------------------------

    def forwarded(self, source: str, m: say.Forward) -> None:
        s, takes = self.server, isinstance(self.role, Leader) and not self.role.transfer
        index = s.log.last_index + 1 if takes else 0
        self.send(source, say.ForwardReply(m.request, s.term, index, s.leader))
        if takes:
            self.add(m.command)

    def taken(self, source: str, m: say.ForwardReply) -> None:
        """The leader says where the entry is: from now on its own log tells what becomes of it."""
        for each in self.asking(m.request):
            if m.index == 0:
                self.end(each, "refused", leader=m.leader)
            else:
                self.instead(each, None)
                self.wait(replace(each, term=m.term, index=m.index))

    def asking(self, request: str) -> tuple[Waiting, ...]:
        return tuple(w for w in self.server.waiting if w.request == request and not w.index)

    def wait(self, new: Waiting) -> None:
        """A client waits; another one for the same index, of an older term, is told what it may."""
        if not new.request:
            return
        newest = self.server.log.term(self.server.commit) or 0
        for each in self.server.waiting:
            if each.index == new.index and each.term < new.term:
                self.end(each, "dropped" if newest > each.term else "unknown")
        self.set(waiting=(*self.server.waiting, new))

    def instead(self, each: Waiting, new: Waiting | None) -> None:
        waiting = (new if w == each else w for w in self.server.waiting)
        self.set(waiting=tuple(w for w in waiting if w))

    def end(self, each: Waiting, outcome: state.Outcome, leader: str = "") -> None:
        self.instead(each, None)
        self.answers.append(state.Answer(each.request, outcome, each.index, leader))

    def settle(self) -> None:
        for each in self.server.waiting:
            if outcome := self.outcome(each):
                self.end(each, outcome)

    def outcome(self, each: Waiting) -> state.Outcome | None:
        """What the local log says to a client, as far as it can; a member no more says nothing."""
        s, log, term = self.server, self.server.log, self.server.log.term(each.index)
        if each.until != "read":
            if log.configured_at <= s.commit and s.id not in s.configuration.members:
                return "unknown"
            if each.index and s.commit >= each.index and term != each.term:
                if term is not None:
                    return "dropped"
                if log.snapshot.term != each.term:
                    return "unknown"
        done = s.commit if each.until == "committed" else s.applied
        return each.until if each.index and done >= each.index else None


_OF_LEADER = (say.Append, say.Install, say.ReadQuorum)
_METHODS = filter(isfunction, vars(_Turn).values())
_RECEIVED: dict[Any, Callable[[_Turn, str, Any], None]] = {
    get_annotations(each, eval_str=True).get("m"): each for each in _METHODS
}
