"""Paxos: its rules, its searches, its rounds by hand."""
