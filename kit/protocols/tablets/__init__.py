"""Tablets: replicas of a part of a table that move from shard to shard, stage by stage."""
