"""Programs connect to a cluster of the kit: the native protocol of CQL, over a model."""
