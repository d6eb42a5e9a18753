"""The documents: the site that MkDocs builds from ``docs/``, and the checks that keep it sound.

Begin with ``__main__``, which serves and checks it. Pages that are generated come from ``infra.reference``.
"""
