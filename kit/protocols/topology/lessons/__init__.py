"""What the lessons on the topology ask and check."""
