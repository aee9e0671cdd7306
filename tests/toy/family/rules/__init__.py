"""What a lease and its number allow."""
