"""How a schema by gossip, and an operation by gossip, are drawn."""
