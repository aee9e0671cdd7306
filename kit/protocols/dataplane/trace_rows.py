"""The rows that a run of requests beside a plan leaves: epochs, replicas, groups, requests."""

from kit.protocols.storage.trace_rows import range_rows

ROWS = range_rows(lambda model: model.tcm.cluster.keyspaces[0].name)
