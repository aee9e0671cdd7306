"""The rules of Raft that look at one thing alone: a configuration, a log, a follower's progress."""
