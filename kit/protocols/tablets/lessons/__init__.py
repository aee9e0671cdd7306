"""What the lessons on tablets ask and check."""
