"""The drills of both upgrades: what an operator types, and how the run is graded."""
