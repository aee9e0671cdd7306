"""The recovery adviser: what to do about a cluster of one's own."""
