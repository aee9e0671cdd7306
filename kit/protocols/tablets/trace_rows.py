"""The rows of a run of one tablet's requests: versions, replicas, requests."""

from __future__ import annotations

from kit.protocols.storage.trace_rows import range_rows

ROWS = range_rows(lambda _: "ks")
"""The one tablet is that of a keyspace of its own."""
