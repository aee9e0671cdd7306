"""The drills of both recoveries: what an operator types, and how the run is graded."""
