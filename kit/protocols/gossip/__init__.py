"""Schema and membership by gossip: no log, no coordinator, the newest timestamp wins."""
