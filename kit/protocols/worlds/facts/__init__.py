"""What a row asks of a moment, one module a world."""
