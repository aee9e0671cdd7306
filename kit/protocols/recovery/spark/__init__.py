"""Every set of dead nodes of small clusters as one table."""
