"""Topology over group 0: one coordinator walks nodes through ``system.topology``."""
