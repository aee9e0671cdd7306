"""What a lesson on leases asks."""
