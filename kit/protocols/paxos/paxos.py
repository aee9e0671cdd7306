"""Paxos message by message, for a log whose next epoch is taken by compare-and-set.

A member that has a value opens a ballot for the epoch above its own, promises it itself, and asks
the others for their promises. With those of a majority it asks them to accept: the newest value
that they named, or its own. What a majority has accepted is chosen, and the member tells all. Who
is asked about an epoch that is taken says by what; the loser tries the next epoch. An acceptor
writes its disk before it answers. A timer may end a round at any time, so a member may open its
next ballot whenever it likes.

Members may change once: from then on a round needs a majority of the former and of the new ones,
until a repair has brought what was accepted to the new ones. Which members there are is an epoch of
its own in a real cluster; here all hear of it at once, and rounds begin again.
Sources: Paxos Made Simple, 2.2 to 2.5; CEP-21, "Event Submission Protocol"; published code,
``PaxosBackedProcessor``, ``PaxosRepair``.
"""

from functools import partial, partialmethod
from string import ascii_uppercase
from typing import Any

from msgspec.structs import asdict, astuple

from kit.errors import BadInput
from kit.masks import where
from kit.model import declared
from kit.model.actors import Post, Turn, receives
from kit.model.declared import Node, action, always, budget, parameter, purpose, refused
from kit.model.log import refined_by_logs
from kit.model.machines import MachineModel, MachineState, Next
from kit.model.model import Refinement
from kit.model.network import DeliverMessage, Envelope
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.paxos import messages as say
from kit.protocols.paxos import rules
from kit.protocols.paxos.messages import NO_ROUND, PaxosNode, Round, Value

MOST_NODES, MOST = 7, 5
RACE = {"members": 2, "ballots": 1}
"""Two members, which are both proposers, one epoch, a ballot each."""
changing = partial(action, when=lambda m: bool(m.becomes))
BARE = {"ballots": 1, "spreads": False, "refusals": False, "tidy": True}
"""A ballot each, and no message more than a round needs."""


