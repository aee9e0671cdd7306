"""The model in which tablets are moved by hand, beside the planner."""
