"""What pictures and texts say of a state on the way into Raft."""
