"""A coordinator's next decision on the tables of somebody's own cluster, and its journals."""
