"""How the metadata service is drawn."""
