"""Where published releases of ScyllaDB differ: one table, asked by name.

Each row is one change: its name, the releases that have it first (a line of releases that got it
later says from which patch release on), the change that it builds on, if any (earlier releases have
neither side of it), what was before, what is since, and where that is read.
Source: published server, the tags of its releases.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Literal, get_args

from msgspec import Struct

from kit.errors import BadInput, check_among

Release = Literal[
    "5.2", "5.4", "6.0", "6.1", "6.2", "2025.1", "2025.2", "2025.3", "2025.4", "2026.1", "2026.2",
    "2026.3", "master",
]  # fmt: skip
"""Lines of releases, oldest first; ``master`` is what was not released in August 2026."""
Supported = Literal["2025.1", "2025.2", "2025.3", "2025.4", "2026.1", "2026.2", "2026.3", "master"]
"""Those that models play; before them there are no tablets in new keyspaces by default."""
RELEASES: tuple[Release, ...] = get_args(Release)
SUPPORTED: tuple[Supported, ...] = get_args(Supported)
NEWEST: Supported = "2026.3"
"""The newest published one, read at 2026.3.0-rc2: what ``server`` means if no release is named."""

TABLE = """
topology-in-group-0 | 6.0
  only the schema is in group 0, and the topology is gossiped
  the schema and the topology are in group 0
  db/config.cc: consistent-topology-changes
tablets | 6.0
  a keyspace has no tablets, unless in an experiment
  a keyspace may have tablets
  db/config.cc, enable_tablets
zero-tokens | 6.2
  every node owns tokens, and join_ring is not read
  join_ring: false makes a node without tokens, which votes and has no data
  db/config.cc, join_ring
cluster-repair | 2025.1.2
  nodetool repair is the only repair of nodetool
  nodetool cluster repair repairs keyspaces with tablets, and nodetool repair only the others
  manual, nodetool cluster repair
truncate-request | 2025.1 | tablets
  TRUNCATE is no request of the whole cluster
  TRUNCATE of a table with tablets is a request of the whole cluster
  gms/feature_service.hh, TRUNCATE_AS_TOPOLOGY_OPERATION
rebuild-after-repair | 2025.1.2 2025.2 | tablets
  a tablet's lost replica is streamed from all that are left (rebuild)
  those that are left are repaired, then the lost one is streamed from one of them (rebuild_v2)
  service/tablet_allocator.cc, choose_rebuild_transition_kind
sizing-rules | 2025.2 | tablets
  only the average size of a table's tablets asks for a split or a merge
  its options ask for tablets, too, and a goal limits how many a shard gets
  service/tablet_allocator.cc, make_sizing_plan
by-capacity | 2025.2 | tablets
  each shard is to have as many tablets
  each node is to have tablets by its capacity
  service/tablet_allocator.cc, tablet_load_stats_v2
always-in-group-0 | 2025.2 | topology-in-group-0
  a cluster upgraded from 5.4 gossips its topology until consistent topology changes are enabled
  consistent topology changes must be enabled before the upgrade to this release
  manual, "Consistent Topology with Raft"
few-voters | 2025.2
  every member votes
  five at most vote, spread over datacenters and racks
  service/raft/group0_voter_handler.cc, calc_voters_max
recovery-leader | 2025.2
  a lost majority is regained by RECOVERY mode
  a lost majority is regained by a node that the option recovery_leader names
  db/config.cc, recovery_leader
request-queue | 2025.3 | tablets
  an RF change, or a TRUNCATE that is a request, is refused while another request is pending
  requests of the whole cluster wait in a queue
  gms/feature_service.hh, TOPOLOGY_GLOBAL_REQUEST_QUEUE
odd-voters | 2025.4 | few-voters
  an even number votes, but for two equal datacenters above two nodes
  an odd number votes
  group0_voter_handler.cc, calc_voters_max
replaced-request | 2025.1.11 2025.3.7 2025.4.3 2026.1 | topology-in-group-0
  what a node was asked for is never done once it is replaced, and the coordinator fails on it
  what a node was asked for ends, with an error, as soon as its replacement is asked for
  commit bee5f63cb6; service/storage_service.cc, build_mutation_from_join_params
