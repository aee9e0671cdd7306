"""The protocol families, a folder each: found by scanning this folder, named nowhere else."""
