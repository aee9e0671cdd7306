"""The kit in a Python that has msgspec and nothing else, as the one in a page."""