members-vote | 2026.1 | few-voters
  any node of the topology may be chosen to vote
  only a member of group 0's configuration may be chosen to vote
  group0_voter_handler.cc, update_nodes
excludenode | 2026.1
  dead nodes are named in each removal or replacement that ignores them
  nodetool excludenode marks dead nodes once, and then they need not be named
  commit 55ecd92feb
paused-drain | 2026.1 | tablets
  a leaving node drains its tablets within its operation, in tablet_draining
  the request is paused while its tablets are drained, and the node stays normal
  commit a009644c7d, paused_requests
rack-checks | 2026.1
  a leave, removal or join is not asked about racks
  one that would make a keyspace RF-rack-invalid is refused
  service/storage_service.cc, "RF-rack-invalid"
rack-lists | 2026.1
  a keyspace has a number of replicas in each datacenter
  a keyspace may name its racks, with a replica each, and has one RF change at a time
  gms/feature_service.hh, RACK_LIST_RF
left-out | 2026.1 | tablets
  ALTER KEYSPACE keeps the replicas of datacenters that it leaves out
  ALTER KEYSPACE is refused if it leaves a datacenter out that has replicas
  commit 76174d1f7a
complete-statistics | 2026.1 | tablets
  tablets are counted, whatever their size
  bytes are counted, and a node whose sizes are not all known is left out of plans
  service/tablet_allocator.cc; feature size_based_load_balancing
goal-by-rack | 2026.1 | sizing-rules
  the goal of tablets for a shard is kept on the average of a datacenter
  the goal of tablets for a shard is kept on the average of each rack
  service/tablet_allocator.cc, shards_per_rack
last-node | 2026.1.10 2026.2.2 2026.3 | rack-checks
  the last node of a datacenter in which a keyspace has replicas fails with an internal error
  the last node of a datacenter in which a keyspace has replicas is refused with a reason
  commit 9f94610767
history-hour | 2026.1.10 2026.2.3 2026.3
  system.group0_history keeps a week
  system.group0_history keeps an hour
  commit ca53e957e6
rf-changes | 2026.2 | tablets
  an RF change adds or removes one replica at a time
  an RF change of several replicas runs in steps (ongoing_rf_changes), and can be aborted
  commits 751af38f2a, 1b2b453782
two-reads | 2026.2 | tablets
  four streams at once read from a shard, and two write to it
  two streams at once read from a shard, and two write to it, where no option says otherwise
  db/config.cc, tablet_streaming_read_concurrency_per_shard
fallback-cleanup | 2026.2 | tablets
  a tablet goes back from write_both_read_new to cleanup_target at once
  a tablet goes back through write_both_read_old_fallback_cleanup
  commit f06094aa95
join-first | 2026.3 | tablets
  a join waits until no tablet moves
  a join goes before the moves of tablets
  commit 4d727e1fcf
dead-refused | 2026.3 | topology-in-group-0
  a removal or replace waits in the queue while another node is down and not ignored
  a removal or replace is refused at once while another node is down and not ignored
  commit e9abb31e8d
first-election | 2026.3
  nobody stands for leader of a new group before the election timeout
  in a new group one node, picked by the group's id, stands for leader at once
  commits 463c48d190, eded7c9ed8
leader-counts | master | few-voters
  a leader that shuts down keeps its vote as it is, and others are chosen without it
  a leader that shuts down counts itself
  commit bfc4f14264
desired-by-size | master | tablets
  the size of a table asks for twice or half as many tablets as there are
  the size of a table asks for as many tablets as it needs, all at once
  commit 5cb3525306
