"""The balancer: a pure function from a cluster's state and loads to an incremental plan.

Sources: Topology over Raft, "Load balancing", read by Q-26 (edition ``documents``: greedy, by
tablet count); the published tablet allocator (edition ``server``: storage utilisation).
"""
