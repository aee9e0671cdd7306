"""The ways to run a model through: every interleaving, random walks, fewer steps, causes."""
