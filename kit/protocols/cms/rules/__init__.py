"""Pure rules of the metadata service: the log of a node, events and what they make."""
