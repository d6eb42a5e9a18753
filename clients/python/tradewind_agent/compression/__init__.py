"""Compression in transit: codecs of this host, samples of files, packed streams, and copies with ``--compress``.

Begin with `codecs`, `sampling`, `frames` (the wire format), `packing` and `unpacking`, then `packed.packed_copy`.
Import from the modules: the package itself exports nothing.
"""
