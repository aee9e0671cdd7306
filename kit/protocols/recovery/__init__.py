"""Recovery: what an operator does when a majority of group 0 is gone."""
