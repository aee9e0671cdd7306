"""What the lessons on gossip draw and compare."""
