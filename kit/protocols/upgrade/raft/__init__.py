"""The Raft upgrade: from a schema that gossip spreads to one that group 0 keeps."""