"""


class Change(Struct, frozen=True):
    """A row: ``since`` has each line of releases with its first patch release (0: from the start).

    Lines after the last of ``since`` have it, too. ``on`` is the name of the change it builds on.
    """

    name: str
    since: dict[Release, int]
    on: str
    before: str
    after: str
    source: str

    def holds(self, release: Release, patch: int | None = None) -> bool:
        """Whether this line of releases has the change: in this patch release, or the newest."""
        if release in self.since:
            return patch is None or patch >= self.since[release]
        return RELEASES.index(release) > max(map(RELEASES.index, self.since))

    def said(self, text: str) -> str:
        """The behaviour of the release of this name: a line of releases, or a patch release.

        Empty: it does neither, as it does not have what the change builds on.
        """
        if self.holds(*_parted(text)):
            return self.after
        return self.before if not self.on or CHANGES[self.on].holds(*_parted(text)) else ""

    @property
    def earlier(self) -> str:
        """The behaviour before, and the release that changed it."""
        return f"from {CHANGES[self.on].first} on, {self.before}" if self.on else self.before

    @property
    def first(self) -> str:
        """The releases that had it first, as text."""
        return ", ".join(f"{line}.{patch}" if patch else line for line, patch in self.since.items())


def _changes() -> Iterator[Change]:
    lines = TABLE.strip().splitlines()
    for head, before, after, source in zip(*[iter(lines)] * 4, strict=True):
        name, firsts, *on = head.split(" | ")
        since: dict[Release, int] = {}
        for first in firsts.split():
            line, patch = _parted(first)
            since[line] = patch or 0
        yield Change(name, since, "".join(on), before.strip(), after.strip(), source.strip())


def _parted(text: str) -> tuple[Release, int | None]:
    match = re.fullmatch(r"([0-9]{1,4}\.[0-9])(?:\.([0-9]{1,3}))?|master", text)
    line = match and (match[1] or text)
    if not match or line not in RELEASES:
        allowed = f"one of {', '.join(RELEASES)}, or a patch release of these such as 2026.2.4"
        raise BadInput("release", text, allowed)
    return line, int(match[2]) if match[2] else None


CHANGES = {change.name: change for change in _changes()}
"""Every change by its name, oldest first."""


@cache
def has(change: str, release: str) -> bool:
    """Whether a release does what a change brought.

    ``change`` is a name of ``CHANGES``, ``release`` a line such as ``2026.1`` (its newest), or a
    patch release such as ``2026.1.9``. Raises BadInput for others.
    """
    check_among("change", change, CHANGES)
    return CHANGES[change].holds(*_parted(release))


def gossips(release: str, upgrade_state: str | None) -> bool | None:
    """Whether a cluster's topology is gossiped: only one node may join, leave or be replaced then.

    Where its release does not say so (None), ``upgrade_state`` of ``system.topology`` does: it is
    ``done`` once the topology is in group 0. Raises BadInput for another release.
    """
    if not has("topology-in-group-0", release):
        return True
    by_state = None if upgrade_state is None else upgrade_state != "done"
    return False if has("always-in-group-0", release) else by_state


GOSSIPED = (
    "whether the topology is in group 0 is not known: ask a live node SELECT upgrade_state FROM "
    "system.topology. Unless it says done, it is gossiped: one node at a time may join, leave or "
    "be replaced, and nobody is banned"
)


def release_of(text: str, *changes: str) -> tuple[Release, tuple[str, ...]]:
    """The line of releases that this text names.

    With it comes what its patch release does not have yet of these ``changes``: lines to
    show. Raises BadInput for a release that is not supported.
    """
    line, patch = _parted(text)
    late = [
        f"this is the answer for the newest {line}; on {text}, {change.before} ({change.name})"
        for change in map(CHANGES.__getitem__, changes)
        if change.holds(line) and not change.holds(line, patch)
    ]
    return line, tuple(late)


def supported(text: str) -> Supported:
    """The line of releases that this text names, for a model. BadInput for one that none plays."""
    line = _parted(text)[0]
    for each in SUPPORTED:
        if each == line:
            return each
    raise BadInput("release", text, f"one that models play: {', '.join(SUPPORTED)}")


def spans(answers: Mapping[str, str]) -> dict[str, str]:
    """The answers of single releases, by the releases that answer the same.

    ``2025.1 to 2025.4`` are neighbours.
    """
    said: dict[str, str] = {}
    runs = groupby(RELEASES, key=answers.get)
    for text, run in runs:
        first, *more = run
        if text is not None:
            said[f"{first} to {more[-1]}" if more else first] = text
    return said
