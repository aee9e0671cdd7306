"""Programs that connect to a cluster of the kit."""
