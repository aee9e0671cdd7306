"""A class plays one run together: each phone or laptop is one node, and the projector shows all."""
