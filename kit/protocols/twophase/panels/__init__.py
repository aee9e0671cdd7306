"""What is drawn of two-phase commit beside the default view."""
