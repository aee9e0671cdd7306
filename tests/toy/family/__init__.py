"""Leases with numbers: a client that slept past its lease must not undo a newer one's write."""
