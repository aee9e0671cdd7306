"""The tests of leases: they run in the copy alone."""
