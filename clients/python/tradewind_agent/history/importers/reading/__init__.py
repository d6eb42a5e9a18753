"""From the bytes of a log to the lines that its program wrote: encodings, JSON documents and envelopes.

All importers read through `LogText`, which puts these steps in a row. Begin at `envelopes`.
"""
