"""What pictures and texts say of a state of a recovery."""
