"""Every property, sign and monitor of every model breaks under some spoiled variant of it.

The variants stand beside the tests of each family: a safeguard off, a refusal dropped, an effect
changed. Here stands only that no model, and nothing that one judges, is left out.
"""

from __future__ import annotations

from collections.abc import Collection

import pytest

from kit.model.registry import build, entries
from tests.protocols.cms.test_migration import REPORTED as MIGRATION
from tests.protocols.cms.test_reported import CMS, COMMIT, SCHEMA
from tests.protocols.dataplane.test_search import SOLO, UNREACHED, VARIANTS
from tests.protocols.gossip.test_search import GOSSIP, JOIN
from tests.protocols.group0.test_search import DISCOVERY, GROUP0
from tests.protocols.paxos.test_search import PAXOS
from tests.protocols.raft.test_liveness import COMMIT_LOG, GROUPS, RAFT
from tests.protocols.recovery.recovery_mode.test_search import REPORTED as RECOVERY_MODE
from tests.protocols.recovery.test_failures import REPORTED as FAILURES
from tests.protocols.recovery.test_search import REPORTED as RECOVERY
from tests.protocols.tablets.tablet.test_reported import REPORTED as TABLET
from tests.protocols.tablets.tablets.test_reported import LIFTED, OWN
from tests.protocols.tablets.test_balancing import REPORTED as BALANCE
from tests.protocols.tablets.test_resize import REPORTED as RESIZE
from tests.protocols.tablets.test_truncate import REPORTED as TRUNCATE
from tests.protocols.topology.test_join import REPORTED as HANDSHAKE
from tests.protocols.topology.test_search import REPORTED as TOPOLOGY
from tests.protocols.upgrade.test_raft_search import REPORTED as RAFT_UPGRADE
from tests.protocols.upgrade.test_topology_search import REPORTED as TOPOLOGY_UPGRADE
from tests.protocols.vnodes.test_search import REPORTED as VNODES
from tests.protocols.worlds.test_facts import REPORTED as WORLDS
from tests.quality.reporting import judges
from tests.quality.test_reported import REPORTED

SPOILED: dict[str, Collection[str]] = {
    "twophase": REPORTED["twophase"],
    "tcm": REPORTED["tcm"],
    "cms": CMS,
    "commit": COMMIT,
    "dataplane": {*VARIANTS, *UNREACHED},
    **SOLO,
    "schema": SCHEMA,
    "group0": GROUP0,
    "discovery": DISCOVERY,
    "gossip": GOSSIP,
    "gossip_join": JOIN,
    "topology": TOPOLOGY,
    "join": HANDSHAKE,
    "vnodes": VNODES,
    "tablets": {*OWN, *LIFTED},
    "resize": RESIZE,
    "truncate": TRUNCATE,
    "balance": BALANCE,
    "tablet": TABLET,
    "migration": MIGRATION,
    "raft_upgrade": RAFT_UPGRADE,
    "topology_upgrade": TOPOLOGY_UPGRADE,
    "paxos": PAXOS,
    "raft": RAFT,
    "commit_log": COMMIT_LOG,
    "raft_groups": GROUPS,
    "recovery": RECOVERY,
    "recovery_mode": RECOVERY_MODE,
    "failures": FAILURES,
    "worlds": WORLDS,
}


@pytest.mark.parametrize("name", sorted(entries()))
def test_whatever_a_model_judges_breaks_under_some_variant(name: str) -> None:
    """In its default configuration, and with each safeguard off, where signs take their place."""
    safeguards = build(name).safeguards
    models = [build(name), *(build(name, each.smallest, (each.name,)) for each in safeguards)]
    assert {judge for model in models for judge in judges(model)} <= {*SPOILED[name]}


def test_no_model_is_left_out() -> None:
    """Each model has its table, and no table is one of a model that is no more."""
    assert set(SPOILED) == set(entries())
