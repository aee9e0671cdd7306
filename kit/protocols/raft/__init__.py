"""Raft: elections, replication, changes of the members, as messages between nodes."""
