"""What pictures, texts and tables ask of a state, as plain data."""
