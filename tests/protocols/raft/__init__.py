"""Raft, held against its published rules."""
