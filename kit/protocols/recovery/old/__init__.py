"""The old procedure: recovery by RECOVERY mode, whose end is another Raft upgrade."""
