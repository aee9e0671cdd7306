"""What pictures and texts ask of a control state."""
