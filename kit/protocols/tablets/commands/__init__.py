"""The commands that this family adds to the command line."""
