"""What pictures and texts ask of a state; the storage model answers all of it."""
