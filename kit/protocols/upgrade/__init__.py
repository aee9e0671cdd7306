"""The way into Raft: schema first, the topology afterwards."""