class Paxos(MachineModel):
    """Members of a service that propose values for the epochs of one log."""

    name, title = "paxos", "Paxos: one value per epoch, message by message"
    premise = (
        "Members want their values in one log, one per epoch. They talk through messages, which "
        "can take any time, and any member can crash."
    )
    about = "The members, what they propose, and what can go wrong."
    first = ("persist", "deliver", "end_change", "ballot")

    members: int = parameter(
        3, "how many members there are, all of them acceptors: A, B, C, …", ge=1, le=5
    )
    values: tuple[str, ...] = parameter(
        ("x at A", "y at B"),
        "each value for the log, and the member that proposes it: x at A",
        written=True,
    )
    epochs: int = parameter(1, "how many epochs of the log can be filled", ge=1, le=99, counts=True)
    ballots: int = parameter(
        2, "how many ballots a member can open for one epoch", ge=1, le=4, counts=True
    )
    given_names: tuple[str, ...] = parameter(
        (), "names of the members; empty: A, B, C, …", title="names", written=True
    )
    becomes: tuple[str, ...] = parameter(
        (),
        "the members after a change: B C D (empty: they never change)",
        title="new members",
        written=True,
    )
    spreads: bool = parameter(
        True, "whether nodes hear which value was chosen (off: all those messages are lost)"
    )
    refusals: bool = parameter(
        True, "whether an acceptor that refuses says so (off: it stays silent)"
    )
    tidy: bool = parameter(False, "whether messages that can no longer change anything are removed")
    slow_disks: bool = parameter(
        False, "whether writing to disk is a separate step, during which a node can crash"
    )
    fifo: bool = parameter(False, "whether messages on a link arrive in the order they were sent")
    crashes: int = budget(0, "how many times a node crashes", le=MOST, own=False)
    losses: int = budget(0, "how many times a message is lost", le=MOST, own=False)
    copies: int = budget(0, "how many times a message arrives twice", le=MOST, own=False)
    holds: int = budget(0, "how many times a message is held back", le=MOST, own=False)
    partitions: int = budget(0, "how many times the network is partitioned", le=MOST, own=False)
    cuts: int = budget(0, "how many times a single link is cut", le=MOST, own=False)

    # fmt: off
    majority: bool = declared.safeguard(
        "S-12", "A value is chosen once a majority has accepted it", ("INV-LOG",), smallest=RACE)
    promises_bind: bool = declared.safeguard(
        "S-64", "An acceptor that has promised a ballot refuses lower ones", ("INV-LOG",),
        smallest=RACE)
    accepted_first: bool = declared.safeguard(
        "S-65", "A proposer first finishes a value that an acceptor has accepted",
        ("INV-LOG",), smallest=RACE)
    own_ballots: bool = declared.safeguard(
        "S-84", "No two proposers share a ballot", ("INV-LOG",), smallest=RACE)
    persist_first: bool = declared.safeguard(
        "S-85", "An acceptor writes to its disk before it answers", ("INV-LOG",),
        smallest=BARE | {"slow_disks": True, "crashes": 1})
    repair_first: bool = declared.safeguard(
        "S-70", "Before new members decide alone, accepted values reach a majority of them",
        ("INV-LOG",), smallest=BARE | {"members": 1, "becomes": ("B",)})
    # fmt: on

    def set_up(self) -> None:
        """The nodes, who is a member when, and who proposes what.

        Raises BadInput for a value without a member, one that is there twice, names that are too
        few, or new members that are too many.
        """
        former = self.given_names or tuple(ascii_uppercase[: self.members])
        if len({*former}) != self.members:
            raise BadInput("given_names", self.given_names, f"{self.members} different names")
        names = tuple(dict.fromkeys((*former, *self.becomes)))
        if len(names) > MOST_NODES or len({*self.becomes}) < len(self.becomes):
            raise BadInput("becomes", self.becomes, f"different names, at most {MOST_NODES} nodes")
        self.proposed: dict[str, str] = {}
        for text in self.values:
            value, _, name = text.rpartition(" at ")
            if not value or name not in names or value in self.proposed:
                allowed = f"different values, each with one of {', '.join(names)}: x at A"
                raise BadInput("values", text, allowed)
            self.proposed[value] = name
        faults = {"drops": self.losses, "duplicates": self.copies}
        self.connect(names, self.befallen(**faults, writes_apart=self.slow_disks))
        self.leaders = len(names) if self.own_ballots else 1
        old, new = self.mask(former), self.mask(self.becomes)
        self.electorates = ((old,), (old, new), (new,))

    # -- what rules ask ----------------------------------------------------------------------------

    def voters(self, phase: int) -> int:
        """Everybody whom a round asks, as a mask."""
        return self.electorates[phase][0] | self.electorates[phase][-1]

    def enough(self, phase: int, having: int) -> bool:
        """Whether that many members are a majority; without the safeguard one is enough."""
        anybody = bool(having & self.voters(phase))
        return rules.is_quorum(having, self.electorates[phase]) if self.majority else anybody

    def to_others(self, place: int, phase: int, message: Any) -> tuple[Post, ...]:
        """A message to all other members."""
        return tuple(Post(to, message) for to in self.named(self.voters(phase) & ~(1 << place)))

    def wanted(self, place: int, node: PaxosNode) -> Value | None:
        """What a member has to propose next: its first value not in the log, if there is room."""
        may = len(node.log) < self.epochs and self.voters(node.phase) >> place & 1
        own = (value for value, name in self.proposed.items() if may and name == self.names[place])
        return next((value for value in own if value not in node.log), None)

    def next_epoch(self, node: PaxosNode, repairs: bool) -> int:
        """The epoch that a node opens a ballot for; a repair begins with the first one."""
        repaired = node.round.epoch if node.round.repairs else 1
        return repaired if repairs else len(node.log) + 1

    def ballot_after(self, place: int, node: PaxosNode, epoch: int) -> int:
        """The lowest ballot of a node for an epoch above all that it has promised or heard of."""
        mine = node.round
        heard = (mine.ballot, mine.higher) if mine.epoch == epoch else ()
        return rules.next_ballot(max((node.slot(epoch).promised, *heard)), place, self.leaders)

    def ballot_name(self, ballot: int) -> str:
        """``2A``: the round of a ballot, and who leads it."""
        round_, place = divmod(ballot - 1, self.leaders)
        return f"{round_ + 1}{self.names[place] if self.own_ballots else ''}"

    # -- a node, its disk and its messages ---------------------------------------------------------

    def begin(self, node: str) -> Turn:
        """Nothing is in the log, nothing promised."""
        return PaxosNode(), ()

    def disk(self, state: PaxosNode) -> PaxosNode:
        """All but its round."""
        return state if state.round is NO_ROUND else state.but(round=NO_ROUND)

    def opened(self, place: int, node: PaxosNode, epoch: int, repairs: bool = False) -> Turn:
        """A node opens its next ballot for an epoch.

        What is decided is stored in a ballot above all others, which nobody need promise.
        """
        if (decided := node.known(epoch)) is not None:
            above = rules.next_ballot((self.ballots + 1) * self.leaders, place, self.leaders)
            return self.proposing(place, node, Round(epoch, above, repairs=repairs), decided)
        ballot, slot = self.ballot_after(place, node, epoch), node.slot(epoch)
        mine = Round(epoch, ballot, 1 << place, slot.accepted, repairs=repairs)
        node = node.keeping(rules.promise(slot, ballot)).but(round=mine)
        state, posts = self.promised(place, node)
        return state, (*self.to_others(place, node.phase, say.Prepare(epoch, ballot)), *posts)

    def promised(self, place: int, node: PaxosNode) -> Turn:
        """With a majority of promises a proposer proposes: what they named, or its own value."""
        mine = node.round
        if not self.enough(node.phase, mine.promises):
            return node, ()
        if mine.repairs:
            value = rules.to_repair(node.log, mine.epoch, mine.newest)
        else:
            newest = mine.newest if self.accepted_first else None
            value = rules.to_propose(newest, self.wanted(place, node))
        if value is None:
            return node.but(round=mine.but(done=True)), ()
        return self.proposing(place, node, mine, value)

    def proposing(self, place: int, node: PaxosNode, mine: Round, value: Value) -> Turn:
        """A proposer accepts its value itself, if it may, and asks the others to."""
        node, slot = node.but(round=mine.but(entry=value)), node.slot(mine.epoch)
        decided = node.known(mine.epoch) is not None
        binds = self.promises_bind and rules.refuses(slot, mine.ballot)
        if not binds:  # what is decided never does
            node = node if decided else node.keeping(rules.accept(slot, mine.ballot, value))
            node = node.but(round=node.round.but(accepts=1 << place))
        state, posts = self.accepted(place, node)
        asks = say.Accept(mine.epoch, mine.ballot, value)
        return state, (*self.to_others(place, node.phase, asks), *posts)

    def accepted(self, place: int, node: PaxosNode) -> Turn:
        """What a majority has accepted is chosen; a repair goes on with the next epoch."""
        mine = node.round
        if mine.entry is None or not self.enough(node.phase, mine.accepts):
            return node, ()
        news = self.to_others(place, node.phase, say.Chosen(mine.epoch, mine.entry)) * self.spreads
        node = node.learning(mine.epoch, mine.entry)
        if not mine.repairs:
            return node, news
        state, posts = self.opened(place, node, mine.epoch + 1, repairs=True)
        return state, (*news, *posts)

    def declined(self, node: PaxosNode, request: Any, source: str) -> Turn | None:
        """The answer of an acceptor instead: the value of a taken epoch, or its higher promise."""
        slot, decided = node.slot(request.epoch), node.known(request.epoch)
        if decided is not None:
            return node, (Post(source, say.Chosen(request.epoch, decided)),)
        if not (self.promises_bind and rules.refuses(slot, request.ballot)):
            return None
        refusal = Post(source, say.RefusedReply(request.epoch, request.ballot, slot.promised))
        return node, (refusal,) if self.refusals else ()

    @receives(say.Prepare)
    def hears_prepare(self, state: PaxosNode, envelope: Envelope[say.Prepare]) -> Turn:
        """An acceptor promises a ballot, and names what it has accepted."""
        request, slot = envelope.message, state.slot(envelope.message.epoch)
        answer = Post(envelope.source, say.Promise(request.epoch, request.ballot, slot.accepted))
        promised = state.keeping(rules.promise(slot, request.ballot)), (answer,)
        return self.declined(state, request, envelope.source) or promised

    @receives(say.Promise)
    def hears_promise(self, state: PaxosNode, envelope: Envelope[say.Promise]) -> Turn:
        """A proposer has one promise more; those of its earlier ballots do not count."""
        mine, said = state.round, envelope.message
        if not mine.is_of(said) or mine.entry is not None:
            return state, ()
        place, source = self.index[envelope.target], self.index[envelope.source]
        newest = rules.newer(mine.newest, said.accepted)
        mine = mine.but(promises=mine.promises | 1 << source, newest=newest)
        return self.promised(place, state.but(round=mine))

    @receives(say.Accept)
    def hears_accept(self, state: PaxosNode, envelope: Envelope[say.Accept]) -> Turn:
        """An acceptor accepts a value, if it has not promised a higher ballot."""
        request, slot = envelope.message, state.slot(envelope.message.epoch)
        answer = (Post(envelope.source, say.AcceptedReply(request.epoch, request.ballot)),)
        if state.known(request.epoch) == request.entry:
            return state, answer
        accepted = state.keeping(rules.accept(slot, request.ballot, request.entry)), answer
        return self.declined(state, request, envelope.source) or accepted

    @receives(say.AcceptedReply)
    def hears_accepted(self, state: PaxosNode, envelope: Envelope[say.AcceptedReply]) -> Turn:
        """A proposer knows of one acceptor more."""
        mine, said = state.round, envelope.message
        if not mine.is_of(said) or mine.entry is None:
            return state, ()
        place, source = self.index[envelope.target], self.index[envelope.source]
        return self.accepted(place, state.but(round=mine.but(accepts=mine.accepts | 1 << source)))

    @receives(say.RefusedReply)
    def hears_refusal(self, state: PaxosNode, envelope: Envelope[say.RefusedReply]) -> Turn:
        """A proposer hears of a higher ballot, above which its next one has to be."""
        mine, said = state.round, envelope.message
        if not mine.is_of(said):
            return state, ()
        return state.but(round=mine.but(higher=max(mine.higher, said.promised))), ()

    @receives(say.Chosen)
    def hears_chosen(self, state: PaxosNode, envelope: Envelope[say.Chosen]) -> Turn:
        """A node learns what an epoch is; whoever repairs brings it to the others."""
        epoch, value = astuple(envelope.message)
        mine, place = state.round, self.index[envelope.target]
        state = state.learning(epoch, value)
        if mine.repairs and mine.epoch == epoch and mine.entry is None:
            return self.proposing(place, state, mine, value)
        return state, ()

    # -- what a member does on its own accord ------------------------------------------------------

    def proposers(self, s: MachineState) -> list[int]:
        """Members that are up and have a value to propose, in the order of the values."""
        up = ((place, node) for place, node in enumerate(s.nodes) if not s.down >> place & 1)
        wanting = {self.wanted(place, node): place for place, node in up}
        return [wanting[value] for value in self.proposed if value in wanting]

    def _open(self, s: MachineState, place: int, repairs: bool) -> Next:
        if why := self._busy(s, place):
            return why
        node, most = s.nodes[place], (self.ballots + repairs) * self.leaders
        epoch = self.next_epoch(node, repairs)
        if self.ballot_after(place, node, epoch) > most:
            return refused("the run's budget of ballots is used up")
        opened: Next = self.turned(s, place, self.opened(place, node, epoch, repairs))
        return opened

    @action(each=proposers, says="{node} opens ballot {ballot} for epoch {epoch}.{moves}")
    @purpose("A majority of promises shuts out every lower ballot.")
    def ballot(self, s: MachineState, node: Node) -> Next:
        """A member opens its next ballot for the epoch above its log."""
        return self._open(s, node, repairs=False)

    # -- a change of the members -------------------------------------------------------------------

    def _turned_to(self, s: MachineState, phase: int) -> Next:
        nodes = tuple(each.but(phase=phase, round=NO_ROUND) for each in s.nodes)
        return refused("a node has to write to its disk first") if s.unsaved else s.but(nodes=nodes)

    @changing(
        each=lambda m, s: [()] * (s.nodes[0].phase == 0),
        says="{former} become {new}: for now, a round needs a majority of both groups.",
    )
    @purpose("While members change, each majority must overlap the majorities before and after.")
    def begin_change(self, s: MachineState) -> Next:
        """A change of the members begins."""
        return self._turned_to(s, 1)

    @changing(
        each=lambda m, s: m.voters(1) & ~s.down if s.nodes[0].phase == 1 else 0,
        says="{node} starts a repair at epoch {epoch}.",
    )
    @purpose("Every majority of the new members must know what may have been chosen.")
    def repair(self, s: MachineState, node: Node) -> Next:
        """A member brings what was accepted to the new ones, epoch by epoch."""
        if any(each.round.repairs and not each.round.higher for each in s.nodes):
            return refused("a repair is in progress")
        return self._open(s, node, repairs=True)

    @changing(
        each=lambda m, s: [()] * (s.nodes[0].phase == 1),
        says="From now on, {new} are the only members and decide alone.",
    )
    @purpose("A member that has left is no longer asked, so anything only it knew is lost.")
    def end_change(self, s: MachineState) -> Next:
        """The new members decide alone."""
        if self.repair_first and not any(node.round.done for node in s.nodes):
            return refused(
                "a repair has to finish first: the new members might not know what was accepted"
            )
        return self._turned_to(s, 2)

    # -- what must hold ----------------------------------------------------------------------------

    def newest_epoch(self, s: Any) -> int:
        """The last epoch whose value a node knows to be chosen."""
        return len(self.history(s))

    def history(self, s: MachineState) -> tuple[Value, ...]:
        """The log as far as anybody knows it."""
        return max((node.log for node in s.nodes), key=len)

    @always("INV-LOG")
    def one_log(self, s: MachineState) -> str | None:
        """All nodes that know the value of an epoch agree on it."""
        for epoch, _ in enumerate(self.history(s), 1):
            nodes = zip(self.names, s.nodes, strict=True)
            known = {node.known(epoch): name for name, node in nodes}
            said = [f"{value} on {name}" for value, name in known.items() if value]
            if len(said) > 1:
                return f"epoch {epoch} is {' and '.join(said)}"
        return None

    @always()
    def proposed_only(self, s: MachineState) -> str | None:
        """The log holds only values that were proposed, each of them once."""
        log = self.history(s)
        odd = next((v for v in log if v not in self.proposed or log.count(v) > 1), None)
        return f"{odd} is in the log twice, or was never proposed" if odd else None

    @always("INV-LOG", sign=lambda m: bool(m.off) and m.persist_first)
    def stored(self, s: MachineState) -> str | None:
        """Every value in a log is on the disks of a majority of the members."""
        disks = [self.on_disk(s, place) for place in range(len(self.names))]
        longest: tuple[Value, ...] = max((disk.log for disk in disks), key=len)
        for at, value in enumerate(longest):
            having = where(disk.holds(at + 1, value) for disk in disks)
            if not rules.is_quorum(having, self.electorates[s.nodes[0].phase][:1]):
                return f"epoch {at + 1} is {value}, but no majority has it on disk"
        return None

    @declared.sometimes()
    def decided(self, s: MachineState) -> bool:
        """An epoch has a value."""
        return bool(self.history(s))

    # -- a smaller search --------------------------------------------------------------------------

    def is_idle(self, state: PaxosNode, envelope: Envelope[Any]) -> bool:
        """True for what is known already, refused in silence, or of a round that is over."""
        said, mine = envelope.message, state.round
        if isinstance(said, say.Chosen):
            return state.known(said.epoch) is not None
        if isinstance(said, say.Prepare | say.Accept):
            is_silent = state.known(said.epoch) is None and not self.refusals
            is_refused = self.promises_bind and rules.refuses(state.slot(said.epoch), said.ballot)
            return is_silent and is_refused
        is_over = isinstance(said, say.Promise) and mine.entry is not None
        return is_over or not mine.is_of(said)

    # -- words -------------------------------------------------------------------------------------

    def _in_words(self, way: int, message: Any) -> str:
        fields = asdict(message)
        numbers = ((key, fields[key]) for key in ("ballot", "promised") if key in fields)
        ballots = {key: self.ballot_name(number) for key, number in numbers}
        mark, many = fields.get("accepted"), self.epochs > 1 or bool(self.becomes)
        had = f"{mark.entry} {self.ballot_name(mark.ballot)}" if mark else ""
        more = {"of": f" for epoch {message.epoch}" * many, "mark": f" {had}" * bool(had)}
        more |= {"has": f" ({had})" * bool(had), "names": f" (accepted: {had})" * bool(had)}
        return SAID[type(message)][way].format_map(fields | ballots | more)

    in_short, in_full, in_verbs = map(partial(partialmethod, _in_words), range(3))

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """The members, the ballot that is opened, and the effect of a message."""
        said = dict(super().words(before, action, after))
        for name, mask in zip(("former", "new"), self.electorates[1], strict=True):
            said[name] = ", ".join(self.named(mask))
        if isinstance(action, (Paxos.ballot, Paxos.repair)):
            place = self.number(action.node)
            epoch = self.next_epoch(before.nodes[place], isinstance(action, Paxos.repair))
            ballot = self.ballot_after(place, before.nodes[place], epoch)
            moves = self._brought_about(before, action.node, after)
            said |= {"ballot": self.ballot_name(ballot), "epoch": epoch, "moves": moves}
        if isinstance(action, DeliverMessage):
            said["received"] += self._brought_about(before, action.envelope.target, after)
        return said

    def _brought_about(self, before: MachineState, name: str, after: MachineState) -> str:
        was, now = (s.nodes[self.number(name)] for s in (before, after))
        if len(now.log) > len(was.log):
            return f" {name} now knows that epoch {len(now.log)} is {now.log[-1]}."
        if now.round.entry is None or was.round.entry is not None:
            return ""
        value, newest = now.round.entry, now.round.newest
        earlier = newest is not None and newest.entry == value
        why = "a value accepted earlier" if earlier else "its own value"
        return f" {name} has a majority of promises, so it proposes {value}, {why}."

    def milestone(self, before: Any, action: Any, after: Any) -> str | None:
        """An epoch is taken; or what any network of machines has."""
        taken = len(self.history(after))
        if taken > len(self.history(before)):
            return f"epoch {taken} is {self.history(after)[-1]}"
        return super().milestone(before, action, after)


