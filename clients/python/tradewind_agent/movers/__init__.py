"""Transfer tools behind one port: each is recognised, tuned by its flags, run, metered and logged.

Begin with `port` (what a tool must offer), then `registry` (the tools) and `wrap.run` (how one is run).
Import from the modules: the package itself exports nothing.
"""
