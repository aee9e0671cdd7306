"""What a command of group 0 is, when it counts, and who stores it."""
