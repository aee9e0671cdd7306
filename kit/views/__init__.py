"""Pictures as pure functions: states become fragments, fragments become pages, text and images."""
