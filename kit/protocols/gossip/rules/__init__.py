"""Rules of the legacy world: mutations of the schema, what is gossiped, changes by timestamps."""
