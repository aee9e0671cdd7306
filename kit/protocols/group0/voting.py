"""What every model with a group 0 is told of its voters: the edition, the release, the limit."""

from functools import cached_property
from typing import Literal, TypeVar

from msgspec import Struct

from kit.model.declared import NodeModel, parameter
from kit.protocols.group0.rules.releases import NEWEST, Supported
from kit.protocols.group0.rules.voters import MOST_VOTERS, VoterRules

Edition = Literal["documents", "server"]
S = TypeVar("S", bound=Struct)


class VotingModel(NodeModel[S]):
    """A model whose members vote: all of them in edition ``documents``, a few in ``server``."""

    edition: Edition = parameter("documents", "the documents, or the published server")
    release: Supported = parameter(NEWEST, "the release of the server (server edition)")
    most_voters: int = parameter(
        MOST_VOTERS, "how many nodes can vote (server edition)", title="limit of voters", ge=1, le=9
    )

    @cached_property
    def voter_rules(self) -> VoterRules:
        """How the server of edition ``server`` chooses who votes."""
        return VoterRules(self.release, self.most_voters)
