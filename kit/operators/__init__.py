"""What operators bring along: files that the tools of real clusters print."""
