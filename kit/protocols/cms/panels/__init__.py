"""How the models of the metadata service are drawn."""
