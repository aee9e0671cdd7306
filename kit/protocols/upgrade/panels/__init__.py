"""How the two upgrades into Raft are drawn."""
