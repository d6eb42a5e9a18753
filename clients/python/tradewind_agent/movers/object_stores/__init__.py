"""What the movers of object stores share: where their places are, how large what they move is, and their one run.

Begin with `run`. Import from the modules: the package itself exports nothing.
"""
