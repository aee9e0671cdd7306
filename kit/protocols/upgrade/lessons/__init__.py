"""What the lesson on the way into Raft asks and checks."""
