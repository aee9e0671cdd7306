"""What pictures, texts and tables need to know of gossip."""
