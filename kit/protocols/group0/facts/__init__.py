"""What pictures and texts ask of a state of group 0."""
