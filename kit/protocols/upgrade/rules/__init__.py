"""What the two upgrades into Raft go by."""
