"""A table of tablets is truncated: a request of the whole cluster, under a session."""
