"""What pictures and texts ask of a state."""
