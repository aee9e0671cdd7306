"""What the lessons on requests under the coordinator ask and check."""
