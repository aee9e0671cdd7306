"""Raft: a log on several nodes, which survives the loss of a minority of them."""
