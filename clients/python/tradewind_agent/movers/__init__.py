"""Other people's tools behind one port: recognised, tuned by flags, run, metered and logged."""
