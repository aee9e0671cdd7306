"""A cluster's tablets moved by hand, beside what the planner would do: loads, no stages."""
