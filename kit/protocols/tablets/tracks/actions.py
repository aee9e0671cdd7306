"""What can happen to tablets, beside what can happen in the cluster."""

from __future__ import annotations

from msgspec import Struct

from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.topology.topology import ControlAction


class BeginTransition(Struct, frozen=True, tag="begin-transition"):
    """The coordinator decides on a transition: a replica from one shard to another one.

    ``source`` and ``target`` are written ``A:0``; a rebuild that only adds or a repair lacks one.
    """

    tablet: int
    kind: TransitionKind
    source: str = ""
    target: str = ""


class BeginPlan(Struct, frozen=True, tag="begin-plan"):
    """The coordinator decides on all transitions of the balancer's next plan."""


class PassBarrier(Struct, frozen=True, tag="barrier"):
    """All nodes answer one barrier for every tablet that waits for one."""


class AnswerStages(Struct, frozen=True, tag="answer-stages"):
    """A node has applied all stages and answers the barrier of the tablets."""

    node: str


class ApplyStages(Struct, frozen=True, tag="apply-stages"):
    """A node applies the next stage that changes what it reads or writes."""

    node: str


class WorkOnTablet(Struct, frozen=True, tag="work-on"):
    """The next piece of a stage's work on a tablet is done: a stream, a repair, a cleanup."""

    tablet: int


class WorkOnAll(Struct, frozen=True, tag="work-on-all"):
    """The next piece of work is done on every tablet whose replicas for it are heard."""


class FailBarrier(Struct, frozen=True, tag="fail-barrier"):
    """The barrier of the tablets that wait for one fails."""


class FailTablet(Struct, frozen=True, tag="fail-tablet"):
    """The next piece of a stage's work on a tablet fails."""

    tablet: int


class DelayRpc(Struct, frozen=True, tag="delay"):
    """The coordinator gives the RPC of a tablet's stage up, but it is still on its way."""

    tablet: int


class ArriveLate(Struct, frozen=True, tag="arrive"):
    """That RPC arrives: it is let in, or refused for its permit."""


class EndLate(Struct, frozen=True, tag="end-late-rpc"):
    """What was let in late has run to its end."""


class AlterBaseTable(Struct, frozen=True, tag="alter-base"):
    """A client alters with which table another one is co-located."""

    table: str


TabletAction = (
    BeginTransition
    | BeginPlan
    | PassBarrier
    | AnswerStages
    | ApplyStages
    | WorkOnTablet
    | WorkOnAll
    | FailBarrier
    | FailTablet
    | DelayRpc
    | ArriveLate
    | EndLate
    | AlterBaseTable
)
TracksAction = ControlAction | TabletAction