SAID: dict[type, tuple[str, str, str]] = {
    say.Prepare: (
        "prepare {ballot}", "a request to promise ballot {ballot}{of}", "prepare {epoch} {ballot}"),
    say.Promise: (
        "promise {ballot}{has}", "a promise of ballot {ballot}{of}{names}",
        "promise {epoch} {ballot}{mark}"),
    say.Accept: (
        "accept {entry} {ballot}", "a request to accept {entry} in ballot {ballot}{of}",
        "accept {epoch} {ballot} {entry}"),
    say.AcceptedReply: (
        "accepted {ballot}", "an acceptance in ballot {ballot}{of}", "accepted {epoch} {ballot}"),
    say.RefusedReply: (
        "no, {promised}", "a refusal of ballot {ballot}{of} (promised: {promised})",
        "refused {epoch} {ballot} {promised}"),
    say.Chosen: (
        "epoch {epoch} = {entry}", "the news that epoch {epoch} is {entry}",
        "chosen {epoch} {entry}"),
}  # fmt: skip
"""Messages in short, as clauses, and as verbs write them."""


def refined_by(parameters: Any) -> Refinement:
    """How Paxos refines the log that takes each value in one step (``kit.model.log``)."""
    fine = Paxos(parameters)
    return refined_by_logs(fine, lambda s: [node.log for node in s.nodes], fine.proposed)


