"""Tokens, ranges, rings, replication strategies, placements and their changes (pure rules)."""
