"""Nodes fail and come back: what group 0 and data can still do."""
