"""Which file, or part of one, is requested next by which connection."""
