"""Joining a cluster that has no coordinator: the joining node drives it, and gossip tells of it."""
