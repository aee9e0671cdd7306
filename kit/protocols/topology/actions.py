"""What can happen in a cluster: requests, the coordinator's steps, nodes' steps, and faults."""

from __future__ import annotations

from msgspec import Struct


class MakeRequest(Struct, frozen=True, tag="request"):
    """Somebody makes the next request; it goes into the tables."""

    number: int


class TakeDecision(Struct, frozen=True, tag="decide"):
    """The coordinator reads the tables under a guard and makes the command that is due."""


class CommitDecision(Struct, frozen=True, tag="commit"):
    """A majority stores the coordinator's command; its effect depends on the state id it names."""


class CommitDeposed(Struct, frozen=True, tag="commit-deposed"):
    """A majority stores what an earlier coordinator had decided."""


class ApplyTopology(Struct, frozen=True, tag="apply"):
    """A node applies the next command that changes what it goes by."""

    node: str


class AnswerBarrier(Struct, frozen=True, tag="answer"):
    """A node has applied all and answers the coordinator's barrier."""

    node: str


class DoWork(Struct, frozen=True, tag="work"):
    """The coordinator does the next piece of a state's work, or begins it."""


class FailWork(Struct, frozen=True, tag="fail"):
    """That piece of work fails.

    ``placeless``: a tablet that has to go has no place, which takes no fault; where that is open.
    """

    placeless: bool = False


class PauseWork(Struct, frozen=True, tag="pause"):
    """The coordinator pauses for as long as old requests can last, then goes on after a failure."""


class MoveTablets(Struct, frozen=True, tag="tablets"):
    """Tablet transitions that are under way come to their end.

    ``on`` are the nodes that have tablets then, where that is open; without it who is to leave has
    none any more, and all else is as before. ``more``: other transitions go on.
    """

    on: tuple[str, ...] | None = None
    more: bool = False


class ReportClean(Struct, frozen=True, tag="clean"):
    """A node has deleted what it does not own, and says so."""

    node: str


class PublishGeneration(Struct, frozen=True, tag="publish"):
    """The oldest committed CDC generation is written to the tables that drivers read."""


class UnlockTopology(Struct, frozen=True, tag="unlock"):
    """Whoever locked the topology takes the lock away."""


class ElectCoordinator(Struct, frozen=True, tag="elect"):
    """A node becomes the leader of group 0 and starts a coordinator."""

    node: str


class CrashMember(Struct, frozen=True, tag="crash"):
    """A node dies; its disk stays."""

    node: str


class RestartMember(Struct, frozen=True, tag="restart"):
    """A node comes back with what it had applied, and catches up if it can."""

    node: str


class RestartElsewhere(Struct, frozen=True, tag="readdress"):
    """A node is restarted with another address; its disk, and so its host id, stays."""

    node: str


class HearAddress(Struct, frozen=True, tag="gossip"):
    """The others hear at which address a host id is now."""

    node: str


class ExcludeNode(Struct, frozen=True, tag="exclude"):
    """An operator says that a dead node will not come back: it is ignored from now on."""

    node: str


class CutOff(Struct, frozen=True, tag="cut"):
    """A node no longer hears from the others, nor they from it."""

    node: str


class Reconnect(Struct, frozen=True, tag="reconnect"):
    """A node that was cut off hears from the others again."""

    node: str


class BeginRequest(Struct, frozen=True, tag="begin"):
    """A client's request begins at a node, by the version that this node goes by."""

    node: str


class ServeRequest(Struct, frozen=True, tag="serve"):
    """The request reaches a replica, which serves it or finds it stale; then it is over."""

    replica: str


class LeaveBehind(Struct, frozen=True, tag="leave-behind"):
    """A part of the stream that runs, or the RPC of a truncate, stays behind in the network."""


class LateArrival(Struct, frozen=True, tag="late"):
    """What was left behind reaches a node, with the permit of its session."""

    node: str


class EndLeftover(Struct, frozen=True, tag="end-late"):
    """What was let in late has run to its end."""


class FindImbalance(Struct, frozen=True, tag="imbalance"):
    """The load of tablets has become uneven."""


ControlAction = (
    MakeRequest
    | TakeDecision
    | CommitDecision
    | CommitDeposed
    | ApplyTopology
    | AnswerBarrier
    | DoWork
    | FailWork
    | PauseWork
    | MoveTablets
    | ReportClean
    | PublishGeneration
    | UnlockTopology
    | ElectCoordinator
    | CrashMember
    | RestartMember
    | RestartElsewhere
    | HearAddress
    | ExcludeNode
    | CutOff
    | Reconnect
    | BeginRequest
    | ServeRequest
    | LeaveBehind
    | LateArrival
    | EndLeftover
    | FindImbalance
)
