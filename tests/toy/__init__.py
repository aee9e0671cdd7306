"""A protocol family that only a copy of the checkout has: what it takes to add one, and no more."""
