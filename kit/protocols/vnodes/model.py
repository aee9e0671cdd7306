"""Requests while a node operation moves their range: the storage model on a transition table."""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.model import Property
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.storage.actions import RequestOptions
from kit.protocols.storage.availability import available, fenced, under_session
from kit.protocols.storage.played import PlayedStorage, check_coordinators
from kit.protocols.storage.properties import monitors, properties
from kit.protocols.storage.rules.requests import parse_workload
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.vnodes.parameters import VnodesParameters
from kit.protocols.vnodes.projection import ProjectionOptions, RangeOperation, project
from kit.protocols.vnodes.rules.ranges import MACHINE_OF, moved, moved_again
from kit.protocols.vnodes.rules.safeguards import VnodeSafeguards
from kit.protocols.vnodes.safeguards import DRAIN_BEFORE_LEAVING, SAFEGUARDS


class Vnodes(PlayedStorage):
    """Clients, coordinators and the replicas of one range, while a node operation is carried out.

    What is promised is that of ``kit.protocols.storage.model.Storage``; besides, no request fails
    while a quorum of its replicas lives.
    """

    name = "vnodes"
    title = "Reads and writes while a range moves (topology coordinator)"
    safeguards = SAFEGUARDS

    def __init__(
        self, parameters: VnodesParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model of the operation and requests that ``parameters`` describe.

        Raises:
            BadInput: naming the parameter that is out of its limits.
        """
        given = parameters or VnodesParameters()
        check_limits(given)
        for name in ("drain_fails", "barrier_fails"):
            if getattr(given, name) and given.edition != "server":
                raise BadInput(name, True, "true with edition server only: the documents try again")
        safeguards = switched_off(VnodeSafeguards, off)
        history = project(
            given.edition,
            ProjectionOptions(given.version, given.drain_fails, given.barrier_fails, safeguards),
            *_operations(given, safeguards),
        )
        workload = parse_workload(given.requests)
        check_coordinators(workload, history)
        super().__init__(history, workload, _request_options(given))
        self.parameters, self.off = given, off
        judges = tuple(self._judges(given))
        # Where another safeguard is off, the harm to show is the lost write, not its first sign.
        self.signs = tuple(each for each in judges if self._is_sign(each, safeguards))
        self.properties = tuple(each for each in judges if each not in self.signs)
        self.monitors = monitors(self)

    def _judges(self, given: VnodesParameters) -> Iterator[Property]:
        """What is asked of steps; a fence without a drain keeps data, but not every answer."""
        yield from properties(self)
        if not (given.drain_fails or given.barrier_fails):
            yield available(self)
        yield fenced(self)
        yield under_session(self)

    def _is_sign(self, judge: Property, safeguards: VnodeSafeguards) -> bool:
        match judge.name:
            case "streamed":
                return bool(self.off) and _streams(safeguards)
            case "available":
                return not {*self.off} <= {DRAIN_BEFORE_LEAVING.name}
            case "fenced" | "session":
                return bool(self.off)
        return False


def _operations(given: VnodesParameters, safeguards: VnodeSafeguards) -> Iterator[RangeOperation]:
    """The operations on the range, one after the other."""
    which = given.operation, given.nodes, given.rf
    displaced, tables = safeguards.stream_from_displaced, MACHINES[given.edition]
    first = moved(*which, from_displaced=displaced)
    yield RangeOperation(tables[MACHINE_OF[given.operation]], first)
    if given.leaves:
        verb, second = moved_again(*which, from_displaced=displaced)
        yield RangeOperation(tables[MACHINE_OF[verb]], second)


def _streams(safeguards: VnodeSafeguards) -> bool:
    """Whether all that streaming needs is on."""
    return (
        safeguards.streams_before_switch
        and safeguards.known_before_streams
        and safeguards.stream_from_displaced
    )


def _request_options(given: VnodesParameters) -> RequestOptions:
    return RequestOptions(
        together=given.together,
        timeouts=given.timeouts,
        repair=given.repair,
        crashes=given.crashes,
        cleaning=given.leaves,
        collecting=given.collecting,
        losses=given.losses,
        late=given.late,
        slow=given.slow,
    )
