"""How tablets are drawn: the grid as the picture, its tabs beside it."""
