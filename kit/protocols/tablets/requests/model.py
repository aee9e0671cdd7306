"""Requests on one tablet while its replicas change: the storage model on a table of stages."""

from __future__ import annotations

from collections.abc import Iterator

from kit.engine.model import Property
from kit.engine.parameters import check_limits
from kit.engine.safeguards import switched_off
from kit.errors import BadInput
from kit.protocols.storage.actions import RequestOptions
from kit.protocols.storage.availability import available, fenced, under_session
from kit.protocols.storage.learning import learning_waits
from kit.protocols.storage.played import PlayedStorage, check_coordinators
from kit.protocols.storage.properties import monitors, properties
from kit.protocols.storage.rules.masks import mask_of
from kit.protocols.storage.rules.requests import ClientRequest, parse_workload
from kit.protocols.storage.shard_model import ShardedStorage
from kit.protocols.tablets.requests.history import TabletOptions, history
from kit.protocols.tablets.requests.moves import first_replicas, plans
from kit.protocols.tablets.requests.parameters import TabletParameters
from kit.protocols.tablets.requests.properties import (
    found_there,
    one_stage_apart,
    replicas_hold,
    stage_asks,
)
from kit.protocols.tablets.requests.safeguards import ANSWERS, SAFEGUARDS, STREAMING
from kit.protocols.tablets.requests.switches import TabletSafeguards
from kit.protocols.tablets.requests.symmetry import symmetry_of

# What is judged beside the lost write: of answers, and what it begins with.
_OF_ANSWERS = ("available", "found-there")
_SIGNS = ("streamed", "fenced", "session", "stage-asks", "one-stage-apart", "replicas-hold")


class TabletRequests(PlayedStorage):
    """Clients, coordinators and the replicas of one tablet, while it is in transition.

    What is promised is that of ``kit.protocols.storage.model.Storage``; besides, no request fails
    while a quorum of its replicas lives, a stage is committed only when what it asks for is true,
    and outside a transition the replicas alone hold data.
    """

    name = "tablet"
    title = "Reads and writes of one tablet, stage by stage"
    safeguards = SAFEGUARDS

    def __init__(
        self, parameters: TabletParameters | None = None, off: tuple[str, ...] = ()
    ) -> None:
        """A model of the transitions and requests that ``parameters`` describe.

        Raises:
            BadInput: naming the parameter that is out of its limits.
        """
        given = parameters or TabletParameters()
        check_limits(given)
        safeguards = switched_off(TabletSafeguards, off)
        planned = plans(given.kind, given.rf, given.second)
        replicas, workload = first_replicas(given.rf), parse_workload(given.requests)
        options = TabletOptions(
            given.edition,
            given.version,
            (replicas[0].host,) if given.kind.startswith("rebuild") else (),
            given.excluded,
            _requests_of(given.excluded, workload),
            safeguards,
        )
        made = history(replicas, planned, options)
        check_coordinators(workload, made)
        nodes = dict.fromkeys(each.partition(":")[0] for each in made.replicas)
        if given.excluded and not (given.excluded in nodes or options.excluded_requests):
            known = ", ".join(dict.fromkeys((*nodes, *(c.coordinator for c in workload))))
            raise BadInput("excluded", given.excluded, f"a replica or coordinator: {known}")
        super().__init__(made, workload, _request_options(given))
        self.parameters, self.off, self.excluded = given, off, given.excluded
        self.edition, self.first, self.plans = given.edition, replicas, planned
        self.symmetry = symmetry_of(given, workload, made)
        if made.sharded is None:  # shards learn with their node
            self.partial_order = learning_waits(self)
        judges = (*properties(self), *self._of_stages(given.excluded))
        # Where a safeguard is off, the harm to show is the lost write, not its first sign.
        self.signs = tuple(each for each in judges if off and self._is_sign(each))
        self.properties = tuple(each for each in judges if each not in self.signs)
        self.monitors = monitors(self)

    def _of_stages(self, excluded: str) -> Iterator[Property]:
        for of_any in (available, fenced, under_session):
            yield of_any(self)
        for made in (found_there, stage_asks, one_stage_apart, replicas_hold):
            yield made(self, excluded)

    def _is_sign(self, judge: Property) -> bool:
        if judge.name in _OF_ANSWERS:
            return not {*self.off} <= set(ANSWERS)
        if judge.name == "streamed":
            return STREAMING not in self.off
        return judge.name in _SIGNS


class TabletWithinNode(TabletRequests, ShardedStorage):
    """The same while the tablet moves from a shard to another one of its node.

    What is promised is that of ``TabletRequests``.
    """


def _requests_of(coordinator: str, workload: tuple[ClientRequest, ...]) -> int:
    """The requests of a coordinator (a mask)."""
    return mask_of(i for i, each in enumerate(workload) if each.coordinator == coordinator)


def _request_options(given: TabletParameters) -> RequestOptions:
    return RequestOptions(
        together=given.together,
        timeouts=given.timeouts,
        repair=given.repair,
        crashes=given.crashes,
        cleaning=True,
        collecting=given.collecting,
        losses=given.losses,
        late=given.late,
        slow=given.slow,
    )
