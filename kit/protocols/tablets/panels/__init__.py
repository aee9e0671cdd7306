"""How tablets are drawn."""
