"""Runs of the topology as tables, and walks over whole clusters on Spark."""
