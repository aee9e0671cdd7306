"""The rules of topology over group 0: states, transition tables, the coordinator's decision."""