SCENARIOS = (
    Scenario(
        "one-value",
        "One value is chosen. A majority promises and accepts, and all nodes learn it",
        {"values": ("x at A",)},
    ),
    Scenario(
        "two-proposers",
        "Two nodes want epoch 1. B finds x in progress and finishes it",
        script=("ballot A", "deliver A>C prepare 1 1A", "deliver C>A promise 1 1A", "ballot B"),
    ),
    Scenario(
        "members-change",
        (
"The members change. D joins and A leaves: a repair brings accepted values "
"to the new members"
),
        {"values": ("x at A", "y at C"), "becomes": ("B", "C", "D"), "epochs": 2},
        script=("ballot A", "deliver A>B prepare 1 1A", "deliver B>A promise 1 1A",
                "deliver A>B accept 1 1A x", "begin-change", "repair C"),
    ),
)  # fmt: skip

ENTRY = declared.entry(
    Paxos,
    scenarios=SCENARIOS,
    refinement=refined_by,
    compared={**BARE, "epochs": 2},
    fuzzing=Fuzzing(
        {"members": 5, "epochs": 3, "values": ("x at A", "y at B", "z at C"), "crashes": 2,
         "losses": 2, "copies": 1},
        {"crash": 0.1, "drop": 0.2, "ballot": 0.2},
    ),
)  # fmt: skip
