"""Tables of tablets on Spark: sizes and resize decisions, losses, and balancers over seeds."""
