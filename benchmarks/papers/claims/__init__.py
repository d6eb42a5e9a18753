"""The checks of the papers' claims by computation, one module a paper or part of it."""
