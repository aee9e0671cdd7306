"""The rows of a run of a range under the coordinator: versions, groups, requests."""

from kit.protocols.storage.trace_rows import range_rows

ROWS = range_rows(lambda _: "ks")
"""The generated ring has one keyspace."""
