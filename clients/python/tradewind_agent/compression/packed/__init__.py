"""Packing as a stage of the transfer engine: packed uploads and downloads, and copies with both kinds of files.

Begin with `packed_copy` (a copy with ``--compress``), then `stage`, `upload` → `packed_payload`, and `download` →
`packed_read` → `received_stream` → `decoding`. Import from the modules: the package itself exports nothing.
"""
