"""Runs of wrapped tools: prepared, started, tuned, metered and logged.

Begin with `run`, then `prepare`, `run_tool` and `tool_loop`.
Import from the modules: the package itself exports nothing.
"""
