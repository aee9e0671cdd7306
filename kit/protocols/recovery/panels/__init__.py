"""How a recovery, its old procedure, and nodes that fail are drawn."""
