"""The old procedure: recovery by RECOVERY mode, whose end is the Raft upgrade run anew."""
