"""Paxos, message by message: ballots, promises, and a log whose slots are taken one by one."""
