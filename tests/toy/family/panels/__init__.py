"""What is drawn of leases beside the default view."""
