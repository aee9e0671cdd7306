"""Which requirement is shown by which test."""
