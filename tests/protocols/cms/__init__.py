"""The metadata service and its log."""
