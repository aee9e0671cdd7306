"""What pictures and texts need to know of a moment of the metadata service."""
