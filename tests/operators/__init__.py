"""Reading what the tools of a cluster print."""
