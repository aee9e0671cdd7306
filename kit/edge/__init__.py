"""Where the world touches the kit: files that are read and written, arguments, limits."""
