"""One table whose tablets are split and merged: decision, readiness, finalization, a new map."""
