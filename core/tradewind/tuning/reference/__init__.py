"""Algorithms of the papers and of peers as they are described there, to compare the controller with; none is in use."""
