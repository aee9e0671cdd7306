"""Two-phase commit: the smallest model of the kit, and the first one to read."""
