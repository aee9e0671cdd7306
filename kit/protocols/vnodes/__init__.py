"""Reads and writes of one vnode range while the topology coordinator changes the ring."""
