"""Two worlds side by side."""
